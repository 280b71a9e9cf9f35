//! The schema: which version a database has, and bringing it up to date as its owner.

use crate::{
    Access, KNOWN, Migrated, SecretUrl,
    connect::{self, For},
    error, lead, opening, read, rights,
};
use charter_store::StoreError;
use sqlx::{Connection, PgConnection, Row, raw_sql};
use uuid::Uuid;

/// Every migration, in order; the position (from 1) is its number and the schema's version after it.
pub(crate) const MIGRATIONS: &[&str] = &[
    include_str!("../../../migrations/postgres/0001_log.sql"),
    include_str!("../../../migrations/postgres/0002_signing_key.sql"),
    include_str!("../../../migrations/postgres/0003_links.sql"),
];

/// The schemas the owner makes: the log with all beside it, and the one for tables made from it.
const SCHEMAS: [(&str, &str); 2] = [("log", "CREATE SCHEMA log"), ("tables", "CREATE SCHEMA tables")];

const SET_VERSION: &str = "INSERT INTO log.schema_version (version) VALUES ($1) \
                           ON CONFLICT (one) DO UPDATE SET version = excluded.version";

/// Makes the schema, or brings it up to date, as its owner; then lets the servers' role do what it needs and nothing
/// else. Without a role, the owner's is the servers' too. Waits while another does the same. All of it is one
/// transaction: nobody sees a schema without its head, its keys or its rights.
///
/// # Errors
/// [`StoreError::NotAStore`] says what is wrong with the address, the database or the owner's rights in one line;
/// [`StoreError::TooNew`], [`StoreError::Unavailable`].
pub async fn migrate(owner: &SecretUrl, server_role: Option<&str>) -> Result<Migrated, StoreError> {
    let mut connection = opening::in_time(async {
        let mut connection = opening::connect(owner, For::Migrating, Access::Server).await?;
        opening::check_server(&mut connection, owner).await?;
        Ok(connection)
    })
    .await?;
    let done = migrate_all(&mut connection, owner, server_role).await;
    connect::close(connection).await;
    if let Ok(Migrated { from, to }) = done
        && from < to
    {
        tracing::info!(from, to, "brought the database's schema up to date");
    }
    done
}

async fn migrate_all(
    connection: &mut PgConnection,
    owner: &SecretUrl,
    server_role: Option<&str>,
) -> Result<Migrated, StoreError> {
    let map = |e| error::map("waiting for another migration", e);
    let mut transaction = connection.begin().await.map_err(map)?;
    let lock = sqlx::query("SELECT pg_advisory_xact_lock($1, $2)").bind(lead::LOCKS).bind(lead::MIGRATING);
    lock.execute(&mut *transaction).await.map_err(map)?;
    let from = found(&mut transaction, owner).await?;
    make_schemas(&mut transaction, owner).await?;
    let done = usize::try_from(from).unwrap_or(0);
    for (migration, number) in MIGRATIONS.iter().zip(1_i64..).skip(done) {
        let applied = apply(&mut transaction, migration, number).await;
        applied.map_err(|e| not_allowed(owner, "changing the schema", e))?;
    }
    make_installation(&mut transaction).await?;
    make_signing_key(&mut transaction).await?;
    if let Some(role) = server_role {
        rights::grant(&mut transaction, owner, role).await?;
    }
    transaction.commit().await.map_err(|e| error::map("changing the schema", e))?;
    Ok(Migrated { from, to: KNOWN })
}

async fn apply(
    connection: &mut PgConnection,
    migration: &'static str,
    number: i64,
) -> Result<(), sqlx::Error> {
    raw_sql(migration).execute(&mut *connection).await?;
    sqlx::query(SET_VERSION).bind(number).execute(connection).await.map(drop)
}

async fn make_schemas(connection: &mut PgConnection, owner: &SecretUrl) -> Result<(), StoreError> {
    for (name, create) in SCHEMAS {
        let asked = sqlx::query_scalar("SELECT count(*) FROM pg_namespace WHERE nspname = $1").bind(name);
        let there: i64 =
            asked.fetch_one(&mut *connection).await.map_err(|e| error::map("looking for the schema", e))?;
        if there == 0 {
            let made = raw_sql(create).execute(&mut *connection).await;
            made.map_err(|e| not_allowed(owner, "making the schemas", e))?;
        }
    }
    Ok(())
}

/// The owner lacks a right, which is said in one line, or something else failed.
fn not_allowed(owner: &SecretUrl, what: &'static str, error: sqlx::Error) -> StoreError {
    if error::code(&error) != Some(error::NO_RIGHT) {
        return error::map(what, error);
    }
    let role = owner.role();
    opening::not_a_store(
        owner,
        format!(
            "the role `{role}` may not change it ({}); name the database as its owner in `CHARTER_MIGRATION_URL`",
            error::first_line(&error)
        ),
    )
}

/// The schema's version; 0 when there is none of ours.
///
/// # Errors
/// As [`migrate`].
pub async fn schema_version(url: &SecretUrl) -> Result<i64, StoreError> {
    opening::in_time(async {
        let mut connection = opening::connect(url, For::Reading, Access::ReadOnly).await?;
        let found = raw_version(&mut connection, url).await;
        connect::close(connection).await;
        found
    })
    .await
}

