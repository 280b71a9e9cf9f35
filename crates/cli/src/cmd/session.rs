//! `charter session`: sign-ins of one's own.

use super::{
    common::{Limit, Yes, list},
    shapes::SESSION,
};
use crate::{
    app::App,
    exit::{Exit, Outcome},
};
use reqwest::Method;

/// What to do with sessions.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Verb {
    /// List yours
    Ls {
        /// How much of the list
        #[command(flatten)]
        limit: Limit,
    },
    /// End all of yours, this one too
    EndAll {
        /// Leave to destroy
        #[command(flatten)]
        yes: Yes,
    },
}

/// Does it.
pub(crate) async fn run(app: &App, verb: Verb) -> Outcome {
    let client = app.client()?;
    match verb {
        Verb::Ls { limit } => list(app, &client, "/user/me/sessions", &[], (limit, &SESSION)).await?,
        Verb::EndAll { yes } => {
            app.confirm(yes.yes, "end all your sessions, this one too", "all")?;
            client.send(Method::DELETE, "/user/me/sessions").await?;
            app.out.note("All your sessions ended: `charter login` signs you in again.");
        }
    }
    Ok(Exit::Done)
}
