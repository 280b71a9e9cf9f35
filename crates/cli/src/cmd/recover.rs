//! `charter recover-admin`: whoever has the host may make somebody an administrator again. Opens the store itself, so
//! no server may run on a data folder; the log records it as the system's act, by way of the command line.

use super::{
    common::now,
    schema::{OwnerArgs, bring_up_to_date},
    store::{Access, Place, StoreArgs},
};
use crate::{
    app::App,
    exit::{Exit, Failure, Outcome, chain},
};
use charter_control::{Config, Control, IdentityError, RecoveryOf, RequestMeta, SecretText};
use charter_events::{DisplayName, Profile, Slug, Via};

/// Whom to make an administrator again.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Where everything is kept
    #[command(flatten)]
    store: StoreArgs,
    /// Who may change the database's schema
    #[command(flatten)]
    owner: OwnerArgs,
    /// His username; an account that does not exist is created
    #[arg(long)]
    username: Slug,
    /// How a new account is shown
    #[arg(long, value_name = "TEXT")]
    name: Option<DisplayName>,
    /// Read the password from stdin; otherwise `CHARTER_PASSWORD`, or it is asked for
    #[arg(long)]
    password_stdin: bool,
    /// Leave an existing account's password as it is
    #[arg(long, conflicts_with = "password_stdin")]
    keep_password: bool,
}

/// Recovers.
pub(crate) async fn run(app: &App, args: Args) -> Outcome {
    let place = args.store.place()?;
    if let Place::Folder(path) = &place
        && !path.join("charter.db").is_file()
    {
        return Err(Failure::error(format!("there is no installation in `{}`", path.display()))
            .hint("name its data folder with `--data`, or set `CHARTER_DATA`"));
    }
    let password = if args.keep_password { None } else { Some(app.password(args.password_stdin, true)?) };
    bring_up_to_date(app, &place, &args.owner).await?;
    let opened = place.open(Access::Server).await.map_err(|failure| {
        if failure.message.contains("in use") {
            failure.hint("stop the server, recover, then start it again")
        } else {
            failure
        }
    })?;
    // Nothing but the one command: no setup code, no verification in the background.
    let config = Config { make_setup_code: false, verify_every: None, ..Config::default() };
    let control = Control::start(opened.store.clone(), config).await?.control;
    let password = password.map(|p| SecretText::new(p.into_inner()));
    let recovered = recover(app, &control, &args, password).await;
    control.shutdown().await;
    opened.close().await;
    let made = recovered?;
    // On a data folder no server ran.
    let then = if place.is_shared() { "sign in with" } else { "start the server, then" };
    app.out.note(&format!("{} {made}: {then} `charter login {}`.", args.username, args.username));
    Ok(Exit::Done)
}

/// What became of him, in words.
async fn recover(
    app: &App,
    control: &Control,
    args: &Args,
    password: Option<SecretText>,
) -> Outcome<&'static str> {
    let existing = control.user_by_username(&control.policy(), args.username.as_str());
    let was_one = existing.is_some_and(|user| control.policy().is_administrator(user, now()));
    if let Some(user) = existing {
        app.out.note(&format!("found the user `{}` ({user})", args.username));
    }
    let whom = match existing {
        Some(user) => RecoveryOf::Existing(user),
        None if password.is_none() => {
            return Err(Failure::error(format!("there is no user `{}`", args.username))
                .hint("a new account needs a password: leave out `--keep-password`"));
        }
        None => RecoveryOf::New(Profile {
            username: args.username.clone(),
            display_name: args.name.clone(),
            email: None,
            login_name: None,
            external_id: None,
            identity: None,
        }),
    };
    let meta = RequestMeta { reason: app.reason(), ..RequestMeta::new(Via::Cli) };
    control.recover_administrator(whom, password, meta).await.map_err(|error| refused(&error))?;
    Ok(match existing {
        Some(_) if was_one => "was an administrator already",
        Some(_) => "is an administrator again",
        None => "was created and is an administrator",
    })
}

fn refused(error: &IdentityError) -> Failure {
    Failure::error(format!("{} ({})", chain(error), error.code()))
}
