//! The log page by page, the next page already on its way while its reader works on this one: a database is another
//! process or thread, and need not wait for us. Owns the order of the reads; must not know what is done with the pages.

use crate::{error::StoreError, limits::READ_EVENTS_MAX, log::LogStore};
use charter_events::{Offset, StoredEvent};
use std::{
    future::{Future, poll_fn},
    pin::Pin,
    task::Poll,
};

type Page = Result<Vec<StoredEvent>, StoreError>;
type Reading<'a> = Pin<Box<dyn Future<Output = Page> + Send + 'a>>;

/// What is to come.
enum Ahead<'a> {
    /// It was asked for.
    Coming(Reading<'a>),
    /// It came at once.
    There(Page),
}

/// The log's pages after an offset, up to another.
pub struct Pages<'a, L: LogStore + ?Sized> {
    log: &'a L,
    at: Offset,
    end: Offset,
    events_max: usize,
    ahead: Option<Ahead<'a>>,
}

impl<'a, L: LogStore + ?Sized> Pages<'a, L> {
    /// The pages after an offset, up to `end`, which may lie beyond the log's.
    pub const fn new(log: &'a L, after: Offset, end: Offset) -> Self {
        Self { log, at: after, end, events_max: READ_EVENTS_MAX, ahead: None }
    }

    /// With pages of at most so many events.
    #[must_use]
    pub const fn of_at_most(mut self, events_max: usize) -> Self {
        self.events_max = events_max;
        self
    }

    /// The next page, never an empty one; none where the log goes no further, now that this is called, or `end` is
    /// reached. The one after it is asked for before this one is handed over.
    ///
    /// # Errors
    /// As [`LogStore::read`]; asked again after one, it reads the same page again.
    pub async fn next(&mut self) -> Result<Option<Vec<StoredEvent>>, StoreError> {
        let ahead = match self.ahead.take() {
            Some(Ahead::There(page)) => page?,
            Some(Ahead::Coming(reading)) => reading.await?,
            None => Vec::new(),
        };
        // That there was nothing is true of when it was asked for: whoever has seen a later head since would take the
        // log for one that was cut.
        let page = match (ahead.is_empty(), self.read()) {
            (false, _) => ahead,
            (true, Some(reading)) => reading.await?,
            (true, None) => return Ok(None),
        };
        let Some(last) = page.last() else { return Ok(None) };
        self.at = last.offset;
        if let Some(mut reading) = self.read() {
            // Nothing begins before it is polled.
            let first = poll_fn(|cx| Poll::Ready(reading.as_mut().poll(cx))).await;
            self.ahead = Some(match first {
                Poll::Ready(page) => Ahead::There(page),
                Poll::Pending => Ahead::Coming(reading),
            });
        }
        Ok(Some(page))
    }

    fn read(&self) -> Option<Reading<'a>> {
        let missing = self.end.get().checked_sub(self.at.get()).filter(|missing| *missing > 0)?;
        let limit = usize::try_from(missing).unwrap_or(usize::MAX).min(self.events_max);
        Some(self.log.read(self.at, limit))
    }
}
