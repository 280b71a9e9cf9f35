//! What a publisher says: each new trouble once in the log, a fork to the alarm. Must not know what to do about it.

use crate::Fork;

/// What was said last.
pub(super) struct Voice<'a> {
    alarm: &'a (dyn Fn(Option<Fork>) + Send + Sync),
    forked: Option<Fork>,
    said: Option<String>,
}

impl<'a> Voice<'a> {
    pub(super) fn new(alarm: &'a (dyn Fn(Option<Fork>) + Send + Sync)) -> Self {
        metrics::gauge!("charter_stream_forked").set(0.0);
        metrics::gauge!("charter_publisher_leads").set(0.0);
        Self { alarm, forked: None, said: None }
    }

    /// Something keeps the log from being published, for now.
    pub(super) fn say(&mut self, what: &dyn std::fmt::Display, code: &str) {
        let text = what.to_string();
        if self.said.as_ref() != Some(&text) {
            tracing::warn!(code, "the log is not published: {text}");
            self.said = Some(text);
        }
    }

    /// The stream holds another history.
    pub(super) fn fork(&mut self, fork: Fork) {
        if self.forked.as_ref() != Some(&fork) {
            tracing::error!(offset = fork.offset.get(), code = "stream_forked", "{fork}");
            metrics::gauge!("charter_stream_forked").set(1.0);
            (self.alarm)(Some(fork.clone()));
            self.forked = Some(fork);
        }
    }

    /// The log is being published.
    pub(super) fn well(&mut self) {
        if self.said.take().is_some() {
            tracing::info!("the log is published again");
        }
    }

    /// Somebody else publishes from now on, or nobody: what was found here says nothing any more.
    pub(super) fn quit(&mut self) {
        self.calm();
        metrics::gauge!("charter_publisher_leads").set(0.0);
        metrics::gauge!("charter_publish_lag_events").set(0.0);
        metrics::gauge!("charter_publish_lag_seconds").set(0.0);
    }

    /// The stream holds the log's history.
    pub(super) fn calm(&mut self) {
        if let Some(fork) = self.forked.take() {
            tracing::info!(stream = fork.stream, "the alarm about two histories is over");
            metrics::gauge!("charter_stream_forked").set(0.0);
            (self.alarm)(None);
        }
    }
}
