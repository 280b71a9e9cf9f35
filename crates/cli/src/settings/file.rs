//! The configuration file: TOML, each key at most once, every fault told with its line. A key that is unknown or empty
//! is a fault, never ignored: what was meant to be set must not be left at a default.

use super::options::{OptionOf, options};
use crate::exit::{Doing, Failure, Outcome};
use clap::Command;
use std::{fs::File, io::Read, ops::Range, path::Path};
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

/// The largest file read, in bytes.
const FILE_BYTES_MAX: u64 = 256 * 1024;
/// How far a mistyped key may be from the one that is suggested, in letters.
const TYPO_LETTERS_MAX: usize = 3;

/// A file that was read and whose every line is understood.
#[derive(Debug)]
pub(crate) struct SettingsFile {
    entries: Vec<Entry>,
}

/// One key and what it is set to.
struct Entry {
    key: String,
    values: Vec<String>,
    line: usize,
}

impl std::fmt::Debug for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} in line {}", self.key, self.line)
    }
}

/// What is wrong with a file, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    /// The line, from 1.
    pub(crate) line: usize,
    /// What, on one line.
    pub(crate) told: String,
}

impl Fault {
    /// The fault with its place, as compilers write it.
    pub(crate) fn at(&self, path: &Path) -> String {
        format!("{}:{}: {}", path.display(), self.line, self.told)
    }
}

impl SettingsFile {
    /// Reads a file.
    ///
    /// # Errors
    /// The outer one: it can't be read, or others may read the secrets in it. The inner one: what is wrong in it, in
    /// the order of its lines.
    pub(crate) fn read(path: &Path) -> Outcome<Result<Self, Vec<Fault>>> {
        let what = format!("read `{}`", path.display());
        let mut file = File::open(path).doing(&what)?;
        let mut text = String::new();
        let read = (&mut file).take(FILE_BYTES_MAX + 1).read_to_string(&mut text).doing(&what)?;
        if read as u64 > FILE_BYTES_MAX {
            return Err(Failure::usage(format!(
                "`{}` is larger than {FILE_BYTES_MAX} bytes",
                path.display()
            )));
        }
        match Self::parse(&text) {
            Ok(parsed) => {
                parsed.refuse_other_readers(path, &file)?;
                Ok(Ok(parsed))
            }
            Err(faults) => Ok(Err(faults)),
        }
    }

    /// Reads a text.
    ///
    /// # Errors
    /// Everything that is wrong in it.
    pub(crate) fn parse(text: &str) -> Result<Self, Vec<Fault>> {
        let table = DeTable::parse(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            vec![Fault { line: line_of(text, at), told: one_line(error.message()) }]
        })?;
        let known = options();
        let (mut entries, mut faults) = (Vec::new(), Vec::new());
        for (key, value) in table.get_ref() {
            let line = line_of(text, key.span().start);
            match entry(&known, key.get_ref(), value) {
                Ok((key, values)) => entries.push(Entry { key, values, line }),
                Err(told) => faults.push(Fault { line, told }),
            }
        }
        faults.sort_by_key(|fault| fault.line);
        if faults.is_empty() { Ok(Self { entries }) } else { Err(faults) }
    }

    /// The line that sets a key.
    pub(crate) fn line(&self, key: &str) -> Option<usize> {
        self.entries.iter().find(|entry| entry.key == key).map(|entry| entry.line)
    }

    /// How many keys are set.
    pub(crate) const fn len(&self) -> usize {
        self.entries.len()
    }

    /// A command line on which the file's values are what counts where nothing else is given.
    pub(crate) fn under(&self, command: Command, verb: &str) -> Command {
        command.mut_subcommand(verb, |mut verb| {
            for entry in &self.entries {
                if verb.get_arguments().any(|arg| arg.get_id().as_str() == entry.key) {
                    // They live as long as the command line, which is to the program's end.
                    let values: Vec<&'static str> =
                        entry.values.iter().map(|text| &*text.clone().leak()).collect();
                    verb = verb.mut_arg(&entry.key, |arg| arg.default_values(values));
                }
            }
            verb
        })
    }

    /// Refuses a file with secrets that others of this machine may read or change.
    fn refuse_other_readers(&self, path: &Path, file: &File) -> Outcome<()> {
        let secret =
            options().into_iter().find(|option| option.is_secret() && self.line(option.key()).is_some());
        let Some(secret) = secret else { return Ok(()) };
        if let Some(why) = exposed(file).doing(format_args!("examine `{}`", path.display()))? {
            return Err(Failure::usage(format!(
                "`{}` holds `{}`, which may be a secret, and {why}",
                path.display(),
                secret.key()
            ))
            .hint(format!(
                "`chmod 600 {}`, or 640 for a file of root's that a group reads",
                path.display()
            )));
        }
        Ok(())
    }
}

/// How a file that holds a secret is open to others than its owner; one of root's may be read by a group.
#[cfg(unix)]
pub(crate) fn exposed(file: &File) -> std::io::Result<Option<&'static str>> {
    use std::os::unix::fs::MetadataExt;
    let metadata = file.metadata()?;
    let refused = if metadata.uid() == 0 { 0o037 } else { 0o077 };
    Ok(match metadata.mode() & refused {
        0 => None,
        open if open & 0o044 != 0 => Some("others may read it"),
        _ => Some("others may change or run it"),
    })
}

/// Elsewhere the system's own lists say who may read a file.
#[cfg(not(unix))]
pub(crate) fn exposed(_: &File) -> std::io::Result<Option<&'static str>> {
    Ok(None)
}

