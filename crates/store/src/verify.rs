//! Checking a log as it stands in a store: all of it, or its two ends. Owns the order of the checks; must not know any
//! database: whatever passes the ports is checked the same way.

use crate::{
    chain::Verifier,
    error::{Fault, StoreError, What},
    log::LogStore,
    pages::Pages,
};
use charter_events::{Head, Offset, StoredEvent};

/// How far a scan has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// The last offset checked.
    pub at: Offset,
    /// Where the log ends.
    pub end: Offset,
}

/// What a scan that found nothing wrong has checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scanned {
    /// How many events.
    pub events: u64,
    /// The end of the log, which matches its last event. Without a head kept elsewhere, a log that was cut or
    /// rewritten together with its head can't be told from a whole one.
    pub head: Head,
}

/// Checks every event after an offset against its predecessor, and the recorded head against the last event. Begun
/// within the log, the event at `from` is where trust begins: its own hash is checked, not its history.
///
/// `progress` is called after each page. The log may grow meanwhile; what came while scanning is checked too.
///
/// # Errors
/// [`StoreError::Damaged`] with the **first** bad offset; otherwise what reading reports.
pub async fn scan<L: LogStore + ?Sized>(
    log: &L,
    from: Offset,
    progress: impl FnMut(Progress) + Send,
) -> Result<Scanned, StoreError> {
    scan_each(log, from, progress, |_| ()).await
}

/// As [`scan`], and shows each event that was found sound, in order.
///
/// # Errors
/// As [`scan`].
pub async fn scan_each<L: LogStore + ?Sized>(
    log: &L,
    from: Offset,
    mut progress: impl FnMut(Progress) + Send,
    mut each: impl FnMut(&StoredEvent) + Send,
) -> Result<Scanned, StoreError> {
    let mut recorded = log.head().await?;
    let (mut verifier, mut last) = anchor(log, recorded, from).await?;
    let mut events: u64 = 0;
    let mut pages = Pages::new(log, verifier.head().offset, Offset::MAX);
    while let Some(page) = pages.next().await? {
        let Some(newest) = page.last() else { break };
        if newest.offset > recorded.offset {
            // Read after the page: a sound head is never behind what was visible before.
            recorded = log.head().await?;
        }
        for event in page {
            if event.offset > recorded.offset && verifier.head().offset.plus(1) == Some(event.offset) {
                return Err(Fault::new(event.offset, What::BeyondHead).into());
            }
            verifier.next(&event)?;
            each(&event);
            events = events.saturating_add(1);
            last = Some(event);
        }
        progress(Progress { at: verifier.head().offset, end: recorded.offset });
    }
    check_end(&verifier, last.as_ref(), recorded)?;
    Ok(Scanned { events, head: verifier.head() })
}

/// Checks both ends of a log: the first event, the last `tail` events and the recorded head. Quick at any length;
/// what lies between is [`scan`]'s.
///
/// # Errors
/// As [`scan`].
pub async fn check_ends<L: LogStore + ?Sized>(log: &L, tail: u64) -> Result<Head, StoreError> {
    let head = log.head().await?;
    if head.offset > Offset::ZERO {
        let first = log.read(Offset::ZERO, 1).await?;
        let first = first.first().ok_or(Fault::new(offset(1), What::Missing))?;
        Verifier::from_start(head.log_id).next(first)?;
    }
    let from = offset(head.offset.get().saturating_sub(tail));
    scan(log, from, |_| ()).await.map(|scanned| scanned.head)
}

async fn anchor<L: LogStore + ?Sized>(
    log: &L,
    recorded: Head,
    from: Offset,
) -> Result<(Verifier, Option<StoredEvent>), StoreError> {
    if from == Offset::ZERO {
        return Ok((Verifier::from_start(recorded.log_id), None));
    }
    let page = log.read(offset(from.get() - 1), 1).await?;
    let Some(event) = page.into_iter().next().filter(|event| event.offset == from) else {
        return Err(Fault::new(from, What::Missing).into());
    };
    let before = Head {
        log_id: recorded.log_id,
        offset: offset(from.get() - 1),
        hash: event.prev_hash,
        recorded_at: event.recorded_at,
    };
    let mut verifier = Verifier::from_head(before);
    verifier.next(&event)?;
    Ok((verifier, Some(event)))
}

fn check_end(verifier: &Verifier, last: Option<&StoredEvent>, recorded: Head) -> Result<(), StoreError> {
    let reached = verifier.head();
    if reached.offset < recorded.offset {
        return Err(Fault::new(offset(reached.offset.get() + 1), What::Missing).into());
    }
    // Commits end commands, so a log that ends within one was cut.
    if last.is_some_and(|event| !event.ends_command()) {
        return Err(Fault::new(offset(reached.offset.get().saturating_add(1)), What::Missing).into());
    }
    if reached.offset == recorded.offset && reached != recorded {
        return Err(Fault::new(reached.offset, What::HeadMismatch).into());
    }
    Ok(())
}

fn offset(number: u64) -> Offset {
    Offset::new(number).unwrap_or(Offset::MAX)
}
