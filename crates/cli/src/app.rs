//! What every command runs with: output, the server and secret it resolved, and questions to whoever sits there.

use crate::{
    client::Client,
    contexts::{self, Contexts, DEFAULT_SERVER},
    exit::{Doing, Failure, Outcome},
    output::{Format, Out, Shape},
};
use charter_http::dto::Secret;
use clap::builder::TypedValueParser;
use std::{
    io::{self, BufRead, IsTerminal, Read},
    path::PathBuf,
};

/// The longest secret or line of text read from stdin or a file, in bytes.
const SECRET_BYTES_MAX: u64 = 4096;

/// Options every command takes.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Globals {
    /// How to print data
    #[arg(short, long, global = true, value_enum, default_value_t, env = "CHARTER_OUTPUT")]
    pub(crate) output: Format,
    /// Print data and errors only, no notes
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
    /// The context to use instead of the current one
    #[arg(long, global = true, env = "CHARTER_CONTEXT", value_name = "NAME")]
    pub(crate) context: Option<String>,
    /// The server to ask, such as http://127.0.0.1:7400; the context's secret is not sent to another server
    #[arg(long, global = true, env = "CHARTER_SERVER", value_name = "URL")]
    pub(crate) server: Option<String>,
    /// A file that holds an API token; `CHARTER_TOKEN` holds the token itself
    #[arg(long, global = true, env = "CHARTER_TOKEN_FILE", value_name = "FILE", value_parser = path_or_empty())]
    pub(crate) token_file: Option<PathBuf>,
    /// A server's configuration file; read by `serve` and the verbs on the host that work on its store
    #[arg(long, global = true, env = "CHARTER_SERVER_CONFIG", value_name = "FILE", value_parser = path_or_empty())]
    pub(crate) config: Option<PathBuf>,
    /// Why you do this: recorded with what you change
    #[arg(long, global = true, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
    /// Show what a change would do and who would gain and lose what; nothing is changed
    #[arg(long, global = true)]
    pub(crate) preview: bool,
}

/// The state of one run.
#[derive(Debug)]
pub(crate) struct App {
    /// Where output goes.
    pub(crate) out: Out,
    globals: Globals,
}

/// Which server is meant, and as whom: flag, then `CHARTER_*`, then the context file.
#[derive(Debug)]
pub(crate) struct Target {
    /// The name of the context in use.
    pub(crate) context: String,
    /// The server's address, without a slash at the end.
    pub(crate) server: String,
    /// What authenticates.
    pub(crate) secret: Option<Secret>,
    /// That the context's sign-in is kept from a server it is not for.
    held_back: Option<String>,
}

impl App {
    /// A run with these options.
    pub(crate) fn new(globals: Globals) -> Self {
        Self { out: Out::new(globals.output, globals.quiet), globals }
    }

    /// Why the caller does this, in his words.
    pub(crate) fn reason(&self) -> Option<String> {
        self.globals.reason.clone()
    }

    /// The server's configuration file, when one is named.
    pub(crate) fn config_file(&self) -> Option<PathBuf> {
        self.globals.config.clone().filter(|path| !path.as_os_str().is_empty())
    }

    /// Whether changes are only previewed.
    pub(crate) const fn previews(&self) -> bool {
        self.globals.preview
    }

    /// The contexts as they are on disk.
    pub(crate) fn contexts(&self) -> Outcome<Contexts> {
        Contexts::load(&contexts::path()?)
    }

    /// The name of the context in use.
    pub(crate) fn context_name(&self, contexts: &Contexts) -> String {
        self.globals.context.clone().unwrap_or_else(|| contexts.current_name().to_owned())
    }

    /// Resolves server and secret.
    pub(crate) fn target(&self) -> Outcome<Target> {
        let contexts = self.contexts()?;
        let name = self.context_name(&contexts);
        let context = contexts.contexts.get(&name);
        if self.globals.context.is_some() && context.is_none() && self.globals.server.is_none() {
            contexts.named(&name)?;
        }
        let home = context.map_or(DEFAULT_SERVER, |c| c.server.as_str()).trim_end_matches('/').to_owned();
        let server =
            self.globals.server.as_deref().map_or(home.as_str(), |s| s.trim_end_matches('/')).to_owned();
        let kept = context.filter(|_| server == home).and_then(|c| c.secret.clone());
        let secret = match &self.globals.token_file {
            Some(file) if !file.as_os_str().is_empty() => Some(secret_from_file(file)?),
            _ => std::env::var("CHARTER_TOKEN").ok().filter(|t| !t.is_empty()).map(Secret::new).or(kept),
        };
        let elsewhere = secret.is_none() && context.is_some_and(|c| c.secret.is_some());
        let held_back = elsewhere.then(|| {
            format!("the sign-in of the context `{name}` is for {home}, and is not sent to {server}")
        });
        Ok(Target { context: name, server, secret, held_back })
    }

