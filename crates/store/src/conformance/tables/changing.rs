//! Rows and checkpoints.

use super::{
    super::{model::Dice, samples::moment},
    samples::{
        NOTES, OTHER, SAMPLE, THINGS, all_rows, at, change, checkpoint, everything, fresh, note, putting,
        thing,
    },
};
use crate::{Checkpoint, Store, StoreError, TABLE_ROWS_MAX, Target};
use charter_events::{Hash, LogId};
use charter_tables::{Changes, Row, RowsDigest, Value};
use std::{collections::BTreeMap, sync::Arc};
use uuid::Uuid;

pub(super) async fn begins_empty(store: Arc<dyn Store>) {
    assert_eq!(store.generations().await.unwrap(), []);
    let target = fresh(&*store, &SAMPLE).await;
    assert_eq!(target.number, 1);
    let kept = store.generations().await.unwrap();
    let begun = Checkpoint { hash: Hash::ZERO, ..at(&*store, 0).await };
    assert_eq!((kept[0].projection.as_str(), kept[0].number, kept[0].version), ("sample", 1, 3));
    assert_eq!((kept[0].checkpoint, kept[0].created_at), (begun, moment(0)));
    assert_eq!((kept[0].active, kept[0].indexed, &kept[0].fault), (false, false, &None));
    assert_eq!(all_rows(&*store, target, THINGS).await, Vec::<Row>::new());
    assert_eq!(store.digest_rows(&[target]).await.unwrap(), [(begun, RowsDigest::default())]);
    assert_eq!(store.list_rows(&everything(&SAMPLE, THINGS)).await.unwrap(), None, "nothing is read yet");
}

/// Every kind of value at its ends, and text that could mean something to a database.
fn extremes() -> Vec<Row> {
    let texts = [
        "",
        " ",
        "a",
        "A",
        "ä",
        "a\u{308}",
        "馬 🐎",
        "' \" ; -- \\ \\x00 %_ \u{202e}\n\t\r",
        "\u{10ffff}",
        "NULL",
    ];
    let long = "x".repeat(100_000);
    let numbers = [i64::MIN, -1, 0, 1, i64::MAX];
    let ids = [Uuid::nil(), Uuid::from_u128(1), Uuid::max()];
    let mut rows: Vec<Row> = Vec::new();
    for (place, text) in texts.into_iter().chain([long.as_str()]).enumerate() {
        let number = numbers[place % numbers.len()];
        let optional = |value: Value| if place % 4 == 3 { Value::Null } else { value };
        rows.push(vec![
            Value::Uuid(ids[place % ids.len()]),
            Value::Int(number.wrapping_add(place as i64)),
            // A long text in an indexed column would be no fault of the store.
            Value::text(text.get(..100).unwrap_or(text)),
            optional(Value::text(text)),
            optional(Value::Int(number)),
            optional(Value::Bool(place % 2 == 0)),
            optional(Value::Bytes(text.as_bytes().iter().rev().copied().collect())),
            optional(Value::Uuid(ids[(place + 1) % ids.len()])),
        ]);
    }
    rows
}

pub(super) async fn every_value(store: Arc<dyn Store>) {
    let target = fresh(&*store, &SAMPLE).await;
    let mut rows = extremes();
    change(&*store, target, &putting(THINGS, &rows)).await;
    rows.sort();
    assert_eq!(all_rows(&*store, target, THINGS).await, rows);
    assert_eq!(all_rows(&*store, target, NOTES).await, Vec::<Row>::new(), "the other table");
    store.index_generation(target).await.unwrap();
    assert_eq!(all_rows(&*store, target, THINGS).await, rows, "with its indexes");
}

