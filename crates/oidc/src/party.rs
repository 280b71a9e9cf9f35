//! The relying party: sends browsers to the provider and understands who comes back, and speaks the device flow.

use crate::{
    discovery::{Authentication, Description},
    error::{Fault, OidcError},
    fetch::{Answered, Http},
    flow::Flow,
    issuer::Issuer,
    provider::Provider,
    secret::Secret,
    token::Expected,
    words::{Word, shown},
};
use base64::{Engine, engine::general_purpose::STANDARD};
use form_urlencoded::{Serializer, byte_serialize};
use reqwest::{Url, header::HeaderValue};
use serde::Deserialize;
use std::time::Duration;

/// How long all that one step takes to ask of the provider may take together, in seconds.
const STEP_SECONDS_MAX: u64 = 20;
/// The longest code of the provider's, in bytes.
const CODE_BYTES_MAX: usize = 2_048;
/// The longest code people type, in bytes.
const USER_CODE_BYTES_MAX: usize = 64;
/// The longest address people are shown, in bytes.
const SHOWN_URL_BYTES_MAX: usize = 1_024;
/// How long a device flow is kept open at most, in seconds.
const DEVICE_SECONDS_MAX: u64 = 1_800;
/// How often the provider is asked where it does not say how often (RFC 8628, 3.2), and at the least, in seconds.
const INTERVAL_SECONDS: (u64, u64) = (5, 60);

/// What the provider knows this installation as.
#[derive(Debug, Clone)]
pub struct Client {
    /// Its id at the provider.
    pub id: String,
    /// Its secret there; none for one that has none.
    pub secret: Option<Secret>,
    /// What is asked for, separated by spaces; `openid` is among it.
    pub scopes: String,
    /// Where browsers come back to, as the provider knows it.
    pub redirect: String,
}

/// Whom a provider recognised: the pair that never changes hands (OpenID Connect Core, 5.7).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// The provider.
    pub issuer: String,
    /// Who, in its own words.
    pub subject: String,
}

/// What a browser came back with.
#[derive(Debug, Clone)]
pub struct CodeAnswer<'a> {
    /// The code, unless it failed.
    pub code: Option<&'a str>,
    /// Why it failed, as the provider calls it.
    pub error: Option<&'a str>,
    /// Who sends it back, where that is said.
    pub issuer: Option<&'a str>,
}

/// A device flow that has begun.
#[derive(Debug, Clone)]
pub struct Device {
    /// What the provider is asked with. Never shown to anybody.
    pub code: Secret,
    /// What is typed at the provider.
    pub user_code: String,
    /// Where.
    pub address: String,
    /// The same with the code in it, where the provider has one.
    pub complete_address: Option<String>,
    /// For how long, in seconds.
    pub expires_in: u64,
    /// How often the provider may be asked, in seconds.
    pub interval: u64,
}

/// What the provider says of a device flow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Poll {
    /// Nobody has typed the code yet.
    Pending,
    /// The same, and it was asked too often.
    SlowDown,
    /// Nobody has in time.
    Expired,
    /// Somebody has, and said no.
    Denied,
    /// Somebody has.
    Done(Subject),
}

/// A relying party of one provider. Made without asking it anything.
pub struct RelyingParty {
    issuer: Issuer,
    client: Client,
    http: Http,
    provider: Provider,
}

#[derive(Deserialize)]
struct Tokens {
    id_token: Option<String>,
}

#[derive(Deserialize)]
struct Begun {
    device_code: String,
    user_code: String,
    verification_uri: Option<String>,
    /// What it was called in drafts, and still is by some.
    verification_url: Option<String>,
    verification_uri_complete: Option<String>,
    expires_in: u64,
    interval: Option<u64>,
}

impl RelyingParty {
    /// A relying party; the provider is asked when somebody signs in.
    ///
    /// # Errors
    /// [`OidcError::Away`], when this machine can't speak TLS.
    pub fn new(issuer: Issuer, client: Client) -> Result<Self, OidcError> {
        let provider = Provider::new(issuer.clone());
        Ok(Self { issuer, client, http: Http::new()?, provider })
    }

