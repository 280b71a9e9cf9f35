//! The services a whole test run shares, so that each test need not wait for its own.

use crate::{Nats, Postgres};
use std::sync::{Mutex, PoisonError};

/// Where a test run says what its PostgreSQL is: the superuser's URL.
pub(crate) const POSTGRES_VARIABLE: &str = "CHARTER_TEST_POSTGRES_URL";
/// Where a test run says what its NATS server is.
pub(crate) const NATS_VARIABLE: &str = "CHARTER_TEST_NATS_URL";

/// The superuser's URL of the run's PostgreSQL: what `CHARTER_TEST_POSTGRES_URL` says, else one that is started for
/// this process and ends with it.
///
/// # Errors
/// As [`Postgres::start`].
pub fn shared_postgres() -> anyhow::Result<String> {
    static OURS: Mutex<Option<Postgres>> = Mutex::new(None);
    named_or(POSTGRES_VARIABLE, &OURS, Postgres::start, Postgres::admin_url)
}

/// The URL of the run's NATS server: what `CHARTER_TEST_NATS_URL` says, else one that is started for this process and
/// ends with it.
///
/// # Errors
/// As [`Nats::start`].
pub fn shared_nats() -> anyhow::Result<String> {
    static OURS: Mutex<Option<Nats>> = Mutex::new(None);
    named_or(NATS_VARIABLE, &OURS, Nats::start, Nats::url)
}

/// A static is never dropped: the watchdog ends what it holds.
fn named_or<T>(
    variable: &str,
    ours: &Mutex<Option<T>>,
    start: impl FnOnce() -> anyhow::Result<T>,
    url: impl FnOnce(&T) -> String,
) -> anyhow::Result<String> {
    if let Some(named) = std::env::var(variable).ok().filter(|text| !text.is_empty()) {
        return Ok(named);
    }
    let mut ours = ours.lock().unwrap_or_else(PoisonError::into_inner);
    let server = match ours.take() {
        Some(server) => server,
        None => start()?,
    };
    Ok(url(ours.insert(server)))
}
