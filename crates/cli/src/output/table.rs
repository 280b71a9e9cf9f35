//! Tables for people: aligned columns without borders, so that they read well and cut well.

use super::columns::{Shape, text_of};
use comfy_table::{ContentArrangement, Table, presets};
use serde_json::Value;

fn plain() -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table
}

fn trimmed(table: &Table) -> String {
    let mut text = String::new();
    for line in table.lines() {
        text.push_str(line.strip_prefix(' ').unwrap_or(&line).trim_end());
        text.push('\n');
    }
    text
}

/// Rows under headings.
pub(super) fn rows(shape: &Shape, rows: &[Value]) -> String {
    let mut table = plain();
    table.set_header(shape.columns.iter().map(|c| c.heading));
    for row in rows {
        table.add_row(shape.cells(row));
    }
    trimmed(&table)
}

/// One thing, a member a line: first the columns of its kind, then whatever else it has.
pub(super) fn card(shape: &Shape, value: &Value) -> String {
    let mut table = plain();
    let mut shown = Vec::new();
    for (column, cell) in shape.columns.iter().zip(shape.cells(value)) {
        shown.extend(column.at.split([' ', '+']).filter_map(|at| at.split('/').nth(1)));
        table.add_row([column.heading.to_lowercase(), cell]);
    }
    let seen = (shape.view)(value);
    for (key, member) in seen.as_object().into_iter().flatten() {
        if !shown.contains(&key.as_str()) && !member.is_null() && !member.is_object() {
            table.add_row([key.replace('_', " "), text_of(member)]);
        }
    }
    trimmed(&table)
}