    /// Which provider.
    pub const fn issuer(&self) -> &Issuer {
        &self.issuer
    }

    /// What this installation is called there.
    pub fn client_id(&self) -> &str {
        &self.client.id
    }

    /// Where a browser is sent that is to come back by this flow.
    ///
    /// # Errors
    /// [`OidcError`], when the provider can't be asked where that is.
    pub async fn authorization(&self, flow: &Flow, now: i64) -> Result<String, OidcError> {
        within(async {
            let mut url = self.provider.description(&self.http, now).await?.authorization.clone();
            url.query_pairs_mut()
                .append_pair("response_type", "code")
                .append_pair("client_id", &self.client.id)
                .append_pair("redirect_uri", &self.client.redirect)
                .append_pair("scope", &self.client.scopes)
                .append_pair("state", flow.state.expose())
                .append_pair("nonce", flow.nonce.expose())
                .append_pair("code_challenge", &flow.challenge())
                .append_pair("code_challenge_method", "S256");
            Ok(url.into())
        })
        .await
    }

    /// Whom the provider recognised in a browser that came back. That its state is the flow's own was found before.
    ///
    /// # Errors
    /// [`OidcError`].
    pub async fn came_back(
        &self,
        answer: CodeAnswer<'_>,
        flow: &Flow,
        now: i64,
    ) -> Result<Subject, OidcError> {
        within(async {
            let description = self.provider.description(&self.http, now).await?;
            match answer.issuer {
                Some(issuer) if issuer != self.issuer.as_str() => return Err(OidcError::Refused),
                None if description.says_issuer => return Err(OidcError::Refused),
                _ => {}
            }
            if let Some(error) = answer.error {
                return Err(Word::named(error).as_error());
            }
            let code = answer.code.filter(|code| (1..=CODE_BYTES_MAX).contains(&code.len()));
            let code = code.ok_or(OidcError::Refused)?;
            let form = [
                ("grant_type", "authorization_code"),
                ("code", code),
                ("redirect_uri", &self.client.redirect),
                ("code_verifier", flow.verifier.expose()),
            ];
            let answered = self.ask(&description, description.token.clone(), &form).await?;
            if answered.status != 200 {
                return Err(Word::of(&answered.bytes).as_error());
            }
            self.recognised(&description, &answered, Some(&flow.nonce), now).await
        })
        .await
    }

    /// Begins a device flow.
    ///
    /// # Errors
    /// [`OidcError`].
    pub async fn begin_device(&self, now: i64) -> Result<Device, OidcError> {
        within(async {
            let description = self.provider.description(&self.http, now).await?;
            let at = description.device.clone().ok_or(OidcError::NoDeviceFlow)?;
            let answered = self.ask(&description, at, &[("scope", &self.client.scopes)]).await?;
            if answered.status != 200 {
                return Err(Word::of(&answered.bytes).as_error());
            }
            self.begun(&answered.bytes).ok_or_else(|| Fault::Unreadable("device code").into())
        })
        .await
    }

    /// What the provider says of a device flow. Whoever asks keeps its interval.
    ///
    /// # Errors
    /// [`OidcError`]; [`OidcError::Refused`] for a code that was used before.
    pub async fn poll_device(&self, code: &Secret, now: i64) -> Result<Poll, OidcError> {
        within(async {
            let description = self.provider.description(&self.http, now).await?;
            let form = [
                ("grant_type", "urn:ietf:params:oauth:grant-type:device_code"),
                ("device_code", code.expose()),
            ];
            let answered = self.ask(&description, description.token.clone(), &form).await?;
            if answered.status == 200 {
                return self.recognised(&description, &answered, None, now).await.map(Poll::Done);
            }
            match Word::of(&answered.bytes) {
                Word::Pending => Ok(Poll::Pending),
                Word::SlowDown => Ok(Poll::SlowDown),
                Word::Expired => Ok(Poll::Expired),
                Word::Denied => Ok(Poll::Denied),
                other => Err(other.as_error()),
            }
        })
        .await
    }

