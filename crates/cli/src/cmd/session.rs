//! `charter session`: sign-ins of one's own.

use super::{common::Yes, shapes::SESSION};
use crate::{
    app::App,
    exit::{Exit, Outcome},
};
use reqwest::Method;

/// What to do with sessions.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Verb {
    /// List yours
    Ls,
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
        Verb::Ls => app.out.rows(&SESSION, &client.whole("/user/me/sessions").await?)?,
        Verb::EndAll { yes } => {
            app.confirm(yes.yes, "end all your sessions, this one too", "all")?;
            client.send(Method::DELETE, "/user/me/sessions").await?;
            app.out.note("All your sessions ended: `charter login` signs you in again.");
        }
    }
    Ok(Exit::Done)
}
