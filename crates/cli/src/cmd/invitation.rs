//! `charter invitation`, `forgot-password`, `reset-password`: accounts that wait for their people, and links that work
//! once.

use super::{
    common::{Limit, Yes, list},
    shapes::column,
};
use crate::{
    app::App,
    client::{Client, route},
    exit::{Exit, Failure, Outcome},
    output::{Shape, as_sent},
};
use charter_events::{DisplayName, ExternalId, Slug, Timestamp};
use charter_http::dto::{
    ForgottenRequest, Invitation, InvitationAccept, InvitationCreate, ResetLink, ResetRequest, Secret,
};
use reqwest::Method;
use serde_json::Value;

/// Links that are sent: invitations, and those for another password.
const LINK: Shape = Shape {
    columns: &[
        column("USERNAME", "/user/username /user/id"),
        column("UNTIL", "/expires_at"),
        column("LINK", "/delivery"),
    ],
    name: "/user/username /user/id",
    view: as_sent,
};

/// Accounts that wait.
const WAITING: Shape = Shape {
    columns: &[
        column("USERNAME", "/user/username /user/id"),
        column("UNTIL", "/expires_at"),
        column("LETTER", "/letter"),
    ],
    name: "/user/username /user/id",
    view: as_sent,
};

/// What to do with invitations. An account is named by username, external id or id.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Verb {
    /// List the accounts that wait, and whether their letters were sent
    Ls {
        /// How much of the list
        #[command(flatten)]
        limit: Limit,
    },
    /// Accept one: with its link, or the secret of it, choose a password
    Accept {
        /// How you are shown; as the invitation says when left out
        #[arg(long, value_name = "TEXT")]
        name: Option<DisplayName>,
        /// The link and the password
        #[command(flatten)]
        with: WithLink,
    },
    /// Make the link of one anew, and send it; the one before works no longer
    Resend {
        /// Whose
        user: String,
    },
    /// Take one back: the account is gone, its names are free
    Withdraw {
        /// Whose
        user: String,
        /// Leave to destroy
        #[command(flatten)]
        yes: Yes,
    },
}

/// Whom to invite.
#[derive(Debug, clap::Args)]
pub(crate) struct Invite {
    /// By which people name him
    username: Slug,
    /// Where the invitation is sent; without it, or without mail, the link is printed once
    #[arg(long)]
    email: Option<String>,
    /// How he is shown; the username when left out
    #[arg(long, value_name = "TEXT")]
    name: Option<DisplayName>,
    /// Another name accepted at sign-in
    #[arg(long, value_name = "NAME")]
    login_name: Option<String>,
    /// His id in somebody else's system
    #[arg(long, value_name = "ID")]
    external_id: Option<ExternalId>,
}

/// A link, and a password. Never as an argument: other users of the machine would see it.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct WithLink {
    /// Read the link and the new password from stdin, a line each
    #[arg(long)]
    stdin: bool,
}

/// Whose password is forgotten.
#[derive(Debug, clap::Args)]
pub(crate) struct Forgot {
    /// Your username or login name; asked for when left out
    username: Option<String>,
}

/// Does it.
pub(crate) async fn run(app: &App, verb: Verb) -> Outcome {
    match verb {
        Verb::Ls { limit } => list(app, &app.client()?, "/invitations", &[], (limit, &WAITING)).await?,
        Verb::Accept { name, with } => accept(app, name, with).await?,
        Verb::Resend { user } => {
            let client = app.client()?;
            let made = client.send(Method::POST, &route(&["invitations", &user, "resend"])?).await?;
            shown(app, &made.read()?, &made.body)?;
        }
        Verb::Withdraw { user, yes } => {
            app.confirm(yes.yes, &format!("take back the invitation of {user}, and his account"), &user)?;
            app.client()?.send(Method::DELETE, &route(&["invitations", &user])?).await?;
            app.out.note(&format!("The invitation of {user} is withdrawn."));
        }
    }
    Ok(Exit::Done)
}

/// `charter user invite`.
pub(super) async fn invite(app: &App, client: &Client, args: Invite) -> Outcome<()> {
    let body = InvitationCreate {
        username: args.username,
        email: args.email,
        display_name: args.name,
        login_name: args.login_name,
        external_id: args.external_id,
    };
    let made = client.post("/invitations", &body).await?;
    shown(app, &made.read()?, &made.body)
}

/// `charter user reset-link`.
pub(super) async fn reset_link(app: &App, client: &Client, user: &str) -> Outcome<()> {
    let made = client.send(Method::POST, &route(&["users", user, "reset-link"])?).await?;
    let ResetLink { link, secret, expires_at, .. } = made.read()?;
    match link.or(secret) {
        Some(link) => handed(app, &made.body, &link, expires_at, "charter reset-password"),
        None => app.made("A link for another password of", "is on its way", &LINK, &made.body),
    }
}

/// The link on stdout, where there is one to hand over.
fn shown(app: &App, invitation: &Invitation, body: &Value) -> Outcome<()> {
    match invitation.link.as_ref().or(invitation.secret.as_ref()) {
        Some(link) => handed(app, body, link, invitation.expires_at, "charter invitation accept"),
        None => app.made("Invitation of", "is on its way", &LINK, body),
    }
}

fn handed(app: &App, body: &Value, link: &Secret, until: Timestamp, taken_with: &str) -> Outcome<()> {
    app.out.answer(body, || link.expose().to_owned())?;
    app.out.note(&format!("Hand this link over: it is shown once, and works once until {until}."));
    app.out.note(&format!("It is taken in a browser, or with `{taken_with}`."));
    Ok(())
}

async fn accept(app: &App, name: Option<DisplayName>, with: WithLink) -> Outcome<()> {
    let (secret, password) = with.read(app)?;
    let body = InvitationAccept { secret, password, display_name: name };
    let done = stranger(app)?.post("/invitations/accept", &body).await?;
    let user: charter_http::dto::UserRef = done.read()?;
    let username = user.username.unwrap_or_default();
    app.out.note(&format!("Your account works: `charter login {username}` signs you in."));
    Ok(())
}

/// `charter forgot-password`.
pub(crate) async fn forgot(app: &App, args: Forgot) -> Outcome {
    let username = app.ask(args.username, "Username", "USERNAME")?;
    stranger(app)?.post("/password/forgotten", &ForgottenRequest { username }).await?;
    app.out.note("If there is such an account, a letter with a link is on its way to its address.");
    app.out.note("`charter reset-password` takes the link.");
    Ok(Exit::Done)
}

/// `charter reset-password`.
pub(crate) async fn reset(app: &App, with: WithLink) -> Outcome {
    let (secret, password) = with.read(app)?;
    stranger(app)?.post("/password/reset", &ResetRequest { secret, password }).await?;
    app.out.note("Your password is changed and your sessions ended: `charter login` signs you in.");
    Ok(Exit::Done)
}

/// A client that sends nobody's sign-in.
fn stranger(app: &App) -> Outcome<Client> {
    Client::new(app.target()?.server, None, None)
}

impl WithLink {
    fn read(self, app: &App) -> Outcome<(Secret, Secret)> {
        let given = self.stdin.then(crate::app::line_from_stdin).transpose()?;
        let link = app.ask(given, "The link, or what stands behind `#` in it", "--stdin")?;
        let secret = link.trim().rsplit('#').next().unwrap_or_default().to_owned();
        if secret.is_empty() {
            return Err(Failure::usage("the link holds no secret").hint("it is what stands behind `#`"));
        }
        Ok((Secret::new(secret), app.password(self.stdin, true)?))
    }
}
