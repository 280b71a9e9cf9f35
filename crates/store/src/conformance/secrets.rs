//! The life of secrets.

use super::samples::{Writing, moment};
use crate::{
    Batch, CredentialKind, CredentialRef, CredentialRow, PASSWORD_HASH_BYTES_MAX, PasswordHash, SecretHash,
    SecretWrite, Store, StoreError, UserKey,
};
use charter_events::{Offset, UserId};
use std::sync::Arc;
use uuid::Uuid;

const ANN: UserId = UserId::from_u128(1);
const BEN: UserId = UserId::from_u128(2);

fn hash(byte: u8) -> SecretHash {
    SecretHash::new([byte; 32])
}

fn session(number: u8, user: UserId) -> SecretWrite {
    SecretWrite::PutCredential { hash: hash(number), row: row(number, user, CredentialKind::Session) }
}

fn row(number: u8, user: UserId, kind: CredentialKind) -> CredentialRow {
    CredentialRow {
        kind,
        id: Uuid::from_u128(u128::from(number)),
        user,
        created_at: moment(i64::from(number)),
        expires_at: (kind == CredentialKind::Session).then(|| moment(100 + i64::from(number))),
        began: Offset::new(u64::from(number)).unwrap(),
        last_used: None,
    }
}

async fn write(store: &dyn Store, write: SecretWrite) {
    store.write_secrets(&[write]).await.unwrap();
}

async fn ids(store: &dyn Store, user: UserId, kind: CredentialKind) -> Vec<u128> {
    store.credentials_of(user, kind).await.unwrap().iter().map(|row| row.id.as_u128()).collect()
}

pub(super) async fn installation(store: Arc<dyn Store>) {
    let first = store.installation_secrets().await.unwrap();
    let again = store.installation_secrets().await.unwrap();
    assert_eq!(first.tag_key.expose(), again.tag_key.expose());
    assert_eq!(first.cursor_key.expose(), again.cursor_key.expose());
    assert_ne!(first.tag_key.expose(), first.cursor_key.expose());
    let signing = [first.signing_key, again.signing_key].map(|key| *key.unwrap().expose());
    assert_eq!(signing[0], signing[1]);
    assert!(![first.tag_key.expose(), first.cursor_key.expose()].contains(&&signing[0]));
    assert_eq!(first.setup_code_hash, None);
}

pub(super) async fn user_key(store: Arc<dyn Store>) {
    assert!(store.user_key(ANN).await.unwrap().is_none());
    let put = |user, byte| SecretWrite::PutUserKey { user, key: UserKey::new([byte; 32]) };
    write(&*store, put(ANN, 1)).await;
    write(&*store, put(BEN, 2)).await;
    let error = store.write_secrets(&[put(ANN, 3)]).await.unwrap_err();
    assert!(matches!(error, StoreError::Refused(_)), "{error}");
    assert_eq!(store.user_key(ANN).await.unwrap().unwrap().expose(), &[1; 32]);
    let several = store.user_keys(&[BEN, UserId::from_u128(9), ANN]).await.unwrap();
    assert_eq!(
        several.iter().map(|(user, key)| (*user, key.expose()[0])).collect::<Vec<_>>(),
        [(BEN, 2), (ANN, 1)]
    );
    write(&*store, SecretWrite::DestroyUserKey { user: ANN }).await;
    write(&*store, SecretWrite::DestroyUserKey { user: ANN }).await;
    assert!(store.user_key(ANN).await.unwrap().is_none());
    assert_eq!(store.user_key(BEN).await.unwrap().unwrap().expose(), &[2; 32]);
}

pub(super) async fn password(store: Arc<dyn Store>) {
    let put = |phc: &str| SecretWrite::PutPassword { user: ANN, hash: PasswordHash::new(phc.to_owned()) };
    let shown = async || store.password(ANN).await.unwrap().map(|hash| hash.expose().to_owned());
    assert_eq!(shown().await, None);
    write(&*store, put("$argon2id$one")).await;
    write(&*store, put("$argon2id$two")).await;
    assert_eq!(shown().await.as_deref(), Some("$argon2id$two"));
    assert!(store.password(BEN).await.unwrap().is_none());
    let error = store.write_secrets(&[put(&"x".repeat(PASSWORD_HASH_BYTES_MAX + 1))]).await.unwrap_err();
    assert!(matches!(error, StoreError::Refused(_)), "{error}");
    write(&*store, SecretWrite::RemovePassword { user: ANN }).await;
    write(&*store, SecretWrite::RemovePassword { user: ANN }).await;
    assert_eq!(shown().await, None);
}

