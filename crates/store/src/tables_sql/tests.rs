//! The text that is made: types, keys, orders; and that nothing a caller says becomes part of it.

use super::*;
use crate::{
    StoreError,
    tables::{Filter, Query},
};

const TABLES: &[TableSpec] = &[
    TableSpec {
        name: "things",
        about: "one row a thing: what it's called",
        columns: &[
            Column::new("id", Kind::Uuid, "its id"),
            Column::maybe("name", Kind::Text, "its name"),
            Column::new("live", Kind::Bool, "whether it is"),
            Column::new("at", Kind::Int, "since when"),
        ],
        key: 1,
        indexes: &[&["name"]],
    },
    TableSpec {
        name: "links",
        about: "one row a link",
        columns: &[Column::new("a", Kind::Uuid, "from"), Column::new("b", Kind::Int, "to")],
        key: 2,
        indexes: &[],
    },
    TableSpec {
        name: "entries",
        about: "one row an event",
        columns: &[Column::new("offset", Kind::Int, "which"), Column::maybe("raw", Kind::Bytes, "bytes")],
        key: 1,
        indexes: &[],
    },
];
const SPEC: Spec = Spec { name: "samples", about: "for tests", version: 1, tables: TABLES };
static HELD: Spec = SPEC;

fn query(filters: Vec<Filter>) -> Query {
    Query { spec: &HELD, table: 0, filters, order_by: None, descending: false, after: None, limit: 50 }
}

#[test]
fn a_table_is_made_with_its_types_and_key() {
    assert_eq!(
        create_table(Dialect::Postgres, &TABLES[0], 3),
        "CREATE TABLE tables.\"things_g3\" (\"id\" uuid NOT NULL, \"name\" text COLLATE \"C\", \
         \"live\" boolean NOT NULL, \"at\" bigint NOT NULL, PRIMARY KEY (\"id\"))"
    );
    assert_eq!(
        create_table(Dialect::Sqlite, &TABLES[0], 3),
        "CREATE TABLE \"things_g3\" (\"id\" BLOB NOT NULL, \"name\" TEXT, \"live\" INTEGER NOT NULL, \
         \"at\" INTEGER NOT NULL, PRIMARY KEY (\"id\")) STRICT, WITHOUT ROWID"
    );
    let entries = create_table(Dialect::Sqlite, &TABLES[2], 1);
    assert!(entries.ends_with("STRICT"), "the key is the row's number: {entries}");
}

#[test]
fn an_index_ends_with_the_key_and_has_empty_values_first() {
    assert_eq!(
        create_indexes(Dialect::Postgres, &TABLES[0], 3),
        ["CREATE INDEX IF NOT EXISTS \"things_g3_x1\" ON tables.\"things_g3\" \
          (\"name\" NULLS FIRST, \"id\" NULLS FIRST)"]
    );
    assert_eq!(
        create_indexes(Dialect::Sqlite, &TABLES[0], 3),
        ["CREATE INDEX IF NOT EXISTS \"things_g3_x1\" ON \"things_g3\" (\"name\")"]
    );
}

#[test]
fn what_a_column_says_goes_into_the_database_whatever_it_says() {
    assert_eq!(
        comments(&TABLES[0])[0],
        "COMMENT ON VIEW tables.\"things\" IS 'one row a thing: what it''s called'"
    );
    let view = create_view(Dialect::Sqlite, &TABLES[1], 2);
    assert_eq!(
        view,
        "CREATE VIEW \"links\" AS\n-- one row a link\nSELECT\n  \"a\", -- from\n  \"b\" -- to\nFROM \"links_g2\""
    );
}

#[test]
fn rows_are_put_by_their_key_and_a_table_that_is_all_key_changes_nothing() {
    assert_eq!(
        put_rows(Dialect::Postgres, &TABLES[2], 1, 99),
        "INSERT INTO tables.\"entries_g1\" (\"offset\", \"raw\") SELECT * FROM unnest($1::bigint[], $2::bytea[]) \
         ON CONFLICT (\"offset\") DO UPDATE SET \"raw\" = excluded.\"raw\""
    );
    assert_eq!(
        put_rows(Dialect::Sqlite, &TABLES[1], 1, 2),
        "INSERT INTO \"links_g1\" (\"a\", \"b\") VALUES (?,?),(?,?) ON CONFLICT (\"a\", \"b\") DO NOTHING"
    );
    assert_eq!(
        delete_rows(Dialect::Postgres, &TABLES[1], 1, 2),
        "DELETE FROM tables.\"links_g1\" AS t USING unnest($1::uuid[], $2::bigint[]) AS k (\"a\", \"b\") \
         WHERE t.\"a\" = k.\"a\" AND t.\"b\" = k.\"b\""
    );
}

#[test]
fn values_are_parameters_and_never_text() {
    let hostile = "'; DROP TABLE things; --";
    let filters = vec![
        Filter::Is("name", Value::text(hostile)),
        Filter::Contains(vec!["name"], hostile.to_owned()),
        Filter::OneOf("id", vec![Uuid::nil()]),
        Filter::Is("name", Value::Null),
    ];
    for dialect in [Dialect::Sqlite, Dialect::Postgres] {
        let sql = list_rows(dialect, &query(filters.clone()), 1).unwrap();
        assert!(!sql.text.contains("DROP"), "{}", sql.text);
        let text = Param::Value(Value::text(hostile));
        let name = Param::Value(Value::text("samples"));
        assert_eq!(sql.values, [text.clone(), text, Param::Ids(vec![Uuid::nil()]), name]);
    }
}

#[test]
fn what_is_not_there_is_refused_before_a_database_is_asked() {
    let refused = |query: Query| {
        let error = list_rows(Dialect::Postgres, &query, 1).unwrap_err();
        assert!(matches!(error, StoreError::Refused(_)), "{error}");
    };
    refused(query(vec![Filter::Is("id\" OR TRUE --", Value::Null)]));
    refused(query(vec![Filter::Is("id", Value::Int(1))]));
    refused(query(vec![Filter::AtLeast("name", Value::Null)]));
    refused(query(vec![Filter::Contains(vec!["at"], "1".into())]));
    refused(query(vec![Filter::OneOf("name", vec![])]));
    refused(Query { table: 9, ..query(vec![]) });
    refused(Query { order_by: Some("nothing"), ..query(vec![]) });
    let place = Some(vec![Value::Uuid(Uuid::nil())]);
    refused(Query { order_by: Some("name"), after: place, ..query(vec![]) });
    refused(Query { after: Some(vec![Value::Null]), ..query(vec![]) });
}

#[test]
fn no_projection_has_a_table_of_the_bookkeepings_name_or_one_twice() {
    let all: Vec<_> =
        charter_tables::PROJECTIONS.iter().flat_map(|p| p.spec().tables).map(|table| table.name).collect();
    for name in &all {
        assert!(!RESERVED.contains(name), "{name}");
        assert_eq!(all.iter().filter(|other| *other == name).count(), 1, "{name}");
        assert_eq!(noted_names(name).collect::<Vec<_>>(), [*name], "it can be dropped again");
    }
}
