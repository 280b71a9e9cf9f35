//! `charter user`: people and services.

use super::{
    common::{Limit, Search, Then, Yes, list, moment},
    identity,
    invitation::{Invite, invite, reset_link},
    shapes::USER,
};
use crate::{
    app::App,
    client::{Client, route},
    exit::{Exit, Failure, Outcome},
};
use charter_events::{DisplayName, ExternalId, Slug, Timestamp, UserKind};
use charter_http::dto::{CredentialResetRequest, ScheduleDeletionRequest, UserCreate, UserPatch};
use reqwest::Method;

/// Person or service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Kind {
    /// A human being
    Person,
    /// A program that calls the API with a token
    Service,
}

impl From<Kind> for UserKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Person => Self::Person,
            Kind::Service => Self::Service,
        }
    }
}

/// What to do with users. A user is named by username, external id or id.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Verb {
    /// List them
    Ls {
        /// What
        #[command(flatten)]
        search: Search,
        /// Of this kind only: `person` or `service`
        #[arg(long, value_name = "KIND")]
        kind: Option<String>,
        /// Of this status only: `active`, `invited`, `suspended`, `awaiting_deletion` or `erased`
        #[arg(long, value_name = "STATUS")]
        status: Option<String>,
        /// How much of the list
        #[command(flatten)]
        limit: Limit,
    },
    /// Show one
    Get {
        /// Who
        user: String,
        /// When
        #[command(flatten)]
        then: Then,
    },
    /// Invite a person: the account waits until he takes the link and chooses a password
    Invite(Invite),
    /// Create one whose account works at once
    Create(Create),
    /// Change names, address or kind
    Edit(Edit),
    /// Stop an account; nothing is lost
    Suspend {
        /// Who
        user: String,
    },
    /// Let a suspended account work again
    Reactivate {
        /// Who
        user: String,
    },
    /// Set another password for somebody; all his sessions end
    ResetPassword {
        /// Who
        user: String,
        /// Read the password from stdin
        #[arg(long)]
        password_stdin: bool,
    },
    /// Who somebody is at an identity provider, where he signs in
    Identity {
        /// What to do with it
        #[command(subcommand)]
        verb: identity::Verb,
    },
    /// Have somebody choose a password: a link goes to his address on record, or is printed once
    ///
    /// His sessions end. Administrators have no such link: set their password instead.
    ResetLink {
        /// Who
        user: String,
    },
    /// Stop an account and schedule its deletion
    Rm {
        /// Who
        user: String,
        /// Not before this moment: RFC 3339, or from now such as `30d`; after the server's grace period if left out
        #[arg(long, value_parser = moment, value_name = "TIME")]
        at: Option<Timestamp>,
        /// Leave to destroy
        #[command(flatten)]
        yes: Yes,
    },
    /// Cancel a scheduled deletion
    Restore {
        /// Who
        user: String,
    },
}

/// A new user.
#[derive(Debug, clap::Args)]
pub(crate) struct Create {
    /// By which people name him
    username: Slug,
    /// Person or service
    #[arg(long, value_enum, default_value = "person")]
    kind: Kind,
    /// How he is shown; the username when left out
    #[arg(long, value_name = "TEXT")]
    name: Option<DisplayName>,
    /// Where mail reaches him
    #[arg(long)]
    email: Option<String>,
    /// Another name accepted at sign-in
    #[arg(long)]
    login_name: Option<String>,
    /// His id in somebody else's system
    #[arg(long, value_name = "ID")]
    external_id: Option<ExternalId>,
    /// Read his first password from stdin; without one he can't sign in yet
    #[arg(long)]
    password_stdin: bool,
}

/// Changes of a user. An empty text clears what may be cleared.
#[derive(Debug, clap::Args)]
pub(crate) struct Edit {
    /// Who
    user: String,
    /// By which people name him
    #[arg(long)]
    username: Option<Slug>,
    /// Person or service
    #[arg(long, value_enum)]
    kind: Option<Kind>,
    /// How he is shown
    #[arg(long, value_name = "TEXT")]
    name: Option<String>,
    /// Where mail reaches him
    #[arg(long)]
    email: Option<String>,
    /// Another name accepted at sign-in
    #[arg(long)]
    login_name: Option<String>,
    /// His id in somebody else's system
    #[arg(long, value_name = "ID")]
    external_id: Option<String>,
}