pub(super) async fn together(store: Arc<dyn Store>) {
    let target = fresh(&*store, &SAMPLE).await;
    let mut first = putting(THINGS, &[thing(1, 1, "one"), thing(1, 2, "two")]);
    first.then(putting(NOTES, &[note("a", 1), note("b", 2)]));
    change(&*store, target, &first).await;
    let mut second = putting(THINGS, &[thing(1, 2, "second"), thing(2, 1, "new")]);
    second.delete(THINGS, thing(1, 1, "")[..2].to_vec());
    second.delete(THINGS, thing(9, 9, "")[..2].to_vec());
    second.delete(NOTES, vec![Value::text("b")]);
    let (from, to) = (at(&*store, 1).await, at(&*store, 9).await);
    store.change_rows(target, from, to, &second).await.unwrap();
    assert_eq!(all_rows(&*store, target, THINGS).await, [thing(1, 2, "second"), thing(2, 1, "new")]);
    assert_eq!(all_rows(&*store, target, NOTES).await, [note("a", 1)]);
    assert_eq!(checkpoint(&*store, target).await, to);
    let further = at(&*store, 12).await;
    store.change_rows(target, to, further, &Changes::default()).await.unwrap();
    assert_eq!(checkpoint(&*store, target).await, further, "the checkpoint alone");
    assert_eq!(all_rows(&*store, target, NOTES).await, [note("a", 1)]);
}

pub(super) async fn compares_and_sets(store: Arc<dyn Store>) {
    let target = fresh(&*store, &SAMPLE).await;
    change(&*store, target, &putting(NOTES, &[note("a", 1)])).await;
    let (here, next) = (at(&*store, 1).await, at(&*store, 2).await);
    let other_log = LogId::from_u128(5);
    for (what, from, to) in [
        ("behind", at(&*store, 0).await, next),
        ("ahead", next, at(&*store, 3).await),
        ("another history", Checkpoint { hash: Hash::new([9; 32]), ..here }, next),
        ("another log", Checkpoint { log_id: other_log, ..here }, Checkpoint { log_id: other_log, ..next }),
    ] {
        let error = store.change_rows(target, from, to, &putting(NOTES, &[note("z", 1)])).await.unwrap_err();
        assert!(matches!(error, StoreError::CheckpointMoved { .. }), "{what}: {error}");
    }
    for (what, to) in
        [("back", at(&*store, 0).await), ("to another log", Checkpoint { log_id: other_log, ..next })]
    {
        let error = store.change_rows(target, here, to, &Changes::default()).await.unwrap_err();
        assert!(matches!(error, StoreError::Refused(_)), "{what}: {error}");
    }
    let gone = Target { number: 7, ..target };
    let error = store.change_rows(gone, here, next, &Changes::default()).await.unwrap_err();
    assert!(matches!(error, StoreError::CheckpointMoved { .. }), "gone: {error}");
    assert_eq!(all_rows(&*store, target, NOTES).await, [note("a", 1)]);
    assert_eq!(checkpoint(&*store, target).await, here);
}

pub(super) async fn one_worker_wins(store: Arc<dyn Store>) {
    let target = fresh(&*store, &SAMPLE).await;
    for round in 0..20 {
        let (from, to) = (checkpoint(&*store, target).await, at(&*store, round + 1).await);
        let racing: Vec<_> = (0..4_i64)
            .map(|worker| {
                let store = store.clone();
                let changes = putting(NOTES, &[note("won", worker), note(&format!("{worker}"), 1)]);
                tokio::spawn(async move { store.change_rows(target, from, to, &changes).await })
            })
            .collect();
        let mut won = Vec::new();
        for (worker, racer) in racing.into_iter().enumerate() {
            match racer.await.unwrap() {
                Ok(()) => won.push(worker as i64),
                Err(StoreError::CheckpointMoved { .. }) => {}
                Err(error) => panic!("round {round}: {error}"),
            }
        }
        assert_eq!(won.len(), 1, "round {round}: {won:?}");
        assert_eq!(
            all_rows(&*store, target, NOTES).await,
            [note(&format!("{}", won[0]), 1), note("won", won[0])]
        );
        let mut clean = Changes::default();
        clean.delete(NOTES, vec![Value::text(format!("{}", won[0]))]);
        store.change_rows(target, to, to, &clean).await.unwrap();
    }
}

