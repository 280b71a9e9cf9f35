//! The options of a server, as the command line defines them, and where the value of each came from.

use super::SettingsFile;
use crate::cli::Cli;
use clap::{Arg, ArgAction, ArgMatches, Command, CommandFactory, parser::ValueSource};

/// One option of the server.
pub(crate) struct OptionOf {
    arg: Arg,
}

/// Where a value came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    /// A flag.
    Flag,
    /// A variable, by its name.
    Variable(String),
    /// A line of the file.
    Line(usize),
    /// Nobody gave one.
    Default,
}

/// `charter serve`, as the command line defines it.
pub(crate) fn server() -> Command {
    Cli::command().find_subcommand("serve").cloned().unwrap_or_default()
}

/// Every option of the server, in the order of its help.
pub(crate) fn options() -> Vec<OptionOf> {
    server()
        .get_arguments()
        .filter(|arg| arg.get_long().is_some())
        .cloned()
        .map(|arg| OptionOf { arg })
        .collect()
}

impl OptionOf {
    /// Its key in the file.
    pub(crate) fn key(&self) -> &str {
        self.arg.get_id().as_str()
    }

    /// Its flag.
    pub(crate) fn flag(&self) -> String {
        format!("--{}", self.arg.get_long().unwrap_or_default())
    }

    /// Its variable.
    pub(crate) fn variable(&self) -> String {
        self.arg.get_env().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    }

    /// Whether its value may hold a secret: it is never shown.
    pub(crate) fn is_secret(&self) -> bool {
        self.arg.is_hide_env_values_set()
    }

    /// Whether it is on or off.
    pub(crate) fn is_switch(&self) -> bool {
        matches!(self.arg.get_action(), ArgAction::SetTrue | ArgAction::SetFalse)
    }

    /// Whether it takes several values.
    pub(crate) fn is_list(&self) -> bool {
        matches!(self.arg.get_action(), ArgAction::Append)
    }

    /// Why this is no value of it, in the words of whatever reads it; `None`: it is one. A secret is not repeated.
    pub(crate) fn refusal(&self, value: &str) -> Option<String> {
        let alone = Command::new("file").arg(self.arg.clone().env(None::<&str>));
        let error = alone.try_get_matches_from(["file", &format!("{}={value}", self.flag())]).err()?;
        let known = clap::error::ContextKind::ValidValue;
        let why =
            std::error::Error::source(&error).map(ToString::to_string).or_else(|| match error.get(known) {
                Some(clap::error::ContextValue::Strings(words)) => {
                    Some(format!("it is one of `{}`", words.join("`, `")))
                }
                _ => None,
            });
        let why = why.unwrap_or_else(|| "it is not a value of this option".to_owned());
        Some(if self.is_secret() { why } else { format!("`{value}` is not taken: {why}") })
    }

    /// What it is when nobody says.
    pub(crate) fn default(&self) -> Option<String> {
        let values: Vec<_> =
            self.arg.get_default_values().iter().map(|text| text.to_string_lossy()).collect();
        match values.is_empty() {
            true => self.is_switch().then(|| "false".to_owned()),
            false => Some(values.join(",")),
        }
    }

    /// What it does, on one line.
    #[cfg(test)]
    pub(crate) fn help(&self) -> String {
        let help = self.arg.get_long_help().or_else(|| self.arg.get_help());
        help.map(|text| text.to_string().split_whitespace().collect::<Vec<_>>().join(" ")).unwrap_or_default()
    }

    /// The value that counts, as text; `None` when there is none.
    pub(crate) fn value(&self, matches: &ArgMatches) -> Option<String> {
        let values: Vec<_> =
            matches.get_raw(self.key())?.map(|text| text.to_string_lossy().into_owned()).collect();
        Some(values.join(","))
    }

    /// Where that came from.
    pub(crate) fn source(&self, matches: &ArgMatches, file: Option<&SettingsFile>) -> Source {
        match matches.value_source(self.key()) {
            Some(ValueSource::CommandLine) => Source::Flag,
            Some(ValueSource::EnvVariable) => Source::Variable(self.variable()),
            _ => file.and_then(|file| file.line(self.key())).map_or(Source::Default, Source::Line),
        }
    }
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Flag => f.write_str("flag"),
            Self::Variable(name) => f.write_str(name),
            Self::Line(line) => write!(f, "line {line}"),
            Self::Default => f.write_str("default"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_of_the_server_has_a_key_a_flag_a_variable_and_help() {
        let all = options();
        assert!(all.len() > 10);
        for option in all {
            let key = option.key();
            assert_eq!(option.flag(), format!("--{}", key.replace('_', "-")));
            assert_eq!(option.variable(), format!("CHARTER_{}", key.to_uppercase()));
            assert!(!option.help().is_empty(), "{key}");
        }
    }

    #[test]
    fn what_may_hold_a_password_is_a_secret() {
        let secrets: Vec<_> = options().into_iter().filter(|option| option.is_secret()).collect();
        let keys: Vec<_> = secrets.iter().map(|option| option.key()).collect();
        for key in ["database_url", "migration_url", "nats_url"] {
            assert!(keys.contains(&key), "{key}");
        }
        for option in options() {
            // Where people reach the installation is what they are told.
            let telling = option.key() != "public_url"
                && ["password", "secret", "token", "_url"].iter().any(|word| option.key().ends_with(word));
            assert!(!telling || option.is_secret(), "{} may hold a secret and is shown", option.key());
        }
    }
}
