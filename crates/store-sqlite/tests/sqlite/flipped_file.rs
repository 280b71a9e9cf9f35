//! A bit that rots in the file, beneath the database: the offset whose row it is in is told.

use crate::common::{raw, reader, run, scan, server};
use charter_events::{CommandId, StoredEvent};
use charter_store::{
    LogStore,
    conformance::{Writing, batch_of, group_renamed, meta},
};
use sqlx::Connection;
use std::{fs, path::Path};

const EVENTS: usize = 1_000;
/// In each so-many-th event one byte is flipped; in some of them each.
const SAMPLED_EVERY: usize = 20;
const WHOLE: [usize; 1] = [499];

async fn write_log(dir: &Path) -> Vec<StoredEvent> {
    let store = server(dir).await;
    let mut append = store.append().await.unwrap();
    let mut writing = Writing::new(append.head());
    let mut events = Vec::new();
    for number in 0..EVENTS {
        let mut meta = meta(number as u128 + 1);
        meta.command_id = CommandId::from_u128((number as u128 + 1) << 64 | 0xC0DE);
        meta.reason = Some(format!("reason {number}"));
        events.extend(writing.with(&meta, &[group_renamed(1, &format!("Group {number}"))]));
    }
    append.write(&batch_of(events.clone())).await.unwrap();
    append.commit().await.unwrap();
    store.close().await;
    // All of it stands in the file itself then, and nothing beside it.
    let mut raw = raw(dir).await;
    run(&mut raw, "PRAGMA wal_checkpoint(TRUNCATE)").await;
    raw.close().await.unwrap();
    events
}

/// Where a row's members stand in the file, from its ids to its hash.
fn row_of(file: &[u8], event: &StoredEvent) -> std::ops::Range<usize> {
    let ids =
        [event.event_id.as_uuid().into_bytes(), event.command.command_id.as_uuid().into_bytes()].concat();
    let hashes = [*event.prev_hash.as_bytes(), *event.hash.as_bytes()].concat();
    let found = |part: &[u8]| {
        let places: Vec<_> =
            (0..=file.len() - part.len()).filter(|at| file[*at..].starts_with(part)).collect();
        assert_eq!(places.len(), 1, "offset {}: {places:?}", event.offset);
        places[0]
    };
    found(&ids)..found(&hashes) + hashes.len()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flipped_byte_in_the_file_is_told_at_the_offset_of_its_row() {
    let dir = tempfile::tempdir().unwrap();
    let events = write_log(dir.path()).await;
    let path = dir.path().join("charter.db");
    let sound = fs::read(&path).unwrap();
    let mut flipped = 0;
    for (number, event) in
        events.iter().enumerate().step_by(SAMPLED_EVERY).chain(WHOLE.map(|n| (n, &events[n])))
    {
        let row = row_of(&sound, event);
        let all = WHOLE.contains(&number);
        let one = row.start + number * 37 % row.len();
        for at in if all { row } else { one..one + 1 } {
            let mut file = sound.clone();
            file[at] ^= 1 << (at % 8);
            fs::write(&path, &file).unwrap();
            let store = reader(dir.path()).await;
            let error = scan(&*store).await.unwrap_err();
            store.close().await;
            let fault = error.fault().unwrap_or_else(|| panic!("byte {at}: {error}"));
            assert_eq!(fault.offset, event.offset, "byte {at}: {fault}");
            flipped += 1;
        }
    }
    assert!(flipped > 250, "only {flipped} bytes were flipped");
    fs::write(&path, &sound).unwrap();
    scan(&*reader(dir.path()).await).await.unwrap();
}
