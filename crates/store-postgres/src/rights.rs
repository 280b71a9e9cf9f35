//! What the servers' role may do, and nothing else: granted by the owner, checked by each server when it starts.

use crate::{SecretUrl, error, opening};
use charter_store::StoreError;
use sqlx::{AssertSqlSafe, PgConnection, raw_sql};

/// What a server needs of each table. Of the log it only ever adds to the end.
const SERVER: [(&str, &[&str]); 11] = [
    ("log.schema_version", &["SELECT"]),
    ("log.log_head", &["SELECT", "UPDATE"]),
    ("log.events", &["SELECT", "INSERT"]),
    ("log.answers", &["SELECT", "INSERT", "DELETE"]),
    ("log.installation_secrets", &["SELECT", "UPDATE"]),
    ("log.signing_key", &["SELECT", "UPDATE"]),
    ("log.setup_code", &["SELECT", "INSERT", "UPDATE", "DELETE"]),
    ("log.user_keys", &["SELECT", "INSERT", "DELETE"]),
    ("log.passwords", &["SELECT", "INSERT", "UPDATE", "DELETE"]),
    ("log.credentials", &["SELECT", "INSERT", "UPDATE", "DELETE"]),
    ("log.leases", &["SELECT", "INSERT", "UPDATE", "DELETE"]),
];

/// What a tool that reads the log needs.
const READER: [(&str, &[&str]); 2] = [("log.log_head", &["SELECT"]), ("log.events", &["SELECT"])];

/// Its own schema for tables made from the log.
const TABLES: [&str; 2] = ["USAGE", "CREATE"];

/// What would let a server change what happened.
const FORBIDDEN: [(&str, &[&str]); 2] = [
    ("log.events", &["UPDATE", "DELETE", "TRUNCATE", "TRIGGER"]),
    ("log.log_head", &["DELETE", "TRUNCATE", "TRIGGER"]),
];

/// Lets a role do what a server needs, and takes from it whatever else it could do in the log.
pub(crate) async fn grant(
    connection: &mut PgConnection,
    owner: &SecretUrl,
    role: &str,
) -> Result<(), StoreError> {
    let map = |e| error::map("granting the servers' rights", e);
    let asked = sqlx::query_as(
        "SELECT quote_ident(rolname), pg_has_role(rolname, n.nspowner, 'MEMBER') \
                                FROM pg_roles, pg_namespace AS n WHERE rolname = $1 AND n.nspname = 'log'",
    );
    let found: Option<(String, bool)> =
        asked.bind(role).fetch_optional(&mut *connection).await.map_err(map)?;
    let Some((name, owns)) = found else {
        let why =
            format!("there is no role `{role}`; make it with `CREATE ROLE … LOGIN`, or name the right one");
        return Err(opening::not_a_store(owner, why));
    };
    if owns {
        tracing::warn!(
            role,
            "the servers' role owns the log: nothing in the database keeps it from changing it"
        );
        return Ok(());
    }
    for statement in grants(&name) {
        raw_sql(AssertSqlSafe(statement)).execute(&mut *connection).await.map_err(map)?;
    }
    Ok(())
}

fn grants(role: &str) -> Vec<String> {
    let mut all = vec![
        format!("REVOKE ALL ON ALL TABLES IN SCHEMA log FROM {role}"),
        format!("GRANT USAGE ON SCHEMA log TO {role}"),
        format!("GRANT {} ON SCHEMA tables TO {role}", TABLES.join(", ")),
        format!("ALTER DEFAULT PRIVILEGES IN SCHEMA tables GRANT ALL ON TABLES TO {role}"),
    ];
    all.extend(
        SERVER.iter().map(|(table, rights)| format!("GRANT {} ON {table} TO {role}", rights.join(", "))),
    );
    all
}

/// Checks what a server may do: all it needs, and nothing that changes the log unless it owns it.
pub(crate) async fn check_server(connection: &mut PgConnection, url: &SecretUrl) -> Result<(), StoreError> {
    let map = |e| error::map("checking the role's rights", e);
    if let Some((right, table)) = first(connection, &SERVER, false).await.map_err(map)? {
        return Err(missing(url, &right, &table));
    }
    for right in TABLES {
        let asked = sqlx::query_scalar("SELECT has_schema_privilege('tables', $1)").bind(right);
        if !asked.fetch_one(&mut *connection).await.map_err(map)? {
            return Err(missing(url, right, "SCHEMA tables"));
        }
    }
    const OWNS: &str =
        "SELECT pg_has_role(relowner, 'MEMBER') FROM pg_class WHERE oid = 'log.events'::regclass";
    if sqlx::query_scalar(OWNS).fetch_one(&mut *connection).await.map_err(map)? {
        let role = url.role();
        tracing::warn!(
            role,
            "this role owns the log: nothing in the database keeps it from changing what happened"
        );
        return Ok(());
    }
    match first(connection, &FORBIDDEN, true).await.map_err(map)? {
        None => Ok(()),
        Some((right, table)) => {
            let role = url.role();
            let why = format!(
                "the role `{role}` has {right} on `{table}`, which no server may have; \
                 as the owner: `REVOKE {right} ON {table} FROM {role}`, or run `charter migrate`"
            );
            Err(opening::not_a_store(url, why))
        }
    }
}

/// Checks what a tool that reads needs.
pub(crate) async fn check_reader(connection: &mut PgConnection, url: &SecretUrl) -> Result<(), StoreError> {
    let lacks = first(connection, &READER, false).await;
    match lacks.map_err(|e| error::map("checking the role's rights", e))? {
        None => Ok(()),
        Some((right, table)) => Err(missing(url, &right, &table)),
    }
}

/// The first of these rights that the role has, or lacks.
async fn first(
    connection: &mut PgConnection,
    of: &[(&'static str, &'static [&'static str])],
    has: bool,
) -> Result<Option<(String, String)>, sqlx::Error> {
    // A right on a column counts, where there is such a thing.
    const SQL: &str = "SELECT asked.name, asked.table FROM \
         unnest($1::text[], $2::text[]) WITH ORDINALITY AS asked (\"table\", name, number) \
         WHERE CASE WHEN $3 AND name = 'UPDATE' THEN has_any_column_privilege(\"table\", name) \
         ELSE has_table_privilege(\"table\", name) END = $3 ORDER BY number LIMIT 1";
    let (tables, rights): (Vec<_>, Vec<_>) =
        of.iter().flat_map(|(table, rights)| rights.iter().map(|right| (*table, *right))).unzip();
    sqlx::query_as(SQL).bind(tables).bind(rights).bind(has).fetch_optional(connection).await
}

/// A right is missing: which, and how it is given.
pub(crate) fn missing(url: &SecretUrl, right: &str, on: &str) -> StoreError {
    let role = url.role();
    let why = format!(
        "the role `{role}` has no {right} on `{on}`; as the owner: `GRANT {right} ON {on} TO {role}`, \
         or run `charter migrate`"
    );
    opening::not_a_store(url, why)
}
