//! `charter group`: named sets of users.

use super::{
    common::{Limit, Search, Then, Yes, list},
    shapes::{GROUP, USER_REF},
};
use crate::{
    app::App,
    client::route,
    exit::{Exit, Outcome},
};
use charter_events::{DisplayName, Slug};
use charter_http::dto::{GroupCreate, GroupPatch};
use reqwest::Method;

/// What to do with groups.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Verb {
    /// List them
    Ls {
        /// What
        #[command(flatten)]
        search: Search,
        /// How much of the list
        #[command(flatten)]
        limit: Limit,
    },
    /// Show one
    Get {
        /// Its slug or id
        group: String,
        /// When
        #[command(flatten)]
        then: Then,
    },
    /// List its members
    Members {
        /// Its slug or id
        group: String,
        /// How much of the list
        #[command(flatten)]
        limit: Limit,
        /// When
        #[command(flatten)]
        then: Then,
    },
    /// Create one
    Create {
        /// Its slug: what other commands call it; it never changes
        slug: Slug,
        /// How it is shown; the slug when left out
        #[arg(long)]
        name: Option<DisplayName>,
    },
    /// Rename one
    Edit {
        /// Its slug or id
        group: String,
        /// How it is shown
        #[arg(long)]
        name: DisplayName,
    },
    /// Add users
    Add {
        /// Its slug or id
        group: String,
        /// Whom
        #[arg(required = true)]
        users: Vec<String>,
    },
    /// Remove users
    Remove {
        /// Its slug or id
        group: String,
        /// Whom
        #[arg(required = true)]
        users: Vec<String>,
    },
    /// Delete one; its grants and memberships end
    Rm {
        /// Its slug or id
        group: String,
        /// Leave to destroy
        #[command(flatten)]
        yes: Yes,
    },
}

/// Does it.
pub(crate) async fn run(app: &App, verb: Verb) -> Outcome {
    let client = app.client()?;
    match verb {
        Verb::Ls { search, limit } => {
            list(app, &client, "/groups", &search.query(), (limit, &GROUP)).await?;
        }
        Verb::Get { group, then } => {
            app.out.one(&GROUP, &client.get(&route(&["groups", &group])?, &then.query()).await?.body)?
        }
        Verb::Members { group, limit, then } => {
            let at = route(&["groups", &group, "members"])?;
            list(app, &client, &at, &then.query(), (limit, &USER_REF)).await?;
        }
        Verb::Create { slug, name } => {
            let made = client.post("/groups", &GroupCreate { slug, name }).await?;
            app.made("Group", "created", &GROUP, &made.body)?;
        }
        Verb::Edit { group, name } => {
            let at = route(&["groups", &group])?;
            let seen = client.get(&at, &[]).await?;
            let made = client.patch(&at, &seen, &GroupPatch { name: Some(name) }).await?;
            app.made("Group", "changed", &GROUP, &made.body)?;
        }
        Verb::Add { group, users } => {
            for user in users {
                client.send(Method::PUT, &route(&["groups", &group, "members", &user])?).await?;
                app.out.note(&format!("{user} is in {group}."));
            }
        }
        Verb::Remove { group, users } => {
            for user in users {
                client.send(Method::DELETE, &route(&["groups", &group, "members", &user])?).await?;
                app.out.note(&format!("{user} is not in {group} any more."));
            }
        }
        Verb::Rm { group, yes } => {
            app.confirm(yes.yes, &format!("delete group {group} and end its grants"), &group)?;
            let at = route(&["groups", &group])?;
            client.change(Method::DELETE, &at, &client.get(&at, &[]).await?).await?;
            app.out.note(&format!("Group {group} deleted."));
        }
    }
    Ok(Exit::Done)
}
