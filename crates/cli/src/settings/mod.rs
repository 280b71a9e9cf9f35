//! What a server is set up with: flags over variables (`CHARTER_*`) over one configuration file. The file's keys are
//! the options of `charter serve`, taken from the command line's own definition, so that an option that is added there
//! is a key at once. Owns the file and which value counts; what an option means is its own file's under `cmd`.

#[cfg(test)]
mod documented;
mod file;
mod options;
mod variables;

pub(crate) use file::{SettingsFile, exposed};
pub(crate) use options::{options, server};

use crate::{
    cli::Cli,
    exit::{Failure, Outcome},
};
use clap::{ArgMatches, CommandFactory, FromArgMatches};
use std::path::{Path, PathBuf};

/// The verbs on the host that read the file: what they share with the server is meant the same way.
const VERBS: [&str; 6] = ["serve", "migrate", "doctor", "recover-admin", "backup", "restore"];

/// The command line as it was typed, with the file's values where neither a flag nor a variable gives one. A wrong
/// command line ends the program with its message; a wrong file is the failure.
pub(crate) fn parsed() -> Outcome<Cli> {
    let mut matches = Cli::command().get_matches();
    if let Some((verb, of_verb)) = matches.subcommand()
        && VERBS.contains(&verb)
    {
        variables::refuse_mistyped()?;
        if let Some(path) = file_of(of_verb) {
            let file = read(&path)?;
            matches = file.under(Cli::command(), verb).get_matches();
        }
    }
    Cli::from_arg_matches_mut(&mut matches).map_err(|error| Failure::usage(error.to_string()))
}

/// The file that flag or variable name; an empty name is none.
pub(crate) fn file_of(matches: &ArgMatches) -> Option<PathBuf> {
    matches.get_one::<PathBuf>("config").filter(|path| !path.as_os_str().is_empty()).cloned()
}

fn read(path: &Path) -> Outcome<SettingsFile> {
    SettingsFile::read(path)?.map_err(|faults| {
        let mut told = faults.iter().map(|fault| fault.at(path));
        let failure = Failure::usage(told.next().unwrap_or_else(|| format!("`{}` is wrong", path.display())));
        match faults.len() {
            0 | 1 => failure,
            count => failure.hint(format!("there are {} more: `charter config check` lists them", count - 1)),
        }
    })
}
