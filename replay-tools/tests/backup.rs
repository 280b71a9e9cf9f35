//! A backup is one file that is whole or refused, holds no user's key, and is restored into an empty store all at once.
#![expect(clippy::unwrap_used, reason = "a test")]

use charter_events::{
    CredentialPasswordChanged, Event, GroupCreated, LogId, Offset, StoredEvent, Timestamp, UserErased, UserId,
};
use charter_replay_tools::backup::{
    BackupError, BackupFolder, Options, Restored, Taken, UserKeys, check, read_keys, restore, verify, write,
};
use charter_store::{
    Answer, Batch, CredentialKind, CredentialRow, IdempotencyKey, Key32, LogStore, MemoryStore, MoveStore,
    PasswordHash, SecretHash, SecretStore, SecretWrite, UserKey,
    chain::Verifier,
    conformance::{Writing, batch_of, meta, moment},
};
use charter_testkit::{History, ids};
use std::{io::Cursor, path::Path};
use uuid::Uuid;

/// When backups are taken and restored here.
fn now() -> Timestamp {
    moment(5_000)
}

fn ann() -> UserId {
    ids::user("ann")
}

fn bob() -> UserId {
    ids::user("bob")
}

fn password(user: UserId) -> Event {
    CredentialPasswordChanged { user, has_password: true }.into()
}

/// Appends events, each a command of its own, and writes beside them.
async fn append(store: &MemoryStore, events: Vec<Event>, secrets: Vec<SecretWrite>) {
    let mut append = store.append().await.unwrap();
    let mut writing = Writing::new(append.head());
    for event in events {
        let command = u128::from(append.head().offset.get()) + 1;
        append.write(&batch_of(writing.with(&meta(command), &[event]))).await.unwrap();
    }
    append.write(&Batch { secrets, ..Batch::default() }).await.unwrap();
    append.commit().await.unwrap();
}

fn credential(number: u8, kind: CredentialKind) -> SecretWrite {
    let row = CredentialRow {
        kind,
        id: Uuid::from_u128(u128::from(number)),
        user: ann(),
        created_at: moment(1),
        expires_at: None,
        began: Offset::ZERO,
        last_used: None,
    };
    SecretWrite::PutCredential { hash: SecretHash::new([number; 32]), row }
}

/// An installation of two people with keys and passwords, and with everything that must not come back.
async fn installation() -> MemoryStore {
    let store = MemoryStore::default();
    let history = History::new().user("ann").event(password(ann())).user("bob").event(password(bob()));
    let events: Vec<Event> =
        history.group("ops", ["ann", "bob"]).into_events().into_iter().map(|e| e.1).collect();
    let keys =
        SecretWrite::PutInstallationKeys { tag_key: Key32::new([7; 32]), cursor_key: Key32::new([8; 32]) };
    let secrets = vec![
        keys,
        SecretWrite::PutSigningKey { key: Key32::new([9; 32]) },
        SecretWrite::PutUserKey { user: ann(), key: UserKey::new([0xa1; 32]) },
        SecretWrite::PutUserKey { user: bob(), key: UserKey::new([0xb0; 32]) },
        SecretWrite::PutPassword { user: ann(), hash: PasswordHash::new("$argon2id$ann".to_owned()) },
        SecretWrite::PutPassword { user: bob(), hash: PasswordHash::new("$argon2id$bob".to_owned()) },
        credential(3, CredentialKind::Session),
        credential(4, CredentialKind::Token),
        SecretWrite::PutSetupCode { hash: SecretHash::new([5; 32]) },
    ];
    append(&store, events, secrets).await;
    let answer = Answer {
        key: IdempotencyKey { caller: "a".to_owned(), key: "k".to_owned() },
        request_hash: charter_events::Hash::new([6; 32]),
        command_id: charter_events::CommandId::from_u128(7),
        first: Offset::ZERO,
        last: Offset::ZERO,
        created: None,
        secret: true,
        at: moment(3),
    };
    let mut append = store.append().await.unwrap();
    append.write(&Batch { answers: vec![answer], ..Batch::default() }).await.unwrap();
    append.commit().await.unwrap();
    store
}