/// Whether the role of this address may change the schema: it owns what is there, or may make it.
///
/// # Errors
/// As [`migrate`].
pub async fn may_migrate(url: &SecretUrl) -> Result<bool, StoreError> {
    const SQL: &str = "SELECT coalesce( \
         (SELECT pg_has_role(nspowner, 'USAGE') FROM pg_namespace WHERE nspname = 'log'), \
         has_database_privilege(current_database(), 'CREATE'))";
    opening::in_time(async {
        let mut connection = opening::connect(url, For::Reading, Access::ReadOnly).await?;
        let may = sqlx::query_scalar(SQL).fetch_one(&mut connection).await;
        connect::close(connection).await;
        may.map_err(|e| error::map("asking who owns the schema", e))
    })
    .await
}

/// The schema's version, when this build can work with it or bring it up to date.
pub(crate) async fn found(connection: &mut PgConnection, url: &SecretUrl) -> Result<i64, StoreError> {
    let found = raw_version(connection, url).await?;
    if found > KNOWN {
        return Err(StoreError::TooNew { found, known: KNOWN });
    }
    Ok(found)
}

async fn raw_version(connection: &mut PgConnection, url: &SecretUrl) -> Result<i64, StoreError> {
    // Names nothing of ours, so that it needs no right.
    const SQL: &str = "SELECT has_schema_privilege(n.oid, 'USAGE'), \
         (SELECT count(*) FROM pg_class AS c WHERE c.relnamespace = n.oid AND c.relkind IN ('r', 'p', 'v', 'm', 'f')), \
         EXISTS (SELECT FROM pg_class AS c WHERE c.relnamespace = n.oid AND c.relname = 'schema_version') \
         FROM pg_namespace AS n WHERE n.nspname = 'log'";
    let map = |e| error::map("reading the schema's version", e);
    let Some(row) = sqlx::query(SQL).fetch_optional(&mut *connection).await.map_err(map)? else {
        return Ok(0);
    };
    let (usable, tables, ours): (bool, i64, bool) =
        (row.try_get(0).map_err(map)?, row.try_get(1).map_err(map)?, row.try_get(2).map_err(map)?);
    match (ours, tables) {
        (false, 0) => return Ok(0),
        (false, _) => {
            let why = "its schema `log` is another program's; give Charter a database of its own";
            return Err(opening::not_a_store(url, why));
        }
        (true, _) if !usable => return Err(rights::missing(url, "USAGE", "SCHEMA log")),
        (true, _) => {}
    }
    let version =
        sqlx::query_scalar("SELECT version FROM log.schema_version").fetch_optional(connection).await;
    match version {
        Ok(version) => Ok(version.unwrap_or(0)),
        Err(error) if error::code(&error) == Some(error::NO_RIGHT) => {
            Err(rights::missing(url, "SELECT", "log.schema_version"))
        }
        Err(error) => Err(map(error)),
    }
}

/// Makes the log's id and the installation's keys, once.
async fn make_installation(connection: &mut PgConnection) -> Result<(), StoreError> {
    let map = |e| error::map("making the installation's keys", e);
    let there: (bool, bool) =
        sqlx::query_as("SELECT EXISTS (SELECT FROM log.log_head), EXISTS (SELECT FROM log.events)")
            .fetch_one(&mut *connection)
            .await
            .map_err(map)?;
    match there {
        (true, _) => return Ok(()),
        (false, true) => return Err(error::damaged(read::HEAD_UNREADABLE)),
        (false, false) => {}
    }
    let empty = charter_store::chain::empty(Uuid::now_v7().into());
    sqlx::query("INSERT INTO log.log_head (log_id, head, head_hash, recorded_at) VALUES ($1, 0, $2, $3)")
        .bind(empty.log_id.as_uuid())
        .bind(empty.hash.as_bytes().as_slice())
        .bind(empty.recorded_at.as_micros())
        .execute(&mut *connection)
        .await
        .map_err(map)?;
    for name in ["tag_key", "cursor_key"] {
        let mut key = zeroize::Zeroizing::new([0; 32]);
        getrandom::fill(&mut *key).map_err(|e| StoreError::unavailable("drawing a key", e))?;
        sqlx::query("INSERT INTO log.installation_secrets (name, value) VALUES ($1, $2)")
            .bind(name)
            .bind(key.as_slice())
            .execute(&mut *connection)
            .await
            .map_err(map)?;
    }
    Ok(())
}

/// Makes the key that signs checkpoints, once.
async fn make_signing_key(connection: &mut PgConnection) -> Result<(), StoreError> {
    let map = |e| error::map("making the key that signs checkpoints", e);
    // Who may not write it finds it made: a server's role looks whether anything is to be done.
    let made: bool = sqlx::query_scalar("SELECT EXISTS (SELECT FROM log.signing_key)")
        .fetch_one(&mut *connection)
        .await
        .map_err(map)?;
    if made {
        return Ok(());
    }
    let mut key = zeroize::Zeroizing::new([0; 32]);
    getrandom::fill(&mut *key).map_err(|e| StoreError::unavailable("drawing a key", e))?;
    sqlx::query("INSERT INTO log.signing_key (key) VALUES ($1) ON CONFLICT (one) DO NOTHING")
        .bind(key.as_slice())
        .execute(connection)
        .await
        .map(drop)
        .map_err(map)
}
