//! Statements that put and delete many rows. SQLite takes so many rows of values; PostgreSQL one array a column, so
//! that its text is the same for any number of rows.

use super::{Dialect, list_of, physical, quoted};
use charter_tables::{Column, TableSpec};
use std::fmt::Write as _;

/// Puts rows: those that are there with the same key become these. The parameters are the rows' values one after the
/// other (SQLite), or an array for each column (PostgreSQL).
pub fn put_rows(dialect: Dialect, table: &TableSpec, number: u32, rows: usize) -> String {
    let (schema, of) = (dialect.schema(), quoted(&physical(table, number)));
    let mut text = format!("INSERT INTO {schema}{of} ({}) ", list_of(table.columns));
    match dialect {
        Dialect::Sqlite => {
            let _ = write!(text, "VALUES {}", places(table.columns.len(), rows));
        }
        Dialect::Postgres => {
            let _ = write!(text, "SELECT * FROM unnest({})", arrays(table.columns));
        }
    }
    let _ = write!(text, " ON CONFLICT ({}) DO ", list_of(table.key_columns()));
    let rest = table.columns.get(table.key..).unwrap_or_default();
    if rest.is_empty() {
        text.push_str("NOTHING");
        return text;
    }
    let set = |column: &Column| format!("{0} = excluded.{0}", quoted(column.name));
    let _ = write!(text, "UPDATE SET {}", rest.iter().map(set).collect::<Vec<_>>().join(", "));
    text
}

/// Deletes rows by their keys, which are the parameters as in [`put_rows`].
pub fn delete_rows(dialect: Dialect, table: &TableSpec, number: u32, rows: usize) -> String {
    let (schema, of) = (dialect.schema(), quoted(&physical(table, number)));
    let columns = table.key_columns();
    match dialect {
        Dialect::Sqlite => {
            let places = places(columns.len(), rows);
            format!("DELETE FROM {of} WHERE ({}) IN (VALUES {places})", list_of(columns))
        }
        Dialect::Postgres => {
            let same = |column: &Column| format!("t.{0} = k.{0}", quoted(column.name));
            let same = columns.iter().map(same).collect::<Vec<_>>().join(" AND ");
            let names = list_of(columns);
            format!(
                "DELETE FROM {schema}{of} AS t USING unnest({}) AS k ({names}) WHERE {same}",
                arrays(columns)
            )
        }
    }
}

fn places(columns: usize, rows: usize) -> String {
    let row = format!("({})", vec!["?"; columns].join(","));
    vec![row; rows].join(",")
}

fn arrays(columns: &[Column]) -> String {
    let array =
        |(column, at): (&Column, usize)| format!("${at}::{}[]", Dialect::Postgres.element(column.kind));
    columns.iter().zip(1..).map(array).collect::<Vec<_>>().join(", ")
}
