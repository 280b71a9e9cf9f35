//! Files of many things: CSV with headings, or a JSON list. Both are read strictly: unknown and repeated members are
//! refused, and a line that is not understood says why.

use super::Kind;
use crate::{
    cmd::common::document,
    exit::{Failure, Outcome},
};
use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::{Map, Value};
use std::{collections::HashMap, fmt, path::Path};

/// The most lines one file holds.
const LINES_MAX: usize = 100_000;
/// The longest cell of a CSV file, in bytes.
const CELL_BYTES_MAX: usize = 64 * 1024;

/// How a file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Form {
    /// Comma-separated values, UTF-8, with a line of headings
    Csv,
    /// A JSON list of objects
    Json,
}

/// One thing of a file.
#[derive(Debug)]
pub(super) struct Line<T> {
    /// Its line in a CSV file; its place in a JSON list, from 1.
    pub(super) number: u64,
    /// What it says, or why that is not understood.
    pub(super) read: Result<T, String>,
}

/// Reads a file whole.
pub(super) fn lines<K: Kind>(path: &Path, form: Option<Form>) -> Outcome<Vec<Line<K::Line>>> {
    let form = form.or_else(|| by_name(path)).ok_or_else(|| {
        Failure::usage(format!("`{}` does not say whether it is CSV or JSON", path.display()))
            .hint("say it with `--format csv` or `--format json`")
    })?;
    let bytes = document(path)?;
    let text = std::str::from_utf8(&bytes)
        .map_err(|_| Failure::usage(format!("`{}` is not UTF-8 text", path.display())))?;
    // Spreadsheets begin their files with a byte order mark.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let members = match form {
        Form::Csv => csv::<K>(text)?,
        Form::Json => json(text)?,
    };
    if members.len() > LINES_MAX {
        return Err(Failure::usage(format!("more than {LINES_MAX} lines in one file"))
            .hint("import it in several parts"));
    }
    Ok(checked::<K>(members))
}

fn by_name(path: &Path) -> Option<Form> {
    let end = path.extension()?.to_str()?.to_ascii_lowercase();
    match end.as_str() {
        "csv" => Some(Form::Csv),
        "json" => Some(Form::Json),
        _ => None,
    }
}

type Read = (u64, Result<Map<String, Value>, String>);

fn csv<K: Kind>(text: &str) -> Outcome<Vec<Read>> {
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(text.as_bytes());
    let headings = reader.headers().map_err(|error| Failure::usage(format!("no headings: {error}")))?.clone();
    for (at, heading) in headings.iter().enumerate() {
        if !K::MEMBERS.contains(&heading) {
            return Err(Failure::usage(format!("there is no column `{heading}` for {}", K::WHAT))
                .hint(format!("the columns are {}", K::MEMBERS.join(", "))));
        }
        if headings.iter().skip(at + 1).any(|other| other == heading) {
            return Err(Failure::usage(format!("the column `{heading}` stands twice")));
        }
    }
    let mut lines = Vec::new();
    for record in reader.records().take(LINES_MAX + 1) {
        let record = record.map_err(|error| Failure::usage(error.to_string()))?;
        let number = record.position().map_or(0, csv::Position::line);
        let cells = headings.iter().zip(&record).filter(|(_, cell)| !cell.is_empty());
        let mut members = Map::new();
        let mut too_long = None;
        for (heading, cell) in cells {
            if cell.len() > CELL_BYTES_MAX {
                too_long = Some(format!("{heading}: longer than {CELL_BYTES_MAX} bytes"));
            }
            let value = if K::LISTS.contains(&heading) {
                let items = cell.split(|c: char| c == ';' || c.is_whitespace());
                items.filter(|item| !item.is_empty()).map(Value::from).collect()
            } else {
                Value::from(cell)
            };
            members.insert(heading.to_owned(), value);
        }
        lines.push((number, too_long.map_or(Ok(members), Err)));
    }
    Ok(lines)
}

fn json(text: &str) -> Outcome<Vec<Read>> {
    let all: Vec<Members> =
        serde_json::from_str(text).map_err(|error| Failure::usage(format!("no list of objects: {error}")))?;
    Ok((1..).zip(all.into_iter().map(|members| members.0)).collect())
}

/// The members of one object; one that stands twice spoils it.
struct Members(Result<Map<String, Value>, String>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(EachOnce)
    }
}

struct EachOnce;

