//! What stands beside a log moves with it, all or nothing, and never into somebody else's store.
#![expect(clippy::unwrap_used, reason = "a test")]

use charter_events::{LogId, Offset, Timestamp, UserId};
use charter_replay_tools::{
    ToolError, export,
    import::{check, import},
    secrets::{self, Imported},
};
use charter_store::{
    Answer, Batch, CredentialKind, CredentialRow, IdempotencyKey, Key32, LogStore, MemoryStore, MoveStore,
    PasswordHash, SecretHash, SecretStore, SecretWrite, UserKey,
    conformance::{append_one, moment},
};
use uuid::Uuid;

const ANN: UserId = UserId::from_u128(1);

fn at(second: i64) -> Timestamp {
    moment(second)
}

fn credential(number: u8, kind: CredentialKind) -> SecretWrite {
    let row = CredentialRow {
        kind,
        id: Uuid::from_u128(u128::from(number)),
        user: ANN,
        created_at: at(1),
        expires_at: (kind == CredentialKind::Session).then(|| at(9)),
        began: Offset::ZERO,
        last_used: (kind == CredentialKind::Token).then(|| at(2)),
    };
    SecretWrite::PutCredential { hash: SecretHash::new([number; 32]), row }
}

/// A log of two events, with a row of each kind beside it.
async fn full() -> MemoryStore {
    let store = MemoryStore::default();
    append_one(&store, 1).await;
    append_one(&store, 2).await;
    let keys =
        SecretWrite::PutInstallationKeys { tag_key: Key32::new([7; 32]), cursor_key: Key32::new([8; 32]) };
    let writes = [
        keys,
        SecretWrite::PutUserKey { user: ANN, key: UserKey::new([1; 32]) },
        SecretWrite::PutPassword { user: ANN, hash: PasswordHash::new("$argon2id$\"x\"".to_owned()) },
        credential(3, CredentialKind::Session),
        credential(4, CredentialKind::Token),
        SecretWrite::PutSetupCode { hash: SecretHash::new([5; 32]) },
    ];
    let answer = Answer {
        key: IdempotencyKey { caller: "a \n".to_owned(), key: "k 馬".to_owned() },
        request_hash: charter_events::Hash::new([6; 32]),
        command_id: charter_events::CommandId::from_u128(7),
        first: Offset::ZERO,
        last: Offset::ZERO,
        created: Some(Uuid::from_u128(8)),
        secret: true,
        at: at(3),
    };
    let mut append = store.append().await.unwrap();
    append
        .write(&Batch { secrets: writes.to_vec(), answers: vec![answer], ..Batch::default() })
        .await
        .unwrap();
    append.commit().await.unwrap();
    store
}

async fn exported(store: &MemoryStore) -> (Vec<u8>, String) {
    let (mut log, mut out) = (Vec::new(), Vec::new());
    let head = export::export(store, &mut log, |_| ()).await.unwrap();
    assert_eq!(secrets::export(store, &head, &mut out).await.unwrap(), 5);
    (log, String::from_utf8(out).unwrap())
}

async fn moved(log: &[u8]) -> MemoryStore {
    let store = MemoryStore::new(LogId::from_u128(77));
    let checked = check(&mut &log[..], |_| ()).unwrap();
    import(&store, (&mut std::io::Cursor::new(log), checked), |_| ()).await.unwrap();
    store
}

async fn take(store: &MemoryStore, text: &str) -> Result<Imported, ToolError> {
    secrets::import(store, &mut text.as_bytes()).await
}

#[tokio::test]
async fn everything_beside_a_log_is_there_after_the_move_and_once_only() {
    let store = full().await;
    let (log, text) = exported(&store).await;
    let other = moved(&log).await;
    assert_eq!(take(&other, &text).await.unwrap(), Imported::Rows(5));
    assert_eq!(exported(&other).await, (log, text.clone()));
    assert_eq!(take(&other, &text).await.unwrap(), Imported::Before);
    let keys = other.installation_secrets().await.unwrap();
    assert_eq!((keys.tag_key.expose(), keys.cursor_key.expose()), (&[7; 32], &[8; 32]));
    assert_eq!(keys.setup_code_hash, Some(SecretHash::new([5; 32])));
    assert_eq!(other.password(ANN).await.unwrap().unwrap().expose(), "$argon2id$\"x\"");
}

#[tokio::test]
async fn a_file_that_was_cut_or_changed_leaves_nothing_and_names_its_line_without_a_secret() {
    let (log, text) = exported(&full().await).await;
    let lines: Vec<&str> = text.lines().collect();
    let key = "01".repeat(32);
    for (what, text, line) in [
        ("the end is missing", lines[..lines.len() - 1].join("\n") + "\n", lines.len() as u64),
        ("a row is missing", text.replace(&format!("{}\n", lines[2]), ""), lines.len() as u64 - 1),
        ("a key is too short", text.replace(&key, &key[2..]), 2),
        ("an unknown member", text.replace("\"user_key\":{", "\"user_key\":{\"more\":1,"), 2),
        ("another format", text.replace("charter-secrets.v1", "charter-secrets.v9"), 1),
        ("nothing", String::new(), 1),
    ] {
        let store = moved(&log).await;
        let checked = secrets::check(&mut text.as_bytes()).map(|_| ());
        for refused in [checked.unwrap_err(), take(&store, &text).await.unwrap_err()] {
            match refused {
                ToolError::Line { line: found, why } => {
                    assert_eq!(found, line, "{what}: {why}");
                    assert!(!why.contains("0101"), "{why}");
                }
                other => unreachable!("{what}: {other}"),
            }
        }
        assert!(store.user_keys_after(None, 10).await.unwrap().is_empty(), "{what}");
    }
}

#[tokio::test]
async fn secrets_go_to_their_own_log_only_and_never_over_users_that_are_there() {
    let store = full().await;
    let (log, text) = exported(&store).await;
    let other = MemoryStore::new(LogId::from_u128(77));
    assert!(matches!(take(&other, &text).await.unwrap_err(), ToolError::OtherLog(_)), "before its log");
    let other = moved(&log).await;
    let own = SecretWrite::PutUserKey { user: UserId::from_u128(2), key: UserKey::new([9; 32]) };
    other.write_secrets(&[own]).await.unwrap();
    assert!(matches!(take(&other, &text).await.unwrap_err(), ToolError::OtherLog(_)), "users of its own");
    let head = store.head().await.unwrap();
    append_one(&store, 3).await;
    let error = secrets::export(&store, &head, &mut Vec::new()).await.unwrap_err();
    assert!(matches!(error, ToolError::OtherLog(_)), "the log grew");
}
