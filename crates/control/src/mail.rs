//! Letters to people: a bounded number of them under way, each tried a few times, none of them ever waited for.
//!
//! A letter is only in memory: one that was not sent when the server ends is gone, and whoever caused it sends another.
//! What is logged of a letter is for whom and why it failed, never an address, a name or what it says.

use crate::{control::Inner, secret::SecretText};
use async_trait::async_trait;
use charter_events::UserId;
use std::{fmt, sync::Arc, time::Duration};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

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
}

impl Mail {
    pub(crate) fn new() -> Self {
        for outcome in ["sent", "tried", "given_up"] {
            metrics::counter!("charter_letters_total", "outcome" => outcome).increment(0);
        }
        Self {
            room: Arc::new(Semaphore::new(LETTERS_MAX)),
            turns: Arc::new(Semaphore::new(SENDING_AT_ONCE_MAX)),
        }
    }

    /// Room for a letter, before what it is about is done: nothing is done that nobody would be told of.
    pub(crate) fn reserve(&self) -> Result<Room, TooManyLetters> {
        Arc::clone(&self.room).try_acquire_owned().map(Room).map_err(|_| TooManyLetters)
    }
}

/// Sends a letter in the background.
pub(crate) fn post(inner: &Arc<Inner>, room: Room, to: UserId, letter: Letter) {
    let Some(mailer) = inner.config.mailer.clone() else { return };
    let sending = Arc::clone(inner);
    inner.tasks.spawn(async move {
        // Kept until the letter is sent or given up.
        let _room = room;
        let mut pause = sending.config.mail_pause;
        for tried in 1..=TRIES_MAX {
            let outcome = match once(&sending, mailer.as_ref(), &letter).await {
                Ok(()) => return count("sent"),
                Err(error) => error,
            };
            let ends = tried == TRIES_MAX || matches!(outcome, MailError::Refused(_));
            if ends || !waited(&sending, pause).await {
                tracing::warn!(user = %to, tried, error = %outcome, "a letter is not sent");
                return count("given_up");
            }
            count("tried");
            pause = pause.saturating_mul(PAUSE_FACTOR);
        }
    });
}

async fn once(inner: &Inner, mailer: &dyn Mailer, letter: &Letter) -> Result<(), MailError> {
    let _turn = inner.mail.turns.acquire().await.map_err(|_| MailError::Failed(None))?;
    match tokio::time::timeout(Duration::from_secs(TRY_SECONDS_MAX), mailer.send(letter)).await {
        Ok(sent) => sent,
        Err(_) => Err(MailError::Failed(None)),
    }
}

/// Whether the time passed before the server was told to end.
async fn waited(inner: &Inner, pause: Duration) -> bool {
    tokio::select! {
        () = tokio::time::sleep(pause) => true,
        () = inner.stop.cancelled() => false,
    }
}

fn count(outcome: &'static str) {
    metrics::counter!("charter_letters_total", "outcome" => outcome).increment(1);
}
