//! Who somebody is at an identity provider elsewhere. Part of a person's data: in events it stands sealed, with a tag.
//!
//! A provider's subject means nothing without the provider, and a provider's word about anything else (a name, an
//! address) means nothing here: an identity is issuer and subject, compared byte for byte.

use crate::text::as_text;
use serde::{Deserialize, Serialize};
use std::{fmt, net::Ipv4Addr, str::FromStr, sync::Arc};

/// The longest issuer, in bytes.
pub const ISSUER_BYTES_MAX: usize = 512;
/// The longest subject, in bytes (OpenID Connect Core, section 2).
pub const SUBJECT_BYTES_MAX: usize = 255;

/// The text is no issuer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "an issuer is an `https` URL (`http` on loopback only) of at most {ISSUER_BYTES_MAX} bytes, without a user, a \
     query or a fragment"
)]
pub struct InvalidIssuer;

/// The text is no subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a subject takes 1 to {SUBJECT_BYTES_MAX} printable ASCII characters")]
pub struct InvalidSubject;

/// An identity provider, by the URL it calls itself.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Issuer(Arc<str>);

impl Issuer {
    /// The text, as it was given.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Issuer {
    type Err = InvalidIssuer;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if is_issuer(text) { Ok(Self(text.into())) } else { Err(InvalidIssuer) }
    }
}

impl fmt::Display for Issuer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

as_text!(Issuer);

/// What a provider calls one of its people: never given to another.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IssuedSubject(Arc<str>);

impl IssuedSubject {
    /// The text, as it was given.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for IssuedSubject {
    type Err = InvalidSubject;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let fits = (1..=SUBJECT_BYTES_MAX).contains(&text.len());
        if fits && text.bytes().all(|b| (0x20..=0x7e).contains(&b)) {
            Ok(Self(text.into()))
        } else {
            Err(InvalidSubject)
        }
    }
}

impl fmt::Display for IssuedSubject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

as_text!(IssuedSubject);

/// Somebody at an identity provider.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    /// Which provider.
    pub issuer: Issuer,
    /// Whom it means.
    pub subject: IssuedSubject,
}

/// Nothing is normalised: what a provider calls itself is compared as it is, so what is accepted must have one reading.
fn is_issuer(text: &str) -> bool {
    let plain = |b: u8| b.is_ascii_graphic() && !matches!(b, b'?' | b'#' | b'@' | b'\\' | b'"' | b'<' | b'>');
    if text.len() > ISSUER_BYTES_MAX || !text.bytes().all(plain) {
        return false;
    }
    let authority = |rest: &str| rest.split('/').next().map(str::to_owned);
    if let Some(rest) = text.strip_prefix("https://") {
        return authority(rest).as_deref().and_then(host).is_some();
    }
    let rest = text.strip_prefix("http://");
    rest.and_then(authority).as_deref().and_then(host).is_some_and(is_loopback)
}

/// The host of `host[:port]`; none when either is not well-formed.
fn host(authority: &str) -> Option<&str> {
    let bracketed = authority.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    let (host, port) = match bracketed {
        Some((address, port)) => {
            address.parse::<std::net::Ipv6Addr>().ok()?;
            (address, port)
        }
        None => {
            let end = authority.find(':').unwrap_or(authority.len());
            let (host, port) = authority.split_at(end);
            let named = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_');
            host.bytes().all(named).then_some((host, port))?
        }
    };
    let port_fits = port.is_empty() || port.strip_prefix(':').is_some_and(is_port);
    (!host.is_empty() && port_fits).then_some(host)
}

/// Digits alone: what numbers are read from may begin with a sign.
fn is_port(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_digit()) && text.parse::<u16>().is_ok_and(|port| port > 0)
}

fn is_loopback(host: &str) -> bool {
    host == "localhost"
        || host == "::1"
        || host.parse::<Ipv4Addr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_issuer_is_https_or_on_loopback_and_has_one_reading() {
        let long = format!("https://id.example/{}", "x".repeat(ISSUER_BYTES_MAX));
        for good in [
            "https://id.example",
            "https://id.example/",
            "https://id.example:8443/realms/a%20b",
            "https://[2001:db8::1]/",
            "http://localhost:3000",
            "http://127.0.0.1:3000/oidc",
            "http://127.1.2.3",
            "http://[::1]:3000",
            &long[..ISSUER_BYTES_MAX],
        ] {
            assert_eq!(good.parse::<Issuer>().map(|issuer| issuer.to_string()), Ok(good.to_owned()));
        }
        for bad in [
            "",
            "id.example",
            "https://",
            "https:///path",
            "https://:443",
            "https://id.example:",
            "https://id.example:0",
            "https://id.example:+1",
            "https://id.example:99999",
            "HTTPS://id.example",
            "ftp://id.example",
            "http://id.example",
            "http://localhost.id.example",
            "http://127.0.0.1.id.example",
            "http://localhost@id.example",
            "https://user@id.example",
            "https://id.example?tenant=1",
            "https://id.example/#x",
            "https://id.example\\@localhost",
            "https://id example",
            " https://id.example",
            "https://id.example\n",
            "https://\u{456}d.example",
            &long,
        ] {
            assert_eq!(bad.parse::<Issuer>(), Err(InvalidIssuer), "{bad:?}");
        }
    }

    #[test]
    fn a_subject_is_printable_ascii_and_never_folded() {
        for good in ["1", "A|b", " a ", "248289761001", &"x".repeat(SUBJECT_BYTES_MAX)] {
            assert_eq!(good.parse::<IssuedSubject>().map(|subject| subject.to_string()), Ok(good.to_owned()));
        }
        for bad in ["", "\0", "a\n", "é", &"x".repeat(SUBJECT_BYTES_MAX + 1)] {
            assert_eq!(bad.parse::<IssuedSubject>(), Err(InvalidSubject), "{bad:?}");
        }
    }
}
