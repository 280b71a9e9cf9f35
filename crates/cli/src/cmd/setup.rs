//! `charter setup`: the first administrator of a new installation.

use super::login::sign_in;
use crate::{
    app::App,
    client::Client,
    exit::{Exit, Failure, Outcome},
};
use charter_events::{DisplayName, Slug};
use charter_http::dto::{Secret, SetupRequest, SetupState};

/// Who shall be the first administrator.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The one-time code the server printed when it started; asked for when left out
    #[arg(long, env = "CHARTER_SETUP_CODE", hide_env_values = true)]
    code: Option<String>,
    /// By which people name you; asked for when left out
    #[arg(long)]
    username: Option<String>,
    /// How you are shown; the username when left out
    #[arg(long, value_name = "TEXT")]
    name: Option<DisplayName>,
    /// Where mail reaches you
    #[arg(long)]
    email: Option<String>,
    /// Read the password from stdin; otherwise `CHARTER_PASSWORD`, or it is asked for
    #[arg(long)]
    password_stdin: bool,
}

/// Creates the administrator and signs in.
pub(crate) async fn run(app: &App, args: Args) -> Outcome {
    let target = app.target()?;
    let client = Client::new(target.server.clone(), None, None)?;
    let state: SetupState = client.get("/setup", &[]).await?.read()?;
    if !state.needed {
        return Err(Failure::new(Exit::Conflict, "this installation is set up already")
            .hint("`charter login` signs you in")
            .hint("`charter recover-admin`, on the host, helps when no administrator can"));
    }
    let code = app.ask(args.code, "The setup code the server printed", "--code")?;
    let username = app.ask(args.username, "Username of the first administrator", "--username")?;
    let slug: Slug =
        username.parse().map_err(|error: charter_events::InvalidName| Failure::usage(error.to_string()))?;
    let password = app.password(args.password_stdin, true)?;
    let body = SetupRequest {
        code: Secret::new(code.trim()),
        username: slug,
        password: password.clone(),
        display_name: args.name,
        email: args.email,
    };
    client.post("/setup", &body).await.map_err(|failure| {
        if failure.message.contains("(wrong_secret)") {
            failure.hint("of several servers, the code counts that the one printed which started last")
        } else {
            failure
        }
    })?;
    app.out.note(&format!("{username} is the first administrator of this installation."));
    sign_in(app, &target, username, password).await?;
    Ok(Exit::Done)
}
