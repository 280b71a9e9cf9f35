//! Where everything is, as a gateway finds it out by itself.

use super::{EVALUATION, EVALUATIONS, shapes::Configuration};
use crate::{HttpConfig, problem::Problem};
use axum::http::{HeaderMap, header, uri::Authority};
use std::{fmt, net::IpAddr, str::FromStr};

/// How the server is called from outside: scheme and host, such as `https://charter.example.com`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicUrl(String);

/// Not the URL of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "it takes `https://` and a host, perhaps with a port, and nothing after it; `http://` for this machine only"
)]
pub struct InvalidUrl;

impl PublicUrl {
    /// Whether it is reached by TLS.
    pub fn is_secure(&self) -> bool {
        self.0.starts_with("https://")
    }

    /// Its text, without a slash at the end.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for PublicUrl {
    type Err = InvalidUrl;

    fn from_str(text: &str) -> Result<Self, InvalidUrl> {
        let (scheme, rest) = text.split_once("://").ok_or(InvalidUrl)?;
        let host = authority(rest.strip_suffix('/').unwrap_or(rest)).ok_or(InvalidUrl)?;
        match scheme {
            "https" => Ok(Self(format!("https://{host}"))),
            "http" if is_here(&host) => Ok(Self(format!("http://{host}"))),
            _ => Err(InvalidUrl),
        }
    }
}

impl fmt::Display for PublicUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A host, perhaps with a port, and nobody's name or password before it.
fn authority(text: &str) -> Option<Authority> {
    text.parse::<Authority>().ok().filter(|host| !text.contains('@') && !host.host().is_empty())
}

fn is_here(authority: &Authority) -> bool {
    let host = authority.host();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

/// The document: of the server as it is called from outside, else as whoever asks has called it.
///
/// # Errors
/// 400 when neither is known.
pub(crate) fn configuration(
    config: &HttpConfig,
    asked: Option<&Authority>,
    headers: &HeaderMap,
) -> Result<Configuration, Problem> {
    let base = match (&config.public_url, asked) {
        (Some(url), _) => url.to_string(),
        (None, Some(asked)) => called(config, authority(asked.as_str()))?,
        (None, None) => called(config, sent(headers))?,
    };
    let at = |path: &str| format!("{base}{path}");
    Ok(Configuration {
        access_evaluation_endpoint: at(EVALUATION),
        access_evaluations_endpoint: at(EVALUATIONS),
        search_subject_endpoint: at("/access/v1/search/subject"),
        search_resource_endpoint: at("/access/v1/search/resource"),
        search_action_endpoint: at("/access/v1/search/action"),
        policy_decision_point: base,
    })
}

/// What the request calls the server.
fn sent(headers: &HeaderMap) -> Option<Authority> {
    let mut sent = headers.get_all(header::HOST).iter();
    match (sent.next().and_then(|host| host.to_str().ok()), sent.next()) {
        (Some(host), None) => authority(host),
        _ => None,
    }
}

/// As whoever asks calls it, and reaches it.
fn called(config: &HttpConfig, host: Option<Authority>) -> Result<String, Problem> {
    let host = host.ok_or_else(|| Problem::invalid_header("Host", "it takes the name of this server"))?;
    Ok(format!("{}://{host}", if config.encrypted { "https" } else { "http" }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_public_url_is_a_scheme_and_a_host() {
        for (text, read) in [
            ("https://charter.example.com", "https://charter.example.com"),
            ("https://charter.example.com/", "https://charter.example.com"),
            ("https://charter.example.com:8443", "https://charter.example.com:8443"),
            ("http://localhost:7400", "http://localhost:7400"),
            ("http://127.0.0.1:7400", "http://127.0.0.1:7400"),
            ("http://[::1]:7400", "http://[::1]:7400"),
        ] {
            assert_eq!(text.parse::<PublicUrl>().map(|url| url.to_string()).as_deref(), Ok(read));
        }
        for text in [
            "",
            "charter.example.com",
            "https://",
            "https:///",
            "http://charter.example.com",
            "ftp://charter.example.com",
            "https://ada:secret@charter.example.com",
            "https://charter.example.com/charter",
            "https://charter.example.com?x",
            "https://charter.example.com#x",
            "https://a b",
        ] {
            assert_eq!(text.parse::<PublicUrl>(), Err(InvalidUrl), "{text}");
        }
    }
}
