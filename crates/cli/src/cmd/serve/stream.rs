//! Publishing the log beside serving it: from the bus that was connected to, to the last message before the end.

use crate::{
    cmd::nats::{bus, must_be_put_right},
    exit::{Failure, Outcome, chain},
};
use charter_bus_nats::{Bus, BusError, NatsConfig, Publisher};
use charter_control::{Control, StreamFault};
use charter_events::{LogId, Offset};
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// How long publishing what is left may take at the end.
const DRAIN_SECONDS_MAX: u64 = 5;
/// How often the stream is looked at meanwhile.
const DRAIN_LOOK_EVERY: Duration = Duration::from_millis(50);

/// A bus that can be used, now or later.
pub(super) struct Connected {
    bus: Bus,
    /// Why not now.
    trouble: Option<BusError>,
    log_is_new: bool,
}

/// Publishing, until it is told to end.
pub(super) struct Publishing {
    bus: Bus,
    log_id: LogId,
    stop: CancellationToken,
    task: JoinHandle<()>,
    /// Where, without secrets; and why not now.
    pub(super) shown: (String, Option<String>),
}

/// Connects to the bus, if there is to be one.
pub(super) async fn connected(config: Option<&NatsConfig>, log_is_new: bool) -> Outcome<Option<Connected>> {
    let Some(config) = config else { return Ok(None) };
    let (bus, trouble) = bus(config, log_is_new).await?;
    Ok(Some(Connected { bus, trouble, log_is_new }))
}

impl Connected {
    /// Checks the stream, and publishes from now on.
    pub(super) async fn publish(self, control: &Control) -> Outcome<Publishing> {
        let (bus, log_id) = (self.bus, control.log_id());
        let publisher = Publisher::new(bus.clone(), control.store(), log_id, control.versions());
        let trouble = match self.trouble {
            Some(trouble) => Some(trouble),
            None => publisher.prepare().await.err(),
        };
        if let Some(error) = &trouble {
            if must_be_put_right(error, self.log_is_new) {
                return Err(Failure::error(chain(error)));
            }
            tracing::warn!(code = error.code(), "{}", chain(error));
        }
        let stop = CancellationToken::new();
        let (stopped, alarmed) = (stop.clone(), control.clone());
        let task = tokio::spawn(publisher.run(stopped, move |fork| {
            alarmed.stream_alarm(fork.map(|fork| StreamFault { offset: fork.offset }));
        }));
        let why = trouble.map(|error| match error {
            BusError::Away { why, .. } => format!("away: {why}"),
            other => chain(&other),
        });
        let shown = (bus.url().to_owned(), why);
        Ok(Publishing { bus, log_id, stop, task, shown })
    }
}

impl Publishing {
    /// Ends once the stream has the log up to a version, whichever server publishes it, or after a bounded time.
    /// Whatever remains is published by the next server that leads.
    pub(super) async fn end(self, version: Offset) {
        let most = Duration::from_secs(DRAIN_SECONDS_MAX);
        if !tokio::time::timeout(most, self.drained(version)).await.unwrap_or(false) {
            tracing::warn!(%version, "the log is not published to its end: the next server that leads goes on");
        }
        self.stop.cancel();
        // An error: it had ended by itself.
        drop(self.task.await);
    }

    /// Whether the stream came to have it all; false when it can't be asked.
    async fn drained(&self, version: Offset) -> bool {
        loop {
            if !self.bus.is_connected() {
                return false;
            }
            match self.bus.stream_state(self.log_id).await {
                Ok(Some(state)) if state.last >= version.get() => return true,
                Ok(_) => tokio::time::sleep(DRAIN_LOOK_EVERY).await,
                Err(_) => return false,
            }
        }
    }
}