    async fn recognised(
        &self,
        description: &Description,
        answered: &Answered,
        nonce: Option<&Secret>,
        now: i64,
    ) -> Result<Subject, OidcError> {
        let tokens: Tokens =
            serde_json::from_slice(&answered.bytes).map_err(|_| Fault::Unreadable("answer"))?;
        let token = Secret::new(tokens.id_token.ok_or(Fault::Unreadable("answer"))?);
        let expected = Expected { issuer: self.issuer.as_str(), client: &self.client.id, nonce, now };
        let subject = self.provider.subject(&self.http, description, token.expose(), &expected).await?;
        Ok(Subject { issuer: self.issuer.to_string(), subject })
    }

    /// Sends a form as the client.
    async fn ask(
        &self,
        description: &Description,
        url: Url,
        form: &[(&str, &str)],
    ) -> Result<Answered, OidcError> {
        let (body, authorization) = self.authenticated(description, form)?;
        self.http.post(url, body, authorization).await
    }

    /// A form with what shows that it is this client's.
    fn authenticated(
        &self,
        description: &Description,
        form: &[(&str, &str)],
    ) -> Result<(String, Option<HeaderValue>), OidcError> {
        let mut body = Serializer::new(String::new());
        body.extend_pairs(form);
        let authorization = match &self.client.secret {
            None => {
                body.append_pair("client_id", &self.client.id);
                None
            }
            Some(secret) => match description.authentication.ok_or(Fault::NoClientAuthentication)? {
                Authentication::Basic => Some(self.basic(secret).ok_or(Fault::NoClientAuthentication)?),
                Authentication::Post => {
                    body.append_pair("client_id", &self.client.id);
                    body.append_pair("client_secret", secret.expose());
                    None
                }
            },
        };
        Ok((body.finish(), authorization))
    }

    /// Id and secret in the header, each encoded as in a form before (RFC 6749, 2.3.1).
    fn basic(&self, secret: &Secret) -> Option<HeaderValue> {
        let encoded = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
        let both = Secret::new(format!("{}:{}", encoded(&self.client.id), encoded(secret.expose())));
        let mut value = HeaderValue::from_str(&format!("Basic {}", STANDARD.encode(both.expose()))).ok()?;
        value.set_sensitive(true);
        Some(value)
    }

    /// A device flow as the provider tells it, if all of it can be passed on.
    fn begun(&self, bytes: &[u8]) -> Option<Device> {
        let read: Begun = serde_json::from_slice(bytes).ok()?;
        let code = Some(read.device_code).filter(|code| (1..=CODE_BYTES_MAX).contains(&code.len()))?;
        // People open it: it is of the provider, or it is not shown.
        let address = |text: String| {
            let text = shown(text, SHOWN_URL_BYTES_MAX)?;
            self.issuer.endpoint(&text).map(|_| text)
        };
        let (usual, most) = INTERVAL_SECONDS;
        Some(Device {
            code: Secret::new(code),
            user_code: shown(read.user_code, USER_CODE_BYTES_MAX)?,
            address: address(read.verification_uri.or(read.verification_url)?)?,
            complete_address: read.verification_uri_complete.and_then(address),
            expires_in: read.expires_in.clamp(1, DEVICE_SECONDS_MAX),
            interval: read.interval.unwrap_or(usual).clamp(1, most),
        })
    }
}

async fn within<T>(step: impl Future<Output = Result<T, OidcError>>) -> Result<T, OidcError> {
    let waited = tokio::time::timeout(Duration::from_secs(STEP_SECONDS_MAX), step).await;
    waited.unwrap_or(Err(OidcError::Away(Fault::TimedOut)))
}

#[cfg(test)]
mod tests;
