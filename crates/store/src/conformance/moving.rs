//! Carrying what stands beside the log to another store.

use super::samples::moment;
use crate::{
    Answer, Batch, CredentialKind, CredentialRow, IdempotencyKey, Key32, PasswordHash, SecretHash,
    SecretWrite, Store, StoreError, UserKey,
};
use charter_events::{CommandId, Hash, Offset, UserId};
use std::sync::Arc;
use uuid::Uuid;

const ROWS: u8 = 7;

fn user(number: u8) -> UserId {
    UserId::from_u128(u128::from(number) << 100)
}

fn credential(number: u8) -> (SecretHash, CredentialRow) {
    let session = number.is_multiple_of(2);
    let row = CredentialRow {
        kind: CredentialKind::ALL[usize::from(number) % CredentialKind::ALL.len()],
        id: Uuid::from_u128(u128::from(number)),
        user: user(number),
        created_at: moment(i64::from(number)),
        expires_at: session.then(|| moment(100)),
        began: Offset::ZERO,
        last_used: (!session).then(|| moment(50)),
    };
    (SecretHash::new([number.wrapping_mul(41); 32]), row)
}

fn answer(number: u8) -> Answer {
    Answer {
        key: IdempotencyKey { caller: format!("caller {}", number / 2), key: format!("key {number}") },
        request_hash: Hash::new([number; 32]),
        command_id: CommandId::from_u128(u128::from(number)),
        first: Offset::ZERO,
        last: Offset::ZERO,
        created: number.is_multiple_of(3).then(|| Uuid::from_u128(9)),
        secret: number.is_multiple_of(2),
        at: moment(i64::from(number)),
    }
}

fn all() -> Batch {
    let secrets = (1..=ROWS).flat_map(|n| {
        let (hash, row) = credential(n);
        let phc = PasswordHash::new(format!("$argon2id${n}"));
        [
            SecretWrite::PutUserKey { user: user(n), key: UserKey::new([n; 32]) },
            SecretWrite::PutPassword { user: user(n), hash: phc },
            SecretWrite::PutCredential { hash, row },
        ]
    });
    Batch { secrets: secrets.collect(), answers: (1..=ROWS).map(answer).collect(), ..Batch::default() }
}

/// Every row of a kind, three at a time.
macro_rules! paged {
    ($store:ident, $page:ident, $row:ty, $after:expr) => {{
        let mut rows: Vec<$row> = Vec::new();
        loop {
            let page = $store.$page(rows.last().map($after), 3).await.unwrap();
            assert!(page.len() <= 3);
            if page.is_empty() {
                break rows;
            }
            rows.extend(page);
        }
    }};
}

pub(super) async fn in_pages(store: Arc<dyn Store>) {
    let mut append = store.append().await.unwrap();
    append.write(&all()).await.unwrap();
    append.commit().await.unwrap();
    let mut keys: Vec<_> = paged!(store, user_keys_after, (UserId, UserKey), |row| row.0)
        .iter()
        .map(|(user, key)| (*user, *key.expose()))
        .collect();
    keys.sort();
    assert_eq!(keys, (1..=ROWS).map(|n| (user(n), [n; 32])).collect::<Vec<_>>());
    let mut passwords: Vec<_> = paged!(store, passwords_after, (UserId, PasswordHash), |row| row.0)
        .iter()
        .map(|(user, hash)| (*user, hash.expose().to_owned()))
        .collect();
    passwords.sort();
    assert_eq!(passwords, (1..=ROWS).map(|n| (user(n), format!("$argon2id${n}"))).collect::<Vec<_>>());
    let mut credentials = paged!(store, credentials_after, (SecretHash, CredentialRow), |row| &row.0);
    credentials.sort_by_key(|(_, row)| row.id);
    assert_eq!(credentials, (1..=ROWS).map(credential).collect::<Vec<_>>());
    let mut answers = paged!(store, answers_after, Answer, |row| &row.key);
    answers.sort_by_key(|answer| answer.at);
    assert_eq!(answers, (1..=ROWS).map(answer).collect::<Vec<_>>());
}

pub(super) async fn keys_replaced(store: Arc<dyn Store>) {
    let put = |byte| SecretWrite::PutInstallationKeys {
        tag_key: Key32::new([byte; 32]),
        cursor_key: Key32::new([byte + 1; 32]),
    };
    let mut append = store.append().await.unwrap();
    let sign = |byte| SecretWrite::PutSigningKey { key: Key32::new([byte; 32]) };
    append.write(&Batch { secrets: vec![put(3), sign(7)], ..all() }).await.unwrap();
    append.commit().await.unwrap();
    let kept = store.installation_secrets().await.unwrap();
    assert_eq!((kept.tag_key.expose(), kept.cursor_key.expose()), (&[3; 32], &[4; 32]));
    assert_eq!(kept.signing_key.unwrap().expose(), &[7; 32]);
    // Names are tagged with the key as soon as there are users.
    let one = SecretWrite::PutUserKey { user: user(1), key: UserKey::new([1; 32]) };
    store.write_secrets(&[one]).await.unwrap();
    let error = store.write_secrets(&[put(5)]).await.unwrap_err();
    assert!(matches!(error, StoreError::Refused(_)), "{error}");
    assert_eq!(store.installation_secrets().await.unwrap().tag_key.expose(), &[3; 32]);
    let error = store.write_secrets(&[sign(9)]).await.unwrap_err();
    assert!(matches!(error, StoreError::Refused(_)), "{error}");
    assert_eq!(store.installation_secrets().await.unwrap().signing_key.unwrap().expose(), &[7; 32]);
}
