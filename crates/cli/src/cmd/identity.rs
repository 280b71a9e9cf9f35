//! `charter user identity`: who somebody is at an identity provider.

use super::{
    common::Yes,
    shapes::{IDENTITY, USER},
};
use crate::{
    app::App,
    client::{Client, route},
    exit::Outcome,
};
use charter_events::{IssuedSubject, Issuer};
use charter_http::dto;
use reqwest::Method;

/// What to do with somebody's identity. A user is named by username, external id or id.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Verb {
    /// Show whom somebody is linked to
    Show {
        /// Who
        user: String,
    },
    /// Link somebody to an identity, in place of any he has: whoever is that there signs in as him. It takes what
    /// resetting his password takes; all his sessions end
    Set {
        /// Who
        user: String,
        /// Which provider: the URL it calls itself, exactly
        #[arg(long, value_name = "URL")]
        issuer: Issuer,
        /// What the provider calls him: the `sub` of its ID tokens, exactly; never his address
        #[arg(long, value_name = "TEXT")]
        subject: IssuedSubject,
    },
    /// Unlink somebody; all his sessions end, and without a password he can't sign in any more
    Remove {
        /// Who
        user: String,
        /// Leave to unlink
        #[command(flatten)]
        yes: Yes,
    },
}

/// Does it.
pub(super) async fn run(app: &App, client: &Client, verb: Verb) -> Outcome<()> {
    match verb {
        Verb::Show { user } => {
            let known = client.get(&route(&["users", &user])?, &[]).await?.body;
            match known.get("identity") {
                Some(identity) => app.out.one(&IDENTITY, identity),
                None => {
                    app.out.note(&format!("User {user} is linked to no identity."));
                    Ok(())
                }
            }
        }
        Verb::Set { user, issuer, subject } => {
            let body = dto::Identity { issuer, subject };
            let made = client.put(&route(&["users", &user, "identity"])?, &body).await?;
            app.made("User", "is linked; all his sessions ended", &USER, &made.body)
        }
        Verb::Remove { user, yes } => {
            app.confirm(yes.yes, &format!("unlink {user}, who then can't sign in at the provider"), &user)?;
            client.send(Method::DELETE, &route(&["users", &user, "identity"])?).await?;
            app.out.note(&format!("User {user} is linked to no identity; all his sessions ended."));
            Ok(())
        }
    }
}