async fn backup(store: &MemoryStore) -> Vec<u8> {
    let mut out = Vec::new();
    write(store, now(), &mut out, &mut |_| true).await.unwrap();
    out
}

async fn keys_of(store: &MemoryStore) -> Option<UserKeys> {
    let mut out = Vec::new();
    charter_replay_tools::backup::write_keys(store, now(), &mut out).await.unwrap();
    Some(read_keys(&mut &out[..]).unwrap())
}

fn empty() -> MemoryStore {
    MemoryStore::new(LogId::from_u128(77))
}

async fn restored(store: &MemoryStore, file: &[u8], options: &Options) -> Result<Restored, BackupError> {
    let verified = verify(&mut &file[..], &mut |_| true)?;
    restore(store, (&mut Cursor::new(file), verified), options, now(), &mut |_| true).await
}

async fn events(store: &MemoryStore) -> Vec<StoredEvent> {
    store.read(Offset::ZERO, 10_000).await.unwrap()
}

async fn is_untouched(store: &MemoryStore) -> bool {
    store.head().await.unwrap() == charter_store::chain::empty(LogId::from_u128(77))
        && store.user_keys_after(None, 10).await.unwrap().is_empty()
        && store.passwords_after(None, 10).await.unwrap().is_empty()
        && store.installation_secrets().await.unwrap().tag_key.expose() != &[7; 32]
}

fn contains(haystack: &[u8], needle: &[u8]) -> bool {
    haystack.windows(needle.len()).any(|window| window == needle)
}

#[tokio::test]
async fn a_restored_log_is_the_one_that_was_backed_up_and_says_that_it_was_restored() {
    let store = installation().await;
    let file = backup(&store).await;
    let copy = empty();
    let options = Options { reason: Some("a fire".to_owned()), ..Options::default() };

    let done = restored(&copy, &file, &options).await.unwrap();

    let (before, mut after) = (events(&store).await, events(&copy).await);
    let record = after.pop().unwrap();
    assert_eq!(after, before);
    assert_eq!(copy.head().await.unwrap(), done.head);
    assert_eq!((done.contents.head, record.offset), (store.head().await.unwrap(), done.head.offset));
    assert_eq!(record.command.reason.as_deref(), Some("a fire"));
    let Event::BackupRestored(said) = record.decode().unwrap() else { panic!("{record:?}") };
    assert_eq!((said.head, said.hash), (done.contents.head.offset, done.contents.head.hash));
    assert_eq!(said.digest, done.contents.digest);
    let mut verifier = Verifier::from_start(store.head().await.unwrap().log_id);
    events(&copy).await.iter().for_each(|event| assert!(verifier.next(event).is_ok()));
}

#[tokio::test]
async fn sessions_tokens_setup_codes_and_answers_never_come_back_and_names_only_with_their_keys() {
    let store = installation().await;
    let file = backup(&store).await;
    let copy = empty();
    let cursor_key = copy.installation_secrets().await.unwrap().cursor_key;

    let done = restored(&copy, &file, &Options::default()).await.unwrap();

    assert_eq!((done.keys, done.passwords, done.sealed), (0, 0, 2));
    assert_eq!(done.sealed_users.len(), 2);
    assert!(copy.credentials_after(None, 10).await.unwrap().is_empty());
    assert!(copy.answers_after(None, 10).await.unwrap().is_empty());
    assert!(copy.user_keys_after(None, 10).await.unwrap().is_empty());
    assert!(copy.passwords_after(None, 10).await.unwrap().is_empty());
    let keys = copy.installation_secrets().await.unwrap();
    assert_eq!(keys.tag_key.expose(), &[7; 32], "names are tagged with it");
    assert_eq!(keys.signing_key.unwrap().expose(), &[9; 32]);
    assert_eq!(keys.cursor_key.expose(), cursor_key.expose(), "cursors of before are worth nothing");
    assert_eq!(keys.setup_code_hash, None);

    let named = empty();
    let done = restored(&named, &file, &Options { keys: keys_of(&store).await, ..Options::default() }).await;
    assert_eq!(done.map(|done| (done.keys, done.passwords, done.sealed)).unwrap(), (2, 0, 0));
    assert_eq!(named.user_key(ann()).await.unwrap().unwrap().expose(), &[0xa1; 32]);
    assert!(named.passwords_after(None, 10).await.unwrap().is_empty());
}

