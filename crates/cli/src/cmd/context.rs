//! `charter context`: the servers and sign-ins this machine knows. Never prints a secret.

use crate::{
    app::App,
    contexts::{self, Context, Contexts},
    exit::{Exit, Failure, Outcome},
    output::{Column, Shape, as_sent},
};
use serde_json::{Value, json};

/// What to do with contexts.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Verb {
    /// List them
    Ls,
    /// Show one, or the current one
    Get {
        /// Its name
        name: Option<String>,
    },
    /// Make one the current one
    Use {
        /// Its name
        name: String,
    },
    /// Add one, without signing in
    Create {
        /// Its name
        name: String,
        /// The server's address
        url: String,
    },
    /// Forget one, and its sign-in; the session itself goes on until `charter logout` or its end
    Rm {
        /// Its name
        name: String,
    },
}

const SHAPE: Shape = Shape {
    columns: &[
        Column { heading: "NAME", at: "/name" },
        Column { heading: "CURRENT", at: "/current" },
        Column { heading: "SERVER", at: "/server" },
        Column { heading: "USER", at: "/username" },
        Column { heading: "EXPIRES", at: "/expires_at" },
    ],
    name: "/name",
    view: as_sent,
};

/// Does it.
pub(crate) fn run(app: &App, verb: Verb) -> Outcome {
    let path = contexts::path()?;
    let mut all = Contexts::load(&path)?;
    match verb {
        Verb::Ls => {
            let rows: Vec<Value> = all.contexts.iter().map(|(name, c)| row(&all, name, c)).collect();
            app.out.rows(&SHAPE, &rows)?;
        }
        Verb::Get { name } => {
            let name = name.unwrap_or_else(|| app.context_name(&all));
            app.out.one(&SHAPE, &row(&all, &name, all.named(&name)?))?;
        }
        Verb::Use { name } => {
            all.named(&name)?;
            all.current = Some(name.clone());
            all.save(&path)?;
            app.out.note(&format!("The current context is {name}."));
        }
        Verb::Create { name, url } => {
            if all.contexts.contains_key(&name) {
                return Err(Failure::new(Exit::Conflict, format!("there is a context `{name}` already")));
            }
            let context = Context { server: url, username: None, secret: None, expires_at: None };
            all.contexts.insert(name.clone(), context);
            all.save(&path)?;
            app.out
                .note(&format!("Context {name} created: `charter --context {name} login` signs in there."));
        }
        Verb::Rm { name } => {
            all.named(&name)?;
            all.contexts.remove(&name);
            all.current = all.current.filter(|current| *current != name);
            all.save(&path)?;
            app.out.note(&format!("Context {name} is forgotten."));
        }
    }
    Ok(Exit::Done)
}

fn row(all: &Contexts, name: &str, context: &Context) -> Value {
    json!({
        "name": name,
        "current": all.current_name() == name,
        "server": context.server,
        "username": context.username,
        "signed_in": context.secret.is_some(),
        "expires_at": context.expires_at,
    })
}
