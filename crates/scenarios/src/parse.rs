//! Bytes into scenarios: YAML (one or more documents), JSON (one scenario), JSON Lines (one a line).

use crate::{file::Scenario, locate::Origin, refused::Refused};
use serde::Deserialize;
use std::sync::Arc;

/// The largest file, in bytes.
pub const FILE_BYTES_MAX: usize = 32 * 1024 * 1024;
/// The most scenarios in a file.
pub const FILE_SCENARIOS_MAX: usize = 10_000;
/// The most items of any list or map in a scenario.
pub const LIST_ITEMS_MAX: usize = 100_000;

/// How a file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// One scenario a document.
    Yaml,
    /// One scenario.
    Json,
    /// One scenario a line; blank lines are skipped.
    JsonLines,
}

impl Format {
    /// The format a file name's ending says: `.yaml`, `.yml`, `.json`, `.jsonl`, `.ndjson`.
    pub fn of_name(name: &str) -> Option<Self> {
        match name.rsplit_once('.')?.1.to_ascii_lowercase().as_str() {
            "yaml" | "yml" => Some(Self::Yaml),
            "json" => Some(Self::Json),
            "jsonl" | "ndjson" => Some(Self::JsonLines),
            _ => None,
        }
    }
}

/// Reads the scenarios of a file. `source_name` is repeated in refusals.
///
/// # Errors
/// [`Refused`] when the bytes are too many, no UTF-8, not of the format, or not of the shape of a scenario.
pub fn parse(source_name: &str, bytes: &[u8], format: Format) -> Result<Vec<Scenario>, Refused> {
    let file = |line, reason: String| Refused {
        file: source_name.to_owned(),
        line,
        scenario: None,
        place: None,
        reason,
    };
    if bytes.len() > FILE_BYTES_MAX {
        return Err(file(None, format!("the file is larger than {FILE_BYTES_MAX} bytes")));
    }
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let before = bytes.get(..error.valid_up_to()).unwrap_or_default();
        file(Some(line_count(before)), "the file is not UTF-8".to_owned())
    })?;
    let origin =
        Origin { file: source_name.to_owned(), format, text: Arc::from(""), first_line: 1, number: 1 };
    let scenarios = match format {
        _ if text.trim().is_empty() => Vec::new(),
        Format::Yaml => yaml(text, &origin)?,
        Format::Json => vec![json(text, 1, &origin)?],
        Format::JsonLines => json_lines(text, &origin)?,
    };
    if scenarios.is_empty() {
        return Err(file(None, "the file holds no scenario".to_owned()));
    }
    Ok(scenarios)
}

fn line_count(before: &[u8]) -> usize {
    before.iter().filter(|byte| **byte == b'\n').count() + 1
}

fn too_many(origin: &Origin, number: usize, line: Option<usize>) -> Result<(), Refused> {
    if number <= FILE_SCENARIOS_MAX {
        return Ok(());
    }
    let reason = format!("a file holds at most {FILE_SCENARIOS_MAX} scenarios");
    Err(Refused { file: origin.file.clone(), line, scenario: None, place: None, reason })
}

fn yaml(text: &str, origin: &Origin) -> Result<Vec<Scenario>, Refused> {
    let whole: Arc<str> = Arc::from(text);
    let mut scenarios = Vec::new();
    for (index, document) in serde_norway::Deserializer::from_str(text).enumerate() {
        let number = index + 1;
        too_many(origin, number, None)?;
        let mut scenario = Scenario::deserialize(document).map_err(|error| Refused {
            file: origin.file.clone(),
            line: error.location().map(|location| location.line()),
            scenario: Some((number, String::new())),
            place: None,
            reason: without_position(&error.to_string()),
        })?;
        scenario.origin = Arc::new(Origin { text: Arc::clone(&whole), number, ..origin.clone() });
        scenarios.push(scenario);
    }
    Ok(scenarios)
}

fn json(text: &str, number: usize, origin: &Origin) -> Result<Scenario, Refused> {
    let mut scenario: Scenario = serde_json::from_str(text).map_err(|error| Refused {
        file: origin.file.clone(),
        line: Some(origin.first_line + error.line().saturating_sub(1)),
        scenario: (origin.format == Format::JsonLines).then_some((number, String::new())),
        place: None,
        reason: without_position(&error.to_string()),
    })?;
    let text = Arc::from(if origin.format == Format::Json { text } else { "" });
    scenario.origin = Arc::new(Origin { text, number, ..origin.clone() });
    Ok(scenario)
}

fn json_lines(text: &str, origin: &Origin) -> Result<Vec<Scenario>, Refused> {
    let mut scenarios = Vec::new();
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let number = scenarios.len() + 1;
        too_many(origin, number, Some(index + 1))?;
        let origin = Origin { first_line: index + 1, ..origin.clone() };
        scenarios.push(json(line, number, &origin)?);
    }
    Ok(scenarios)
}

/// The readers' messages end with the position, which stands in the refusal already.
fn without_position(message: &str) -> String {
    message.rsplit_once(" at line ").map_or(message, |(what, _)| what).to_owned()
}
