//! Requests to the provider: bounded in time, in size and in how many run at once. No redirect is followed: it would
//! lead to an address that was not examined.

use crate::error::{Fault, OidcError};
use reqwest::{Client, Response, Url, header};
use std::time::Duration;
use tokio::sync::Semaphore;

/// How long connecting may take, in seconds.
const CONNECT_SECONDS_MAX: u64 = 4;
/// How long one request may take, in seconds.
const REQUEST_SECONDS_MAX: u64 = 8;
/// The largest answer read, in bytes.
const ANSWER_BYTES_MAX: usize = 256 * 1024;
/// How many requests run at once; more are refused, and hold up nobody.
const ASKED_AT_ONCE_MAX: usize = 32;

/// The way to a provider.
pub(crate) struct Http {
    client: Client,
    room: Semaphore,
}

/// What a provider answered to a form.
pub(crate) struct Answered {
    pub(crate) status: u16,
    pub(crate) bytes: Vec<u8>,
}

impl Http {
    pub(crate) fn new() -> Result<Self, OidcError> {
        let client = Client::builder()
            .user_agent(concat!("charter/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(Duration::from_secs(CONNECT_SECONDS_MAX))
            .timeout(Duration::from_secs(REQUEST_SECONDS_MAX))
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .build()
            .map_err(|_| Fault::Unreachable)?;
        Ok(Self { client, room: Semaphore::new(ASKED_AT_ONCE_MAX) })
    }

    /// A document.
    pub(crate) async fn get(&self, url: Url) -> Result<Vec<u8>, OidcError> {
        let Answered { status, bytes } = self.answer(self.client.get(url)).await?;
        if status == 200 { Ok(bytes) } else { Err(Fault::Status(status).into()) }
    }

    /// What a form is answered with, whether it is a yes or a no.
    pub(crate) async fn post(
        &self,
        url: Url,
        form: String,
        authorization: Option<header::HeaderValue>,
    ) -> Result<Answered, OidcError> {
        let request = self.client.post(url).header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
        let request = match authorization {
            Some(value) => request.header(header::AUTHORIZATION, value),
            None => request,
        };
        let answered = self.answer(request.body(form)).await?;
        match answered.status {
            200 | 400 | 401 | 403 => Ok(answered),
            status => Err(Fault::Status(status).into()),
        }
    }

    async fn answer(&self, request: reqwest::RequestBuilder) -> Result<Answered, OidcError> {
        let _room = self.room.try_acquire().map_err(|_| OidcError::Busy)?;
        let request = request.header(header::ACCEPT, "application/json");
        let response = request.send().await.map_err(|error| fault(&error))?;
        let status = response.status().as_u16();
        Ok(Answered { status, bytes: read(response).await? })
    }
}

async fn read(mut response: Response) -> Result<Vec<u8>, Fault> {
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| fault(&error))? {
        if bytes.len() + chunk.len() > ANSWER_BYTES_MAX {
            return Err(Fault::TooLarge);
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

/// The kind of failure alone: its text may repeat an address.
fn fault(error: &reqwest::Error) -> Fault {
    if error.is_timeout() { Fault::TimedOut } else { Fault::Unreachable }
}
