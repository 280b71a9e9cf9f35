//! What is known of the provider: its description and its keys, read when they are needed, and again when they are old.
//! One request at a time asks for each; after one that failed nobody asks again for a moment, so that a provider that
//! is away is not waited for by everybody.

use crate::{
    discovery::Description,
    error::{Fault, OidcError, TokenFault},
    fetch::Http,
    issuer::Issuer,
    keys::Keys,
    token::{self, Expected},
};
use std::sync::Arc;
use tokio::sync::Mutex;

/// How long what was read is taken to be so, in seconds.
const KNOWN_SECONDS: i64 = 3_600;
/// How long after a failure it is not tried again, in seconds.
const FAILED_SECONDS: i64 = 5;
/// Keys are read again for a token of a key that is not known this often at most, in seconds: anybody can make one up.
const UNKNOWN_KEY_SECONDS: i64 = 30;

/// What is known of a provider.
pub(crate) struct Provider {
    issuer: Issuer,
    description: Mutex<Known<Description>>,
    keys: Mutex<Known<Keys>>,
}

/// Something that was read, and when; or when that last failed.
struct Known<T> {
    value: Option<(Arc<T>, i64)>,
    failed_at: Option<i64>,
}

impl<T> Known<T> {
    const NOTHING: Self = Self { value: None, failed_at: None };

    /// What is known, unless it is older than this.
    fn since(&self, now: i64, seconds: i64) -> Option<Arc<T>> {
        self.value
            .as_ref()
            .filter(|(_, at)| now.saturating_sub(*at) < seconds)
            .map(|(value, _)| Arc::clone(value))
    }

    fn may_be_read(&self, now: i64) -> Result<(), Fault> {
        match self.failed_at {
            Some(at) if now.saturating_sub(at) < FAILED_SECONDS => Err(Fault::NotLongAgo),
            _ => Ok(()),
        }
    }

    fn keep(&mut self, read: Result<T, OidcError>, now: i64) -> Result<Arc<T>, OidcError> {
        match read {
            Ok(value) => {
                let value = Arc::new(value);
                *self = Self { value: Some((Arc::clone(&value), now)), failed_at: None };
                Ok(value)
            }
            Err(error) => {
                // That there was no room says nothing of the provider.
                if error != OidcError::Busy {
                    self.failed_at = Some(now);
                }
                Err(error)
            }
        }
    }
}

impl Provider {
    pub(crate) const fn new(issuer: Issuer) -> Self {
        Self { issuer, description: Mutex::const_new(Known::NOTHING), keys: Mutex::const_new(Known::NOTHING) }
    }

    /// Where it is.
    pub(crate) async fn description(&self, http: &Http, now: i64) -> Result<Arc<Description>, OidcError> {
        let mut known = self.description.lock().await;
        if let Some(description) = known.since(now, KNOWN_SECONDS) {
            return Ok(description);
        }
        known.may_be_read(now)?;
        let read = match self.issuer.description() {
            Some(url) => http.get(url).await,
            None => Err(Fault::Address("issuer").into()),
        };
        let read = read.and_then(|bytes| Ok(Description::parse(&bytes, &self.issuer)?));
        known.keep(read, now)
    }

    /// Whom a token names. Its key may be newer than what is known: then the keys are read again, once in a while.
    pub(crate) async fn subject(
        &self,
        http: &Http,
        description: &Description,
        token: &str,
        expected: &Expected<'_>,
    ) -> Result<String, OidcError> {
        let now = expected.now;
        // A token that no key could be for makes nobody read keys.
        token::signed(token)?;
        let keys = self.keys(http, description, now, KNOWN_SECONDS).await?;
        match token::subject(token, &keys, expected) {
            Err(TokenFault::UnknownKey) => {
                let keys = self.keys(http, description, now, UNKNOWN_KEY_SECONDS).await?;
                Ok(token::subject(token, &keys, expected)?)
            }
            judged => Ok(judged?),
        }
    }

    /// Its keys, not older than this.
    async fn keys(
        &self,
        http: &Http,
        description: &Description,
        now: i64,
        seconds: i64,
    ) -> Result<Arc<Keys>, OidcError> {
        let mut known = self.keys.lock().await;
        if let Some(keys) = known.since(now, seconds) {
            return Ok(keys);
        }
        known.may_be_read(now)?;
        let read = http.get(description.keys.clone()).await;
        let read = read.and_then(|bytes| Ok(Keys::parse(&bytes)?));
        known.keep(read, now)
    }
}