#[tokio::test]
async fn who_was_erased_after_the_backup_has_neither_name_nor_password_in_what_is_restored() {
    let store = installation().await;
    let file = backup(&store).await;
    let erased = vec![
        SecretWrite::DestroyUserKey { user: bob() },
        SecretWrite::RemovePassword { user: bob() },
        SecretWrite::PutUserKey { user: ids::user("cyd"), key: UserKey::new([0xcd; 32]) },
    ];
    append(&store, vec![UserErased { user: bob() }.into()], erased).await;
    let copy = empty();

    let options = Options { keys: keys_of(&store).await, keep_passwords: true, reason: None };
    let done = restored(&copy, &file, &options).await.unwrap();

    assert_eq!((done.keys, done.passwords, done.sealed), (1, 1, 1), "cyd is not in the restored log");
    assert_eq!(done.sealed_users, [bob()]);
    assert!(copy.user_key(bob()).await.unwrap().is_none());
    assert!(copy.password(bob()).await.unwrap().is_none());
    assert_eq!(copy.password(ann()).await.unwrap().unwrap().expose(), "$argon2id$ann");
}

#[tokio::test]
async fn a_backup_has_no_key_of_a_user_and_none_of_a_session_token_or_setup_code() {
    let file = backup(&installation().await).await;
    for byte in [0xa1_u8, 0xb0, 3, 4, 5, 8] {
        assert!(!contains(&file, format!("{byte:02x}").repeat(32).as_bytes()), "{byte:02x}");
        assert!(!contains(&file, &[byte; 32]), "{byte:02x}");
    }
    // What should be there is found this way.
    assert!(contains(&file, "07".repeat(32).as_bytes()) && contains(&file, b"$argon2id$ann"));
}

#[tokio::test]
async fn each_byte_that_is_changed_and_each_place_the_file_is_cut_at_is_noticed_and_nothing_is_restored() {
    let file = backup(&installation().await).await;
    assert!(verify(&mut &file[..], &mut |_| true).is_ok());
    for at in 0..file.len() {
        for bit in [0x01, 0x20, 0x80] {
            let mut altered = file.clone();
            *altered.get_mut(at).unwrap() ^= bit;
            assert!(check(&mut &altered[..], &mut |_| true).is_err(), "byte {at} ^ {bit:#x}");
        }
        assert!(check(&mut file.get(..at).unwrap(), &mut |_| true).is_err(), "cut at {at}");
    }
    let mut longer = file.clone();
    longer.push(b'\n');
    assert!(check(&mut &longer[..], &mut |_| true).is_err());
    for at in (0..file.len()).step_by(97) {
        let mut altered = file.clone();
        *altered.get_mut(at).unwrap() ^= 0x20;
        let store = empty();
        restored(&store, &altered, &Options::default()).await.unwrap_err();
        assert!(is_untouched(&store).await, "byte {at}");
    }
}

#[tokio::test]
async fn a_damaged_backup_names_its_line_and_no_secret() {
    let text = String::from_utf8(backup(&installation().await).await).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let count = lines.len() as u64;
    let key = "07".repeat(32);
    for (what, text, line) in [
        ("the end is missing", lines.split_last().unwrap().1.join("\n") + "\n", count),
        ("an event is missing", text.replacen(&format!("{}\n", lines.get(3).unwrap()), "", 1), 4),
        (
            "a password is missing",
            text.replacen(&format!("{}\n", lines.iter().rev().nth(1).unwrap()), "", 1),
            count - 1,
        ),
        ("a key is too short", text.replace(&key, key.get(2..).unwrap()), count - 3),
        ("another format", text.replace("charter-backup.v1", "charter-backup.v9"), 1),
        ("nothing", String::new(), 1),
    ] {
        match verify(&mut text.as_bytes(), &mut |_| true).unwrap_err() {
            BackupError::Line { line: found, why } => {
                assert_eq!(found, line, "{what}: {why}");
                assert!(!why.contains("0707") && !why.contains("argon2"), "{why}");
            }
            BackupError::Chain { line: found, fault } => assert_eq!(found, line, "{what}: {fault}"),
            other => panic!("{what}: {other}"),
        }
    }
}

