//! Which provider, by its issuer identifier, and which addresses of it are taken.

use reqwest::Url;
use std::{fmt, net::IpAddr, str::FromStr};

/// The longest address, in bytes.
const URL_BYTES_MAX: usize = 2_048;

/// A provider's issuer identifier: a URL, compared letter by letter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issuer(String);

/// Not the issuer identifier of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "it takes `https://`, a host and perhaps a path, without `?`, `#` or a name; `http://` for this machine only"
)]
pub struct InvalidIssuer;

impl Issuer {
    /// Its text, as it was given.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Where its description is.
    pub(crate) fn description(&self) -> Option<Url> {
        let base = self.0.strip_suffix('/').unwrap_or(&self.0);
        Url::parse(&format!("{base}/.well-known/openid-configuration")).ok()
    }

    /// An address its description names, if it is taken: by TLS, or, where the issuer itself is on this machine
    /// without, on this machine.
    pub(crate) fn endpoint(&self, text: &str) -> Option<Url> {
        let url = address(text)?;
        let here = self.0.starts_with("http://");
        (url.scheme() == "https" || here).then_some(url)
    }
}

impl FromStr for Issuer {
    type Err = InvalidIssuer;

    fn from_str(text: &str) -> Result<Self, InvalidIssuer> {
        let url = address(text).ok_or(InvalidIssuer)?;
        let plain = url.query().is_none() && url.fragment().is_none();
        // What is written otherwise than it is read could never be equal to what the provider says.
        let same = url.as_str() == text || url.as_str().strip_suffix('/') == Some(text);
        if plain && same { Ok(Self(text.to_owned())) } else { Err(InvalidIssuer) }
    }
}

impl fmt::Display for Issuer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// An address by TLS, or of this machine; nobody's name or password in it, and nothing behind `#`.
fn address(text: &str) -> Option<Url> {
    let url = Url::parse(text).ok().filter(|_| text.len() <= URL_BYTES_MAX)?;
    let nobody = url.username().is_empty() && url.password().is_none() && !text.contains('@');
    let reached = match url.scheme() {
        "https" => url.host_str().is_some_and(|host| !host.is_empty()),
        "http" => url.host_str().is_some_and(is_here),
        _ => false,
    };
    (nobody && reached && url.fragment().is_none()).then_some(url)
}

fn is_here(host: &str) -> bool {
    let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_issuer_is_an_address_by_tls_or_of_this_machine() {
        for text in [
            "https://login.example",
            "https://login.example/",
            "https://login.example/realms/main",
            "https://login.example:8443/a/",
            "http://127.0.0.1:4000",
            "http://localhost:4000/x",
            "http://[::1]:4000",
        ] {
            assert_eq!(text.parse::<Issuer>().map(|issuer| issuer.to_string()), Ok(text.to_owned()));
        }
        for text in [
            "",
            "login.example",
            "http://login.example",
            "http://127.0.0.1.example",
            "http://localhost.example",
            "ftp://login.example",
            "https://",
            "https://login.example?a=b",
            "https://login.example/#a",
            "https://ada:secret@login.example",
            "https://login.example@evil.example",
            "HTTPS://login.example",
            "https://LOGIN.example",
            "https://login.example:443",
            "https://login.example/a/../b",
            " https://login.example",
            "https://login.example/ä",
        ] {
            assert_eq!(text.parse::<Issuer>(), Err(InvalidIssuer), "{text}");
        }
    }

    #[test]
    fn its_description_is_below_it_with_or_without_a_slash_at_the_end() {
        for (issuer, at) in [
            ("https://login.example", "https://login.example/.well-known/openid-configuration"),
            ("https://login.example/", "https://login.example/.well-known/openid-configuration"),
            ("https://login.example/a/b", "https://login.example/a/b/.well-known/openid-configuration"),
            ("https://login.example/a/", "https://login.example/a/.well-known/openid-configuration"),
        ] {
            assert_eq!(issuer.parse::<Issuer>().unwrap().description().unwrap().as_str(), at);
        }
    }

    #[test]
    fn a_provider_elsewhere_sends_nobody_to_this_machine_or_in_the_clear() {
        let far: Issuer = "https://login.example".parse().unwrap();
        let near: Issuer = "http://127.0.0.1:4000".parse().unwrap();
        for text in ["https://login.example/token", "https://other.example/token?a=b"] {
            assert!(far.endpoint(text).is_some() && near.endpoint(text).is_some(), "{text}");
        }
        for text in ["http://127.0.0.1:4000/token", "http://localhost/token"] {
            assert!(far.endpoint(text).is_none() && near.endpoint(text).is_some(), "{text}");
        }
        let long = format!("https://login.example/{}", "a".repeat(URL_BYTES_MAX));
        for text in
            ["http://login.example/token", "file:///etc/passwd", "javascript:alert(1)", "/token", &long]
        {
            assert!(far.endpoint(text).is_none() && near.endpoint(text).is_none(), "{text}");
        }
    }
}
