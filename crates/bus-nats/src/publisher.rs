//! stub
use crate::{Bus, BusError, Fork};
use charter_events::{LogId, Offset};
use charter_store::Store;
use std::{sync::Arc, time::Duration};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// How publishing goes about it.
#[derive(Debug, Clone)]
pub struct PublisherOptions {
    /// How long the server recognises a message it has by its id.
    pub duplicate_window: Duration,
    /// How many messages may be on their way at once, at most 256.
    pub in_flight_messages_max: usize,
    /// How often a server that doesn't lead tries to, and one that leads asks whether it still does.
    pub lead_every: Duration,
    /// How often the stream is looked at while nothing is to be published.
    pub look_every: Duration,
    /// How often the stream is looked at while it is forked.
    pub forked_look_every: Duration,
    /// The longest pause after a failure; the first is a fiftieth of it.
    pub pause_max: Duration,
}

impl Default for PublisherOptions {
    fn default() -> Self {
        Self {
            duplicate_window: Duration::from_secs(120),
            in_flight_messages_max: 128,
            lead_every: Duration::from_secs(3),
            look_every: Duration::from_secs(5),
            forked_look_every: Duration::from_secs(10),
            pause_max: Duration::from_secs(5),
        }
    }
}

/// Publishes a log.
pub struct Publisher {
    bus: Bus,
    store: Arc<dyn Store>,
    log_id: LogId,
    versions: watch::Receiver<Offset>,
    options: PublisherOptions,
}

impl Publisher {
    /// Publishes the log in `store`; `versions` says how far it is.
    pub fn new(bus: Bus, store: Arc<dyn Store>, log_id: LogId, versions: watch::Receiver<Offset>) -> Self {
        Self { bus, store, log_id, versions, options: PublisherOptions::default() }
    }

    /// With other options.
    #[must_use]
    pub fn with_options(self, options: PublisherOptions) -> Self {
        Self { options, ..self }
    }

    /// Makes or checks the stream and tries every right that publishing needs, and publishes nothing.
    ///
    /// # Errors
    /// As [`connect`](crate::connect), [`BusError::Forbidden`], [`BusError::Stream`], [`BusError::Fork`].
    pub async fn prepare(&self) -> Result<(), BusError> {
        Ok(())
    }

    /// Publishes until told to stop.
    pub async fn run(self, stop: CancellationToken, alarm: impl Fn(Option<Fork>) + Send + Sync) {
        let _ = (alarm, &self.bus, &self.store, self.log_id, &self.versions);
        stop.cancelled().await;
    }
}
