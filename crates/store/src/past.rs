//! Where a log once ended: the version a question about the past is asked of, found by offset or by time. Must not know
//! what the events mean, nor read a clock.

use crate::{
    chain,
    error::{Fault, StoreError, What},
    log::LogStore,
};
use charter_events::{Head, Offset, StoredEvent, Timestamp};
use std::{fmt, str::FromStr};

/// Which past is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AsOf {
    /// When the log ended with this event. Inside a command: with the last complete command before it, for nobody ever
    /// saw half of one.
    Offset(Offset),
    /// What was so at this moment.
    Time(Timestamp),
}

/// The text names no version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("it takes an offset or an RFC 3339 time such as `2026-03-01T12:00:00Z`")]
pub struct InvalidAsOf;

impl FromStr for AsOf {
    type Err = InvalidAsOf;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
            // A number too large to be an offset is beyond every head.
            let number = text.parse().ok().and_then(Offset::new).unwrap_or(Offset::MAX);
            return Ok(Self::Offset(number));
        }
        text.parse().map(Self::Time).map_err(|_| InvalidAsOf)
    }
}

impl fmt::Display for AsOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Offset(offset) => offset.fmt(f),
            Self::Time(moment) => moment.fmt(f),
        }
    }
}

/// A version a log once had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Version {
    /// The log's end then: the last event of a command.
    pub head: Head,
    /// The moment to judge at, so that what had expired then counts as expired: the one asked for, else the one at
    /// which the event was recorded.
    pub now: Timestamp,
}

/// There is no such version.
#[derive(Debug, thiserror::Error)]
pub enum NoVersion {
    /// It is yet to come.
    #[error("`{asked}` is beyond the end of the log, which is at offset {head}")]
    BeyondHead {
        /// What was asked for.
        asked: AsOf,
        /// The last event's offset.
        head: Offset,
    },
    /// No command was complete then.
    #[error("`{asked}` is before the first command was complete")]
    BeforeFirstEvent {
        /// What was asked for.
        asked: AsOf,
    },
    /// The log can't be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The version a log that ends at `end` had then. `now` is the present: no later moment has a version yet.
///
/// A moment is found by bisection over the times of recording, which never go back. What is appended while the present
/// moment is asked about may still belong to it: the answer says which version it is of.
///
/// # Errors
/// [`NoVersion`].
pub async fn version(
    log: &dyn LogStore,
    end: &Head,
    asked: AsOf,
    now: Timestamp,
) -> Result<Version, NoVersion> {
    let too_early = || NoVersion::BeforeFirstEvent { asked };
    let (offset, moment) = match asked {
        AsOf::Offset(Offset::ZERO) => return Err(too_early()),
        AsOf::Offset(offset) if offset > end.offset => {
            return Err(NoVersion::BeyondHead { asked, head: end.offset });
        }
        AsOf::Offset(offset) => (offset, None),
        AsOf::Time(moment) if moment > now.max(end.recorded_at) => {
            return Err(NoVersion::BeyondHead { asked, head: end.offset });
        }
        AsOf::Time(moment) => (last_until(log, end, moment).await?, Some(moment)),
    };
    let head = complete(log, end, offset).await?.ok_or_else(too_early)?;
    Ok(Version { head, now: moment.unwrap_or(head.recorded_at) })
}

/// The last event recorded at a moment or before it; 0 when there is none.
async fn last_until(log: &dyn LogStore, end: &Head, moment: Timestamp) -> Result<Offset, StoreError> {
    if end.recorded_at <= moment {
        return Ok(end.offset);
    }
    // Invariant: what is recorded until `low` is not after the moment, what is recorded from `high` on is.
    let (mut low, mut high) = (0, end.offset.get());
    while high.saturating_sub(low) > 1 {
        let middle = low.midpoint(high);
        if event_at(log, offset(middle)).await?.recorded_at <= moment {
            low = middle;
        } else {
            high = middle;
        }
    }
    Ok(offset(low))
}

/// The head after the last command that was complete at an offset; `None` when there is none.
async fn complete(log: &dyn LogStore, end: &Head, at: Offset) -> Result<Option<Head>, StoreError> {
    if at == end.offset {
        return Ok((at > Offset::ZERO).then_some(*end));
    }
    let mut at = at;
    while at > Offset::ZERO {
        let event = event_at(log, at).await?;
        if event.ends_command() {
            let (hash, recorded_at) = (event.hash, event.recorded_at);
            return Ok(Some(Head { log_id: end.log_id, offset: at, hash, recorded_at }));
        }
        let begins = at.get().saturating_sub(u64::from(event.command_index));
        at = offset(begins.saturating_sub(1));
    }
    Ok(None)
}

/// The event at an offset up to where the log ends.
async fn event_at(log: &dyn LogStore, at: Offset) -> Result<StoredEvent, StoreError> {
    let before = offset(at.get().saturating_sub(1));
    let page = log.read(before, 1).await?;
    let found = page.into_iter().next().filter(|event| event.offset == at);
    found.ok_or_else(|| Fault::new(at, What::Missing).into())
}

/// An offset between two that are.
const fn offset(number: u64) -> Offset {
    match Offset::new(number) {
        Some(offset) => offset,
        None => Offset::MAX,
    }
}

/// The head as it was when the log ended with this event; `None` when there is no such event, or a command does not end
/// there.
///
/// # Errors
/// [`StoreError`].
pub async fn head_at(log: &dyn LogStore, at: Offset) -> Result<Option<Head>, StoreError> {
    let head = log.head().await?;
    if at == Offset::ZERO {
        return Ok(Some(chain::empty(head.log_id)));
    }
    let page = log.read(offset(at.get().saturating_sub(1)), 1).await?;
    let event = page.into_iter().next().filter(|event| event.offset == at && event.ends_command());
    Ok(event.map(|event| Head { offset: at, hash: event.hash, recorded_at: event.recorded_at, ..head }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_of_any_size_is_an_offset_and_a_text_of_any_size_is_refused() {
        for size in std::iter::successors(Some(32_usize), |size| Some(size * 2)).take(16) {
            assert_eq!("9".repeat(size).parse(), Ok(AsOf::Offset(Offset::MAX)));
            for unit in ["9.", "2026-03-01T12:00:00Z", "\u{661}"] {
                assert_eq!(unit.repeat(size).parse::<AsOf>(), Err(InvalidAsOf), "{unit} {size} times");
            }
        }
    }
}
