//! `charter grant`: who is given what, where, until when.

use super::{
    common::{Limit, Then, Yes, list, moment},
    shapes::GRANT,
};
use crate::{
    app::App,
    client::route,
    exit::{Exit, Outcome},
};
use charter_events::{Affects, ChildTypes, Effect, PermissionKey, Timestamp};
use charter_http::dto::GrantCreate;
use reqwest::Method;

/// What to do with grants.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Verb {
    /// List those you may see
    Ls {
        /// Given to this user or group only
        #[arg(long, value_name = "SUBJECT")]
        to: Option<String>,
        /// At this place only: `global` or `type:id`
        #[arg(long, value_name = "OBJECT")]
        on: Option<String>,
        /// Of this role only
        #[arg(long)]
        role: Option<String>,
        /// How much of the list
        #[command(flatten)]
        limit: Limit,
        /// When
        #[command(flatten)]
        then: Then,
    },
    /// Show one
    Get {
        /// Its id
        grant: String,
        /// When
        #[command(flatten)]
        then: Then,
    },
    /// Let somebody in
    #[command(group = clap::ArgGroup::new("content").required(true))]
    Allow {
        /// To whom: `user:NAME` (or just the name) or `group:NAME`
        subject: String,
        /// What a role holds, now and later
        #[arg(long, group = "content")]
        role: Option<String>,
        /// These permissions
        #[arg(short, long = "permission", value_name = "KEY", group = "content")]
        permissions: Vec<PermissionKey>,
        /// Where and for how long
        #[command(flatten)]
        terms: Terms,
    },
    /// Keep somebody out; at the same place it outranks what lets him in
    Deny {
        /// To whom: `user:NAME` (or just the name) or `group:NAME`
        subject: String,
        /// These permissions
        #[arg(short, long = "permission", value_name = "KEY", required = true)]
        permissions: Vec<PermissionKey>,
        /// Where and for how long
        #[command(flatten)]
        terms: Terms,
    },
    /// Take one back
    Revoke {
        /// Its id
        grant: String,
        /// Leave to destroy
        #[command(flatten)]
        yes: Yes,
    },
}

/// Where a grant stands, how far it reaches, and for how long.
#[derive(Debug, clap::Args)]
pub(crate) struct Terms {
    /// On this object, as `type:id`; platform-wide when left out
    #[arg(long, value_name = "OBJECT")]
    on: Option<String>,
    /// From this moment on: RFC 3339, or from now such as `90m`, `12h`, `30d`
    #[arg(long, value_parser = moment, value_name = "TIME")]
    from: Option<Timestamp>,
    /// Until this moment: RFC 3339, or from now such as `90m`, `12h`, `30d`
    #[arg(long, value_parser = moment, value_name = "TIME")]
    until: Option<Timestamp>,
    /// How far below a folder it reaches
    #[arg(long, value_enum)]
    affects: Option<Reaching>,
    /// Which kinds of things below a folder it reaches
    #[arg(long, value_enum)]
    child_types: Option<Kinds>,
}

/// How far below a folder.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub(crate) enum Reaching {
    /// The folder and everything below
    All,
    /// The folder alone
    SelfOnly,
    /// Everything below, not the folder
    ChildrenOnly,
    /// The folder and what lies directly in it
    SelfAndDirectChildren,
    /// What lies directly in it
    DirectChildrenOnly,
}

/// Which kinds of things.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub(crate) enum Kinds {
    /// Folders and other objects
    All,
    /// Objects that are no folders
    Objects,
    /// Folders
    Containers,
}

impl From<Reaching> for Affects {
    fn from(reaching: Reaching) -> Self {
        match reaching {
            Reaching::All => Self::All,
            Reaching::SelfOnly => Self::SelfOnly,
            Reaching::ChildrenOnly => Self::ChildrenOnly,
            Reaching::SelfAndDirectChildren => Self::SelfAndDirectChildren,
            Reaching::DirectChildrenOnly => Self::DirectChildrenOnly,
        }
    }
}

impl From<Kinds> for ChildTypes {
    fn from(kinds: Kinds) -> Self {
        match kinds {
            Kinds::All => Self::All,
            Kinds::Objects => Self::Objects,
            Kinds::Containers => Self::Containers,
        }
    }
}

/// Does it.
pub(crate) async fn run(app: &App, verb: Verb) -> Outcome {
    let client = app.client()?;
    match verb {
        Verb::Ls { to, on, role, limit, then } => {
            let mut query = then.query();
            query.extend(to.map(|s| ("subject", subject_ref(&s))));
            query.extend(on.map(|s| ("scope", s)));
            query.extend(role.map(|r| ("role", r)));
            list(app, &client, "/grants", &query, (limit, &GRANT)).await?;
        }
        Verb::Get { grant, then } => {
            app.out.one(&GRANT, &client.get(&route(&["grants", &grant])?, &then.query()).await?.body)?
        }
        Verb::Allow { subject, role, permissions, terms } => {
            let body = request(&subject, role, permissions, (Effect::Allow, terms));
            app.made("Grant", "issued", &GRANT, &client.post("/grants", &body).await?.body)?;
        }
        Verb::Deny { subject, permissions, terms } => {
            let body = request(&subject, None, permissions, (Effect::Deny, terms));
            app.made("Grant", "issued", &GRANT, &client.post("/grants", &body).await?.body)?;
        }
        Verb::Revoke { grant, yes } => {
            app.confirm(yes.yes, &format!("revoke grant {grant}"), &grant)?;
            client.send(Method::DELETE, &route(&["grants", &grant])?).await?;
            app.out.note(&format!("Grant {grant} revoked."));
        }
    }
    Ok(Exit::Done)
}

fn request(
    subject: &str,
    role: Option<String>,
    permissions: Vec<PermissionKey>,
    (effect, terms): (Effect, Terms),
) -> GrantCreate {
    GrantCreate {
        subject: subject_ref(subject),
        role,
        permissions: (!permissions.is_empty()).then_some(permissions),
        scope: terms.on.unwrap_or_else(|| "global".to_owned()),
        effect: Some(effect),
        not_before: terms.from,
        expires_at: terms.until,
        affects: terms.affects.map(Into::into),
        child_types: terms.child_types.map(Into::into),
    }
}

/// A subject as the API names it: a name alone is a user's.
pub(super) fn subject_ref(text: &str) -> String {
    if text.starts_with("user:") || text.starts_with("group:") {
        text.to_owned()
    } else {
        format!("user:{text}")
    }
}
