//! What became of each line of a file.

use super::super::shapes::column;
use crate::{
    app::App,
    exit::{Exit, Failure, Outcome},
    output::{Shape, as_sent},
};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// What became of one line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Became {
    Created,
    Changed,
    Unchanged,
    Differs,
    Refused,
    Invalid,
    NotTried,
}

impl Became {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Changed => "changed",
            Self::Unchanged => "unchanged",
            Self::Differs => "differs",
            Self::Refused => "refused",
            Self::Invalid => "invalid",
            Self::NotTried => "not tried",
        }
    }
}

/// The same, with what there is to say of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Told {
    became: Became,
    detail: Option<String>,
}

impl Told {
    pub(super) const fn created() -> Self {
        Self { became: Became::Created, detail: None }
    }

    pub(super) const fn unchanged() -> Self {
        Self { became: Became::Unchanged, detail: None }
    }

    pub(super) fn changed(what: &[String]) -> Self {
        Self { became: Became::Changed, detail: Some(what.join(", ")) }
    }

    /// There is such a thing, and it is not as the file says.
    pub(super) fn differs(what: &[String]) -> Self {
        let detail = format!("{}: `--update` changes it", what.join(", "));
        Self { became: Became::Differs, detail: Some(detail) }
    }

    pub(super) fn with(mut self, detail: Option<String>) -> Self {
        self.detail = match (self.detail, detail) {
            (Some(one), Some(other)) => Some(format!("{one}; {other}")),
            (one, other) => one.or(other),
        };
        self
    }
}

/// A line of the report.
#[derive(Debug)]
pub(super) struct Entry {
    line: u64,
    name: String,
    told: Told,
    exit: Exit,
}

impl Entry {
    pub(super) fn of(line: u64, name: String, told: Outcome<Told>) -> Self {
        match told {
            Ok(told) => {
                let exit = if told.became == Became::Differs { Exit::Conflict } else { Exit::Done };
                Self { line, name, told, exit }
            }
            Err(failure) => Self { line, name, exit: failure.exit, told: refused(failure) },
        }
    }

    pub(super) fn invalid(line: u64, why: String) -> Self {
        let told = Told { became: Became::Invalid, detail: Some(why) };
        Self { line, name: "-".to_owned(), told, exit: Exit::Usage }
    }

    pub(super) fn not_tried(line: u64, name: String) -> Self {
        Self { line, name, told: Told { became: Became::NotTried, detail: None }, exit: Exit::Error }
    }

    fn row(&self) -> Value {
        json!({
            "line": self.line,
            "name": self.name,
            "outcome": self.told.became.as_str(),
            "detail": self.told.detail,
        })
    }
}

fn refused(failure: Failure) -> Told {
    let hints = failure.hints.into_iter().filter(|hint| hint.starts_with("it takes "));
    let detail = std::iter::once(failure.message).chain(hints).collect::<Vec<_>>().join(": ");
    Told { became: Became::Refused, detail: Some(detail) }
}

const SHAPE: Shape = Shape {
    columns: &[
        column("LINE", "/line"),
        column("NAME", "/name"),
        column("OUTCOME", "/outcome"),
        column("DETAIL", "/detail"),
    ],
    name: "/name",
    view: as_sent,
};

/// What became of a file.
#[derive(Debug)]
pub(super) struct Report {
    what: &'static str,
    dry_run: bool,
    entries: Vec<Entry>,
}

impl Report {
    pub(super) const fn new(what: &'static str, dry_run: bool) -> Self {
        Self { what, dry_run, entries: Vec::new() }
    }

    pub(super) fn add(&mut self, entry: Entry) {
        self.entries.push(entry);
    }

    /// Each line as data, and a count of them as a note.
    pub(super) fn print(&self, app: &App) -> Outcome<()> {
        let rows: Vec<Value> = self.entries.iter().map(Entry::row).collect();
        app.out.rows(&SHAPE, &rows)?;
        let mut counts: BTreeMap<Became, usize> = BTreeMap::new();
        for entry in &self.entries {
            *counts.entry(entry.told.became).or_default() += 1;
        }
        let counts: Vec<String> =
            counts.into_iter().map(|(became, count)| format!("{count} {}", became.as_str())).collect();
        let counts = if counts.is_empty() { "no lines".to_owned() } else { counts.join(", ") };
        let end = if self.dry_run { " (a dry run: nothing was changed)" } else { "" };
        app.out.note(&format!("{}: {counts}{end}.", self.what));
        Ok(())
    }

    /// Done when every line is as the file says; else how the first that is not ended.
    pub(super) fn exit(&self) -> Exit {
        self.entries.iter().map(|entry| entry.exit).find(|exit| *exit != Exit::Done).unwrap_or(Exit::Done)
    }
}
