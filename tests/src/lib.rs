//! What the end-to-end tests share: installations on either database, real server processes on free loopback ports,
//! callers, a load of commands, and the log and the stream read back.
//!
//! Knows the product only as its users do: by its binary, its HTTP API and its stream. What is read back is judged
//! with the product's own chain and fold.

mod caller;
mod fleet;
mod installation;
mod load;
mod log;
mod metrics;
mod provider;
mod server;
mod stream;
mod tools;

pub use caller::{Answer, Caller};
pub use fleet::Fleet;
pub use installation::{Database, Installation, binary};
pub use load::{Callers, Load, Urls};
pub use log::{Log, state_of};
pub use metrics::Metrics;
pub use provider::{Browser, CLIENT_SECRET, Page, Provider, server_and_provider};
pub use server::{ADMIN, PASSWORD, Server};
pub use stream::Stream;
pub use tools::{schemathesis, scim_check};

use anyhow::bail;
use std::time::{Duration, Instant};

/// Asks again and again until the answer is yes.
///
/// # Errors
/// When it is not within so many seconds; with what was waited for.
pub async fn eventually(
    what: &str,
    seconds_max: u64,
    mut ask: impl AsyncFnMut() -> bool,
) -> anyhow::Result<()> {
    let deadline = Instant::now() + Duration::from_secs(seconds_max);
    while !ask().await {
        if Instant::now() >= deadline {
            bail!("not within {seconds_max} s: {what}");
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(())
}

/// Makes of one `async fn name(installation: Installation)` a test on each database: `name::on_sqlite` and
/// `name::on_postgres`.
#[macro_export]
macro_rules! on_both_databases {
    ($($name:ident),+ $(,)?) => {
        $(mod $name {
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn on_sqlite() {
                super::$name($crate::Installation::new($crate::Database::Sqlite).unwrap()).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn on_postgres() {
                super::$name($crate::Installation::new($crate::Database::Postgres).unwrap()).await;
            }
        })+
    };
}