#[tokio::test]
async fn a_backup_is_restored_into_an_empty_store_only_and_with_keys_of_its_own_log() {
    let store = installation().await;
    let file = backup(&store).await;
    let full = restored(&store, &file, &Options::default()).await.unwrap_err();
    assert!(matches!(full, BackupError::NotEmpty { .. }), "{full}");
    let own = empty();
    let key = SecretWrite::PutUserKey { user: ann(), key: UserKey::new([1; 32]) };
    own.write_secrets(&[key]).await.unwrap();
    let users = restored(&own, &file, &Options::default()).await.unwrap_err();
    assert!(matches!(users, BackupError::NotEmpty { .. }), "{users}");
    let other = Options { keys: keys_of(&empty()).await, ..Options::default() };
    let copy = empty();
    let keys = restored(&copy, &file, &other).await.unwrap_err();
    assert!(matches!(keys, BackupError::OtherKeys { .. }), "{keys}");
    assert!(is_untouched(&copy).await);
    let verified = || verify(&mut &file[..], &mut |_| true).unwrap();
    let (options, mut input) = (Options::default(), Cursor::new(&file));
    let stopped = restore(&copy, (&mut input, verified()), &options, now(), &mut |_| false).await;
    assert!(matches!(stopped.unwrap_err(), BackupError::Cancelled));
    assert!(is_untouched(&copy).await);
    append(&store, vec![password(bob())], vec![]).await;
    let mut later = Cursor::new(backup(&store).await);
    let swapped = restore(&copy, (&mut later, verified()), &options, now(), &mut |_| true).await;
    assert!(matches!(swapped.unwrap_err(), BackupError::Changed));
    assert!(is_untouched(&copy).await);
    restored(&copy, &file, &Options::default()).await.unwrap();
}

#[tokio::test]
async fn a_restore_that_is_given_up_midway_leaves_nothing_and_can_be_done_again() {
    let store = installation().await;
    for _ in 0..4_999 {
        append(&store, vec![password(ann())], vec![]).await;
    }
    let file = backup(&store).await;
    let copy = empty();
    let verified = || verify(&mut &file[..], &mut |_| true).unwrap();
    let (options, mut input, mut looks) = (Options::default(), Cursor::new(&file), 0);
    let mut second = |_| {
        looks += 1;
        looks < 2
    };
    let stopped = restore(&copy, (&mut input, verified()), &options, now(), &mut second).await;
    assert!(matches!(stopped.unwrap_err(), BackupError::Cancelled));
    assert_eq!(looks, 2, "the first thousands of events were handed to the store");
    assert!(is_untouched(&copy).await);
    restored(&copy, &file, &options).await.unwrap();
    assert_eq!(events(&copy).await.len(), events(&store).await.len() + 1);
}

async fn taken(folder: &BackupFolder, store: &MemoryStore) -> Result<Taken, BackupError> {
    folder.take(store, now(), &mut |_| true).await
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.retain(|name| !name.ends_with(".lock"));
    names.sort();
    names
}

#[tokio::test]
async fn a_folder_has_each_backup_by_its_offset_and_one_file_of_keys_which_the_next_replaces_whole() {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path().join("backups");
    let folder = BackupFolder::new(dir.clone(), None);
    let store = installation().await;
    let log = store.head().await.unwrap().log_id;

    let first = taken(&folder, &store).await.unwrap();
    assert_eq!((first.keys, first.bytes), (2, std::fs::metadata(&first.file).unwrap().len()));
    let gone = vec![SecretWrite::DestroyUserKey { user: bob() }];
    append(&store, vec![UserErased { user: bob() }.into()], gone).await;
    assert_eq!(folder.keys_missing(&store).await.unwrap(), [bob()]);
    let second = taken(&folder, &store).await.unwrap();

    let numbered = |taken: &Taken| {
        let hash = taken.head.hash.to_string();
        format!("charter-{log}-{:020}-{}.backup", taken.head.offset.get(), hash.get(..12).unwrap())
    };
    assert_eq!(names(&dir), [numbered(&first), numbered(&second), format!("charter-{log}.keys")]);
    assert!(folder.keys_missing(&store).await.unwrap().is_empty());
    let keys = std::fs::read(&second.keys_file).unwrap();
    assert!(!contains(&keys, "b0".repeat(32).as_bytes()) && contains(&keys, "a1".repeat(32).as_bytes()));
    #[cfg(unix)]
    for name in names(&dir) {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(std::fs::metadata(dir.join(&name)).unwrap().permissions().mode() & 0o777, 0o600, "{name}");
    }
}

