//! `charter migrate`: brings a store's schema up to date, or only tells whether it is.

use super::{
    schema::{OwnerArgs, any_versions, versions},
    store::{Access, Place, StoreArgs, opening},
};
use crate::{
    app::App,
    exit::{Exit, Failure, Outcome},
};
use charter_store_postgres::{self as postgres, Migrated, SecretUrl};
use serde_json::json;

/// Which store, and who migrates it.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Which store
    #[command(flatten)]
    store: StoreArgs,
    /// Its owner
    #[command(flatten)]
    owner: OwnerArgs,
    /// The role the servers sign in as, which is given the rights it needs; that of the database's URL when left out
    #[arg(long, value_name = "ROLE")]
    server_role: Option<String>,
    /// Change nothing: tell which schema there is and which this build needs. Exit code 3 when they differ
    #[arg(long)]
    check: bool,
}

/// Migrates.
pub(crate) async fn run(app: &App, args: Args) -> Outcome {
    let owner = args.owner.owner()?;
    let server = args.store.database()?;
    match owner.or_else(|| server.clone()) {
        Some(owner) => database(app, &args, &owner, server.as_ref()).await,
        None => folder(app, &args).await,
    }
}

async fn database(app: &App, args: &Args, owner: &SecretUrl, server: Option<&SecretUrl>) -> Outcome {
    let place = Place::Database { url: Box::new(owner.clone()), data: std::path::PathBuf::new() };
    if let Some(server) = server
        && (server.server(), server.database()) != (owner.server(), owner.database())
    {
        return Err(Failure::error(format!(
            "the owner's URL names the database {place}, the server's {}/{}",
            server.server(),
            server.database()
        ))
        .hint("correct `CHARTER_MIGRATION_URL` or `CHARTER_DATABASE_URL`"));
    }
    if args.check {
        return tell(app, &place).await;
    }
    versions(&place).await?;
    let role = args.server_role.clone().or_else(|| server.map(|url| url.role().to_owned()));
    let role = role.filter(|role| role != owner.role());
    let done = postgres::migrate(owner, role.as_deref()).await;
    let Migrated { from, to } = done.map_err(|error| opening(&error))?;
    report(app, &place, from, to)?;
    match role {
        Some(role) => app.out.note(&format!("The role {role} may run a server on it.")),
        None if postgres::may_migrate(owner).await.map_err(|error| opening(&error))? => {
            app.out.note("Only its owner may run a server on it; `--server-role` names another role.");
        }
        // Nothing was to be done, by a role that could not have done it.
        None => {}
    }
    Ok(Exit::Done)
}

async fn folder(app: &App, args: &Args) -> Outcome {
    let place = args.store.place()?;
    if args.server_role.is_some() {
        return Err(Failure::usage("`--server-role` is for a PostgreSQL database")
            .hint("name the database with `--migration-url`, or set `CHARTER_MIGRATION_URL`"));
    }
    let (from, known) = any_versions(&place).await?;
    if from == 0 {
        return Err(Failure::error(format!("there is no installation in `{place}`"))
            .hint("name its data folder with `--data`, or set `CHARTER_DATA`"));
    }
    if args.check {
        return tell(app, &place).await;
    }
    versions(&place).await?;
    place.open(Access::Server).await?.close().await;
    report(app, &place, from, known)?;
    Ok(Exit::Done)
}

async fn tell(app: &App, place: &Place) -> Outcome {
    let (found, known) = any_versions(place).await?;
    let value =
        json!({"store": place.to_string(), "schema": found, "known": known, "up_to_date": found == known});
    app.out.answer(&value, || match (found, found == known) {
        (_, true) => format!("{place} has schema {found}, which this build works with."),
        (0, _) => format!("{place} is empty; this build works with schema {known}."),
        _ if found > known => {
            format!(
                "{place} has schema {found}; this build knows schemas up to {known}: use the newer build."
            )
        }
        _ => format!("{place} has schema {found}; this build works with schema {known}."),
    })?;
    Ok(if found == known { Exit::Done } else { Exit::Denied })
}

fn report(app: &App, place: &Place, from: i64, to: i64) -> Outcome<()> {
    let value = json!({"store": place.to_string(), "from": from, "to": to});
    app.out.answer(&value, || match from {
        0 => format!("{place} has schema {to} now; it had none."),
        _ if from == to => format!("{place} has schema {to} already."),
        _ => format!("{place} has schema {to} now; it had {from}."),
    })
}
