//! Connections: the settings each kind is opened with, and their time limits. The server ends what its client has left
//! behind, so that a program that vanished holds no lock for long.

use crate::{Access, error::within, url::SecretUrl};
use sqlx::{ConnectOptions, PgConnection, Row, postgres::PgConnectOptions, raw_sql};
use std::{io, time::Duration};

/// How long to try to connect.
pub(crate) const CONNECT_SECONDS_MAX: u64 = 2;
/// How long an append waits for the head's lock.
pub(crate) const LOCK_SECONDS_MAX: u64 = 5;
/// How long the server works on one statement that writes.
pub(crate) const WRITE_SECONDS_MAX: u64 = 15;
/// How long the server works on one statement that reads.
pub(crate) const READ_SECONDS_MAX: u64 = 10;
/// How long the server works on a glance: whoever asked has then given up.
const GLANCE_SECONDS_MAX: u64 = 2;
/// How long the server lets an append do nothing. Who has one open says before that that it is alive (`writer.rs`), so
/// that a process that was stopped holds the head no longer than this.
const IDLE_IN_APPEND_SECONDS_MAX: u64 = 10;
/// How long the server waits for a client that does not acknowledge what it was sent.
const VANISHED_MILLISECONDS_MAX: u64 = 10_000;
/// How long the server works on one statement that changes tables made from the log.
pub(crate) const TABLES_SECONDS_MAX: u64 = 60;
/// How much memory one search through tables may take before it goes to the disk.
const SEARCH_MEMORY: &str = "64MB";
/// How long one step of a migration waits for others that use its tables.
const MIGRATION_LOCK_SECONDS_MAX: u64 = 30;

/// Why a server is no place to work.
pub(crate) const STANDBY: &str = "this server is a standby, which takes no writes; name the primary";

/// What a connection is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum For {
    /// Appends.
    Writing,
    /// Short reads.
    Reading,
    /// Reads of a row or two that somebody waits for, and leases.
    Glancing,
    /// Holding the lead of a task, ringing, listening.
    Others,
    /// Lists and searches in tables made from the log.
    Searching,
    /// Changing and comparing those tables.
    Tables,
    /// Changing the schema.
    Migrating,
}

/// The way to a database, for a purpose.
#[derive(Clone)]
pub(crate) struct Route {
    options: PgConnectOptions,
    /// Host and port, for errors.
    server: String,
    /// Whether only the primary will do. A name may lead to another server after a failover: a standby answers, from
    /// a past that nobody bounds.
    primary: bool,
}

impl Route {
    /// What the address says of the settings below is overruled.
    pub(crate) fn new(url: &SecretUrl, purpose: For, access: Access) -> Self {
        let options = url.options().application_name("charter").options(settings(purpose, access));
        let primary = access == Access::Server;
        Self { options: options.disable_statement_logging(), server: url.server(), primary }
    }

    /// For whoever makes connections by itself.
    pub(crate) fn options(&self) -> PgConnectOptions {
        self.options.clone()
    }

    /// A new connection; when the server can't be reached, the error names it.
    pub(crate) async fn connect(&self) -> Result<PgConnection, sqlx::Error> {
        self.try_connect().await.map_err(|error| match error {
            sqlx::Error::Io(io) => {
                sqlx::Error::Io(io::Error::new(io.kind(), format!("{}: {io}", self.server)))
            }
            other => other,
        })
    }

    /// The same, for those who name the server themselves.
    pub(crate) async fn try_connect(&self) -> Result<PgConnection, sqlx::Error> {
        let connecting = async {
            let mut connection = self.options.connect().await?;
            if self.primary {
                let row = raw_sql("SELECT pg_is_in_recovery()").fetch_one(&mut connection).await?;
                if row.try_get(0)? {
                    return Err(sqlx::Error::Configuration(STANDBY.into()));
                }
            }
            Ok(connection)
        };
        within(Duration::from_secs(CONNECT_SECONDS_MAX), connecting).await
    }
}

fn settings(purpose: For, access: Access) -> Vec<(&'static str, String)> {
    let seconds = |seconds: u64| format!("{seconds}s");
    let statement = match purpose {
        For::Writing => seconds(WRITE_SECONDS_MAX),
        For::Reading | For::Others | For::Searching => seconds(READ_SECONDS_MAX),
        For::Tables => seconds(TABLES_SECONDS_MAX),
        For::Glancing => seconds(GLANCE_SECONDS_MAX),
        // Some rewrite a table.
        For::Migrating => "0".to_owned(),
    };
    let lock = match purpose {
        For::Migrating => seconds(MIGRATION_LOCK_SECONDS_MAX),
        _ => seconds(LOCK_SECONDS_MAX),
    };
    let mut settings = vec![
        ("statement_timeout", statement),
        ("lock_timeout", lock),
        ("idle_in_transaction_session_timeout", seconds(IDLE_IN_APPEND_SECONDS_MAX)),
        ("tcp_keepalives_idle", "5".to_owned()),
        ("tcp_keepalives_interval", "2".to_owned()),
        ("tcp_keepalives_count", "3".to_owned()),
        ("tcp_user_timeout", VANISHED_MILLISECONDS_MAX.to_string()),
        ("search_path", "pg_catalog".to_owned()),
        // And none takes so long that compiling it would pay.
        ("jit", "off".to_owned()),
    ];
    match purpose {
        // A search may have to look at every row.
        For::Searching => settings.push(("work_mem", SEARCH_MEMORY.to_owned())),
        // Every statement goes by a key: a plan made while a table was small must not outlive that.
        _ => settings.push(("enable_seqscan", "off".to_owned())),
    }
    match (access, purpose) {
        (Access::ReadOnly, _) => settings.push(("default_transaction_read_only", "on".to_owned())),
        (Access::Server, For::Writing | For::Migrating) => {}
        // Leases, nudges and what can be made anew need not survive a crash, and must not wait for the disk.
        (Access::Server, _) => settings.push(("synchronous_commit", "off".to_owned())),
    }
    settings
}

/// Says goodbye; the server would notice by itself.
pub(crate) async fn close(connection: PgConnection) {
    let _ = within(Duration::from_secs(1), sqlx::Connection::close(connection)).await;
}
