//! Rows as comma-separated values (RFC 4180), for spreadsheets: no cell of them is taken for a formula.

use super::columns::Shape;
use crate::exit::{Doing, Outcome};
use serde_json::Value;

/// With these a spreadsheet begins a formula.
const FORMULAS: [char; 6] = ['=', '+', '-', '@', '\t', '\r'];

/// Rows under headings.
pub(super) fn rows(shape: &Shape, rows: &[Value]) -> Outcome<String> {
    let mut csv = csv::Writer::from_writer(Vec::new());
    csv.write_record(shape.columns.iter().map(|column| heading(column.heading))).doing("write CSV")?;
    for row in rows {
        let cells = shape.texts(row).into_iter().map(|cell| safe(cell.unwrap_or_default()));
        csv.write_record(cells).doing("write CSV")?;
    }
    let bytes = csv.into_inner().map_err(csv::IntoInnerError::into_error).doing("write CSV")?;
    String::from_utf8(bytes).doing("write CSV")
}

fn heading(text: &str) -> String {
    text.to_ascii_lowercase().replace(' ', "_")
}

/// What somebody else named must not be carried out by the program that shows it.
fn safe(cell: String) -> String {
    if cell.starts_with(FORMULAS) { format!("'{cell}") } else { cell }
}

#[cfg(test)]
mod tests {
    use super::{
        super::columns::{Column, as_sent},
        *,
    };
    use serde_json::json;

    #[test]
    fn cells_are_quoted_and_no_formula_among_them() {
        let shape = Shape {
            columns: &[Column { heading: "NAME", at: "/name" }, Column { heading: "LAST USED", at: "/used" }],
            name: "/name",
            view: as_sent,
        };
        let given = [
            json!({"name": "a, \"b\"", "used": null}),
            json!({"name": "=HYPERLINK(\"http://x\")", "used": true}),
            json!({"name": "@sum", "used": ["x", "y"]}),
        ];
        let expected =
            "name,last_used\n\"a, \"\"b\"\"\",\n\"'=HYPERLINK(\"\"http://x\"\")\",yes\n'@sum,\"x, y\"\n";
        assert_eq!(rows(&shape, &given).unwrap(), expected);
    }
}
