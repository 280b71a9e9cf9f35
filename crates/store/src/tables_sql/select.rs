//! Statements that read rows: a page of those that are read, a page of all, all.

use super::{Dialect, Param, Sql, list_of, physical, quoted};
use crate::{
    StoreError,
    tables::{Filter, Query, TABLE_ROWS_MAX},
};
use charter_tables::{Column, Row, TableSpec, Value};
use std::fmt::Write as _;

/// A page of a generation's rows together with the generation: one statement, and so one state. It gives the
/// generation's `log_id`, `at_offset` and `hash`, then the table's columns. No row: this generation is not the one that
/// is read. One row with an empty key: no row is like that.
///
/// # Errors
/// [`StoreError::Refused`] for a table, a column or a value that does not fit.
pub fn list_rows(dialect: Dialect, query: &Query, number: u32) -> Result<Sql, StoreError> {
    let table = query.check()?;
    let mut select = Select::new(dialect, table);
    let schema = dialect.schema();
    select.text =
        format!("SELECT g.log_id, g.at_offset, g.hash, t.* FROM {schema}generations AS g LEFT JOIN (");
    let _ = write!(
        select.text,
        "SELECT {} FROM {schema}{} WHERE ",
        list_of(table.columns),
        quoted(&physical(table, number))
    );
    for filter in &query.filters {
        select.filter(filter)?;
        select.text.push_str(" AND ");
    }
    let by = query.order_by.map(|name| select.column(name)).transpose()?;
    match &query.after {
        None => select.text.push_str("TRUE"),
        Some(after) => select.after(by, query.descending, after),
    }
    let order = order(table, by, query.descending);
    let limit = query.page_rows();
    let _ = write!(select.text, " ORDER BY {order} LIMIT {limit}) AS t ON TRUE WHERE g.projection = ");
    select.value(Value::text(query.spec.name));
    let _ = write!(
        select.text,
        " AND g.number = {number} AND EXISTS (SELECT 1 FROM {schema}projections AS p \
         WHERE p.projection = g.projection AND p.active = g.number) ORDER BY {order}"
    );
    Ok(select.done())
}

/// A page of all rows of a generation's table, in order of their keys, after a key.
///
/// # Errors
/// [`StoreError::Refused`] for a key that is none.
pub fn scan_rows(
    dialect: Dialect,
    table: &'static TableSpec,
    number: u32,
    after: Option<&Row>,
    limit: usize,
) -> Result<Sql, StoreError> {
    let mut select = Select::new(dialect, table);
    select.text = all_rows(dialect, table, number);
    if let Some(after) = after {
        if let Some(why) = table.key_misfit(after) {
            return Err(StoreError::Refused(format!("a key that is none of `{}`: {why}", table.name)));
        }
        select.text.push_str(" WHERE ");
        select.after(None, false, after);
    }
    let (key, limit) = (list_of(table.key_columns()), limit.min(TABLE_ROWS_MAX));
    let _ = write!(select.text, " ORDER BY {key} LIMIT {limit}");
    Ok(select.done())
}

/// All rows of a generation's table, in any order.
pub fn all_rows(dialect: Dialect, table: &TableSpec, number: u32) -> String {
    format!("SELECT {} FROM {}{}", list_of(table.columns), dialect.schema(), quoted(&physical(table, number)))
}

/// By a column, then by the key in the same direction. Empty values are the least.
fn order(table: &TableSpec, by: Option<&Column>, descending: bool) -> String {
    let way = if descending { "DESC NULLS LAST" } else { "ASC NULLS FIRST" };
    let of = |column: &Column| format!("{} {way}", quoted(column.name));
    let repeated = |column: &&Column| by.is_none_or(|by| by.name != column.name);
    let columns = by.into_iter().chain(table.key_columns().iter().filter(repeated));
    columns.map(of).collect::<Vec<_>>().join(", ")
}

/// A statement that is being written.
struct Select {
    dialect: Dialect,
    table: &'static TableSpec,
    text: String,
    values: Vec<Param>,
}

impl Select {
    fn new(dialect: Dialect, table: &'static TableSpec) -> Self {
        Self { dialect, table, text: String::new(), values: Vec::new() }
    }

    fn done(self) -> Sql {
        Sql { text: self.text, values: self.values }
    }

