//! Bodies of these routes: as strict as elsewhere in what is JSON and what fits, but that members nobody knows are
//! ignored, and that everything wrong with a body is 400.

use crate::{body::Body, problem::Problem};
use axum::extract::{FromRequest, Request};
use serde::de::DeserializeOwned;

/// The body of a question.
pub(crate) struct Posted<T>(pub(crate) T);

impl<S: Sync, T: DeserializeOwned> FromRequest<S> for Posted<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let read = Body::<T>::from_request(request, state).await;
        read.map(|body| Self(body.value)).map_err(Problem::bad_request)
    }
}