pub(super) async fn credentials(store: Arc<dyn Store>) {
    let token = SecretWrite::PutCredential { hash: hash(9), row: row(9, ANN, CredentialKind::Token) };
    store
        .write_secrets(&[session(1, ANN), session(2, ANN), session(3, BEN), session(4, ANN), token])
        .await
        .unwrap();
    assert_eq!(store.credential(&hash(1)).await.unwrap(), Some(row(1, ANN, CredentialKind::Session)));
    assert_eq!(store.credential(&hash(9)).await.unwrap(), Some(row(9, ANN, CredentialKind::Token)));
    assert_eq!(store.credential(&hash(8)).await.unwrap(), None);
    assert_eq!(ids(&*store, ANN, CredentialKind::Session).await, [4, 2, 1]);
    assert_eq!(store.sessions_of(BEN).await.unwrap().len(), 1);
    let same_hash = SecretWrite::PutCredential { hash: hash(1), row: row(7, ANN, CredentialKind::Session) };
    let same_id = SecretWrite::PutCredential { hash: hash(7), row: row(1, ANN, CredentialKind::Session) };
    for twice in [same_hash, same_id] {
        let error = store.write_secrets(&[twice]).await.unwrap_err();
        assert!(matches!(error, StoreError::Refused(_)), "{error}");
    }
    let touch = |at| SecretWrite::TouchCredential { id: Uuid::from_u128(1), at: moment(at) };
    store.write_secrets(&[touch(50), touch(40)]).await.unwrap();
    let unknown = SecretWrite::TouchCredential { id: Uuid::from_u128(77), at: moment(1) };
    write(&*store, unknown).await;
    assert_eq!(store.credential(&hash(1)).await.unwrap().unwrap().last_used, Some(moment(50)));
    write(&*store, SecretWrite::RemoveCredential(CredentialRef::Hash(hash(1)))).await;
    write(&*store, SecretWrite::RemoveCredential(CredentialRef::Id(Uuid::from_u128(2)))).await;
    write(&*store, SecretWrite::RemoveCredential(CredentialRef::Id(Uuid::from_u128(77)))).await;
    assert_eq!(ids(&*store, ANN, CredentialKind::Session).await, [4]);
    let of = |kind| SecretWrite::RemoveCredentialsOf { user: ANN, kind };
    write(&*store, of(Some(CredentialKind::Session))).await;
    assert_eq!(ids(&*store, ANN, CredentialKind::Session).await, [] as [u128; 0]);
    assert_eq!(ids(&*store, ANN, CredentialKind::Token).await, [9]);
    write(&*store, of(None)).await;
    assert_eq!(ids(&*store, ANN, CredentialKind::Token).await, [] as [u128; 0]);
    assert_eq!(ids(&*store, BEN, CredentialKind::Session).await, [3]);
}

pub(super) async fn kinds(store: Arc<dyn Store>) {
    for (number, kind) in (1..).zip(CredentialKind::ALL) {
        write(&*store, SecretWrite::PutCredential { hash: hash(number), row: row(number, ANN, kind) }).await;
    }
    for (number, kind) in (1..).zip(CredentialKind::ALL) {
        assert_eq!(store.credential(&hash(number)).await.unwrap(), Some(row(number, ANN, kind)));
        assert_eq!(ids(&*store, ANN, kind).await, [u128::from(number)], "{kind:?}");
    }
    write(&*store, SecretWrite::RemoveCredentialsOf { user: ANN, kind: Some(CredentialKind::Reset) }).await;
    assert_eq!(ids(&*store, ANN, CredentialKind::Reset).await, [] as [u128; 0]);
    assert_eq!(ids(&*store, ANN, CredentialKind::Invitation).await, [3]);
}

