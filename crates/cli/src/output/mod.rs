//! What a command prints: data on stdout in the format asked for, notes on stderr. Knows rows and values, not routes.

mod columns;
mod csv;
mod progress;
mod table;

pub(crate) use columns::{Column, Shape, as_sent, text_of};
pub(crate) use progress::Progress;

use crate::exit::{Doing, Failure, Outcome};
use serde_json::Value;
use std::io::{self, IsTerminal, Write};

/// How data is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub(crate) enum Format {
    /// Columns for people.
    #[default]
    Table,
    /// One JSON document.
    Json,
    /// One JSON value a line.
    Jsonl,
    /// One YAML document.
    Yaml,
    /// Names alone, one a line, as other commands take them.
    Name,
    /// Rows as comma-separated values with headings, for spreadsheets.
    Csv,
}

/// Where output goes and how it looks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Out {
    format: Format,
    quiet: bool,
    colour: bool,
}

impl Out {
    /// Output in a format; `quiet` silences notes. Colour only on a terminal, and never with `NO_COLOR`.
    pub(crate) fn new(format: Format, quiet: bool) -> Self {
        Self { format, quiet, colour: io::stdout().is_terminal() && !no_color() }
    }

    /// The format asked for.
    pub(crate) fn format(&self) -> Format {
        self.format
    }

    /// Prints rows of one kind.
    pub(crate) fn rows(&self, shape: &Shape, rows: &[Value]) -> Outcome<()> {
        match self.format {
            Format::Table => self.text(&table::rows(shape, rows)),
            Format::Json => self.text(&pretty(&Value::from(rows.to_vec()))?),
            Format::Jsonl => rows.iter().try_for_each(|row| self.line(&row.to_string())),
            Format::Yaml => self.text(&yaml(&rows)?),
            Format::Name => rows.iter().try_for_each(|row| self.line(&shape.name_of(row))),
            Format::Csv => self.text(&csv::rows(shape, rows)?),
        }
    }

    /// Prints one thing of a kind.
    pub(crate) fn one(&self, shape: &Shape, value: &Value) -> Outcome<()> {
        match self.format {
            Format::Table => self.text(&table::card(shape, value)),
            Format::Name => self.line(&shape.name_of(value)),
            Format::Csv => self.rows(shape, std::slice::from_ref(value)),
            _ => self.value(value),
        }
    }

    /// Prints one value whose text for people is made by the caller.
    pub(crate) fn answer(&self, value: &Value, people: impl FnOnce() -> String) -> Outcome<()> {
        match self.format {
            Format::Table | Format::Name => self.text(&people()),
            _ => self.value(value),
        }
    }

    fn value(&self, value: &Value) -> Outcome<()> {
        match self.format {
            Format::Yaml => self.text(&yaml(value)?),
            Format::Jsonl => self.line(&value.to_string()),
            Format::Csv => Err(no_rows()),
            _ => self.text(&pretty(value)?),
        }
    }

    /// Prints one line of data.
    pub(crate) fn line(&self, text: &str) -> Outcome<()> {
        writeln!(io::stdout().lock(), "{text}").doing("write to stdout")
    }

    /// Prints text that ends in a line break, or is given one.
    pub(crate) fn text(&self, text: &str) -> Outcome<()> {
        let mut out = io::stdout().lock();
        let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        write!(out, "{text}{end}").and_then(|()| out.flush()).doing("write to stdout")
    }

    /// Tells people something that is no data.
    pub(crate) fn note(&self, text: &str) {
        if !self.quiet {
            to_stderr(text);
        }
    }

    /// Tells people something they need, `--quiet` or not.
    pub(crate) fn warn(&self, text: &str) {
        to_stderr(text);
    }

    /// Marks a word as good or bad, on a terminal.
    pub(crate) fn mark(&self, text: &str, good: bool) -> String {
        match (self.colour, good) {
            (false, _) => text.to_owned(),
            (true, true) => format!("\u{1b}[32m{text}\u{1b}[0m"),
            (true, false) => format!("\u{1b}[31m{text}\u{1b}[0m"),
        }
    }

    /// A bar on stderr, shown on a terminal only.
    pub(crate) fn progress(&self, what: &str, total: Option<u64>) -> Progress {
        Progress::new(what, total, !self.quiet && io::stderr().is_terminal())
    }
}

/// Rows as a table for people, whatever the format asked for.
pub(crate) fn as_table(shape: &Shape, rows: &[Value]) -> String {
    table::rows(shape, rows)
}

/// Why something can't be printed as comma-separated values.
pub(crate) fn no_rows() -> Failure {
    Failure::usage("`-o csv` is for lists, and this is none").hint("`-o json` prints everything")
}

fn no_color() -> bool {
    std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty())
}

/// Whether what is written to stderr may be coloured.
pub(crate) fn colour_on_stderr() -> bool {
    io::stderr().is_terminal() && !no_color()
}

/// One line on stderr; a closed stderr is nobody's concern.
pub(crate) fn to_stderr(text: &str) {
    drop(writeln!(io::stderr().lock(), "{text}"));
}

fn pretty(value: &Value) -> Outcome<String> {
    serde_json::to_string_pretty(value).doing("write JSON")
}

fn yaml(value: &impl serde::Serialize) -> Outcome<String> {
    serde_norway::to_string(value).doing("write YAML")
}
