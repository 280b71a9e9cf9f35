//! `docs/tables.md` lists every table and column as they are.

use charter_tables::{Kind, PROJECTIONS, TableSpec};
use std::fmt::Write as _;

const DOCUMENT: &str = include_str!("../../../../docs/tables.md");
const BEGIN: &str = "## Tables\n\n";

fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Uuid => "id",
        Kind::Text => "text",
        Kind::Int => "number",
        Kind::Bool => "truth",
        Kind::Bytes => "bytes",
    }
}

fn of(table: &TableSpec, text: &mut String) {
    write!(text, "#### `{}`\n\n{}\n\n| column | holds | says |\n|---|---|---|\n", table.name, table.about)
        .unwrap();
    for (place, column) in table.columns.iter().enumerate() {
        let key = if place < table.key { ", key" } else { "" };
        let optional = if column.optional { ", may be empty" } else { "" };
        writeln!(text, "| `{}` | {}{key}{optional} | {} |", column.name, kind(column.kind), column.about)
            .unwrap();
    }
    text.push('\n');
}

#[test]
fn the_document_lists_every_table_and_column() {
    let mut text = BEGIN.to_owned();
    for projection in PROJECTIONS {
        let spec = projection.spec();
        write!(text, "### `{}`, version {}\n\n{}\n\n", spec.name, spec.version, spec.about).unwrap();
        spec.tables.iter().for_each(|table| of(table, &mut text));
    }
    let listed = DOCUMENT.find(BEGIN).map(|at| &DOCUMENT[at..]);
    assert_eq!(listed.map(str::trim_end), Some(text.trim_end()), "docs/tables.md should end so:\n{text}");
}