pub(super) async fn forgotten(store: Arc<dyn Store>) {
    let token = SecretWrite::PutCredential { hash: hash(9), row: row(9, ANN, CredentialKind::Token) };
    store.write_secrets(&[session(1, ANN), session(2, ANN), session(3, ANN), token]).await.unwrap();
    assert_eq!(store.forget_credentials_ended_before(moment(103)).await.unwrap(), 2);
    assert_eq!(ids(&*store, ANN, CredentialKind::Session).await, [3]);
    assert_eq!(ids(&*store, ANN, CredentialKind::Token).await, [9], "without an end it stays");
}

pub(super) async fn setup_code(store: Arc<dyn Store>) {
    let code = async || store.installation_secrets().await.unwrap().setup_code_hash;
    write(&*store, SecretWrite::PutSetupCode { hash: hash(1) }).await;
    write(&*store, SecretWrite::PutSetupCode { hash: hash(2) }).await;
    assert_eq!(code().await, Some(hash(2)));
    write(&*store, SecretWrite::ClearSetupCode).await;
    write(&*store, SecretWrite::ClearSetupCode).await;
    assert_eq!(code().await, None);
}

pub(super) async fn all_or_none(store: Arc<dyn Store>) {
    let error = store.write_secrets(&[session(1, ANN), session(2, ANN), session(1, ANN)]).await.unwrap_err();
    assert!(matches!(error, StoreError::Refused(_)), "{error}");
    assert_eq!(store.sessions_of(ANN).await.unwrap(), []);
    store.write_secrets(&[]).await.unwrap();
    let many = vec![SecretWrite::ClearSetupCode; crate::SECRET_WRITES_MAX + 1];
    assert!(matches!(store.write_secrets(&many).await.unwrap_err(), StoreError::Refused(_)));
}

pub(super) async fn with_append(store: Arc<dyn Store>) {
    for (commits, expected) in [(false, 0), (true, 1)] {
        let mut append = store.append().await.unwrap();
        let events = Writing::new(append.head()).command(1);
        let secrets =
            vec![session(1, ANN), SecretWrite::PutUserKey { user: ANN, key: UserKey::new([1; 32]) }];
        append.write(&Batch { events, secrets, ..Batch::default() }).await.unwrap();
        assert_eq!(store.sessions_of(ANN).await.unwrap(), [], "visible before the commit");
        if commits {
            append.commit().await.unwrap();
        } else {
            append.rollback().await.unwrap();
        }
        assert_eq!(store.sessions_of(ANN).await.unwrap().len(), expected);
        assert_eq!(store.user_key(ANN).await.unwrap().is_some(), commits);
    }
    let mut append = store.append().await.unwrap();
    let events = Writing::new(append.head()).command(1);
    let refused = Batch { events, secrets: vec![session(1, ANN)], ..Batch::default() };
    assert!(matches!(append.write(&refused).await.unwrap_err(), StoreError::Refused(_)));
    drop(append);
    assert_eq!(store.head().await.unwrap().offset.get(), 1, "the events went with the refused secret");
    let mut append = store.append().await.unwrap();
    let events = Writing::new(append.head()).command(1);
    let secrets = vec![SecretWrite::DestroyUserKey { user: ANN }];
    append.write(&Batch { events, secrets, ..Batch::default() }).await.unwrap();
    append.commit().await.unwrap();
    assert!(store.user_key(ANN).await.unwrap().is_none());
}

pub(super) async fn never_shown(store: Arc<dyn Store>) {
    let secrets = store.installation_secrets().await.unwrap();
    let writes = [
        SecretWrite::PutUserKey { user: ANN, key: UserKey::new([0xEE; 32]) },
        SecretWrite::PutPassword { user: ANN, hash: PasswordHash::new("$argon2id$canary".into()) },
        SecretWrite::PutSetupCode { hash: SecretHash::new([0xEE; 32]) },
        SecretWrite::PutCredential {
            hash: SecretHash::new([0xEE; 32]),
            row: row(1, ANN, CredentialKind::Token),
        },
    ];
    let shown = format!("{secrets:?} {secrets:#?} {writes:?} {writes:#?} {:?}", secrets.tag_key);
    for canary in ["canary", "238", "0xee", "eeee", "EEEE", "7, 7", "161", "178"] {
        assert!(!shown.contains(canary), "{canary} in {shown}");
    }
}
