//! What a sign-in by an identity provider can come to. No answer says whom it was about, or a word of the provider's.

use super::{Problem, RETRY_SECONDS};
use axum::http::{HeaderValue, StatusCode, header};
use charter_control::SignInError;
use charter_oidc::OidcError;
use charter_store::causes;

/// How long a client should wait for a provider that is not there, in seconds.
const PROVIDER_RETRY_SECONDS: u64 = 5;

impl Problem {
    pub(crate) fn oidc_not_configured() -> Self {
        let detail = "nobody signs in here by an identity provider";
        Self::new(StatusCode::NOT_FOUND, "oidc_not_configured", detail)
    }

    /// The same for a browser that was never sent off, was so too long ago, or came back before.
    pub(crate) fn not_this_sign_in() -> Self {
        let detail = "this browser was not on its way to sign in, or not with this: begin again";
        Self::new(StatusCode::BAD_REQUEST, "not_this_sign_in", detail)
    }

    /// The same for an identity nobody is linked to and for an account that does not work.
    pub(crate) fn identity_unknown() -> Self {
        let detail = "nobody who may sign in here is linked to this identity: ask an administrator";
        Self::new(StatusCode::FORBIDDEN, "identity_unknown", detail)
    }

    pub(crate) fn authorization_pending(seconds: u64) -> Self {
        let detail = "nobody has typed the code at the identity provider yet";
        Self::new(StatusCode::CONFLICT, "authorization_pending", detail).after(seconds)
    }

    pub(crate) fn slow_down(seconds: u64) -> Self {
        let detail = "ask less often; `Retry-After` says when again";
        Self::new(StatusCode::TOO_MANY_REQUESTS, "slow_down", detail).after(seconds)
    }

    /// The same for a handle that is none.
    pub(crate) fn device_expired() -> Self {
        Self::new(StatusCode::GONE, "expired", "this sign-in has expired or has ended: begin again")
    }

    pub(crate) fn declined() -> Self {
        Self::new(StatusCode::FORBIDDEN, "denied", "the sign-in was declined at the identity provider")
    }

    /// An identity that is refused for any reason but that it can't be asked for now.
    pub(crate) fn of_identity(error: SignInError) -> Self {
        match error {
            SignInError::Refused => Self::identity_unknown(),
            other => other.into(),
        }
    }

    /// With what a browser is to keep, or to forget.
    pub(crate) fn cookie(mut self, cookie: Option<HeaderValue>) -> Self {
        self.0.headers.extend(cookie.map(|cookie| (header::SET_COOKIE, cookie)));
        self
    }

    fn after(mut self, seconds: u64) -> Self {
        self.0.headers.push((header::RETRY_AFTER, HeaderValue::from(seconds.max(1))));
        self
    }
}

impl From<OidcError> for Problem {
    fn from(error: OidcError) -> Self {
        let not_there = || {
            let detail = "the identity provider does not answer: try again later, or sign in by password";
            Self::new(StatusCode::SERVICE_UNAVAILABLE, "oidc_unavailable", detail)
                .after(PROVIDER_RETRY_SECONDS)
        };
        match error {
            OidcError::Away(_) => {
                tracing::warn!(error = %causes(&error), "the identity provider is not there");
                not_there()
            }
            OidcError::Misconfigured(_) => {
                tracing::error!(error = %causes(&error), "the identity provider refuses this server");
                not_there()
            }
            OidcError::Busy => {
                Self::overloaded("overloaded", "too many sign in at the identity provider at once")
            }
            OidcError::NoRandomness => Self::overloaded("unavailable", "nobody can sign in now"),
            OidcError::Declined => Self::declined(),
            OidcError::NoDeviceFlow => {
                let detail = "the identity provider does not offer sign-in by a code that is typed there";
                Self::new(StatusCode::CONFLICT, "no_device_flow", detail)
            }
            OidcError::Refused | OidcError::Token(_) => {
                tracing::warn!(error = %causes(&error), "what an identity provider said was not taken");
                let detail = "the identity provider does not confirm this sign-in: begin again";
                Self::new(StatusCode::BAD_REQUEST, "oidc_refused", detail)
            }
        }
    }
}

impl From<crate::oidc::Full> for Problem {
    fn from(_: crate::oidc::Full) -> Self {
        let detail = "too many sign in at the identity provider";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "overloaded", detail)
            .with(header::RETRY_AFTER, RETRY_SECONDS)
    }
}
