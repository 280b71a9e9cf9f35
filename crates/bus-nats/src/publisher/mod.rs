//! Publishing the log: who does it, when it is tried again, and what is said about it. Owns the leadership, the pauses,
//! the alarm of a fork and the metrics; must not know how a message is sent ([`session`] does).
//!
//! Nothing waits for this: commands are answered whether or not the bus is there, and what it missed is published
//! later. Only one server should publish, which the store's leadership sees to; that two who both believe they lead do
//! no harm, the expected sequence of each message sees to.

mod lag;
mod session;
mod voice;

use crate::{Bus, BusError, Fork};
use charter_events::{LogId, Offset};
use charter_store::{Leadership, Store, Task, causes};
use session::{Session, Trouble};
use std::{sync::Arc, time::Duration};
use tokio::{sync::watch, time::sleep};
use tokio_util::sync::CancellationToken;
use voice::Voice;

/// The most messages that may be on their way at once, whatever was asked for.
const IN_FLIGHT_MESSAGES_MAX: usize = 256;

/// How publishing goes about it.
#[derive(Debug, Clone)]
pub struct PublisherOptions {
    /// How long the server recognises a message it has by its id. A publisher that comes back later is safe as well.
    pub duplicate_window: Duration,
    /// How many messages may be on their way at once, 1 to 256.
    pub in_flight_messages_max: usize,
    /// How often a server that doesn't lead tries to, and one that leads asks whether it still does.
    pub lead_every: Duration,
    /// How often the stream is looked at, at least.
    pub look_every: Duration,
    /// How often the stream is looked at while it is forked or can't be used.
    pub forked_look_every: Duration,
    /// The longest pause after a failure that may pass by itself; the first is a 64th of it.
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

/// Publishes the log of one server's store.
pub struct Publisher {
    bus: Bus,
    store: Arc<dyn Store>,
    log_id: LogId,
    versions: watch::Receiver<Offset>,
    options: PublisherOptions,
}

impl std::fmt::Debug for Publisher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Publisher").field("log_id", &self.log_id).finish_non_exhaustive()
    }
}

impl Publisher {
    /// Publishes the log in `store`; `versions` says how far it is.
    pub fn new(bus: Bus, store: Arc<dyn Store>, log_id: LogId, versions: watch::Receiver<Offset>) -> Self {
        Self { bus, store, log_id, versions, options: PublisherOptions::default() }
    }

    /// With other options.
    #[must_use]
    pub fn with_options(self, options: PublisherOptions) -> Self {
        let most = options.in_flight_messages_max.clamp(1, IN_FLIGHT_MESSAGES_MAX);
        Self { options: PublisherOptions { in_flight_messages_max: most, ..options }, ..self }
    }

    /// Makes or checks the stream and tries every right that publishing needs, and publishes nothing.
    ///
    /// # Errors
    /// As [`connect`](crate::connect); [`BusError::Forbidden`], [`BusError::Stream`], [`BusError::Fork`].
    pub async fn prepare(&self) -> Result<(), BusError> {
        let position = watch::Sender::new(None);
        let mut session = Session::new(self, &position);
        match session.resume().await {
            Ok(()) => session.try_to_publish().await,
            Err(Trouble::Bus(error)) => Err(error),
            // the store says so itself wherever it is used
            Err(Trouble::Store(_) | Trouble::Unpublishable(..) | Trouble::Unclear(_) | Trouble::Look) => {
                Ok(())
            }
        }
    }

    /// Publishes until told to stop. Whatever fails is tried again; each new reason is logged once. `alarm` is told
    /// when the stream turns out to hold another history than the log, and with `None` when it no longer does, or
    /// another server publishes.
    pub async fn run(self, stop: CancellationToken, alarm: impl Fn(Option<Fork>) + Send + Sync) {
        let mut voice = Voice::new(&alarm);
        stop.run_until_cancelled(self.lead(&mut voice)).await;
        voice.quit();
    }

    /// Publishes whenever this server leads.
    async fn lead(&self, voice: &mut Voice<'_>) {
        loop {
            match self.store.lead(Task::Publish).await {
                Ok(Some(lead)) => {
                    metrics::gauge!("charter_publisher_leads").set(1.0);
                    let position = watch::Sender::new(None);
                    tokio::select! {
                        () = until_lost(lead, self.options.lead_every) => {}
                        () = self.publish(&position, voice) => {}
                        () = lag::tell(&*self.store, self.versions.clone(), position.subscribe()) => {}
                    }
                    voice.quit();
                }
                Ok(None) => voice.other_leads(),
                Err(error) => voice.say(&causes(&error), error.code()),
            }
            sleep(self.options.lead_every).await;
        }
    }

    /// Publishes for ever.
    async fn publish(&self, position: &watch::Sender<Option<Offset>>, voice: &mut Voice<'_>) {
        let mut session = Session::new(self, position);
        let mut failures = 0_u32;
        loop {
            self.until_connected(voice).await;
            let mut trouble = session.resume().await.err();
            let before = *position.borrow();
            if trouble.is_none() {
                voice.calm();
                trouble = Some(session.pump(voice).await);
            }
            let Some(trouble) = trouble else { continue };
            let works = matches!(trouble, Trouble::Look) || *position.borrow() > before;
            failures = if works { 0 } else { failures.saturating_add(1) };
            if let Some(pause) = self.judge(trouble, failures, voice) {
                sleep(pause).await;
            }
        }
    }

    /// Says what is wrong; how long to wait before the next attempt.
    fn judge(&self, trouble: Trouble, failures: u32, voice: &mut Voice<'_>) -> Option<Duration> {
        let pause = self.options.pause_max / 64 * 2_u32.saturating_pow(failures.min(6));
        match trouble {
            // another publisher, a stream made anew or restored: seen when it is looked at again
            Trouble::Look => return None,
            Trouble::Unclear(_) if failures < 2 => return None,
            Trouble::Unclear(error) => voice.say(&error, error.code()),
            Trouble::Store(error) => voice.say(&causes(&error), error.code()),
            Trouble::Unpublishable(offset, error) => {
                voice.say(
                    &format!("the event at offset {offset} can't be published: {error}"),
                    "unpublishable",
                );
                return Some(self.options.forked_look_every);
            }
            Trouble::Bus(BusError::Fork(fork)) => {
                voice.fork(fork);
                return Some(self.options.forked_look_every);
            }
            Trouble::Bus(error) => {
                voice.say(&error, error.code());
                return Some(if error.is_away() { pause } else { self.options.forked_look_every });
            }
        }
        Some(pause)
    }

    /// Waits for the connection, and says so when it takes long or the reason changes.
    async fn until_connected(&self, voice: &mut Voice<'_>) {
        let said_every = self.options.pause_max;
        while tokio::time::timeout(said_every, self.bus.until_connected(true)).await.is_err() {
            let error = self.bus.away("not connected");
            voice.say(&error, error.code());
        }
    }
}

/// Waits until the lead is lost.
async fn until_lost(mut lead: Box<dyn Leadership>, ask_every: Duration) {
    loop {
        sleep(ask_every).await;
        if !lead.holds().await {
            return;
        }
    }
}
