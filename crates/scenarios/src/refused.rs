//! Why a file was refused, and where.

use std::fmt;

/// A file can't be read, or states what the model refuses.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Refused {
    /// The file, as the caller named it.
    pub file: String,
    /// The line in it, from 1, where known.
    pub line: Option<usize>,
    /// The number of the scenario in the file, from 1, and its name, where known.
    pub scenario: Option<(usize, String)>,
    /// The place in the scenario, such as `grants[2]`, where known.
    pub place: Option<String>,
    /// What is wrong.
    pub reason: String,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        f.write_str(": ")?;
        if let Some((number, name)) = &self.scenario {
            if name.is_empty() {
                write!(f, "scenario {number}: ")?;
            } else {
                write!(f, "scenario {number} `{name}`: ")?;
            }
        }
        if let Some(place) = &self.place {
            write!(f, "{place}: ")?;
        }
        f.write_str(&self.reason)
    }
}

/// What is wrong with a scenario, before it is known where in which file that stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) place: Vec<Step>,
    pub(crate) reason: String,
}

/// A step into a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    Member(String),
    Item(usize),
}

impl Problem {
    /// In a list of the scenario.
    pub(crate) fn item(list: &str, index: usize, reason: impl Into<String>) -> Self {
        Self { place: vec![Step::Member(list.to_owned()), Step::Item(index)], reason: reason.into() }
    }

    /// In a map of the scenario.
    pub(crate) fn member(map: &str, name: &str, reason: impl Into<String>) -> Self {
        Self {
            place: vec![Step::Member(map.to_owned()), Step::Member(name.to_owned())],
            reason: reason.into(),
        }
    }
}

/// The steps as people write them: `grants[2]`, `roles.operator`.
pub(crate) fn shown(place: &[Step]) -> String {
    place.iter().enumerate().fold(String::new(), |text, (index, step)| match step {
        Step::Item(number) => format!("{text}[{number}]"),
        Step::Member(name) if index == 0 => name.clone(),
        Step::Member(name) => format!("{text}.{name}"),
    })
}
