//! Pages of rows: filters, order, places.

use super::{
    super::model::Dice,
    samples::{NOTES, SAMPLE, THINGS, change, everything, fresh, note, putting, thing},
};
use crate::{Filter, Query, Store, StoreError, TABLE_ROWS_MAX};
use charter_tables::{Row, Value};
use std::{cmp::Ordering, sync::Arc};
use uuid::Uuid;

async fn with_rows(store: &dyn Store, table: usize, rows: &[Row]) {
    let target = fresh(store, &SAMPLE).await;
    change(store, target, &putting(table, rows)).await;
    store.index_generation(target).await.unwrap();
    store.activate_generation(target, None).await.unwrap();
}

async fn list(store: &dyn Store, query: &Query) -> Vec<Row> {
    store.list_rows(query).await.unwrap().unwrap().rows
}

fn that(table: usize, filters: Vec<Filter>) -> Query {
    Query { filters, ..everything(&SAMPLE, table) }
}

/// A word of `sample_notes` each.
async fn words(store: &dyn Store, filter: Filter) -> Vec<String> {
    let rows = list(store, &that(NOTES, vec![filter])).await;
    let word = |row: &Row| match &row[0] {
        Value::Text(word) => word.clone(),
        other => panic!("{other:?}"),
    };
    rows.iter().map(word).collect()
}

pub(super) async fn search_means_what_it_says(store: Arc<dyn Store>) {
    let all = ["100%", "1000", "Snow", "a_b", "aXb", "a\\b", "it's", "snow", "sn\u{f8}w", "[a]", "*", "馬"];
    let rows: Vec<_> = all.iter().map(|word| note(word, 1)).collect();
    with_rows(&*store, NOTES, &rows).await;
    for (wanted, found) in [
        ("100%", vec!["100%"]),
        ("%", vec!["100%"]),
        ("a_b", vec!["a_b"]),
        ("_", vec!["a_b"]),
        ("\\", vec!["a\\b"]),
        ("'", vec!["it's"]),
        ("now", vec!["Snow", "snow"]),
        ("snow", vec!["snow"]),
        ("[a]", vec!["[a]"]),
        ("*", vec!["*"]),
        ("馬", vec!["馬"]),
        ("ø", vec!["sn\u{f8}w"]),
        ("nowhere", vec![]),
        ("a\0", vec![]),
    ] {
        let listed = words(&*store, Filter::Contains(vec!["word"], wanted.into())).await;
        assert_eq!(listed, found, "{wanted:?}");
    }
    let mut sorted = all.map(str::to_owned);
    sorted.sort();
    assert_eq!(words(&*store, Filter::Contains(vec!["word"], String::new())).await, sorted, "every text");
}

pub(super) async fn one_of(store: Arc<dyn Store>) {
    let rows: Vec<_> = (0..100).map(|number| thing(number, 1, "a")).collect();
    with_rows(&*store, THINGS, &rows).await;
    let ids = |numbers: &[u128]| numbers.iter().copied().map(Uuid::from_u128).collect::<Vec<_>>();
    let named = |ids: Vec<Uuid>| that(THINGS, vec![Filter::OneOf("owner", ids)]);
    assert_eq!(list(&*store, &named(ids(&[7, 3, 3, 200]))).await, [thing(3, 1, "a"), thing(7, 1, "a")]);
    assert_eq!(list(&*store, &named(Vec::new())).await, Vec::<Row>::new(), "nobody is named");
    let many: Vec<_> = (50..200_000).map(Uuid::from_u128).rev().collect();
    assert_eq!(list(&*store, &named(many)).await, rows[50..], "very many");
    let parent = that(THINGS, vec![Filter::OneOf("parent", ids(&[0]))]);
    assert_eq!(list(&*store, &parent).await, Vec::<Row>::new(), "an empty one is none of them");
}

pub(super) async fn refuses_strangers(store: Arc<dyn Store>) {
    with_rows(&*store, THINGS, &[thing(1, 1, "a")]).await;
    let filters = [
        Filter::Is("nothing", Value::Null),
        Filter::Is("label; DROP TABLE events", Value::Null),
        Filter::Is("label", Value::Int(1)),
        Filter::AtLeast("weight", Value::Null),
        Filter::Below("weight", Value::text("1")),
        Filter::Contains(vec!["label", "weight"], "a".into()),
        Filter::Contains(Vec::new(), "a".into()),
        Filter::OneOf("label", Vec::new()),
    ];
    let all = everything(&SAMPLE, THINGS);
    let mut queries: Vec<_> = filters.map(|filter| that(THINGS, vec![filter])).into();
    queries.push(Query { table: 2, ..all.clone() });
    queries.push(Query { order_by: Some("nothing"), ..all.clone() });
    queries.push(Query { after: Some(vec![Value::Int(1)]), ..all.clone() });
    queries.push(Query {
        after: Some(thing(1, 1, "a")[..2].to_vec()),
        order_by: Some("label"),
        ..all.clone()
    });
    queries.push(Query { after: Some(Vec::new()), order_by: Some("label"), ..all });
    for query in queries {
        let error = store.list_rows(&query).await.unwrap_err();
        assert!(matches!(error, StoreError::Refused(_)), "{query:?}: {error}");
    }
}

