//! The lead of a task: an advisory lock of the database's, held by a connection of its own. It is free when that
//! connection ends, however it ends.

use crate::{
    connect::{self, CONNECT_SECONDS_MAX, Route},
    error::{map, within},
};
use async_trait::async_trait;
use charter_store::{Leadership, StoreError, Task};
use sqlx::PgConnection;
use std::time::Duration;

/// `CHRT`: the first half of the keys of our advisory locks.
pub(crate) const LOCKS: i32 = 0x4348_5254;
/// The lock of whoever changes the schema; the tasks' locks follow it.
pub(crate) const MIGRATING: i32 = 0;
/// The lock of whoever makes the bookkeeping of the tables.
pub(crate) const LAYING: i32 = 64;

const ANSWER_MAX: Duration = Duration::from_secs(CONNECT_SECONDS_MAX);

/// The second half of a task's key. Servers of other builds know it: it never changes.
pub(crate) const fn key(task: Task) -> i32 {
    match task {
        Task::Publish => 1,
        Task::Housekeeping => 2,
        Task::Tables => 3,
    }
}

/// A lead that is held.
pub(crate) struct Led {
    /// `None` once it was lost.
    connection: Option<PgConnection>,
}

impl Led {
    /// Takes the lead; `None` when another session has it.
    pub(crate) async fn take(route: &Route, key: i32) -> Result<Option<Self>, StoreError> {
        const SQL: &str = "SELECT pg_try_advisory_lock($1, $2)";
        let error = |error| map("taking the lead of a task", error);
        let mut connection = route.connect().await.map_err(error)?;
        let asked = sqlx::query_scalar(SQL).bind(LOCKS).bind(key).fetch_one(&mut connection);
        let taken: bool = within(ANSWER_MAX, asked).await.map_err(error)?;
        if !taken {
            connect::close(connection).await;
            return Ok(None);
        }
        Ok(Some(Self { connection: Some(connection) }))
    }
}

#[async_trait]
impl Leadership for Led {
    async fn holds(&mut self) -> bool {
        // Taken out meanwhile: a caller that goes away while it is asked does not lead any more.
        let Some(mut connection) = self.connection.take() else { return false };
        let asked = sqlx::query("SELECT 1").execute(&mut connection);
        let holds = within(ANSWER_MAX, asked).await.is_ok();
        if holds {
            self.connection = Some(connection);
        }
        holds
    }
}
