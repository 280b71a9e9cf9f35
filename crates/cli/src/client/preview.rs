//! What a change would do: asked of the server in its place.

use super::{Answer, Client};
use crate::exit::{Doing, Failure, Outcome};
use charter_http::dto::PreviewRequest;
use reqwest::Method;
use serde_json::Value;

impl Client {
    /// The same client, which previews changes instead of making them: the first ends what is done with
    /// [`Failure::previewed`].
    pub(crate) fn previewing(self, previews: bool) -> Self {
        Self { previews, ..self }
    }

    /// Whether changes are previewed instead of made.
    pub(crate) const fn previews(&self) -> bool {
        self.previews
    }

    /// Asks what a change of a route below `/api/v1` would do; nothing is changed.
    pub(crate) async fn preview(
        &self,
        method: Method,
        path: &str,
        seen: Option<&Answer>,
        body: Option<&Value>,
    ) -> Outcome<Answer> {
        let asked = PreviewRequest {
            method: method.to_string(),
            path: format!("/api/v1{path}"),
            body: body.cloned(),
            if_match: seen.and_then(|seen| seen.etag.clone()),
        };
        self.answer(self.request(Method::POST, "/commands/preview").json(&asked)).await
    }

    /// Sends what may be a change, with what was seen before as its precondition.
    pub(super) async fn send_or_preview(
        &self,
        method: Method,
        path: &str,
        seen: Option<&Answer>,
        body: Option<Value>,
    ) -> Outcome<Answer> {
        if self.previews && method != Method::GET {
            let told = self.preview(method, path, seen, body.as_ref()).await?;
            return Err(Failure::previewed(told.body));
        }
        let mut request = self.request(method, path);
        if let Some(seen) = seen {
            request = seen.guard(request);
        }
        if let Some(body) = body {
            request = request.json(&body);
        }
        self.answer(request).await
    }
}

/// A body as it is sent.
pub(super) fn json(body: &impl serde::Serialize) -> Outcome<Option<Value>> {
    serde_json::to_value(body).map(Some).doing("write JSON")
}
