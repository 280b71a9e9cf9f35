//! `charter config`: the server's configuration file, checked without starting anything, and what counts in the end.

use super::serve;
use crate::{
    app::App,
    exit::{Exit, Failure, Outcome},
    output::{Column, Shape, as_sent},
    settings::{SettingsFile, options, server},
};
use clap::FromArgMatches;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// What to do with the configuration.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Verb {
    /// Check a configuration file, and that what it names can be used together; nothing is started
    Check(Args),
    /// Show what a server started now would be set up with, and where each value comes from; secrets are masked
    Show(Args),
}

/// Which file.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The file; the one of `--config` when left out
    #[arg(value_name = "FILE", value_parser = crate::app::path_or_empty())]
    file: Option<PathBuf>,
}

const SHAPE: Shape = Shape {
    columns: &[
        Column { heading: "KEY", at: "/key" },
        Column { heading: "VALUE", at: "/value" },
        Column { heading: "FROM", at: "/from" },
    ],
    name: "/key",
    view: as_sent,
};

/// What is shown of a secret.
const MASKED: &str = "***";

/// Does it.
pub(crate) fn run(app: &App, verb: Verb) -> Outcome {
    match verb {
        Verb::Check(args) => check(app, &args),
        Verb::Show(args) => show(app, &args),
    }
}

impl Args {
    fn path(&self, app: &App) -> Option<PathBuf> {
        let given = self.file.clone().filter(|path| !path.as_os_str().is_empty());
        given.or_else(|| app.config_file())
    }
}

fn check(app: &App, args: &Args) -> Outcome {
    let path = args.path(app).ok_or_else(|| {
        Failure::usage("no configuration file is named").hint("`charter config check FILE`")
    })?;
    let file = understood(app, &path)?;
    let faults = together(Some(&file))?;
    for (key, failure) in &faults {
        let place = match file.line(key) {
            Some(line) => format!("{}:{line}", path.display()),
            None => path.display().to_string(),
        };
        app.out.warn(&format!("{place}: `{key}`: {}", failure.message));
        failure.hints.iter().for_each(|hint| app.out.warn(&format!("hint: {hint}")));
    }
    if !faults.is_empty() {
        return Err(wrong(&path, faults.len()));
    }
    app.out.note(&format!("`{}` can be used: {} options are set in it.", path.display(), file.len()));
    Ok(Exit::Done)
}

fn show(app: &App, args: &Args) -> Outcome {
    let file = args.path(app).map(|path| understood(app, &path)).transpose()?;
    let matches = matches(file.as_ref())?;
    let rows: Vec<Value> = options()
        .iter()
        .map(|option| {
            let value = option.value(&matches).filter(|text| !text.is_empty());
            let shown = if option.is_secret() { value.map(|_| MASKED.to_owned()) } else { value };
            let from = option.source(&matches, file.as_ref()).to_string();
            json!({"key": option.key(), "value": shown, "from": from})
        })
        .collect();
    app.out.rows(&SHAPE, &rows)?;
    Ok(Exit::Done)
}

/// The file, each of its lines understood; every fault is told.
fn understood(app: &App, path: &Path) -> Outcome<SettingsFile> {
    SettingsFile::read(path)?.map_err(|faults| {
        faults.iter().for_each(|fault| app.out.warn(&fault.at(path)));
        wrong(path, faults.len())
    })
}

fn wrong(path: &Path, faults: usize) -> Failure {
    let count = if faults == 1 { "a fault".to_owned() } else { format!("{faults} faults") };
    Failure::usage(format!("`{}` has {count}", path.display()))
}

/// What a server would be started with: the variables of now over the file.
fn matches(file: Option<&SettingsFile>) -> Outcome<clap::ArgMatches> {
    let parent = clap::Command::new("charter").subcommand(server());
    let command = match file {
        Some(file) => file.under(parent, "serve"),
        None => parent,
    };
    let matches = command.try_get_matches_from(["charter", "serve"]);
    let mut matches = matches.map_err(|error| Failure::usage(first_line(&error.to_string())))?;
    matches.remove_subcommand().map(|(_, matches)| matches).ok_or_else(|| Failure::error("nothing to start"))
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned()
}

/// What can't be used although each line by itself is understood.
fn together(file: Option<&SettingsFile>) -> Outcome<Vec<(&'static str, Failure)>> {
    let args = serve::Args::from_arg_matches(&matches(file)?);
    Ok(args.map_err(|error| Failure::usage(first_line(&error.to_string())))?.faults())
}
