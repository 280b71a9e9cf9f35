//! Words of the provider's: the codes of its refusals (RFC 6749, 5.2; RFC 8628, 3.5), and texts of it that people see.

use crate::error::OidcError;
use serde::Deserialize;

#[derive(Deserialize)]
struct Document {
    error: String,
}

/// What a provider's refusal says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Word {
    Pending,
    SlowDown,
    Expired,
    Denied,
    /// The code is not one of this flow, or was used before.
    InvalidGrant,
    /// What is wrong is the client, by the standard's name for it.
    Client(&'static str),
    /// It can't answer now.
    Later,
    /// Anything else.
    Other,
}

impl Word {
    /// What a refusal says; something else when it can't be read.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        serde_json::from_slice::<Document>(bytes).map_or(Self::Other, |read| Self::named(&read.error))
    }

    /// What an error code means.
    pub(crate) fn named(code: &str) -> Self {
        match code {
            "authorization_pending" => Self::Pending,
            "slow_down" => Self::SlowDown,
            "expired_token" => Self::Expired,
            "access_denied" => Self::Denied,
            "invalid_grant" => Self::InvalidGrant,
            "invalid_client" => Self::Client("invalid_client"),
            "unauthorized_client" => Self::Client("unauthorized_client"),
            "unsupported_grant_type" => Self::Client("unsupported_grant_type"),
            "unsupported_response_type" => Self::Client("unsupported_response_type"),
            "invalid_scope" => Self::Client("invalid_scope"),
            "invalid_request" => Self::Client("invalid_request"),
            "server_error" | "temporarily_unavailable" => Self::Later,
            _ => Self::Other,
        }
    }

    /// What it means where a code was to be exchanged, or somebody came back without one.
    pub(crate) const fn as_error(self) -> OidcError {
        match self {
            Self::Denied => OidcError::Declined,
            Self::Client(why) => OidcError::Misconfigured(why),
            Self::Later => OidcError::Away(crate::error::Fault::Status(503)),
            Self::Pending | Self::SlowDown | Self::Expired | Self::InvalidGrant | Self::Other => {
                OidcError::Refused
            }
        }
    }
}

/// A text of the provider's that people see: bounded, and nothing in it that a terminal obeys.
pub(crate) fn shown(text: String, bytes_max: usize) -> Option<String> {
    let plain =
        (1..=bytes_max).contains(&text.len()) && text.chars().all(|c| !c.is_control() && c != '\u{2028}');
    plain.then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_understood_by_its_code_alone() {
        for (text, word) in [
            (r#"{"error": "slow_down", "error_description": "invalid_client"}"#, Word::SlowDown),
            (r#"{"error": "invalid_grant"}"#, Word::InvalidGrant),
            (r#"{"error": "invalid_client"}"#, Word::Client("invalid_client")),
            (r#"{"error": "something new"}"#, Word::Other),
            (r#"{"error": ["slow_down"]}"#, Word::Other),
            (r#"{"error": "slow_down", "error": "access_denied"}"#, Word::Other),
            ("slow_down", Word::Other),
            ("", Word::Other),
        ] {
            assert_eq!(Word::of(text.as_bytes()), word, "{text}");
        }
    }

    #[test]
    fn what_people_see_of_a_provider_moves_no_cursor() {
        assert_eq!(shown("WDJB-MJHT".to_owned(), 64), Some("WDJB-MJHT".to_owned()));
        for text in ["", "a\nb", "\u{1b}[2J", "\u{9b}2J", "a\0", &"x".repeat(65)] {
            assert_eq!(shown(text.to_owned(), 64), None, "{text:?}");
        }
    }
}
