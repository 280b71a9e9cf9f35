//! Letters to people: a bounded number of them under way, each tried a few times, none of them ever waited for.
//!
//! A letter is only in memory: what it says is a secret. A server that ends tries each once more, for a bounded time;
//! one that was not sent by then is gone. That a letter was sent is kept beside the link in it, so whoever caused one
//! that was not can be told, and sends another. What is logged of a letter is for whom and why it failed, never an
//! address, a name or what it says.

use crate::{control::Inner, secret::SecretText};
use async_trait::async_trait;
use charter_events::{Timestamp, UserId};
use charter_store::{SecretWrite, causes};
use std::{
    collections::HashSet,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use uuid::Uuid;

/// How many letters are under way at once, those that wait for another try among them.
const LETTERS_MAX: usize = 1_000;
/// How many are handed to the mail server at the same time.
const SENDING_AT_ONCE_MAX: usize = 4;
/// How often one letter is tried.
const TRIES_MAX: u32 = 6;
/// The pause before the next try grows by this factor.
const PAUSE_FACTOR: u32 = 4;
/// How long one try may take.
const TRY_SECONDS_MAX: u64 = 30;

/// A letter. It may hold a secret, so nothing of it is shown.
#[derive(Clone)]
pub struct Letter {
    /// The address it goes to.
    pub to: String,
    /// What it is about.
    pub subject: String,
    /// What it says, as plain text.
    pub text: SecretText,
}

impl fmt::Debug for Letter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Letter(…)")
    }
}

/// Why a letter was not taken. It names no address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MailError {
    /// It will never be taken: the address is none, or the server refuses it for good.
    #[error("the mail server refuses it{}", reply(*.0))]
    Refused(Option<u16>),
    /// The server can't be reached or is busy: another try may succeed.
    #[error("the mail server did not take it{}", reply(*.0))]
    Failed(Option<u16>),
}

fn reply(code: Option<u16>) -> String {
    code.map(|code| format!(" (reply {code})")).unwrap_or_default()
}

/// The way to a mail server.
#[async_trait]
pub trait Mailer: Send + Sync {
    /// Hands over one letter.
    async fn send(&self, letter: &Letter) -> Result<(), MailError>;
}

/// Room for one letter more.
pub(crate) struct Room(#[expect(dead_code, reason = "it is held, not read")] OwnedSemaphorePermit);

/// As many letters are under way as may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TooManyLetters;

/// The letters that are under way.
pub(crate) struct Mail {
    room: Arc<Semaphore>,
    turns: Arc<Semaphore>,
    /// The links in them.
    links: Mutex<HashSet<Uuid>>,
}

/// How a letter with a link stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LetterState {
    /// The mail server took it.
    Sent,
    /// It is under way.
    Waiting,
    /// It was given up, or the server ended before it was sent: it takes another.
    Failed,
}

impl Mail {
    pub(crate) fn new() -> Self {
        for outcome in ["sent", "tried", "given_up"] {
            metrics::counter!("charter_letters_total", "outcome" => outcome).increment(0);
        }
        Self {
            room: Arc::new(Semaphore::new(LETTERS_MAX)),
            turns: Arc::new(Semaphore::new(SENDING_AT_ONCE_MAX)),
            links: Mutex::default(),
        }
    }

    /// Whether the letter with a link is under way here.
    pub(crate) fn carries(&self, link: Uuid) -> bool {
        self.links().contains(&link)
    }

    fn links(&self) -> MutexGuard<'_, HashSet<Uuid>> {
        self.links.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Room for a letter, before what it is about is done: nothing is done that nobody would be told of.
    pub(crate) fn reserve(&self) -> Result<Room, TooManyLetters> {
        Arc::clone(&self.room).try_acquire_owned().map(Room).map_err(|_| TooManyLetters)
    }
}