impl<'de> Visitor<'de> for EachOnce {
    type Value = Members;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
        let (mut members, mut twice) = (Map::new(), None);
        while let Some((name, value)) = map.next_entry::<String, Value>()? {
            // A null says the same as nothing.
            if !value.is_null() && members.insert(name.clone(), value).is_some() {
                twice = Some(format!("{name}: stands twice"));
            }
        }
        Ok(Members(twice.map_or(Ok(members), Err)))
    }
}

/// Lines as what they say, and no two that say the same.
fn checked<K: Kind>(lines: Vec<Read>) -> Vec<Line<K::Line>> {
    let mut first: HashMap<String, u64> = HashMap::new();
    let mut all = Vec::with_capacity(lines.len());
    for (number, members) in lines {
        let read = members.and_then(|members| {
            serde_json::from_value::<K::Line>(Value::Object(members)).map_err(|error| error.to_string())
        });
        let read = read.and_then(|line| match K::unique(&line) {
            Some(name) => match first.insert(name.clone(), number) {
                Some(earlier) => Err(format!("`{name}` stands in line {earlier} already")),
                None => Ok(line),
            },
            None => Ok(line),
        });
        all.push(Line { number, read });
    }
    all
}

#[cfg(test)]
mod tests {
    use super::{super::users::Users, *};

    fn read(text: &str, form: Form) -> Outcome<Vec<Line<<Users as Kind>::Line>>> {
        let members = match form {
            Form::Csv => csv::<Users>(text)?,
            Form::Json => json(text)?,
        };
        Ok(checked::<Users>(members))
    }

    fn faults(text: &str, form: Form) -> Vec<(u64, String)> {
        let lines = read(text, form).unwrap();
        lines.into_iter().filter_map(|line| line.read.err().map(|why| (line.number, why))).collect()
    }

    #[test]
    fn a_line_that_is_not_understood_says_where_and_why() {
        let csv = "username,email\nbob,b@example.org\n,c@example.org\nBob,\nbob,\n\"quoted, \"\"x\"\"\",\n";
        let found = faults(csv, Form::Csv);
        assert_eq!(found.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [3, 4, 5, 6]);
        assert!(found[0].1.contains("missing field `username`"), "{found:?}");
        assert_eq!(found[2].1, "`bob` stands in line 2 already");
        let json = r#"[{"username":"bob"},{"username":"x","username":"y"},{"username":1},{"user":"z"}]"#;
        let found = faults(json, Form::Json);
        assert_eq!(found.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [2, 3, 4]);
        assert_eq!(found[0].1, "username: stands twice");
    }

    #[test]
    fn a_file_of_another_shape_is_refused_whole() {
        for text in ["username,shoe_size\nbob,44\n", "username,username\na,b\n", "username,email\nbob\n"] {
            assert!(read(text, Form::Csv).is_err(), "{text}");
        }
        for text in ["{}", "[1]", "[{]", "", r#"[["username","bob"]]"#] {
            assert!(read(text, Form::Json).is_err(), "{text}");
        }
    }

    #[test]
    fn a_file_of_any_size_is_read_line_by_line_or_given_up() {
        let began = std::time::Instant::now();
        for size in std::iter::successors(Some(1_usize), |size| Some(size * 2)).take(13) {
            let names: Vec<String> = (0..size).map(|number| format!("user{number}")).collect();
            let csv = format!("username\n{}\n", names.join("\n"));
            assert_eq!(read(&csv, Form::Csv).unwrap().len(), size);
            let objects: Vec<String> =
                names.iter().map(|name| format!("{{\"username\":\"{name}\"}}")).collect();
            assert_eq!(read(&format!("[{}]", objects.join(",")), Form::Json).unwrap().len(), size);
            // The same line again and again: each but the first names the one before it.
            let same = format!("username\n{}", "bob\n".repeat(size));
            assert_eq!(faults(&same, Form::Csv).len(), size - 1);
            // One cell, as long as everything.
            let cell = read(&format!("username,email\n\"{}\",\n", "\"\"".repeat(size)), Form::Csv).unwrap();
            assert_eq!(cell.len(), 1);
            assert!(cell[0].read.is_err(), "{size} quotes are no username");
            assert!(
                read(&format!("username\n\"{}", "a\n".repeat(size)), Form::Csv)
                    .is_ok_and(|all| all.len() == 1)
            );
            assert!(read(&"username,".repeat(size + 1), Form::Csv).is_err());
        }
        assert!(began.elapsed() < std::time::Duration::from_secs(5), "{:?}", began.elapsed());
    }
}
