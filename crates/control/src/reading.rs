//! Reading tables made from the log: a page that is at least as new as what the caller has seen. Must not know what a
//! row means, nor who may see it: which rows are asked for is the caller's to say.

use crate::{control::Control, tables::head_at};
use charter_events::Offset;
use charter_store::{Listed, Query, StoreError};
use std::time::Duration;
use tokio::time::{Instant, sleep_until, timeout_at};

/// How long to wait before the tables are looked at again, at first and at most: they may be kept up by another server.
const LOOK_AGAIN_MIN: Duration = Duration::from_millis(5);
const LOOK_AGAIN_MAX: Duration = Duration::from_millis(200);

/// Why a table could not be read.
#[derive(Debug, thiserror::Error)]
pub enum TablesError {
    /// The tables have not come as far as the caller has seen, and did not within the time a version is waited for.
    #[error("the tables have come to offset {at}, and {wanted} is asked for; try again")]
    Behind {
        /// How far they are.
        at: Offset,
        /// How far they should be.
        wanted: Offset,
    },
    /// There are no tables of this kind yet, or none of this build's.
    #[error("the tables are not built yet; `charter projections ls` shows how far they are")]
    NotBuilt,
    /// The store can't be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl TablesError {
    /// A stable word for clients.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Behind { .. } => "tables_behind",
            Self::NotBuilt => "tables_not_built",
            Self::Store(_) => "unavailable",
        }
    }
}

impl Control {
    /// A page of rows of the tables that are read, once they have come to a version; waits for it, bounded by
    /// [`Config::version_wait`](crate::Config::version_wait). All rows are of one generation at one checkpoint.
    ///
    /// # Errors
    /// [`TablesError`].
    pub async fn list_rows(&self, query: &Query, at_least: Offset) -> Result<Listed, TablesError> {
        let name = query.spec.name;
        if !self.inner.config.projections.iter().any(|projection| projection.spec().name == name) {
            return Err(TablesError::NotBuilt);
        }
        let until = Instant::now() + self.inner.config.version_wait;
        let mut moved = self.inner.tables.moved.subscribe();
        let mut asked = query.clone();
        let mut pause = LOOK_AGAIN_MIN;
        loop {
            moved.mark_unchanged();
            let listed = self.inner.store.list_rows(&asked).await?;
            let at = match self.of_this_log(query, listed).await? {
                Some(listed) if listed.checkpoint.offset >= at_least => {
                    if asked.limit == query.limit {
                        return Ok(listed);
                    }
                    // What is read never goes back: the page itself is new enough too.
                    asked = query.clone();
                    continue;
                }
                Some(listed) => Some(listed.checkpoint.offset),
                None => None,
            };
            let again = Instant::now() + pause;
            if again >= until {
                return Err(
                    at.map_or(TablesError::NotBuilt, |at| TablesError::Behind { at, wanted: at_least })
                );
            }
            // While they are behind, only how far they are is asked.
            asked = Query { filters: Vec::new(), after: None, order_by: None, limit: 0, ..query.clone() };
            pause = (pause * 2).min(LOOK_AGAIN_MAX);
            if timeout_at(again, moved.changed()).await.is_ok_and(|bell| bell.is_err()) {
                sleep_until(again).await;
            }
        }
    }

    /// What was listed, unless it was made from another history, such as that before a restore: those tables are as
    /// good as not built. It is found out once for each generation, by its last event.
    async fn of_this_log(&self, query: &Query, listed: Option<Listed>) -> Result<Option<Listed>, StoreError> {
        let Some(listed) = listed else { return Ok(None) };
        let (tables, name) = (&self.inner.tables, query.spec.name);
        if tables.is_of_this_log(name, listed.generation) {
            return Ok(Some(listed));
        }
        if head_at(&self.inner, listed.checkpoint).await?.is_none() {
            return Ok(None);
        }
        tables.found_of_this_log(name, listed.generation);
        Ok(Some(listed))
    }
}