/// How long a letter may be under way at most.
pub(crate) fn longest_way(pause: Duration) -> Duration {
    let pauses = (1..TRIES_MAX).fold((pause, Duration::ZERO), |(pause, all), _| {
        (pause.saturating_mul(PAUSE_FACTOR), all.saturating_add(pause))
    });
    pauses.1.saturating_add(Duration::from_secs(TRY_SECONDS_MAX * u64::from(TRIES_MAX)))
}

/// Sends a letter in the background, and notes it of the link in it, if there is one.
pub(crate) fn post(inner: &Arc<Inner>, room: Room, to: UserId, link: Option<LinkRow>, letter: Letter) {
    let Some(mailer) = inner.config.mailer.clone() else { return };
    let carried = Carried::new(inner, link.map(|link| link.id));
    let sending = Arc::clone(inner);
    inner.tasks.spawn(async move {
        // Kept until the letter is sent or given up.
        let (_room, _carried) = (room, carried);
        let outcome = tokio::select! {
            outcome = tried(&sending, mailer.as_ref(), &letter) => outcome,
            () = too_late(&sending) => Err(MailError::Failed(None)),
        };
        match outcome {
            Ok(()) => {
                count("sent");
                note_sent(&sending, link).await;
            }
            Err(error) => {
                tracing::warn!(user = %to, %error, "a letter is not sent");
                count("given_up");
            }
        }
    });
}

/// A link as it is kept, by which it is noted that its letter was sent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LinkRow {
    pub(crate) id: Uuid,
    pub(crate) created_at: Timestamp,
}

/// The link of a letter, for as long as the letter is under way.
struct Carried(Arc<Inner>, Option<Uuid>);

impl Carried {
    fn new(inner: &Arc<Inner>, link: Option<Uuid>) -> Self {
        inner.mail.links().extend(link);
        Self(Arc::clone(inner), link)
    }
}

impl Drop for Carried {
    fn drop(&mut self) {
        if let Some(link) = self.1 {
            self.0.mail.links().remove(&link);
        }
    }
}

/// Tries a letter a few times; once the server ends, once more at most.
async fn tried(inner: &Inner, mailer: &dyn Mailer, letter: &Letter) -> Result<(), MailError> {
    let mut pause = inner.config.mail_pause;
    for tried in 1.. {
        let is_last = tried >= TRIES_MAX || inner.stop.is_cancelled();
        match once(inner, mailer, letter).await {
            Err(MailError::Failed(_)) if !is_last => count("tried"),
            outcome => return outcome,
        }
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = inner.stop.cancelled() => {}
        }
        pause = pause.saturating_mul(PAUSE_FACTOR);
    }
    Err(MailError::Failed(None))
}

/// When the server has been ending for as long as it waits for letters.
async fn too_late(inner: &Inner) {
    inner.stop.cancelled().await;
    tokio::time::sleep(inner.config.mail_drain).await;
}

/// Notes that the letter with a link was sent. Without it the link is told not to have been sent, and is sent again.
async fn note_sent(inner: &Inner, link: Option<LinkRow>) {
    let Some(LinkRow { id, created_at }) = link else { return };
    // Later than it was made: a link that was shown instead says the moment it was made.
    let at = inner.time().max(created_at.saturating_add_micros(1));
    let sent = [SecretWrite::TouchCredential { id, at }];
    if let Err(error) = inner.store.write_secrets(&sent).await {
        tracing::warn!(error = %causes(&error), "that a letter was sent could not be noted");
    }
}

async fn once(inner: &Inner, mailer: &dyn Mailer, letter: &Letter) -> Result<(), MailError> {
    let _turn = inner.mail.turns.acquire().await.map_err(|_| MailError::Failed(None))?;
    match tokio::time::timeout(Duration::from_secs(TRY_SECONDS_MAX), mailer.send(letter)).await {
        Ok(sent) => sent,
        Err(_) => Err(MailError::Failed(None)),
    }
}

fn count(outcome: &'static str) {
    metrics::counter!("charter_letters_total", "outcome" => outcome).increment(1);
}
