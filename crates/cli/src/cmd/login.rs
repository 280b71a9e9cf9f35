//! `charter login`, `logout`, `whoami`, `password`: one's own sign-in, kept in the context file.

use super::device;
use crate::{
    app::{App, Target},
    client::Client,
    contexts::{self, Context},
    exit::{Exit, Failure, Outcome},
    output::{Column, Shape, as_sent},
};
use charter_http::dto::{ChangePasswordRequest, Me, Secret, SessionStarted, SignInRequest, SignInWays};
use reqwest::Method;
use serde_json::{Value, json};

/// As whom to sign in.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Your username or login name; asked for when left out
    username: Option<String>,
    /// Read the password from stdin; otherwise `CHARTER_PASSWORD`, or it is asked for
    #[arg(long)]
    password_stdin: bool,
    /// Sign in at the server's identity provider: open the address that is shown, on any machine, and type the code
    #[arg(long, conflicts_with_all = ["username", "password_stdin"])]
    oidc: bool,
}

/// A new password of one's own.
#[derive(Debug, clap::Args)]
pub(crate) struct Password {
    /// Read the current and the new password from stdin, a line each
    #[arg(long)]
    password_stdin: bool,
}

const ME: Shape = Shape {
    columns: &[
        Column { heading: "USERNAME", at: "/user/username" },
        Column { heading: "NAME", at: "/user/display_name" },
        Column { heading: "SERVER", at: "/server" },
        Column { heading: "ADMINISTRATOR", at: "/administrator" },
    ],
    name: "/user/username /user/id",
    view: as_sent,
};

/// `charter login`.
pub(crate) async fn login(app: &App, args: Args) -> Outcome {
    let target = app.target()?;
    if args.oidc {
        let client = Client::new(target.server.clone(), None, None)?;
        let started = device::sign_in(app, &client).await?;
        keep(app, &target, started, None)?;
        return Ok(Exit::Done);
    }
    if args.username.is_none() {
        tell_of_provider(app, &target).await?;
    }
    let username = app.ask(args.username, "Username", "USERNAME")?;
    let password = app.password(args.password_stdin, false)?;
    sign_in(app, &target, username, password).await?;
    Ok(Exit::Done)
}

/// Signs in and writes the context.
pub(super) async fn sign_in(app: &App, target: &Target, username: String, password: Secret) -> Outcome<()> {
    let client = Client::new(target.server.clone(), None, None)?;
    let answer = client
        .post("/session", &SignInRequest { username: username.clone(), password, cookie: false })
        .await?;
    keep(app, target, answer.read()?, Some(username))
}

/// Tells whoever did not say how he signs in that there is another way; a server that does not say is none of that.
async fn tell_of_provider(app: &App, target: &Target) -> Outcome<()> {
    let client = Client::new(target.server.clone(), None, None)?;
    let ways = match client.get("/sign-in", &[]).await {
        Ok(answer) => answer.read::<SignInWays>()?,
        // An older server has one way, and another fault is told by the sign-in itself.
        Err(_) => return Ok(()),
    };
    if let Some(provider) = ways.oidc {
        app.out.note(&format!("`charter login --oidc` signs you in at {}.", provider.name));
    }
    Ok(())
}

/// Writes a session that has begun into the context.
fn keep(app: &App, target: &Target, started: SessionStarted, asked_as: Option<String>) -> Outcome<()> {
    let path = contexts::path()?;
    let mut all = contexts::Contexts::load(&path)?;
    let context = Context {
        server: target.server.clone(),
        username: started.user.username.or(asked_as),
        secret: started.secret,
        expires_at: Some(started.expires_at.to_string()),
    };
    let who = context.username.clone().unwrap_or_default();
    all.contexts.insert(target.context.clone(), context);
    all.current.get_or_insert_with(|| target.context.clone());
    all.save(&path)?;
    app.out.note(&format!("Signed in as {who} at {}.", target.server));
    Ok(())
}

/// `charter logout`.
pub(crate) async fn logout(app: &App) -> Outcome {
    let path = contexts::path()?;
    let mut all = contexts::Contexts::load(&path)?;
    let name = app.context_name(&all);
    let Some(context) = all.contexts.get_mut(&name) else {
        return Err(Failure::new(Exit::NotAuthenticated, "nobody is signed in"));
    };
    let Some(secret) = context.secret.take() else {
        return Err(Failure::new(Exit::NotAuthenticated, "nobody is signed in"));
    };
    context.expires_at = None;
    let client = Client::new(context.server.clone(), Some(secret), None)?;
    all.save(&path)?;
    match client.send(Method::DELETE, "/session").await {
        Ok(_) => app.out.note("Signed out."),
        // It had ended already: then there is nothing left to end.
        Err(failure) if failure.exit == Exit::NotAuthenticated => app.out.note("Signed out."),
        Err(failure) => {
            return Err(failure.hint("it is forgotten here, but goes on at the server until it ends"));
        }
    }
    Ok(Exit::Done)
}

/// `charter whoami`.
pub(crate) async fn whoami(app: &App) -> Outcome {
    let client = app.client()?;
    let answer = client.get("/user/me", &[]).await?;
    answer.read::<Me>()?;
    let mut body = answer.body;
    if let Some(members) = body.as_object_mut() {
        members.insert("server".to_owned(), json!(client.server()));
        if app.out.format() == crate::output::Format::Table {
            let count = members.get("permissions").and_then(Value::as_array).map_or(0, Vec::len);
            members.insert(
                "permissions".to_owned(),
                json!(format!("{count} platform-wide: `charter what me` lists them")),
            );
        }
    }
    app.out.one(&ME, &body)?;
    Ok(Exit::Done)
}

/// `charter password`.
pub(crate) async fn password(app: &App, args: Password) -> Outcome {
    let client = app.client()?;
    app.out.note("First the current password, then the new one.");
    let current = app.password(args.password_stdin, false)?;
    let new = app.password(args.password_stdin, true)?;
    client.put("/user/me/password", &ChangePasswordRequest { current, new }).await?;
    app.out.note("Your password is changed; your other sessions ended.");
    Ok(Exit::Done)
}