/// Does it.
pub(crate) async fn run(app: &App, verb: Verb) -> Outcome {
    let client = app.client()?;
    match verb {
        Verb::Ls { search, kind, status, limit } => {
            let mut query = search.query();
            query.extend(kind.map(|kind| ("kind", kind)));
            query.extend(status.map(|status| ("status", status)));
            list(app, &client, "/users", &query, (limit, &USER)).await?;
        }
        Verb::Get { user, then } => {
            app.out.one(&USER, &client.get(&route(&["users", &user])?, &then.query()).await?.body)?
        }
        Verb::Create(args) => create(app, &client, args).await?,
        Verb::Invite(args) => invite(app, &client, args).await?,
        Verb::Edit(args) => edit(app, &client, args).await?,
        Verb::Suspend { user } => act(app, &client, &user, ("suspend", "suspended")).await?,
        Verb::Reactivate { user } => act(app, &client, &user, ("reactivate", "reactivated")).await?,
        Verb::Restore { user } => act(app, &client, &user, ("restore", "restored")).await?,
        Verb::ResetPassword { user, password_stdin } => {
            let password = app.password(password_stdin, true)?;
            client
                .post(&route(&["users", &user, "credential-reset"])?, &CredentialResetRequest { password })
                .await?;
            app.out.note(&format!("User {user} has a new password; all his sessions ended."));
        }
        Verb::Identity { verb } => identity::run(app, &client, verb).await?,
        Verb::ResetLink { user } => reset_link(app, &client, &user).await?,
        Verb::Rm { user, at, yes } => {
            app.confirm(yes.yes, &format!("stop the account of {user} and schedule its deletion"), &user)?;
            let path = route(&["users", &user, "schedule-deletion"])?;
            let made = client.post(&path, &ScheduleDeletionRequest { erase_at: at }).await?;
            app.made("User", "awaits deletion", &USER, &made.body)?;
        }
    }
    Ok(Exit::Done)
}

async fn create(app: &App, client: &Client, args: Create) -> Outcome<()> {
    let password = args.password_stdin.then(|| app.password(true, false)).transpose()?;
    let body = UserCreate {
        username: args.username,
        kind: Some(args.kind.into()),
        display_name: args.name,
        email: args.email,
        login_name: args.login_name,
        external_id: args.external_id,
        password,
    };
    let made = client.post("/users", &body).await?;
    app.made("User", "created", &USER, &made.body)
}

async fn edit(app: &App, client: &Client, args: Edit) -> Outcome<()> {
    let body = UserPatch {
        username: args.username,
        kind: args.kind.map(Into::into),
        display_name: args.name.map(parsed).transpose()?,
        email: args.email.map(|text| Some(text).filter(|t| !t.is_empty())),
        login_name: args.login_name.map(|text| Some(text).filter(|t| !t.is_empty())),
        external_id: args.external_id.map(parsed).transpose()?,
    };
    if body == UserPatch::default() {
        return Err(
            Failure::usage("nothing to change").hint("`charter user edit --help` lists what can be changed")
        );
    }
    let at = route(&["users", &args.user])?;
    let seen = client.get(&at, &[]).await?;
    let made = client.patch(&at, &seen, &body).await?;
    app.made("User", "changed", &USER, &made.body)
}

/// A value, or none when the text is empty.
fn parsed<T>(text: String) -> Outcome<Option<T>>
where
    T: std::str::FromStr,
    T::Err: std::fmt::Display,
{
    if text.is_empty() {
        Ok(None)
    } else {
        text.parse().map(Some).map_err(|error: T::Err| Failure::usage(error.to_string()))
    }
}

async fn act(app: &App, client: &Client, user: &str, (action, done): (&str, &str)) -> Outcome<()> {
    let made = client.send(Method::POST, &route(&["users", user, action])?).await?;
    app.made("User", done, &USER, &made.body)
}
