//! Bringing a store's schema up to date, and saying so first. Knows who may: a server its SQLite file, and of a
//! PostgreSQL database its owner.

use super::store::{Hidden, Place, database_url, opening};
use crate::{
    app::App,
    exit::{Failure, Outcome, chain},
};
use charter_store::StoreError;
use charter_store_postgres::{self as postgres, SecretUrl};
use charter_store_sqlite as sqlite;

/// Who may change a database's schema.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct OwnerArgs {
    /// The database as its owner, who may change its schema; left out, the server's own role must be the owner
    #[arg(long, env = "CHARTER_MIGRATION_URL", hide_env_values = true, value_name = "URL")]
    migration_url: Option<Hidden>,
}

impl OwnerArgs {
    /// The owner's address, when one was given.
    pub(crate) fn owner(&self) -> Outcome<Option<SecretUrl>> {
        let given = self.migration_url.as_ref().and_then(Hidden::given);
        given.map(|text| database_url(text, "CHARTER_MIGRATION_URL")).transpose()
    }
}

/// The version a store's schema has, and the one this build works with. A newer one is refused.
pub(crate) async fn versions(place: &Place) -> Outcome<(i64, i64)> {
    let (found, known) = any_versions(place).await?;
    if found > known {
        return Err(opening(&StoreError::TooNew { found, known }));
    }
    Ok((found, known))
}

/// The same, a newer one too.
pub(crate) async fn any_versions(place: &Place) -> Outcome<(i64, i64)> {
    let (found, known) = match place {
        Place::Folder(path) => (sqlite::schema_version(path).await, sqlite::KNOWN),
        Place::Database { url, .. } => (postgres::schema_version(url).await, postgres::KNOWN),
    };
    match found {
        Ok(found) => Ok((found, known)),
        Err(StoreError::TooNew { found, known }) => Ok((found, known)),
        Err(error) => Err(opening(&error)),
    }
}

/// Brings an older schema up to date before a server starts, as far as it may; says so before it does.
pub(crate) async fn bring_up_to_date(app: &App, place: &Place, owner: &OwnerArgs) -> Outcome<()> {
    let owner = owner.owner()?;
    let (found, known) = versions(place).await?;
    if found == known {
        return Ok(());
    }
    match place {
        // A new file is made without a word; opening an older one brings it up to date.
        Place::Folder(_) if found == 0 => {}
        Place::Folder(_) => app.out.warn(&saying(place, found, known)),
        Place::Database { url, .. } => {
            // Not said of what can't be done.
            if owner.is_none() && !postgres::may_migrate(url).await.map_err(|error| opening(&error))? {
                return Err(needs_its_owner(found, known));
            }
            app.out.warn(&saying(place, found, known));
            let done = match &owner {
                Some(owner) => postgres::migrate(owner, Some(url.role())).await,
                None => postgres::migrate(url, None).await,
            };
            done.map_err(|error| not_migrated(&error, owner.is_some(), (found, known)))?;
        }
    }
    Ok(())
}

fn saying(place: &Place, found: i64, known: i64) -> String {
    match found {
        0 => format!("The database {place} is empty: making schema {known} in it."),
        _ => format!("{place} has schema {found}: bringing it up to schema {known}."),
    }
}

fn not_migrated(error: &StoreError, as_owner: bool, (found, known): (i64, i64)) -> Failure {
    if as_owner || !matches!(error, StoreError::NotAStore { .. } | StoreError::NeedsMigration { .. }) {
        return opening(error);
    }
    needs_its_owner(found, known)
}

fn needs_its_owner(found: i64, known: i64) -> Failure {
    let needed = StoreError::NeedsMigration { found, known };
    Failure::error(chain(&needed))
        .hint("`CHARTER_MIGRATION_URL` names the database as its owner: this server's role may not do it")
}
