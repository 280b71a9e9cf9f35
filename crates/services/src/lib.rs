//! Throw-away PostgreSQL and NATS servers on loopback, for people and tests.
//!
//! Owns finding the programs, starting them on free ports in folders of their own, and leaving nothing behind, even
//! when whoever started them is killed. Must not know the product: it deals in URLs and folders.

mod command;
mod database;
mod find;
mod folder;
mod nats;
mod postgres;
mod process;
mod shared;

pub use command::{Arguments, run};
pub use database::Database;
pub use nats::{Nats, NatsSettings};
pub use postgres::{Postgres, PostgresSettings, StopHow};
pub use process::{free_port, signal};
pub use shared::{shared_nats, shared_postgres};
