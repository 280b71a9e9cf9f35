//! The variables that set a server up. One that is nearly the name of another is a mistake, which must not pass for
//! a default. Any other is left alone: machines hand in `CHARTER_…` of their own, such as a service's address.

use crate::{
    cli::Cli,
    exit::{Failure, Outcome},
};
use clap::{Command, CommandFactory};
use std::collections::BTreeSet;

/// Those that no flag has.
const WITHOUT_FLAG: [&str; 3] = ["CHARTER_CONFIG", "CHARTER_TOKEN", "CHARTER_PASSWORD"];
/// How far a name may be from a known one to be taken for a mistake, in letters.
const TYPO_LETTERS_MAX: usize = 2;

/// Refuses to go on when a variable is nearly, and not quite, one that is known.
pub(super) fn refuse_mistyped() -> Outcome<()> {
    let set = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    match mistyped(set, &known()) {
        None => Ok(()),
        Some((set, meant)) => {
            Err(Failure::usage(format!("there is no variable `{set}`; is `{meant}` meant?"))
                .hint("correct it, or take it away"))
        }
    }
}

fn known() -> BTreeSet<String> {
    fn visit(command: &Command, known: &mut BTreeSet<String>) {
        let named = command.get_arguments().filter_map(|arg| arg.get_env());
        known.extend(named.map(|name| name.to_string_lossy().into_owned()));
        command.get_subcommands().for_each(|sub| visit(sub, known));
    }
    let mut known: BTreeSet<String> = WITHOUT_FLAG.map(str::to_owned).into();
    visit(&Cli::command(), &mut known);
    known
}

fn mistyped(set: impl Iterator<Item = String>, known: &BTreeSet<String>) -> Option<(String, String)> {
    let mut ours: Vec<_> = set.filter(|name| name.to_uppercase().starts_with("CHARTER")).collect();
    ours.sort();
    ours.into_iter().filter(|name| !known.contains(name)).find_map(|name| {
        let near =
            |meant: &&String| strsim::damerau_levenshtein(meant, &name.to_uppercase()) <= TYPO_LETTERS_MAX;
        known.iter().find(near).map(|meant| (name, meant.clone()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(name: &str) -> Option<String> {
        mistyped([name.to_owned()].into_iter(), &known()).map(|(_, meant)| meant)
    }

    #[test]
    fn a_letter_too_many_too_few_swapped_or_wrong_is_a_mistake_for_every_variable() {
        let known = known();
        assert!(known.len() > 20);
        for name in &known {
            let bytes = name.as_bytes();
            let (last, before) = (bytes[bytes.len() - 1] as char, bytes[bytes.len() - 2] as char);
            let short = &name[..name.len() - 1];
            let swapped = format!("{}{last}{before}", &name[..name.len() - 2]);
            for typo in
                [format!("{name}X"), short.to_owned(), swapped, format!("{short}Q"), name.to_lowercase()]
            {
                assert!(known.contains(&typo) || found(&typo).is_some(), "{typo} passes");
            }
            assert_eq!(found(name), None, "{name}");
        }
    }

    #[test]
    fn what_machines_hand_in_is_left_alone() {
        for name in [
            "CHARTER_SERVICE_HOST",
            "CHARTER_PORT",
            "CHARTER_PORT_7400_TCP_ADDR",
            "CHARTER_PG_BIN",
            "CHARTER_NATS_SERVER",
            "CHARTER_VECTORS",
            "PATH",
        ] {
            assert_eq!(found(name), None, "{name}");
        }
    }
}