#[tokio::test]
async fn a_key_is_taken_out_of_the_file_of_keys_without_a_backup_and_none_is_made_for_that() {
    let place = tempfile::tempdir().unwrap();
    let elsewhere = place.path().join("safe.keys");
    let folder = BackupFolder::new(place.path().join("backups"), Some(elsewhere.clone()));
    let store = installation().await;
    assert_eq!(folder.refresh_keys(&store, now()).await.unwrap(), None);
    assert!(!elsewhere.exists());
    taken(&folder, &store).await.unwrap();
    store.write_secrets(&[SecretWrite::DestroyUserKey { user: bob() }]).await.unwrap();
    assert_eq!(folder.refresh_keys(&store, now()).await.unwrap().unwrap().keys, 1);
    assert!(!contains(&std::fs::read(&elsewhere).unwrap(), "b0".repeat(32).as_bytes()));
    let log = store.head().await.unwrap().log_id;
    assert_eq!(folder.forgotten_keys_file(log), None);
    let usual = BackupFolder::new(place.path().join("backups"), None);
    taken(&usual, &store).await.unwrap();
    assert_eq!(usual.forgotten_keys_file(log), None);
    assert_eq!(folder.forgotten_keys_file(log), Some(usual.keys_file(log)), "it was named later");
    std::fs::write(&elsewhere, "{}").unwrap();
    let damaged = folder.keys_missing(&store).await.unwrap_err();
    assert!(damaged.to_string().contains("safe.keys` is damaged at line 1"), "{damaged}");
}

#[tokio::test]
async fn what_a_killed_process_left_half_written_is_gone_after_the_next_round_unless_somebody_writes_it() {
    let place = tempfile::tempdir().unwrap();
    let folder = BackupFolder::new(place.path().to_owned(), None);
    let store = installation().await;
    let log = store.head().await.unwrap().log_id;
    let left = [format!("charter-{log}.keys"), format!("charter-{log}.backup")]
        .map(|name| place.path().join(name + ".new"));
    let leave = || left.iter().for_each(|path| std::fs::write(path, "b0".repeat(32)).unwrap());
    leave();
    assert_eq!(folder.refresh_keys(&store, now()).await.unwrap(), None);
    assert!(names(place.path()).is_empty());

    taken(&folder, &store).await.unwrap();
    leave();
    let writes = std::fs::File::create(place.path().join(format!("charter-{log}.lock"))).unwrap();
    writes.lock().unwrap();
    folder.refresh_keys(&store, now()).await.unwrap();
    assert_eq!(left.each_ref().map(|path| path.exists()), [false, true]);
    drop(writes);
    folder.refresh_keys(&store, now()).await.unwrap();
    assert_eq!(left.each_ref().map(|path| path.exists()), [false, false]);
}

/// A backup restored elsewhere, with the keys that were beside it, as for a drill.
async fn drill(file: &[u8], keys: &Path) -> MemoryStore {
    let keys = read_keys(&mut std::fs::read(keys).unwrap().as_slice()).unwrap();
    let copy = empty();
    restored(&copy, file, &Options { keys: Some(keys), ..Options::default() }).await.unwrap();
    copy
}

async fn is_foreign(folder: &BackupFolder, store: &MemoryStore) -> bool {
    let before = std::fs::read(folder.keys_file(store.head().await.unwrap().log_id)).unwrap();
    let asked = folder.keys_missing(store).await;
    let refreshed = folder.refresh_keys(store, now()).await;
    let after = std::fs::read(folder.keys_file(store.head().await.unwrap().log_id)).unwrap();
    let foreign = |error: BackupError| matches!(error, BackupError::ForeignKeys { .. });
    before == after && asked.is_err_and(foreign) && refreshed.is_err_and(foreign)
}