pub(super) async fn refuses_rows(store: Arc<dyn Store>) {
    let target = fresh(&*store, &SAMPLE).await;
    change(&*store, target, &putting(NOTES, &[note("a", 1)])).await;
    let (here, next) = (at(&*store, 1).await, at(&*store, 2).await);
    let mut short = thing(1, 1, "a");
    short.pop();
    for (what, row) in [
        ("a NUL", vec![Value::Uuid(Uuid::nil()), Value::Int(1), Value::Text("a\0".into())]),
        ("empty where it may not be", vec![Value::Uuid(Uuid::nil()), Value::Int(1), Value::Null]),
        ("empty in the key", vec![Value::Uuid(Uuid::nil()), Value::Null, Value::text("a")]),
        ("another kind", vec![Value::Uuid(Uuid::nil()), Value::text("1"), Value::text("a")]),
        ("too few values", short),
    ] {
        let mut row = row;
        if what != "too few values" {
            row.resize(8, Value::Null);
        }
        let mut changes = putting(THINGS, &[thing(1, 1, "good"), thing(3, 1, "good")]);
        changes.then(putting(NOTES, &[note("b", 1)]));
        changes.put(THINGS, 2, row);
        let error = store.change_rows(target, here, next, &changes).await.unwrap_err();
        assert!(
            matches!(&error, StoreError::Row { table, .. } if table == "sample_things"),
            "{what}: {error}"
        );
    }
    let mut key = Changes::default();
    key.delete(NOTES, vec![Value::Int(1)]);
    let error = store.change_rows(target, here, next, &key).await.unwrap_err();
    assert!(matches!(&error, StoreError::Row { table, .. } if table == "sample_notes"), "a key: {error}");
    assert_eq!(all_rows(&*store, target, THINGS).await, Vec::<Row>::new(), "nothing of those calls is kept");
    assert_eq!(all_rows(&*store, target, NOTES).await, [note("a", 1)]);
    assert_eq!(checkpoint(&*store, target).await, here);
}

pub(super) async fn refuses_no_table(store: Arc<dyn Store>) {
    let target = fresh(&*store, &OTHER).await;
    let (here, next) = (checkpoint(&*store, target).await, at(&*store, 1).await);
    let mut changes = Changes::default();
    changes.put(1, 1, vec![Value::Int(1)]);
    let error = store.change_rows(target, here, next, &changes).await.unwrap_err();
    assert!(matches!(error, StoreError::Refused(_)), "a table that is not there: {error}");
    assert_eq!(checkpoint(&*store, target).await, here);
}

pub(super) async fn large(store: Arc<dyn Store>) {
    const ROWS: usize = 70_000;
    let target = fresh(&*store, &SAMPLE).await;
    let rows: Vec<_> = (0..ROWS as i64).map(|number| note(&format!("{number:05}"), number)).collect();
    change(&*store, target, &putting(NOTES, &rows)).await;
    let mut digest = RowsDigest::default();
    rows.iter().for_each(|row| digest.add("sample_notes", row));
    assert_eq!(store.digest_rows(&[target]).await.unwrap()[0].1, digest);
    let page = store.scan_rows(target, NOTES, None, usize::MAX).await.unwrap();
    assert_eq!(page, rows[..TABLE_ROWS_MAX], "a page has its limit");
    let mut changes = Changes::default();
    for row in &rows[1..] {
        changes.delete(NOTES, row[..1].to_vec());
    }
    change(&*store, target, &changes).await;
    assert_eq!(all_rows(&*store, target, NOTES).await, [note("00000", 0)]);
}

pub(super) async fn random_changes(store: Arc<dyn Store>) {
    let mut dice = Dice(7);
    let target = fresh(&*store, &SAMPLE).await;
    let mut model: [BTreeMap<Row, Row>; 2] = Default::default();
    for round in 0..60 {
        let mut changes = Changes::default();
        for _ in 0..dice.roll(40) {
            let table = dice.size(2);
            let (owner, number) = (u128::from(dice.roll(3)), dice.roll(10) as i64);
            let row = match table {
                THINGS => thing(owner, number, &format!("label {}", dice.roll(100))),
                _ => note(&format!("{number}"), dice.roll(100) as i64),
            };
            let key = row[..SAMPLE.tables[table].key].to_vec();
            if dice.roll(3) == 0 {
                changes.delete(table, key.clone());
                model[table].remove(&key);
            } else {
                changes.put(table, key.len(), row.clone());
                model[table].insert(key, row);
            }
        }
        change(&*store, target, &changes).await;
        let mut digest = RowsDigest::default();
        for table in [THINGS, NOTES] {
            let rows: Vec<_> = model[table].values().cloned().collect();
            assert_eq!(all_rows(&*store, target, table).await, rows, "round {round}");
            rows.iter().for_each(|row| digest.add(SAMPLE.tables[table].name, row));
        }
        assert_eq!(store.digest_rows(&[target]).await.unwrap()[0].1, digest, "round {round}");
    }
}
