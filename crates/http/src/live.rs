//! Events as they come, sent as server-sent events until one side ends it. Owns what such a stream may hold up: its
//! number, its memory, how long a reader may take. Must not outlive the reader's right to read.
//!
//! A stream is a task and a channel with room for one page. The next page is read only when the last was taken, so a
//! slow reader holds two pages at most, and one who takes nothing loses his place.

use crate::{
    ask::{Ask, core_key},
    edge::Stopping,
    problem::Problem,
};
use axum::{
    body::{Body, Bytes},
    http::{HeaderName, header},
    response::{IntoResponse, Response},
};
use charter_control::{Authenticated, Control, Freshness};
use charter_events::{EventJson, Offset, PermissionKey, Scope, StoredEvent};
use charter_policy::{AccessControl, Caller};
use charter_store::causes;
use futures_util::stream;
use std::{convert::Infallible, io::Write, sync::Arc, time::Duration};
use tokio::{
    sync::{OwnedSemaphorePermit, mpsc, watch},
    time::{sleep, timeout},
};

/// The most events of a page.
const PAGE_EVENTS: usize = 100;
/// A page ends after the event that takes it past this size, in bytes.
const PAGE_BYTES: usize = 256 * 1024;
/// For how many heartbeats a page may wait to be taken.
const STALLED_HEARTBEATS_MAX: u32 = 4;

/// The key every reader needs, all the time.
pub(crate) const KEY: &str = "core.audit.read";

/// The answer that goes on.
///
/// # Errors
/// 503 when as many are sent as may be.
pub(crate) fn answer(ask: &Ask, after: Offset, stopping: Stopping) -> Result<Response, Problem> {
    let app = &ask.app;
    let room = Arc::clone(&app.streaming)
        .try_acquire_owned()
        .map_err(|_| Problem::overloaded("overloaded", "as many streams of events are sent as may be"))?;
    let live = Live {
        control: app.control.clone(),
        caller: ask.caller.clone(),
        who: ask.who.clone(),
        key: core_key(KEY)?,
        versions: app.control.versions(),
        after,
        heartbeat: app.config.heartbeat_every,
        _open: Open::new(room),
    };
    let (send, mut frames) = mpsc::channel(1);
    tokio::spawn(live.run(send, stopping));
    let body = Body::from_stream(stream::poll_fn(move |context| {
        frames.poll_recv(context).map(|frame: Option<Bytes>| frame.map(Ok::<_, Infallible>))
    }));
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream"),
        // A proxy that collects an answer before it passes it on would hold the events back.
        (HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    Ok((headers, body).into_response())
}

/// One stream.
struct Live {
    control: Control,
    caller: Caller,
    who: Authenticated,
    key: PermissionKey,
    versions: watch::Receiver<Offset>,
    /// The last event that was sent, or after which it begins.
    after: Offset,
    heartbeat: Duration,
    _open: Open,
}

impl Live {
    /// Sends until there is a reason not to, and says the reason.
    async fn run(mut self, frames: mpsc::Sender<Bytes>, mut stopping: Stopping) {
        let why = tokio::select! {
            why = self.send(&frames) => why,
            () = frames.closed() => return,
            () = stopping.begun() => "the server is stopping",
        };
        tracing::debug!(why, "a stream of events has ended");
        drop(frames.try_send(comment(why)));
    }

    async fn send(&mut self, frames: &mpsc::Sender<Bytes>) -> &'static str {
        let mut idle = Some(comment("events follow"));
        loop {
            self.versions.mark_unchanged();
            let room = match timeout(self.heartbeat * STALLED_HEARTBEATS_MAX, frames.reserve()).await {
                Ok(Ok(room)) => room,
                Ok(Err(_)) => return "the reader has gone",
                Err(_) => return "the reader takes nothing",
            };
            match self.page().await {
                Ok(page) if !page.is_empty() => {
                    room.send(page.into());
                    idle = None;
                    continue;
                }
                Ok(_) => {}
                Err(why) => return why,
            }
            match idle.take() {
                Some(beat) => room.send(beat),
                None => drop(room),
            }
            tokio::select! {
                changed = self.versions.changed() => if changed.is_err() { return "the server is stopping" },
                () = sleep(self.heartbeat) => idle = Some(comment("")),
            }
        }
    }

    /// The next events, none when there are no more yet. The reader is judged first, and sees nothing recorded after
    /// the version he was judged at.
    async fn page(&mut self) -> Result<Vec<u8>, &'static str> {
        let version = self.judge().await?;
        let visible = version.get().saturating_sub(self.after.get());
        let limit = usize::try_from(visible).unwrap_or(usize::MAX).min(PAGE_EVENTS);
        if limit == 0 {
            return Ok(Vec::new());
        }
        let events = self.control.events(self.after, limit).await.map_err(|error| {
            tracing::error!(error = %causes(&error), "a stream of events can't be read on");
            "the store can't be reached"
        })?;
        let mut page = Vec::new();
        for event in events {
            frame(&mut page, &event).map_err(|error| {
                tracing::error!(%error, offset = %event.offset, "an event that can't be sent");
                "an event can't be sent"
            })?;
            self.after = event.offset;
            if page.len() > PAGE_BYTES {
                break;
            }
        }
        Ok(page)
    }

    /// Whether the reader may still read, and up to which version.
    async fn judge(&self) -> Result<Offset, &'static str> {
        if matches!(self.control.freshness(), Freshness::TooStale { .. }) {
            return Err("the store can't be reached");
        }
        let policy = self.control.policy();
        if !self.control.is_still_good(&self.who).await {
            return Err("the credential is no longer good");
        }
        match policy.at(self.control.now()).require(&self.caller, &self.key, Scope::Global) {
            Ok(()) => Ok(policy.version()),
            Err(_) => Err("the permission to read events is gone"),
        }
    }
}

/// One event as a block of the stream, its data in one line.
fn frame(page: &mut Vec<u8>, event: &StoredEvent) -> Result<(), serde_json::Error> {
    let json = EventJson::new(event)?;
    let kind: String = event.type_name.chars().filter(|c| !c.is_control()).collect();
    write!(page, "id: {}\nevent: {kind}\ndata: ", event.offset).map_err(serde_json::Error::io)?;
    serde_json::to_writer(&mut *page, &json)?;
    page.extend_from_slice(b"\n\n");
    Ok(())
}

/// What readers skip.
fn comment(text: &str) -> Bytes {
    format!(": {text}\n\n").into()
}

/// A place among the streams, counted.
struct Open {
    _room: OwnedSemaphorePermit,
}

impl Open {
    fn new(room: OwnedSemaphorePermit) -> Self {
        metrics::gauge!("charter_http_event_streams").increment(1.0);
        Self { _room: room }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        metrics::gauge!("charter_http_event_streams").decrement(1.0);
    }
}
