//! What every table must be like for both databases to hold it.

use crate::{life::whole_life, support::fold};
use charter_events::{
    ExternalId, GroupCreated, ObjectCreated, PermissionDefinition, PermissionsRegistered, RoleCreated,
    RoleScope,
};
use charter_tables::{PROJECTIONS, RowsDigest, Value};
use charter_testkit::{History, history::parsed, ids, random};
use std::collections::BTreeSet;

/// What a page of PostgreSQL's index lets an entry have is 2,704 bytes; this leaves room for its own.
const INDEX_ENTRY_BYTES_MAX: usize = 2_600;

/// Words that PostgreSQL or SQLite takes for its own where a name is asked for.
const RESERVED: &[&str] = &[
    "all",
    "analyse",
    "analyze",
    "and",
    "any",
    "array",
    "as",
    "asc",
    "both",
    "case",
    "cast",
    "check",
    "collate",
    "column",
    "constraint",
    "create",
    "current_date",
    "default",
    "deferrable",
    "delete",
    "desc",
    "distinct",
    "do",
    "drop",
    "else",
    "end",
    "except",
    "exists",
    "false",
    "fetch",
    "for",
    "foreign",
    "from",
    "grant",
    "group",
    "having",
    "in",
    "index",
    "initially",
    "insert",
    "intersect",
    "into",
    "is",
    "isnull",
    "join",
    "lateral",
    "leading",
    "limit",
    "not",
    "notnull",
    "null",
    "offset",
    "on",
    "only",
    "or",
    "order",
    "placing",
    "primary",
    "references",
    "returning",
    "select",
    "set",
    "some",
    "symmetric",
    "table",
    "then",
    "to",
    "trailing",
    "transaction",
    "true",
    "union",
    "unique",
    "update",
    "user",
    "using",
    "values",
    "variadic",
    "when",
    "where",
    "window",
    "with",
];

#[test]
fn names_are_plain_unreserved_and_used_once() {
    let plain = |name: &str| {
        name.len() <= 40 && !name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_')
    };
    let mut tables = BTreeSet::new();
    for projection in PROJECTIONS {
        let spec = projection.spec();
        assert!(plain(spec.name) && spec.version > 0, "{}", spec.name);
        for table in spec.tables {
            assert!(plain(table.name) && !RESERVED.contains(&table.name), "{}", table.name);
            assert!(tables.insert(table.name), "{} twice", table.name);
            let mut columns = BTreeSet::new();
            for column in table.columns {
                assert!(
                    plain(column.name) && !RESERVED.contains(&column.name),
                    "{}.{}",
                    table.name,
                    column.name
                );
                assert!(columns.insert(column.name), "{}.{} twice", table.name, column.name);
                assert!(column.about.ends_with('.'), "{}.{}", table.name, column.name);
            }
            assert!((1..=table.columns.len()).contains(&table.key), "{}", table.name);
            assert!(table.key_columns().iter().all(|column| !column.optional), "{}", table.name);
            for column in table.indexes.iter().copied().flatten() {
                assert!(columns.contains(column), "{}: index on {column}", table.name);
            }
        }
    }
}

/// Every name as long as it may be, of letters that grow when lower-cased.
fn longest() -> History {
    let name = || ids::shown(&"İ".repeat(128));
    let segment = "s".repeat(128);
    let key = format!("{segment}.{segment}.{segment}");
    let slug = "g".repeat(128);
    History::new()
        .event(PermissionsRegistered {
            namespace: parsed(&segment),
            revision: None,
            permissions: vec![PermissionDefinition {
                key: parsed(&key),
                description: name(),
                object_types: vec![parsed("any")],
            }],
        })
        .user("anna")
        .event(GroupCreated { group: ids::group("g"), slug: parsed(&slug), name: name() })
        .event(RoleCreated {
            role: ids::role("r"),
            slug: parsed(&slug),
            name: name(),
            scope: RoleScope::Both,
            permissions: vec![parsed(&key)],
            seeded: None,
        })
        .event(ObjectCreated {
            object: ids::folder("f"),
            object_type: parsed("folder"),
            external_id: Some(parsed::<ExternalId>(&"e".repeat(256))),
            name: name(),
            parent: None,
            owner: None,
            inherits: true,
        })
        .grant("long", charter_testkit::to_user("anna").keys([&key]))
}

#[test]
fn rows_fit_their_tables_and_what_is_indexed_fits_an_index() {
    let long = random::History::long(3, 400).events();
    for events in [whole_life(), longest().into_events(), long] {
        let folded = fold(&events, 1);
        for projection in PROJECTIONS {
            let spec = projection.spec();
            for ((place, key), row) in &folded.tables[spec.name] {
                let table = &spec.tables[*place];
                assert_eq!(table.misfit(row), None, "{}", table.name);
                assert_eq!(key[..], row[..table.key]);
                let key_columns: Vec<_> = table.key_columns().iter().map(|column| column.name).collect();
                for index in table.indexes.iter().copied().chain([&key_columns[..]]) {
                    let sizes = index.iter().map(|name| size(&row[table.column(name).unwrap()]));
                    let bytes: usize = sizes.sum();
                    assert!(bytes <= INDEX_ENTRY_BYTES_MAX, "{} {index:?}: {bytes}", table.name);
                }
            }
        }
    }
}

fn size(value: &Value) -> usize {
    match value {
        Value::Text(text) => text.len(),
        Value::Bytes(bytes) => bytes.len(),
        Value::Uuid(_) => 16,
        Value::Null | Value::Int(_) | Value::Bool(_) => 8,
    }
}

#[test]
fn a_digest_is_of_the_rows_whatever_their_order_and_tells_tables_apart() {
    let rows: Vec<_> = (0..300).map(|number| vec![Value::Int(number % 100), Value::text("a")]).collect();
    let digest = |table: &str, rows: &mut dyn Iterator<Item = &Vec<Value>>| {
        let mut digest = RowsDigest::default();
        rows.for_each(|row| digest.add(table, row));
        digest.finish()
    };
    let there = digest("a", &mut rows.iter());
    assert_eq!(there, digest("a", &mut rows.iter().rev()));
    assert_ne!(there, digest("b", &mut rows.iter()));
    assert_ne!(there, digest("a", &mut rows.iter().skip(1)));
    let one = |row: Vec<Value>| digest("a", &mut [row].iter());
    let alike = [
        vec![Value::Null],
        vec![Value::Int(0)],
        vec![Value::Bool(false)],
        vec![Value::text("")],
        vec![Value::Bytes(Vec::new())],
        vec![Value::text("ab"), Value::text("c")],
        vec![Value::text("a"), Value::text("bc")],
        vec![Value::Bytes(b"ab".to_vec()), Value::text("c")],
    ];
    let digests: BTreeSet<_> = alike.into_iter().map(one).collect();
    assert_eq!(digests.len(), 8);
}
