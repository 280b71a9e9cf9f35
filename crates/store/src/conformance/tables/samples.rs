//! Tables to try a store with, and what is done to them again and again.

use super::super::samples::moment;
use crate::{Checkpoint, Query, Store, Target};
use charter_events::{Hash, Offset};
use charter_tables::{Changes, Column, Kind, Row, Spec, TableSpec, Value};
use uuid::Uuid;

/// The place of `sample_things`.
pub(super) const THINGS: usize = 0;
/// The place of `sample_notes`.
pub(super) const NOTES: usize = 1;

const TABLES: &[TableSpec] = &[
    TableSpec {
        name: "sample_things",
        about: "Every kind of column; a key of two.",
        columns: &[
            Column::new("owner", Kind::Uuid, "The first half of the key."),
            Column::new("number", Kind::Int, "The second half."),
            Column::new("label", Kind::Text, "Text that is always there."),
            Column::maybe("note", Kind::Text, "Text that may be missing."),
            Column::maybe("weight", Kind::Int, "A number that may be missing."),
            Column::maybe("good", Kind::Bool, "A truth that may be missing."),
            Column::maybe("raw", Kind::Bytes, "Bytes that may be missing."),
            Column::maybe("parent", Kind::Uuid, "An id that may be missing."),
        ],
        key: 2,
        indexes: &[&["label"], &["weight", "number"]],
    },
    TableSpec {
        name: "sample_notes",
        about: "A key of text.",
        columns: &[
            Column::new("word", Kind::Text, "The key."),
            Column::new("times", Kind::Int, "How often."),
        ],
        key: 1,
        indexes: &[],
    },
];

/// Two tables.
pub(super) static SAMPLE: Spec =
    Spec { name: "sample", about: "For trying a store.", version: 3, tables: TABLES };

/// The same in another version.
pub(super) static SAMPLE_NEXT: Spec =
    Spec { name: "sample", about: "For trying a store.", version: 4, tables: TABLES };

/// Another projection.
pub(super) static OTHER: Spec = Spec {
    name: "other",
    about: "For trying a store.",
    version: 1,
    tables: &[TableSpec {
        name: "other_things",
        about: "One column.",
        columns: &[Column::new("number", Kind::Int, "The key.")],
        key: 1,
        indexes: &[],
    }],
};

/// An empty generation.
pub(super) async fn fresh(store: &dyn Store, spec: &'static Spec) -> Target {
    let number = store.create_generation(spec, moment(0)).await.unwrap();
    Target { spec, number }
}

/// A checkpoint at an offset of the store's log.
pub(super) async fn at(store: &dyn Store, offset: u64) -> Checkpoint {
    let log_id = store.head().await.unwrap().log_id;
    let mut hash = [0; 32];
    hash[24..].copy_from_slice(&offset.to_be_bytes());
    Checkpoint { log_id, offset: Offset::new(offset).unwrap(), hash: Hash::new(hash) }
}

/// How far a generation has come.
pub(super) async fn checkpoint(store: &dyn Store, target: Target) -> Checkpoint {
    store.digest_rows(&[target]).await.unwrap()[0].0
}

/// Makes changes as if of the next event.
pub(super) async fn change(store: &dyn Store, target: Target, changes: &Changes) {
    let from = checkpoint(store, target).await;
    let to = at(store, from.offset.get() + 1).await;
    store.change_rows(target, from, to, changes).await.unwrap();
}

/// Every row of a table, a few at a time.
pub(super) async fn all_rows(store: &dyn Store, target: Target, table: usize) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    loop {
        let key = target.spec.tables[table].key;
        let after: Option<Row> = rows.last().map(|row| row[..key].to_vec());
        let page = store.scan_rows(target, table, after.as_ref(), 777).await.unwrap();
        if page.is_empty() {
            return rows;
        }
        rows.extend(page);
    }
}

/// A row of `sample_things` of which only the key and the label say anything.
pub(super) fn thing(owner: u128, number: i64, label: &str) -> Row {
    let mut row = vec![Value::Uuid(Uuid::from_u128(owner)), Value::Int(number), Value::text(label)];
    row.resize(8, Value::Null);
    row
}

/// A row of `sample_notes`.
pub(super) fn note(word: &str, times: i64) -> Row {
    vec![Value::text(word), Value::Int(times)]
}

/// Changes that put these rows.
pub(super) fn putting(table: usize, rows: &[Row]) -> Changes {
    let mut changes = Changes::default();
    rows.iter().for_each(|row| changes.put(table, SAMPLE.tables[table].key, row.clone()));
    changes
}

/// A query for all rows of a table.
pub(super) fn everything(spec: &'static Spec, table: usize) -> Query {
    Query { spec, table, filters: Vec::new(), order_by: None, descending: false, after: None, limit: 1_000 }
}
