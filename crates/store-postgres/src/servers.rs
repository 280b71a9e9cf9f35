//! Several servers on one database: leases by the database's clock, the lead of tasks, nudges.

use crate::{
    PostgresStore, bell, connect, error,
    lead::{self, Led},
    read, readers,
    statement::{self, Statement, integer},
};
use async_trait::async_trait;
use charter_events::{Offset, Timestamp};
use charter_store::{Leadership, Lease, Polled, SERVERS_MAX, ServerStore, StoreError, Task, Wakes};
use sqlx::{Row, postgres::PgRow};
use std::time::Duration;
use uuid::Uuid;

/// The database's clock, in microseconds since 1970.
macro_rules! now {
    () => {
        "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
    };
}

macro_rules! lease_columns {
    () => {
        "server, build, started_at, version, knows, expires_at"
    };
}

const POLL: &str = concat!(
    "SELECT log_id, head, head_hash, recorded_at, ",
    now!(),
    ", pg_is_in_recovery() FROM log.log_head WHERE one"
);

/// Removes leases that ran out. Those another server is renewing or removing at this moment are left to it: who waits
/// for nobody is in nobody's way.
const TIDY: &str = concat!(
    "DELETE FROM log.leases WHERE server IN (SELECT server FROM log.leases WHERE expires_at <= ",
    now!(),
    " FOR UPDATE SKIP LOCKED)"
);

/// A statement sees the leases as they were before it, so its own is added.
const RENEW: &str = concat!(
    "WITH clock AS MATERIALIZED (SELECT ",
    now!(),
    " AS now), own AS (INSERT INTO log.leases (server, build, started_at, version, knows, expires_at) \
     VALUES ($1, $2, $3, $4, $5, (SELECT now FROM clock) + $6) ON CONFLICT (server) DO UPDATE SET \
     build = excluded.build, started_at = excluded.started_at, version = excluded.version, \
     knows = excluded.knows, expires_at = excluded.expires_at RETURNING ",
    lease_columns!(),
    ") SELECT ",
    lease_columns!(),
    " FROM own UNION ALL (SELECT ",
    lease_columns!(),
    " FROM log.leases WHERE server <> $1 AND expires_at > (SELECT now FROM clock) ORDER BY server LIMIT $7)"
);

const LIVE: &str = concat!(
    "SELECT ",
    lease_columns!(),
    " FROM log.leases WHERE expires_at > ",
    now!(),
    " ORDER BY server LIMIT $1"
);

/// A lease that is longer is cut to this: its sum with any clock is a moment there is.
const LEASE_SECONDS_MAX: u64 = 24 * 60 * 60;

#[async_trait]
impl ServerStore for PostgresStore {
    async fn poll(&self) -> Result<Polled, StoreError> {
        let row = self.glances.row(read::READING_HEAD, Statement::new(POLL), readers::GLANCE).await?;
        let standby = row.as_ref().is_some_and(|row| row.try_get(5).unwrap_or(false));
        if standby && self.writer.is_some() {
            // What it tells may be long past.
            self.glances.forget_idle();
            return Err(StoreError::unavailable(read::READING_HEAD, connect::STANDBY));
        }
        let now = row.as_ref().and_then(|row| Timestamp::from_micros(row.try_get(4).ok()?));
        Ok(Polled { head: read::head(row.as_ref())?, now })
    }

    async fn renew_lease(
        &self,
        lease: &Lease,
        _now: Timestamp,
        length: Duration,
    ) -> Result<Vec<Lease>, StoreError> {
        self.writer()?;
        lease.check()?;
        self.glances.rows("removing leases that ran out", Statement::new(TIDY), readers::GLANCE).await?;
        let length = length.min(Duration::from_secs(LEASE_SECONDS_MAX));
        let statement = Statement::new(RENEW)
            .with(lease.server)?
            .with(lease.build.as_str())?
            .with(lease.started_at.as_micros())?
            .with(integer(lease.version.get())?)?
            .with(lease.knows.as_slice())?
            .with(i64::try_from(length.as_micros()).unwrap_or(i64::MAX))?
            .with(statement::limit(SERVERS_MAX - 1))?;
        let rows = self.glances.rows("renewing a lease", statement, readers::GLANCE).await?;
        leases(&rows)
    }

    async fn end_lease(&self, server: Uuid) -> Result<(), StoreError> {
        self.writer()?;
        let statement = Statement::new("DELETE FROM log.leases WHERE server = $1").with(server)?;
        self.glances.rows("ending a lease", statement, readers::GLANCE).await.map(drop)
    }

    async fn live_servers(&self, _now: Timestamp) -> Result<Vec<Lease>, StoreError> {
        let statement = Statement::new(LIVE).with(statement::limit(SERVERS_MAX))?;
        leases(&self.glances.rows("listing servers", statement, readers::GLANCE).await?)
    }

    async fn lead(&self, task: Task) -> Result<Option<Box<dyn Leadership>>, StoreError> {
        self.writer()?;
        let led = Led::take(&self.others, lead::key(task)).await?;
        Ok(led.map(|led| Box::new(led) as Box<dyn Leadership>))
    }

    async fn announce(&self, head: Offset) {
        if let Some(bell) = &self.bell {
            bell.ring(head);
        }
    }

    async fn wakes(&self) -> Result<Box<dyn Wakes>, StoreError> {
        Ok(Box::new(bell::Ear::listen(self.others.options()).await?))
    }
}

fn leases(rows: &[PgRow]) -> Result<Vec<Lease>, StoreError> {
    rows.iter().map(lease).collect()
}

fn lease(row: &PgRow) -> Result<Lease, StoreError> {
    let read = || {
        Some(Lease {
            server: row.try_get(0).ok()?,
            build: row.try_get(1).ok()?,
            started_at: Timestamp::from_micros(row.try_get(2).ok()?)?,
            version: Offset::new(u64::try_from(row.try_get::<i64, _>(3).ok()?).ok()?)?,
            knows: row.try_get(4).ok()?,
            expires_at: Timestamp::from_micros(row.try_get(5).ok()?)?,
        })
    };
    read().ok_or_else(|| error::damaged("a lease can't be read"))
}
