//! `charter token`: API tokens of one's own.

use super::{
    common::{Yes, moment},
    shapes::TOKEN,
};
use crate::{
    app::App,
    client::route,
    exit::{Exit, Outcome},
};
use charter_events::{DisplayName, Pattern, Timestamp};
use charter_http::dto::{TokenIssued, TokenRequest};
use reqwest::Method;

/// What to do with tokens.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Verb {
    /// List yours
    Ls,
    /// Issue one; its secret is printed once and kept nowhere
    Create {
        /// What you call it
        name: DisplayName,
        /// Until this moment: RFC 3339, or from now such as `12h`, `30d`; without end when left out
        #[arg(long, value_parser = moment, value_name = "TIME")]
        until: Option<Timestamp>,
        /// A ceiling on what may be asked with it: keys and wildcards
        #[arg(long, value_name = "KEY")]
        only: Vec<Pattern>,
    },
    /// Revoke one
    Revoke {
        /// Its id
        token: String,
        /// Leave to destroy
        #[command(flatten)]
        yes: Yes,
    },
}

/// Does it.
pub(crate) async fn run(app: &App, verb: Verb) -> Outcome {
    let client = app.client()?;
    match verb {
        Verb::Ls => app.out.rows(&TOKEN, &client.whole("/user/me/tokens").await?)?,
        Verb::Create { name, until, only } => {
            let body = TokenRequest { name, expires_at: until, mask: (!only.is_empty()).then_some(only) };
            let answer = client.post("/user/me/tokens", &body).await?;
            let issued: TokenIssued = answer.read()?;
            app.out.answer(&answer.body, || issued.secret.expose().to_owned())?;
            app.out.note("Keep this secret: it is shown once.");
        }
        Verb::Revoke { token, yes } => {
            app.confirm(yes.yes, &format!("revoke token {token}"), &token)?;
            client.send(Method::DELETE, &route(&["user", "me", "tokens", &token])?).await?;
            app.out.note(&format!("Token {token} revoked."));
        }
    }
    Ok(Exit::Done)
}