#[tokio::test]
async fn a_restored_copy_neither_drops_the_keys_of_later_users_nor_brings_an_erased_one_back() {
    let place = tempfile::tempdir().unwrap();
    let folder = BackupFolder::new(place.path().to_owned(), None);
    let store = installation().await;
    let first = taken(&folder, &store).await.unwrap();
    let file = std::fs::read(&first.file).unwrap();
    let copy = drill(&file, &first.keys_file).await;
    // Meanwhile one person came, and one was erased.
    let later = vec![
        SecretWrite::PutUserKey { user: ids::user("cyd"), key: UserKey::new([0xcd; 32]) },
        SecretWrite::DestroyUserKey { user: bob() },
    ];
    append(&store, vec![UserErased { user: bob() }.into()], later).await;
    append(&store, vec![password(ann())], vec![]).await;
    folder.refresh_keys(&store, now()).await.unwrap();

    assert!(is_foreign(&folder, &copy).await, "the copy ends before the file");
    append(&copy, vec![password(ann()), password(ann()), password(ann())], vec![]).await;
    assert!(copy.head().await.unwrap().offset > store.head().await.unwrap().offset);
    assert!(is_foreign(&folder, &copy).await, "the copy has another history");
    assert!(!is_foreign(&folder, &store).await);
    // A file the copy has replaced before is its own: the other one does not touch it then.
    std::fs::remove_file(&first.keys_file).unwrap();
    taken(&folder, &copy).await.unwrap();
    assert!(is_foreign(&folder, &store).await);
}

#[tokio::test]
async fn a_backup_of_another_history_at_the_same_offset_overwrites_nothing() {
    let place = tempfile::tempdir().unwrap();
    let (ours, drills) = (place.path().join("users.keys"), place.path().join("drill.keys"));
    let folder = BackupFolder::new(place.path().to_owned(), Some(ours));
    let store = installation().await;
    let first = taken(&folder, &store).await.unwrap();
    let copy = drill(&std::fs::read(&first.file).unwrap(), &first.keys_file).await;
    append(&store, vec![password(ann())], vec![]).await;
    let second = taken(&folder, &store).await.unwrap();
    let before = std::fs::read(&second.file).unwrap();

    let other = BackupFolder::new(place.path().to_owned(), Some(drills));
    let third = taken(&other, &copy).await.unwrap();
    assert_eq!(third.head.offset, second.head.offset);
    assert_ne!(third.file, second.file);
    assert_eq!(std::fs::read(&second.file).unwrap(), before);
    // The same history twice: that is another file, too.
    let again = taken(&other, &copy).await.unwrap();
    assert_ne!(again.file, third.file);
    let backups = names(place.path()).into_iter().filter(|name| name.ends_with(".backup"));
    assert_eq!(backups.count(), 4);
}

#[tokio::test]
async fn a_backup_that_was_stopped_or_found_another_at_work_leaves_nothing_and_keeps_the_keys() {
    let place = tempfile::tempdir().unwrap();
    let folder = BackupFolder::new(place.path().to_owned(), None);
    let store = installation().await;
    let stopped = folder.take(&store, now(), &mut |_| false).await.unwrap_err();
    assert!(matches!(stopped, BackupError::Cancelled), "{stopped}");
    assert!(names(place.path()).is_empty());
    let log = store.head().await.unwrap().log_id;
    let other = std::fs::File::create(place.path().join(format!("charter-{log}.lock"))).unwrap();
    other.lock().unwrap();
    let busy = taken(&folder, &store).await.unwrap_err();
    assert!(matches!(busy, BackupError::Busy(_)), "{busy}");
    drop(other);
    taken(&folder, &store).await.unwrap();
    let before = std::fs::read(folder.keys_file(log)).unwrap();
    append(
        &store,
        vec![
            GroupCreated { group: ids::group("x"), slug: "x".parse().unwrap(), name: ids::shown("x") }.into(),
        ],
        vec![],
    )
    .await;
    folder.take(&store, now(), &mut |_| false).await.unwrap_err();
    assert_eq!(std::fs::read(folder.keys_file(log)).unwrap(), before);
}