pub(super) async fn limits(store: Arc<dyn Store>) {
    let rows: Vec<_> =
        (0..TABLE_ROWS_MAX as i64 + 1).map(|number| note(&format!("{number:06}"), number)).collect();
    with_rows(&*store, NOTES, &rows).await;
    for (limit, count) in [(0, 0), (1, 1), (TABLE_ROWS_MAX, TABLE_ROWS_MAX), (usize::MAX, TABLE_ROWS_MAX)] {
        let listed = list(&*store, &Query { limit, ..everything(&SAMPLE, NOTES) }).await;
        assert_eq!(listed, rows[..count], "limit {limit}");
    }
}

const COLUMNS: [&str; 8] = ["owner", "number", "label", "note", "weight", "good", "raw", "parent"];

fn place(column: &str) -> usize {
    COLUMNS.iter().position(|known| *known == column).unwrap()
}

/// A few values, so that many rows share one; the optional ones are often empty.
fn value(dice: &mut Dice, column: &str) -> Value {
    const TEXTS: [&str; 6] = ["", "a", "B", "aa", "ä", "馬"];
    if place(column) > 2 && dice.roll(3) == 0 {
        return Value::Null;
    }
    match column {
        "owner" | "parent" => Value::Uuid(Uuid::from_u128(u128::from(dice.roll(4)) << 120 | 1)),
        "number" => Value::Int(dice.roll(30) as i64 - 15),
        "weight" => Value::Int(dice.roll(5) as i64 - 2),
        "good" => Value::Bool(dice.roll(2) == 0),
        "raw" => Value::Bytes(vec![dice.roll(3) as u8 * 100; dice.size(3)]),
        _ => Value::text(TEXTS[dice.size(TEXTS.len() as u64)]),
    }
}

fn filter(dice: &mut Dice) -> Filter {
    let column = COLUMNS[dice.size(8)];
    let wanted = value(dice, column);
    match dice.roll(5) {
        0 => Filter::Contains(vec!["label", "note"], ["a", "B", ""][dice.size(3)].into()),
        1 => Filter::OneOf(
            "parent",
            (0..dice.roll(3)).map(|n| Uuid::from_u128(u128::from(n) << 120 | 1)).collect(),
        ),
        2 if wanted != Value::Null => Filter::AtLeast(column, wanted),
        3 if wanted != Value::Null => Filter::Below(column, wanted),
        _ => Filter::Is(column, wanted),
    }
}

fn holds(filter: &Filter, row: &Row) -> bool {
    match filter {
        Filter::Is(column, value) => row[place(column)] == *value,
        Filter::AtLeast(column, value) => row[place(column)] != Value::Null && row[place(column)] >= *value,
        Filter::Below(column, value) => row[place(column)] != Value::Null && row[place(column)] < *value,
        Filter::Contains(columns, text) => columns.iter().any(|column| match &row[place(column)] {
            Value::Text(found) => found.contains(text),
            _ => false,
        }),
        Filter::OneOf(column, ids) => ids.iter().any(|id| row[place(column)] == Value::Uuid(*id)),
    }
}

/// Random questions, walked page by page, beside filtering and sorting a list.
pub(super) async fn agrees_with_a_list(store: Arc<dyn Store>) {
    let mut dice = Dice(11);
    let mut rows: Vec<Row> =
        (0..150).map(|_| COLUMNS.iter().map(|column| value(&mut dice, column)).collect()).collect();
    rows.sort();
    rows.dedup_by(|one, other| one[..2] == other[..2]);
    with_rows(&*store, THINGS, &rows).await;
    for round in 0..250 {
        let filters: Vec<_> = (0..dice.roll(3)).map(|_| filter(&mut dice)).collect();
        let order_by = (dice.roll(4) != 0).then(|| COLUMNS[dice.size(8)]);
        let descending = dice.roll(2) == 0;
        let place_of = |row: &Row| -> Row {
            let first = order_by.map(|column| row[place(column)].clone());
            first.into_iter().chain(row[..2].iter().cloned()).collect()
        };
        let mut expected: Vec<_> =
            rows.iter().filter(|row| filters.iter().all(|filter| holds(filter, row))).cloned().collect();
        expected.sort_by(|one, other| match place_of(one).cmp(&place_of(other)) {
            order if descending => order.reverse(),
            order => order,
        });
        assert!(expected.is_sorted_by(|one, other| place_of(one).cmp(&place_of(other)) != Ordering::Equal));
        let limit = [7, 20, 200][dice.size(3)];
        let mut query = Query { filters, order_by, descending, limit, ..everything(&SAMPLE, THINGS) };
        let mut found = Vec::new();
        loop {
            let page = list(&*store, &query).await;
            let last = page.len() < limit;
            query.after = page.last().map(place_of);
            found.extend(page);
            if last {
                break;
            }
        }
        assert_eq!(found, expected, "round {round}: {query:?}");
    }
}
