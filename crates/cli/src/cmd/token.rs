//! `charter token`: API tokens of one's own, and of services.

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
    Ls {
        /// Whose
        #[command(flatten)]
        whose: Whose,
    },
    /// Issue one; its secret is printed once and kept nowhere
    Create {
        /// Whose
        #[command(flatten)]
        whose: Whose,
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
        /// Whose
        #[command(flatten)]
        whose: Whose,
        /// Its id
        token: String,
        /// Leave to destroy
        #[command(flatten)]
        yes: Yes,
    },
}

/// Whose tokens.
#[derive(Debug, clap::Args)]
pub(crate) struct Whose {
    /// Those of this user instead of yours, such as a service: username, external id or id
    #[arg(long = "for", value_name = "USER")]
    user: Option<String>,
}

impl Whose {
    fn route(&self, token: Option<&str>) -> Outcome<String> {
        let mut segments = match self.user.as_deref() {
            None => vec!["user", "me", "tokens"],
            Some(user) => vec!["users", user, "tokens"],
        };
        segments.extend(token);
        route(&segments)
    }
}

/// Does it.
pub(crate) async fn run(app: &App, verb: Verb) -> Outcome {
    let client = app.client()?;
    match verb {
        Verb::Ls { whose } => app.out.rows(&TOKEN, &client.whole(&whose.route(None)?).await?)?,
        Verb::Create { whose, name, until, only } => {
            let body = TokenRequest { name, expires_at: until, mask: (!only.is_empty()).then_some(only) };
            let answer = client.post(&whose.route(None)?, &body).await?;
            let issued: TokenIssued = answer.read()?;
            app.out.answer(&answer.body, || issued.secret.expose().to_owned())?;
            app.out.note("Keep this secret: it is shown once.");
        }
        Verb::Revoke { whose, token, yes } => {
            app.confirm(yes.yes, &format!("revoke token {token}"), &token)?;
            client.send(Method::DELETE, &whose.route(Some(&token))?).await?;
            app.out.note(&format!("Token {token} revoked."));
        }
    }
    Ok(Exit::Done)
}
