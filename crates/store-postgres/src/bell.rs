//! Nudges between servers: NOTIFY and LISTEN, each on a connection of its own. Best effort: a nudge that can't be sent
//! is forgotten, and nobody waits for one. It is never sent by a transaction that appends: NOTIFY takes a lock of the
//! whole server's until its commit is done, which would make all appends wait for each other's disk.

use crate::{
    connect::{self, Route},
    error::{map, within},
};
use async_trait::async_trait;
use charter_events::Offset;
use charter_store::{StoreError, Wakes};
use sqlx::{
    PgConnection,
    postgres::{PgConnectOptions, PgListener, PgPoolOptions},
};
use std::time::Duration;
use tokio::{sync::watch, task::JoinHandle};

const CHANNEL: &str = "charter";
const ANSWER_MAX: Duration = Duration::from_secs(connect::CONNECT_SECONDS_MAX);
/// After a nudge that could not be sent.
const PAUSE: Duration = Duration::from_secs(1);
/// How long to hear nothing before asking whether the connection is still there.
const SILENCE: Duration = Duration::from_secs(15);

/// Sends nudges, from a task of its own. While one is on its way, the later ones become one.
pub(crate) struct Bell {
    newest: watch::Sender<Offset>,
    task: JoinHandle<()>,
}

impl Bell {
    /// Connects with the first nudge.
    pub(crate) fn hang(route: Route) -> Self {
        let (newest, rung) = watch::channel(Offset::ZERO);
        Self { newest, task: tokio::spawn(ringing(route, rung)) }
    }

    /// Returns at once.
    pub(crate) fn ring(&self, head: Offset) {
        self.newest.send_replace(head);
    }
}

impl Drop for Bell {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn ringing(route: Route, mut rung: watch::Receiver<Offset>) {
    let mut connection = None;
    while rung.changed().await.is_ok() {
        let head = *rung.borrow_and_update();
        match ring(&route, connection.take(), head).await {
            Ok(sound) => connection = Some(sound),
            Err(error) => {
                tracing::debug!(%error, "other servers could not be told of the log's new head");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

/// A connection that was idle may have been lost meanwhile, as when the server was restarted: then once more, anew.
async fn ring(route: &Route, idle: Option<PgConnection>, head: Offset) -> Result<PgConnection, sqlx::Error> {
    if let Some(mut connection) = idle
        && notify(&mut connection, head).await.is_ok()
    {
        return Ok(connection);
    }
    let mut connection = route.connect().await?;
    notify(&mut connection, head).await?;
    Ok(connection)
}

async fn notify(connection: &mut PgConnection, head: Offset) -> Result<(), sqlx::Error> {
    let notify = sqlx::query("SELECT pg_notify($1, $2)").bind(CHANNEL).bind(head.to_string());
    within(ANSWER_MAX, notify.execute(connection)).await.map(drop)
}

/// Hears nudges.
pub(crate) struct Ear {
    /// `None` once its connection was lost.
    listener: Option<PgListener>,
}

impl Ear {
    pub(crate) async fn listen(options: PgConnectOptions) -> Result<Self, StoreError> {
        // A listener takes its connection from a pool; this one is its own.
        let pool = PgPoolOptions::new()
            .max_connections(1)
            .acquire_timeout(ANSWER_MAX)
            .test_before_acquire(false)
            .idle_timeout(None)
            .max_lifetime(None)
            .connect_lazy_with(options);
        let listening = async {
            let mut listener = PgListener::connect_with(&pool).await?;
            // A lost connection may have missed something: whoever listens must know.
            listener.eager_reconnect(false);
            listener.listen(CHANNEL).await?;
            Ok(listener)
        };
        let listener = within(2 * ANSWER_MAX, listening).await.map_err(|e| map("listening", e))?;
        Ok(Self { listener: Some(listener) })
    }
}

#[async_trait]
impl Wakes for Ear {
    async fn next(&mut self) -> Result<(), StoreError> {
        let lost = || StoreError::Unavailable { what: "listening for other servers", source: None };
        let listener = self.listener.as_mut().ok_or_else(lost)?;
        let heard = loop {
            match tokio::time::timeout(SILENCE, listener.try_recv()).await {
                Ok(Ok(Some(_))) => break Ok(()),
                Ok(Ok(None)) => break Err(lost()),
                Ok(Err(error)) => break Err(map("listening for other servers", error)),
                Err(_) => {
                    let asked = sqlx::query("SELECT 1").execute(&mut *listener);
                    if let Err(error) = within(ANSWER_MAX, asked).await {
                        break Err(map("listening for other servers", error));
                    }
                }
            }
        };
        match heard {
            // All that is already here is one nudge.
            Ok(()) => while listener.next_buffered().is_some() {},
            Err(_) => self.listener = None,
        }
        heard
    }
}
