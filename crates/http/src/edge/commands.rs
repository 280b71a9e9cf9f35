//! The routes once more, for requests that the server sends itself to be told what they would do. They pass the same
//! gates and handlers; bounds, time limit and access log are those of the request that asks.

use axum::{Router, extract::Request, response::Response};
use tower::ServiceExt;

/// The routes behind their gates.
#[derive(Clone)]
pub(crate) struct Commands(Router);

impl Commands {
    pub(crate) const fn new(routes: Router) -> Self {
        Self(routes)
    }

    /// Answers one request.
    pub(crate) async fn call(self, request: Request) -> Response {
        match self.0.oneshot(request).await {
            Ok(response) => response,
            Err(never) => match never {},
        }
    }
}
