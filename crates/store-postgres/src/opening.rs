//! Opening and closing: what is checked before anyone gets a store, and what is wrong said in one line that names what
//! to change.

use crate::{
    Access, KNOWN, PostgresStore, SecretUrl,
    bell::Bell,
    connect::{self, For, Route},
    error,
    readers::Readers,
    rights, schema,
    tables::Tables,
    writer::Writer,
};
use charter_store::{StoreError, TAIL_EVENTS, causes, snapshot_files::SnapshotFiles, verify};
use sqlx::{PgConnection, Row};
use std::{io, path::Path, sync::Arc, time::Duration};

/// Connections of each kind.
const READERS_MAX: usize = 6;
const GLANCES_MAX: usize = 2;
const CREDENTIALS_MAX: usize = 4;
const SEARCHES_MAX: usize = 3;
const NOTES_MAX: usize = 2;
/// One keeps the tables up, one builds beside, one compares, one notes how far they are.
const TABLES_MAX: usize = 4;
/// All of a server's: with those of the writer, the bell, the ear, and three leads.
const CONNECTIONS_MAX: usize =
    READERS_MAX + GLANCES_MAX + CREDENTIALS_MAX + SEARCHES_MAX + NOTES_MAX + TABLES_MAX + 6;
/// How long everything may take that is checked before there is a store.
const OPENING_SECONDS_MAX: u64 = 30;

/// The oldest PostgreSQL this is written for.
const MAJOR_OLDEST: i32 = 13;

impl PostgresStore {
    /// Opens the store in a database; `snapshots` is the folder of this server's snapshots.
    ///
    /// A server checks its rights and both ends of the log before it gets the store; a tool that reads gets a damaged
    /// log too, to look at it. The address must lead to the server itself: a pooler that shares connections between
    /// transactions breaks leadership and nudges.
    ///
    /// # Errors
    /// [`StoreError::NotAStore`] says what is wrong with the address, the database or the role's rights in one line;
    /// [`StoreError::NeedsMigration`], [`StoreError::TooNew`], [`StoreError::Damaged`], [`StoreError::Unavailable`].
    pub async fn open(url: &SecretUrl, snapshots: &Path, access: Access) -> Result<Arc<Self>, StoreError> {
        in_time(check(url, access)).await?;
        let writes = access == Access::Server;
        let route = |purpose| Route::new(url, purpose, access);
        let store = Arc::new(Self {
            readers: Readers::new(route(For::Reading), READERS_MAX),
            glances: Readers::new(route(For::Glancing), GLANCES_MAX),
            credentials: Readers::new(route(For::Glancing), CREDENTIALS_MAX),
            writer: writes.then(|| Writer::start(route(For::Writing))),
            bell: writes.then(|| Bell::hang(route(For::Others))),
            others: route(For::Others),
            snapshots: SnapshotFiles::new(snapshots),
            tables: Tables::new(
                Readers::new(route(For::Searching), SEARCHES_MAX),
                Readers::new(route(For::Reading), NOTES_MAX),
                Readers::new(route(For::Tables), TABLES_MAX),
                writes,
            ),
        });
        if writes && let Err(error) = store.snapshots.try_folder() {
            tracing::warn!(error = %causes(&error), "no snapshots: every start reads the whole log");
        }
        if writes && let Err(error) = verify::check_ends(&*store, TAIL_EVENTS).await {
            store.close().await;
            return Err(error);
        }
        Ok(store)
    }

    /// Undoes an append that is under way and closes the connections; a lead that is held is its holder's to drop.
    pub async fn close(&self) {
        if let Some(writer) = &self.writer {
            writer.close().await;
        }
        for readers in [&self.readers, &self.glances, &self.credentials] {
            readers.close().await;
        }
        self.tables.close().await;
    }
}

/// What must be so before a store is made.
async fn check(url: &SecretUrl, access: Access) -> Result<(), StoreError> {
    let mut connection = self::connect(url, For::Reading, access).await?;
    check_server(&mut connection, url).await?;
    let found = schema::found(&mut connection, url).await?;
    if found < KNOWN {
        return Err(StoreError::NeedsMigration { found, known: KNOWN });
    }
    match access {
        Access::Server => rights::check_server(&mut connection, url).await?,
        Access::ReadOnly => rights::check_reader(&mut connection, url).await?,
    }
    if access == Access::Server && url.may_be_overheard() {
        tracing::warn!(
            server = url.server(),
            "the way to the database may be unencrypted, and keys and password hashes go that way: \
             add `sslmode=verify-full` to its address"
        );
    }
    connect::close(connection).await;
    Ok(())
}

