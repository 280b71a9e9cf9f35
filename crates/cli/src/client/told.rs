//! What is said beside answers, once a run: that they may be outdated, and which past they are about.

use crate::output::to_stderr;
use reqwest::Response;
use std::sync::atomic::{AtomicBool, Ordering};

/// The header of an answer that may be outdated: for how many seconds the server has been without its database.
const POLICY_STALE: &str = "policy-stale";
/// The header that names the version of an answer.
const POLICY_VERSION: &str = "policy-version";
/// The header of an answer about the past: the moment it was judged at.
const AS_OF_TIME: &str = "as-of-time";

/// What was said already.
#[derive(Debug, Default)]
pub(super) struct Told {
    stale: AtomicBool,
    past: AtomicBool,
}

impl Told {
    /// Says what there is to say of an answer and was not said.
    pub(super) fn tell(&self, response: &Response) {
        let text = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok());
        if let Some(seconds) = text(POLICY_STALE)
            && !self.stale.swap(true, Ordering::Relaxed)
        {
            to_stderr(&format!("The server can't reach its database: this was so {seconds} seconds ago."));
        }
        if let (Some(version), Some(moment)) = (text(POLICY_VERSION), text(AS_OF_TIME))
            && !self.past.swap(true, Ordering::Relaxed)
        {
            to_stderr(&format!("As of version {version}, {moment}."));
        }
    }
}
