//! Tables, rows, and changes of rows: the vocabulary a projection speaks and every database understands.

use std::collections::BTreeMap;
use uuid::Uuid;

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// An id: `uuid` in PostgreSQL, 16 bytes in SQLite.
    Uuid,
    /// Text without NUL; compared byte by byte.
    Text,
    /// A whole number; of a moment the microseconds since 1970 UTC.
    Int,
    /// True or false.
    Bool,
    /// Bytes.
    Bytes,
}

/// A column.
#[derive(Debug, Clone, Copy)]
pub struct Column {
    /// Its name: lower-case letters and underscores, in no database a reserved word.
    pub name: &'static str,
    /// What it holds.
    pub kind: Kind,
    /// Whether it may be empty.
    pub optional: bool,
    /// What it says, for people who read the table with SQL.
    pub about: &'static str,
}

impl Column {
    /// A column that is always filled.
    pub const fn new(name: &'static str, kind: Kind, about: &'static str) -> Self {
        Self { name, kind, optional: false, about }
    }

    /// A column that may be empty.
    pub const fn maybe(name: &'static str, kind: Kind, about: &'static str) -> Self {
        Self { name, kind, optional: true, about }
    }
}

/// A table.
#[derive(Debug, Clone, Copy)]
pub struct TableSpec {
    /// Its name, which no other table of any projection has.
    pub name: &'static str,
    /// What a row is, for people who read the table with SQL.
    pub about: &'static str,
    /// Its columns.
    pub columns: &'static [Column],
    /// So many of its first columns are its key. None of them may be empty.
    pub key: usize,
    /// Further indexes, each the names of its columns.
    pub indexes: &'static [&'static [&'static str]],
}

impl TableSpec {
    /// The place of a column.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name == name)
    }

    /// The columns of its key.
    pub fn key_columns(&self) -> &'static [Column] {
        self.columns.get(..self.key).unwrap_or(self.columns)
    }

    /// Why no database takes this row; `None` when it fits.
    pub fn misfit(&self, row: &[Value]) -> Option<String> {
        misfit(self.columns, row)
    }

    /// Why this is no key of the table; `None` when it fits.
    pub fn key_misfit(&self, key: &[Value]) -> Option<String> {
        misfit(self.key_columns(), key)
    }
}

fn misfit(columns: &[Column], values: &[Value]) -> Option<String> {
    if columns.len() != values.len() {
        return Some(format!("{} values for {} columns", values.len(), columns.len()));
    }
    columns.iter().zip(values).find_map(|(column, value)| {
        let name = column.name;
        match value {
            Value::Null if !column.optional => Some(format!("`{name}` is empty")),
            Value::Text(text) if text.contains('\0') => Some(format!("`{name}` holds a NUL")),
            value if !value.fits(column.kind) => Some(format!("`{name}` holds another kind of value")),
            _ => None,
        }
    })
}

/// A projection's tables.
#[derive(Debug, Clone, Copy)]
pub struct Spec {
    /// The projection's name.
    pub name: &'static str,
    /// What it is for.
    pub about: &'static str,
    /// Raised whenever a table, or what is written to one, changes: another version is built beside this one.
    pub version: u32,
    /// Its tables.
    pub tables: &'static [TableSpec],
}

impl Spec {
    /// A table and its place.
    pub fn table(&self, name: &str) -> Option<(usize, &'static TableSpec)> {
        self.tables.iter().enumerate().find(|(_, table)| table.name == name)
    }
}

/// What stands in a column of a row. The order is that of both databases for values of one kind: empty first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Value {
    /// Nothing.
    Null,
    /// An id.
    Uuid(Uuid),
    /// Text.
    Text(String),
    /// A whole number.
    Int(i64),
    /// True or false.
    Bool(bool),
    /// Bytes.
    Bytes(Vec<u8>),
}

impl Value {
    /// Text as a database takes it: what nobody can type, a NUL, becomes U+FFFD.
    pub fn text(text: impl AsRef<str>) -> Self {
        let text = text.as_ref();
        Self::Text(if text.contains('\0') { text.replace('\0', "\u{FFFD}") } else { text.to_owned() })
    }

    /// A value, or nothing.
    pub fn maybe<T>(value: Option<T>, of: impl FnOnce(T) -> Self) -> Self {
        value.map_or(Self::Null, of)
    }

    /// Whether a column of this kind can hold it, emptiness aside.
    pub const fn fits(&self, kind: Kind) -> bool {
        matches!(
            (self, kind),
            (Self::Null, _)
                | (Self::Uuid(_), Kind::Uuid)
                | (Self::Text(_), Kind::Text)
                | (Self::Int(_), Kind::Int)
                | (Self::Bool(_), Kind::Bool)
                | (Self::Bytes(_), Kind::Bytes)
        )
    }
}

/// One value for each column, or for each column of a key.
pub type Row = Vec<Value>;

/// A change of one row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// The row with this key is this, whether or not there was one.
    Put {
        /// The table's place in its [`Spec`].
        table: usize,
        /// All columns.
        row: Row,
    },
    /// There is no row with this key any more. No-op when there was none.
    Delete {
        /// The table's place in its [`Spec`].
        table: usize,
        /// The key's columns.
        key: Row,
    },
}

/// Changes of rows, at most one for each key: a later one replaces an earlier one. So they may be made in any order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// By table and key: the whole row, or none when it goes.
    rows: BTreeMap<(usize, Row), Option<Row>>,
}

impl Changes {
    /// Notes that a row is this. Its key is the first `key` columns of it.
    pub fn put(&mut self, table: usize, key: usize, row: Row) {
        let of = row.iter().take(key).cloned().collect();
        self.rows.insert((table, of), Some(row));
    }

    /// Notes that there is no row with this key.
    pub fn delete(&mut self, table: usize, key: Row) {
        self.rows.insert((table, key), None);
    }

    /// Adds later changes to these.
    pub fn then(&mut self, later: Self) {
        self.rows.extend(later.rows);
    }

    /// How many rows change.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether nothing changes.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The rows of a table that are put, in order of their keys.
    pub fn puts(&self, table: usize) -> impl Iterator<Item = &Row> {
        self.of(table).filter_map(|(_, row)| row)
    }

    /// The keys of a table's rows that go, in order.
    pub fn deletes(&self, table: usize) -> impl Iterator<Item = &Row> {
        self.of(table).filter(|(_, row)| row.is_none()).map(|(key, _)| key)
    }

    /// Every change: the table's place, the key, and the row unless it goes.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &Row, Option<&Row>)> {
        self.rows.iter().map(|((table, key), row)| (*table, key, row.as_ref()))
    }

    fn of(&self, table: usize) -> impl Iterator<Item = (&Row, Option<&Row>)> {
        // An empty key comes before every other.
        let from = self.rows.range((table, Row::new())..);
        from.take_while(move |((of, _), _)| *of == table).map(|((_, key), row)| (key, row.as_ref()))
    }
}