/// Gives what is done before there is a store its time: a server may fall silent after it took the connection.
pub(crate) async fn in_time<T>(work: impl Future<Output = Result<T, StoreError>>) -> Result<T, StoreError> {
    let silent =
        StoreError::Unavailable { what: "the database fell silent while it was opened", source: None };
    let limit = Duration::from_secs(OPENING_SECONDS_MAX);
    tokio::time::timeout(limit, work).await.unwrap_or(Err(silent))
}

/// The first connection to a database; an error says what to change.
pub(crate) async fn connect(
    url: &SecretUrl,
    purpose: For,
    access: Access,
) -> Result<PgConnection, StoreError> {
    Route::new(url, purpose, access).try_connect().await.map_err(|error| refused(url, error))
}

fn refused(url: &SecretUrl, error: sqlx::Error) -> StoreError {
    let (server, role, database) = (url.server(), url.role(), url.database());
    let said = error::first_line(&error);
    let why = match &error {
        sqlx::Error::Io(io) => match io.kind() {
            io::ErrorKind::ConnectionRefused => {
                format!("nothing listens at `{server}`; check host and port, and that the database runs")
            }
            io::ErrorKind::TimedOut => {
                format!("`{server}` does not answer ({io}); check host, port and firewall")
            }
            _ => format!("`{server}` can't be reached ({io}); check host and port"),
        },
        sqlx::Error::Tls(tls) => {
            format!("TLS with `{server}` fails ({tls}); check `sslmode` and `sslrootcert`")
        }
        sqlx::Error::Configuration(why) => why.to_string(),
        _ => match error::code(&error) {
            Some("28P01") => format!("the password of the role `{role}` is not accepted{}", no_password(url)),
            Some("28000") => format!("the role `{role}` may not sign in ({said}){}", no_role(url)),
            Some("3D000") => format!("there is no database `{database}`; make it, or name the right one"),
            Some(error::NO_RIGHT) => format!(
                "the role `{role}` has no CONNECT on the database; as its owner: \
                 `GRANT CONNECT ON DATABASE {database} TO {role}`"
            ),
            Some(error::TOO_MANY_CONNECTIONS) => format!(
                "it takes no more connections ({said}); a server keeps up to {CONNECTIONS_MAX}: raise the \
                 CONNECTION LIMIT of the role `{role}` or of the database, or `max_connections`"
            ),
            _ => return error::map("connecting to the database", error),
        },
    };
    not_a_store(url, why)
}

/// That the address leaves out the role, as the end of a sentence.
fn no_role(url: &SecretUrl) -> &'static str {
    if url.names_role() {
        ""
    } else {
        "; its address names no role: write `postgres://ROLE:PASSWORD@HOST/NAME`"
    }
}

/// The same of role or password.
fn no_password(url: &SecretUrl) -> &'static str {
    if url.names_role() && !url.names_password() { "; its address has none" } else { no_role(url) }
}

/// Checks the server's version and settings.
pub(crate) async fn check_server(connection: &mut PgConnection, url: &SecretUrl) -> Result<(), StoreError> {
    const SQL: &str = "SELECT current_setting('server_version_num')::integer, current_setting('server_encoding'), \
                       current_setting('fsync'), current_setting('full_page_writes')";
    let map = |e| error::map("reading the server's settings", e);
    let row = sqlx::query(SQL).fetch_one(connection).await.map_err(map)?;
    let version: i32 = row.try_get(0).map_err(map)?;
    if version < MAJOR_OLDEST * 10_000 {
        let found = version / 10_000;
        return Err(not_a_store(url, format!("PostgreSQL {found}; {MAJOR_OLDEST} or later is needed")));
    }
    let encoding: &str = row.try_get(1).map_err(map)?;
    if encoding != "UTF8" {
        let why = format!("its encoding is {encoding}; make it with `ENCODING 'UTF8' TEMPLATE template0`");
        return Err(not_a_store(url, why));
    }
    for (index, setting) in [(2, "fsync"), (3, "full_page_writes")] {
        if row.try_get::<&str, _>(index).map_err(map)? == "off" {
            tracing::warn!(setting, "this setting of the database is off: a power failure may lose the log");
        }
    }
    Ok(())
}

/// Why a database can't be opened, in one line.
pub(crate) fn not_a_store(url: &SecretUrl, why: impl Into<String>) -> StoreError {
    StoreError::NotAStore { place: url.to_string(), why: why.into(), source: None }
}
