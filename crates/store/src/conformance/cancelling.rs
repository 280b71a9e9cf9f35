//! Futures that are given up half-way.

use super::samples::{Writing, append_one, batch_of, verified};
use crate::Store;
use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

/// A future that is given up after so many polls: `None`.
struct GivenUp<F> {
    inner: Pin<Box<F>>,
    polls_left: usize,
}

impl<F: Future> Future for GivenUp<F> {
    type Output = Option<F::Output>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if self.polls_left == 0 {
            return Poll::Ready(None);
        }
        self.polls_left -= 1;
        let polled = self.inner.as_mut().poll(context);
        if self.polls_left == 0 && polled.is_pending() {
            return Poll::Ready(None);
        }
        polled.map(Some)
    }
}

fn after_polls<F: Future>(polls_left: usize, future: F) -> GivenUp<F> {
    GivenUp { inner: Box::pin(future), polls_left }
}

/// More polls than any store needs for one append.
const POLLS_MAX: usize = 500;

pub(super) async fn at_every_point(store: Arc<dyn Store>) {
    let mut kept = 0;
    let mut finished = 0;
    for polls in 0..POLLS_MAX {
        let size = 130;
        let whole = async {
            let mut append = store.append().await.unwrap();
            let head = append.head();
            append.read_since(head.offset, 10).await.unwrap();
            append.write(&batch_of(Writing::new(head).command(size))).await.unwrap();
            append.commit().await.unwrap();
        };
        let done = after_polls(polls, whole).await.is_some();
        // Taking the lock waits for whatever the cancelled one left running.
        let append = store.append().await.unwrap();
        let head = append.head();
        append.rollback().await.unwrap();
        assert_eq!(store.head().await.unwrap(), head);
        let before = kept;
        kept = head.offset.get();
        assert!(
            kept == before + size as u64 || (kept == before && !done),
            "after {polls} polls: {before} → {kept}"
        );
        finished += usize::from(done);
        if finished == 5 {
            break;
        }
    }
    assert_eq!(finished, 5, "an append was not finished within {POLLS_MAX} polls");
    assert_eq!(verified(&*store).await.len() as u64, kept);
}

pub(super) async fn many_aborted(store: Arc<dyn Store>) {
    for round in 0..10_000_usize {
        let whole = async {
            let mut append = store.append().await.unwrap();
            let events = Writing::new(append.head()).command(1);
            append.write(&batch_of(events)).await.unwrap();
            loop {
                tokio::task::yield_now().await;
            }
        };
        assert!(after_polls(round % 7, whole).await.is_none());
    }
    let all = append_one(&*store, 1).await;
    assert_eq!(all[0].offset.get(), 1);
    assert_eq!(verified(&*store).await, all);
}
