//! Which members of a JSON value people see as columns, and how a value looks in a cell.

use serde_json::Value;
use std::borrow::Cow;

/// One column: its heading, and where its value lies in a row.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Column {
    /// The heading, upper case.
    pub(crate) heading: &'static str,
    /// JSON pointers: those separated by a space are tried in order, those joined by `+` are shown with a colon
    /// between them.
    pub(crate) at: &'static str,
}

/// How one kind of thing is shown.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    /// The columns of a table, in order.
    pub(crate) columns: &'static [Column],
    /// Where the name lies that other commands take, written as a column's place.
    pub(crate) name: &'static str,
    /// Makes a row out of what the server sent, for tables and names only.
    pub(crate) view: fn(&Value) -> Cow<'_, Value>,
}

impl Shape {
    /// The name by which other commands take this thing.
    pub(crate) fn name_of(&self, row: &Value) -> String {
        at(&(self.view)(row), self.name).unwrap_or_default()
    }

    /// What the columns show for a row.
    pub(crate) fn cells(&self, row: &Value) -> Vec<String> {
        self.texts(row).into_iter().map(|text| text.unwrap_or_else(|| "-".to_owned())).collect()
    }

    /// The same; nothing where there is nothing to show.
    pub(super) fn texts(&self, row: &Value) -> Vec<Option<String>> {
        let row = (self.view)(row);
        self.columns.iter().map(|c| at(&row, c.at)).collect()
    }
}

/// A row as it came.
pub(crate) fn as_sent(row: &Value) -> Cow<'_, Value> {
    Cow::Borrowed(row)
}

fn at(row: &Value, places: &str) -> Option<String> {
    places.split(' ').find_map(|place| {
        let parts: Option<Vec<String>> =
            place.split('+').map(|p| row.pointer(p).filter(|v| !v.is_null()).map(text_of)).collect();
        parts.map(|parts| parts.join(":"))
    })
}

/// A value on one line, for people: lists are joined, control characters never reach the terminal.
pub(crate) fn text_of(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::String(text) => text.chars().flat_map(visible).collect(),
        Value::Array(items) if items.is_empty() => "-".to_owned(),
        Value::Array(items) => items.iter().map(text_of).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

fn visible(c: char) -> Vec<char> {
    if c.is_control() { c.escape_unicode().collect() } else { vec![c] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_terminal_never_sees_control_characters() {
        assert_eq!(text_of(&json!("a\u{1b}[31mb")), "a\\u{1b}[31mb");
    }

    #[test]
    fn the_first_name_that_is_there_is_taken() {
        let shape = Shape { columns: &[], name: "/type+/external_id /type+/id", view: as_sent };
        assert_eq!(shape.name_of(&json!({"type": "server", "external_id": "s1", "id": "x"})), "server:s1");
        assert_eq!(shape.name_of(&json!({"type": "server", "external_id": null, "id": "x"})), "server:x");
    }
}
