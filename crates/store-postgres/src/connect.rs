//! Connections: the settings each kind is opened with, and their time limits. The server ends what its client has left
//! behind, so that a program that vanished holds no lock for long.

use crate::{error::within, url::SecretUrl};
use sqlx::{ConnectOptions, PgConnection, postgres::PgConnectOptions};
use std::time::Duration;

/// How long to try to connect.
pub(crate) const CONNECT_SECONDS_MAX: u64 = 2;
/// How long an append waits for the head's lock.
pub(crate) const LOCK_SECONDS_MAX: u64 = 5;
/// How long the server works on one statement that writes.
pub(crate) const WRITE_SECONDS_MAX: u64 = 15;
/// How long the server works on one statement that reads.
pub(crate) const READ_SECONDS_MAX: u64 = 10;
/// How long an append may do nothing: longer than the largest command takes to be decided.
const IDLE_IN_APPEND_SECONDS_MAX: u64 = 60;
/// How long the server waits for a client that does not acknowledge what it was sent.
const VANISHED_MILLISECONDS_MAX: u64 = 10_000;
/// How long one step of a migration waits for others that use its tables.
const MIGRATION_LOCK_SECONDS_MAX: u64 = 30;

/// What a connection is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum For {
    /// Appends.
    Writing,
    /// Short reads, and leases.
    Reading,
    /// Short reads by a tool that may write nothing.
    ReadingOnly,
    /// Holding the lead of a task, ringing, listening.
    Others,
    /// Changing the schema.
    Migrating,
}

/// How to connect for a purpose. What the address says of these settings is overruled.
pub(crate) fn options(url: &SecretUrl, purpose: For) -> PgConnectOptions {
    let seconds = |seconds: u64| format!("{seconds}s");
    let statement = match purpose {
        For::Writing => seconds(WRITE_SECONDS_MAX),
        For::Reading | For::ReadingOnly | For::Others => seconds(READ_SECONDS_MAX),
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
        // Every statement goes by a key: a plan made while a table was small must not outlive that.
        ("enable_seqscan", "off".to_owned()),
    ];
    match purpose {
        // Leases and nudges need not survive a crash, and must not wait for the disk.
        For::Reading | For::Others => settings.push(("synchronous_commit", "off".to_owned())),
        For::ReadingOnly => settings.push(("default_transaction_read_only", "on".to_owned())),
        For::Writing | For::Migrating => {}
    }
    url.options().application_name("charter").options(settings).disable_statement_logging()
}

/// A new connection.
pub(crate) async fn connect(options: &PgConnectOptions) -> Result<PgConnection, sqlx::Error> {
    within(Duration::from_secs(CONNECT_SECONDS_MAX), options.connect()).await
}

/// Says goodbye; the server would notice by itself.
pub(crate) async fn close(connection: PgConnection) {
    let _ = within(Duration::from_secs(1), sqlx::Connection::close(connection)).await;
}
