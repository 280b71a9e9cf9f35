//! That the server is about to stop, for answers that would go on for ever. Owns the signal; must not know who listens.

use axum::{extract::FromRequestParts, http::request::Parts};
use std::convert::Infallible;
use tokio::sync::watch;

/// Tells when the server begins to stop; never, when nobody serves.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stopping(Option<watch::Receiver<bool>>);

impl Stopping {
    /// Told through a channel: by `true`, or by its sender being gone.
    pub(super) const fn told_by(channel: watch::Receiver<bool>) -> Self {
        Self(Some(channel))
    }

    /// Waits until it begins.
    pub(crate) async fn begun(&mut self) {
        match &mut self.0 {
            None => std::future::pending().await,
            Some(channel) => drop(channel.wait_for(|stopping| *stopping).await),
        }
    }
}

impl<S: Sync> FromRequestParts<S> for Stopping {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(parts.extensions.get::<Self>().cloned().unwrap_or_default())
    }
}
