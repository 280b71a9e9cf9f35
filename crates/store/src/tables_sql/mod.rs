//! SQL text for read models in tables, made from their specs for both databases: one generator, so that a table needs
//! no adapter's attention. Identifiers come from specs and numbers alone; every value is a parameter.
//!
//! Owns how tables, indexes and views are named and made, and how rows are put, deleted and read. Must not
//! know connections, nor what a row means.

mod select;
mod write;

pub use select::{all_rows, list_rows, scan_rows};
pub use write::{delete_rows, put_rows};

use charter_tables::{Column, Kind, Spec, TableSpec, Value};
use std::fmt::Write as _;
use uuid::Uuid;

/// Which database reads the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// SQLite: STRICT tables, parameters in order.
    Sqlite,
    /// PostgreSQL: the schema `tables`, numbered parameters.
    Postgres,
}

/// A statement's text, and its values in the order of its parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sql {
    /// The text.
    pub text: String,
    /// The values.
    pub values: Vec<Param>,
}

/// What one parameter takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Param {
    /// A value; never an empty one.
    Value(Value),
    /// Ids: an array in PostgreSQL, their bytes one after the other in SQLite.
    Ids(Vec<Uuid>),
}

/// Names that no projection's table may have: the bookkeeping has them.
pub const RESERVED: [&str; 4] = ["layout", "projections", "generations", "operations"];

impl Dialect {
    /// What stands before the name of every table and view.
    pub(crate) const fn schema(self) -> &'static str {
        match self {
            Self::Sqlite => "",
            Self::Postgres => "tables.",
        }
    }

    const fn column_type(self, kind: Kind) -> &'static str {
        match (self, kind) {
            (Self::Sqlite, Kind::Uuid | Kind::Bytes) => "BLOB",
            (Self::Sqlite, Kind::Text) => "TEXT",
            (Self::Sqlite, Kind::Int | Kind::Bool) => "INTEGER",
            (Self::Postgres, Kind::Uuid) => "uuid",
            // Compared byte by byte, whatever language the database was made for.
            (Self::Postgres, Kind::Text) => "text COLLATE \"C\"",
            (Self::Postgres, Kind::Int) => "bigint",
            (Self::Postgres, Kind::Bool) => "boolean",
            (Self::Postgres, Kind::Bytes) => "bytea",
        }
    }

    /// The type of an array's elements, of a column's values.
    const fn element(self, kind: Kind) -> &'static str {
        match kind {
            Kind::Text => "text",
            _ => self.column_type(kind),
        }
    }
}

/// The name of a table of a generation, without its schema.
pub fn physical(table: &TableSpec, number: u32) -> String {
    format!("{}_g{number}", table.name)
}

/// The tables of a generation by name, as they are noted for whoever removes them without knowing their spec.
pub fn names(spec: &Spec) -> String {
    spec.tables.iter().map(|table| table.name).collect::<Vec<_>>().join(",")
}

/// Those names again. Anything that can't be one of ours is left out: it becomes part of a statement's text.
pub fn noted_names(names: &str) -> impl Iterator<Item = &str> {
    let ours = |name: &&str| !name.is_empty() && name.chars().all(|c| c == '_' || c.is_ascii_lowercase());
    names.split(',').filter(ours)
}

/// Makes a generation's table, without further indexes.
pub fn create_table(dialect: Dialect, table: &TableSpec, number: u32) -> String {
    let mut text = format!("CREATE TABLE {}{} (", dialect.schema(), quoted(&physical(table, number)));
    for column in table.columns {
        let empty = if column.optional { "" } else { " NOT NULL" };
        let _ = write!(text, "{} {}{empty}, ", quoted(column.name), dialect.column_type(column.kind));
    }
    let _ = write!(text, "PRIMARY KEY ({}))", list_of(table.key_columns()));
    if dialect == Dialect::Sqlite {
        // A whole number as the key is the row's own number; any other key orders the table itself.
        let by_number = matches!(table.key_columns(), [only] if only.kind == Kind::Int);
        text.push_str(if by_number { " STRICT" } else { " STRICT, WITHOUT ROWID" });
    }
    text
}

