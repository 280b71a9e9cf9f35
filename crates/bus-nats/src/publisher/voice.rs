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
        metrics::counter!("charter_published_events_total").increment(0);
        let voice = Self { alarm, forked: None, said: None };
        voice.leads_not();
        voice
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

    /// Another server publishes: whatever was in the way here is in nobody's.
    pub(super) fn other_leads(&mut self) {
        if self.said.take().is_some() {
            tracing::info!("another server publishes the log");
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
        if let Some(fork) = self.forked.take() {
            tracing::warn!(
                stream = fork.stream,
                "this server publishes no longer; it leaves another history in the stream"
            );
            self.lift_alarm();
        }
        self.leads_not();
    }

    fn leads_not(&self) {
        metrics::gauge!("charter_publisher_leads").set(0.0);
        metrics::gauge!("charter_publish_lag_events").set(0.0);
        metrics::gauge!("charter_publish_lag_seconds").set(0.0);
    }

    /// The stream holds the log's history.
    pub(super) fn calm(&mut self) {
        if let Some(fork) = self.forked.take() {
            tracing::info!(stream = fork.stream, "the alarm about two histories is over");
            self.lift_alarm();
        }
    }

    fn lift_alarm(&self) {
        metrics::gauge!("charter_stream_forked").set(0.0);
        (self.alarm)(None);
    }
}