    /// A client of the server in use, signed in if anybody is.
    pub(crate) fn client(&self) -> Outcome<Client> {
        let target = self.target()?;
        let client = Client::new(target.server, target.secret, self.globals.reason.clone())?;
        Ok(client.held_back(target.held_back).previewing(self.globals.preview))
    }

    /// Tells what became of a thing: a note for people, the thing itself in the other formats.
    pub(crate) fn made(
        &self,
        kind: &str,
        what: &str,
        shape: &Shape,
        value: &serde_json::Value,
    ) -> Outcome<()> {
        if self.out.format() == Format::Table {
            self.out.note(&format!("{kind} {} {what}.", shape.name_of(value)));
            return Ok(());
        }
        self.out.one(shape, value)
    }

    /// Asks for the name of what is to go, unless `--yes` was given; without a terminal it refuses.
    pub(crate) fn confirm(&self, yes: bool, what: &str, name: &str) -> Outcome<()> {
        if yes || self.previews() {
            return Ok(());
        }
        if !io::stdin().is_terminal() {
            return Err(
                Failure::usage(format!("this would {what}")).hint("add `--yes` to do it without being asked")
            );
        }
        self.out.warn(&format!("This would {what}. Type `{name}` to go on:"));
        if line_from_stdin()? == name {
            Ok(())
        } else {
            Err(Failure::error("nothing was done: the name was not typed"))
        }
    }

    /// Asks for a line of text; without a terminal it names the flag that would have given it.
    pub(crate) fn ask(&self, given: Option<String>, prompt: &str, flag: &str) -> Outcome<String> {
        match given {
            Some(text) => Ok(text),
            None if io::stdin().is_terminal() => {
                self.out.warn(&format!("{prompt}:"));
                line_from_stdin()
            }
            None => {
                Err(Failure::usage(format!("`{flag}` is missing"))
                    .hint("without a terminal nothing is asked"))
            }
        }
    }

    /// A password: from stdin, `CHARTER_PASSWORD`, or asked for without being shown.
    pub(crate) fn password(&self, from_stdin: bool, twice: bool) -> Outcome<Secret> {
        if from_stdin {
            return line_from_stdin().map(Secret::new);
        }
        if let Some(text) = std::env::var("CHARTER_PASSWORD").ok().filter(|t| !t.is_empty()) {
            return Ok(Secret::new(text));
        }
        if !io::stdin().is_terminal() {
            return Err(Failure::usage("a password is needed").hint("hand it in with `--password-stdin`"));
        }
        let text = rpassword::prompt_password("Password: ").doing("read a password")?;
        if twice && rpassword::prompt_password("Again: ").doing("read a password")? != text {
            return Err(Failure::error("the two passwords differ"));
        }
        Ok(Secret::new(text))
    }
}

/// Reads a path; an empty one, as of a variable that is set to nothing, is let through and counts as none.
pub(crate) fn path_or_empty() -> impl TypedValueParser<Value = PathBuf> {
    clap::builder::OsStringValueParser::new().map(PathBuf::from)
}

fn secret_from_file(path: &std::path::Path) -> Outcome<Secret> {
    let what = format!("read `{}`", path.display());
    let mut text = String::new();
    let file = std::fs::File::open(path).doing(&what)?;
    file.take(SECRET_BYTES_MAX).read_to_string(&mut text).doing(&what)?;
    Ok(Secret::new(text.trim()))
}

/// One line from stdin, without its line break.
pub(crate) fn line_from_stdin() -> Outcome<String> {
    let mut line = String::new();
    io::stdin().lock().take(SECRET_BYTES_MAX).read_line(&mut line).doing("read stdin")?;
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}