    fn column(&self, name: &str) -> Result<&'static Column, StoreError> {
        let found = self.table.columns.iter().find(|column| column.name == name);
        found.ok_or_else(|| StoreError::Refused(format!("`{}` has no column `{name}`", self.table.name)))
    }

    fn place(&mut self, param: Param) {
        self.values.push(param);
        let mark = match self.dialect {
            Dialect::Sqlite => '?',
            Dialect::Postgres => '$',
        };
        let _ = write!(self.text, "{mark}{}", self.values.len());
    }

    fn value(&mut self, value: Value) {
        self.place(Param::Value(value));
    }

    fn filter(&mut self, filter: &Filter) -> Result<(), StoreError> {
        match filter {
            Filter::Is(name, Value::Null) => {
                let column = self.column(name)?;
                let _ = write!(self.text, "{} IS NULL", quoted(column.name));
                Ok(())
            }
            Filter::Is(name, value) => self.compare(name, "=", value),
            Filter::AtLeast(name, value) => self.compare(name, ">=", value),
            Filter::Below(name, value) => self.compare(name, "<", value),
            Filter::Contains(names, text) => self.contains(names, text),
            Filter::OneOf(name, ids) => {
                let column = self.column(name)?;
                self.values.push(Param::Ids(ids.clone()));
                let (name, at) = (quoted(column.name), self.values.len());
                // Not `= ANY`: older servers walk such an array for each row.
                let _ = match self.dialect {
                    Dialect::Postgres => write!(self.text, "{name} IN (SELECT unnest(${at}::uuid[]))"),
                    Dialect::Sqlite => write!(
                        self.text,
                        "{name} IN (WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 16 FROM n \
                         WHERE i + 16 < length(?{at})) SELECT substr(?{at}, i, 16) FROM n)"
                    ),
                };
                Ok(())
            }
        }
    }

    fn compare(&mut self, name: &str, operator: &str, value: &Value) -> Result<(), StoreError> {
        let column = self.column(name)?;
        let _ = write!(self.text, "{} {operator} ", quoted(column.name));
        self.value(plain(value));
        Ok(())
    }

    fn contains(&mut self, names: &[&str], text: &str) -> Result<(), StoreError> {
        let find = match self.dialect {
            Dialect::Sqlite => "instr",
            Dialect::Postgres => "strpos",
        };
        let mut before = "(";
        for name in names {
            let column = self.column(name)?;
            let _ = write!(self.text, "{before}{find}({}, ", quoted(column.name));
            self.value(Value::text(text));
            self.text.push_str(") > 0");
            before = " OR ";
        }
        self.text.push(')');
        Ok(())
    }

    /// Those that follow a row in the order: `after` is its value of the order's column, if there is one, then its key.
    fn after(&mut self, by: Option<&Column>, descending: bool, after: &[Value]) {
        let than = if descending { "<" } else { ">" };
        match (by, after.split_first()) {
            (Some(by), Some((value, key))) => self.after_both(by, value, than, key),
            _ => self.beyond(None, than, after),
        }
    }

    fn after_both(&mut self, by: &Column, value: &Value, than: &str, after_key: &[Value]) {
        let name = quoted(by.name);
        let descending = than == "<";
        match (value, descending) {
            // The empty ones are the least: all others are still to come, or have been.
            (Value::Null, false) => {
                let _ = write!(self.text, "({name} IS NOT NULL OR ");
                self.beyond(None, than, after_key);
                self.text.push(')');
            }
            (Value::Null, true) => {
                let _ = write!(self.text, "({name} IS NULL AND ");
                self.beyond(None, than, after_key);
                self.text.push(')');
            }
            (value, true) if by.optional => {
                self.text.push('(');
                self.beyond(Some((by, value)), than, after_key);
                let _ = write!(self.text, " OR {name} IS NULL)");
            }
            (value, _) => self.beyond(Some((by, value)), than, after_key),
        }
    }

    /// The columns, as one, are beyond the values, as one.
    fn beyond(&mut self, first: Option<(&Column, &Value)>, than: &str, after_key: &[Value]) {
        let columns = first.iter().map(|(column, _)| *column).chain(self.table.key_columns());
        let names = columns.map(|column| quoted(column.name)).collect::<Vec<_>>().join(", ");
        let _ = write!(self.text, "({names}) {than} (");
        let values = first.iter().map(|(_, value)| *value).chain(after_key);
        for (at, value) in values.enumerate() {
            if at > 0 {
                self.text.push_str(", ");
            }
            self.value(plain(value));
        }
        self.text.push(')');
    }
}

/// A value as a database takes it.
fn plain(value: &Value) -> Value {
    match value {
        Value::Text(text) => Value::text(text),
        other => other.clone(),
    }
}