/// Makes a generation's further indexes of a table. The key follows the columns of each, so that whole pages are read
/// in its order.
pub fn create_indexes(dialect: Dialect, table: &TableSpec, number: u32) -> Vec<String> {
    let of = physical(table, number);
    let index = |(at, columns): (usize, &&[&str])| {
        let rest =
            table.key_columns().iter().map(|column| column.name).filter(|name| !columns.contains(name));
        let all: Vec<_> = match dialect {
            // There the key follows by itself.
            Dialect::Sqlite => columns.iter().map(|name| quoted(name)).collect(),
            Dialect::Postgres => {
                let columns = columns.iter().copied().chain(rest);
                columns.map(|name| format!("{} NULLS FIRST", quoted(name))).collect()
            }
        };
        let name = quoted(&format!("{of}_x{}", at + 1));
        let table = quoted(&of);
        let schema = dialect.schema();
        format!("CREATE INDEX IF NOT EXISTS {name} ON {schema}{table} ({})", all.join(", "))
    };
    table.indexes.iter().enumerate().map(index).collect()
}

/// Counts what is in a generation's table, by which PostgreSQL chooses its plans.
pub fn analyze(table: &TableSpec, number: u32) -> String {
    format!("ANALYZE {}{}", Dialect::Postgres.schema(), quoted(&physical(table, number)))
}

/// Makes the view by which people read a table with SQL. In PostgreSQL a view of the same columns is replaced, and
/// keeps the rights that were granted on it; in SQLite the old one is dropped before.
pub fn create_view(dialect: Dialect, table: &TableSpec, number: u32) -> String {
    let (schema, name) = (dialect.schema(), quoted(table.name));
    let (columns, of) = (list_of(table.columns), quoted(&physical(table, number)));
    match dialect {
        Dialect::Postgres => {
            format!("CREATE OR REPLACE VIEW {schema}{name} AS SELECT {columns} FROM {schema}{of}")
        }
        Dialect::Sqlite => {
            // SQLite keeps the text as it is: `.schema` shows it.
            let mut text = format!("CREATE VIEW {name} AS\n-- {}\nSELECT\n", table.about);
            let last = table.columns.len().saturating_sub(1);
            for (at, column) in table.columns.iter().enumerate() {
                let comma = if at == last { "" } else { "," };
                let _ = writeln!(text, "  {}{comma} -- {}", quoted(column.name), column.about);
            }
            let _ = write!(text, "FROM {of}");
            text
        }
    }
}

/// What the view and its columns say, where a database keeps that apart: PostgreSQL.
pub fn comments(table: &TableSpec) -> Vec<String> {
    let literal = |text: &str| format!("'{}'", text.replace('\'', "''"));
    let (schema, name) = (Dialect::Postgres.schema(), quoted(table.name));
    let view = format!("COMMENT ON VIEW {schema}{name} IS {}", literal(table.about));
    let column = |column: &Column| {
        let about = literal(column.about);
        format!("COMMENT ON COLUMN {schema}{name}.{} IS {about}", quoted(column.name))
    };
    std::iter::once(view).chain(table.columns.iter().map(column)).collect()
}

/// Drops a view by the name of its table.
pub fn drop_view(dialect: Dialect, name: &str) -> String {
    format!("DROP VIEW IF EXISTS {}{}", dialect.schema(), quoted(name))
}

/// Drops a generation's table by its name.
pub fn drop_table(dialect: Dialect, name: &str, number: u32) -> String {
    format!("DROP TABLE IF EXISTS {}{}", dialect.schema(), quoted(&format!("{name}_g{number}")))
}

fn quoted(name: &str) -> String {
    format!("\"{name}\"")
}

fn list_of(columns: &[Column]) -> String {
    columns.iter().map(|column| quoted(column.name)).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests;