/// A key and its values, or what is wrong with them.
fn entry(
    known: &[OptionOf],
    key: &str,
    value: &Spanned<DeValue<'_>>,
) -> Result<(String, Vec<String>), String> {
    let Some(option) = known.iter().find(|option| option.key() == key) else {
        return Err(unknown(known, key));
    };
    let values = match value.get_ref() {
        DeValue::Boolean(on) if option.is_switch() => vec![on.to_string()],
        _ if option.is_switch() => return Err(format!("`{key}` is `true` or `false`")),
        DeValue::Array(values) if option.is_list() => {
            values.iter().map(|value| plain(key, value.get_ref())).collect::<Result<_, _>>()?
        }
        DeValue::Array(_) => return Err(format!("`{key}` takes one value, not a list")),
        value => vec![plain(key, value)?],
    };
    if values.iter().any(|value| value.trim().is_empty()) {
        return Err(format!(
            "`{key}` is empty: without the line it is {}",
            option.default().as_deref().unwrap_or("not set")
        ));
    }
    if !option.is_switch()
        && let Some(why) = values.iter().find_map(|value| option.refusal(value))
    {
        return Err(format!("`{key}`: {why}"));
    }
    Ok((key.to_owned(), values))
}

/// A text or a whole number, as the command line would have it.
fn plain(key: &str, value: &DeValue<'_>) -> Result<String, String> {
    match value {
        DeValue::String(text) => Ok(text.to_string()),
        DeValue::Integer(number) if number.radix() == 10 => Ok(number.as_str().to_owned()),
        other => Err(format!("`{key}` takes a text or a whole number, not this {}", other.type_str())),
    }
}

fn unknown(known: &[OptionOf], key: &str) -> String {
    let shown: String = key.chars().take(64).flat_map(char::escape_debug).collect();
    let nearest = known.iter().map(|option| (strsim::damerau_levenshtein(option.key(), key), option.key()));
    match nearest.filter(|(letters, _)| *letters <= TYPO_LETTERS_MAX).min() {
        Some((_, meant)) => format!("there is no option `{shown}`; is `{meant}` meant?"),
        None => format!("there is no option `{shown}`"),
    }
}

fn line_of(text: &str, at: usize) -> usize {
    let Range { start, end } = 0..at;
    1 + text.as_bytes().get(start..end).unwrap_or_default().iter().filter(|byte| **byte == b'\n').count()
}

fn one_line(text: &str) -> String {
    text.lines().map(str::trim).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(text: &str) -> Vec<(usize, String)> {
        let faults = SettingsFile::parse(text).unwrap_err();
        faults.into_iter().map(|fault| (fault.line, fault.told)).collect()
    }

    #[test]
    fn every_fault_is_told_with_its_line() {
        let told =
            faults("# a comment\nlisten = \"nowhere\"\n\nlog-format = \"text\"\nlog_format = \"xml\"\n");
        assert_eq!(
            told,
            [
                (2, "`listen`: `nowhere` is not taken: invalid socket address syntax".to_owned()),
                (4, "there is no option `log-format`; is `log_format` meant?".to_owned()),
                (5, "`log_format`: `xml` is not taken: it is one of `text`, `json`".to_owned()),
            ]
        );
    }

    #[test]
    fn a_text_that_is_no_toml_is_told_with_its_line() {
        for (text, line) in [("listen = null\n", 1), ("\nlisten = \"a\"\nlisten = \"b\"\n", 3), ("x\n", 1)] {
            let told = faults(text);
            assert_eq!(told.len(), 1, "{text:?}");
            assert_eq!(told[0].0, line, "{text:?}: {told:?}");
        }
    }

    #[test]
    fn no_key_may_be_empty_of_another_kind_or_mistyped() {
        for option in options() {
            let key = option.key();
            for value in ["\"\"", "\"  \"", "{}", "1.5", "1979-05-27", "[[1]]", "nan"] {
                let told = faults(&format!("{key} = {value}"));
                assert!(told.len() == 1 && told[0].1.contains(key), "{key} = {value}: {told:?}");
            }
            let told = faults(&format!("{key}x = \"1\""));
            assert!(told[0].1.contains("there is no option") && told[0].1.contains(key), "{told:?}");
        }
        assert_eq!(faults("[server]\nlisten = \"127.0.0.1:1\"")[0].1, "there is no option `server`");
    }

    #[test]
    fn a_secret_is_in_no_fault() {
        for option in options().into_iter().filter(OptionOf::is_secret) {
            for value in ["[\"hunter2\"]", "{a = \"hunter2\"}", "\"hunter2\\u0000\""] {
                if let Err(faults) = SettingsFile::parse(&format!("{} = {value}", option.key())) {
                    assert!(!format!("{faults:?}").contains("hunter2"), "{faults:?}");
                }
            }
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_file_with_secrets_is_its_owners_alone() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("charter.toml");
        let mine =
            std::fs::metadata(folder.path()).map(|of| std::os::unix::fs::MetadataExt::uid(&of)).unwrap();
        for (text, mode, taken) in [
            ("log = \"info\"", 0o644, true),
            ("database_url = \"postgres://a:b@c/d\"", 0o600, true),
            ("database_url = \"postgres://a:b@c/d\"", 0o400, true),
            ("database_url = \"postgres://a:b@c/d\"", 0o640, mine == 0),
            ("database_url = \"postgres://a:b@c/d\"", 0o660, false),
            ("database_url = \"postgres://a:b@c/d\"", 0o604, false),
            ("nats_url = \"nats://a:b@c\"", 0o644, false),
        ] {
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            let read = SettingsFile::read(&path);
            assert_eq!(read.is_ok(), taken, "{text} {mode:o}");
            if let Err(failure) = read {
                assert!(failure.message.contains("others may") && !failure.message.contains("a:b"));
            }
        }
    }
}
