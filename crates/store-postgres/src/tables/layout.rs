//! The bookkeeping of the tables, in their schema. The servers' own role makes it when it first writes there, so that
//! it owns what it will have to replace and drop.

use super::{BEGIN, STEP, commit, failed};
use crate::{error::within, lead, readers::Readers};
use charter_store::StoreError;
use sqlx::{Row, raw_sql};

/// The version of the bookkeeping.
const KNOWN: i64 = 1;

/// One row of `projections` says which generation is read. `names` are those of a generation's tables, for whoever
/// drops one of a version it does not know.
const LAYOUT: &str = "
CREATE TABLE IF NOT EXISTS tables.layout (one boolean PRIMARY KEY DEFAULT true CHECK (one), version bigint NOT NULL);
CREATE TABLE IF NOT EXISTS tables.projections (
    projection text COLLATE \"C\" PRIMARY KEY, last_number bigint NOT NULL, active bigint
);
CREATE TABLE IF NOT EXISTS tables.generations (
    projection text COLLATE \"C\", number bigint, version bigint NOT NULL, names text NOT NULL, log_id uuid NOT NULL,
    at_offset bigint NOT NULL, hash bytea NOT NULL, indexed boolean NOT NULL, fault_offset bigint, fault_why text,
    created_at bigint NOT NULL, PRIMARY KEY (projection, number)
);
CREATE TABLE IF NOT EXISTS tables.operations (
    id uuid PRIMARY KEY, kind text NOT NULL, target text NOT NULL, state text NOT NULL, detail text NOT NULL,
    done bigint NOT NULL, total bigint NOT NULL, asked_by uuid, started_at bigint NOT NULL, updated_at bigint NOT NULL
);
INSERT INTO tables.layout (version) VALUES (1) ON CONFLICT DO NOTHING;
SELECT version FROM tables.layout";

/// Makes it where it is missing; waits while another server does the same.
pub(super) async fn lay(work: &Readers) -> Result<(), StoreError> {
    const WHAT: &str = "making the bookkeeping of the tables";
    let mut held = work.begin(WHAT, BEGIN).await?;
    let lock = sqlx::query("SELECT pg_advisory_xact_lock($1, $2)").bind(lead::LOCKS).bind(lead::LAYING);
    within(STEP, lock.execute(&mut held.connection)).await.map_err(|e| failed(WHAT, e))?;
    let rows = within(STEP, raw_sql(LAYOUT).fetch_all(&mut held.connection)).await;
    let rows = rows.map_err(|e| failed(WHAT, e))?;
    // It comes as text or not, by the protocol that was used.
    let found = rows.last().and_then(|row| row.try_get::<i64, _>(0).ok()).unwrap_or(i64::MAX);
    if found > KNOWN {
        return Err(StoreError::TooNew { found, known: KNOWN });
    }
    commit(held, WHAT).await
}
