//! Where the bus is and how to sign in there. Owns the reading of its URL and keeps the secrets in it out of every
//! text; must not know what is sent.

use crate::error::BusError;
use async_nats::{ConnectOptions, ServerAddr};
use percent_encoding::percent_decode_str;
use std::{path::PathBuf, str::FromStr};

/// The most servers one URL names.
pub const SERVERS_MAX: usize = 16;

/// Where the bus is, and how to sign in there.
#[derive(Debug, Clone)]
pub struct NatsConfig {
    /// The servers, with a user and password or a token.
    pub url: NatsUrl,
    /// A file with a user's JWT and key, as `nsc` writes it; signs in instead of what the URL says.
    pub credentials_file: Option<PathBuf>,
    /// How many servers of a cluster keep each message; 1 to 5.
    pub replicas: usize,
    /// What the servers show of this connection.
    pub name: String,
}

impl NatsConfig {
    /// With one replica and no file of credentials.
    pub fn new(url: NatsUrl, name: impl Into<String>) -> Self {
        Self { url, credentials_file: None, replicas: 1, name: name.into() }
    }

    /// What the client needs, but for the servers.
    pub(crate) async fn options(&self) -> Result<ConnectOptions, BusError> {
        // also with servers that another server tells of
        let options = ConnectOptions::new().name(&self.name).require_tls(self.url.with_tls);
        if let Some(path) = &self.credentials_file {
            let options = options.credentials_file(path).await;
            return options.map_err(|source| BusError::CredentialsFile { path: path.clone(), source });
        }
        Ok(match &self.url.secret {
            Secret::None => options,
            Secret::Password { user, password } => {
                options.user_and_password(user.to_owned(), password.to_owned())
            }
            Secret::Token(token) => options.token(token.to_owned()),
        })
    }
}

/// One or more addresses, comma-separated: `nats://[user:password@ | token@]host[:port]`, or `tls://…`. Shown without
/// secrets, always.
#[derive(Clone, PartialEq, Eq)]
pub struct NatsUrl {
    /// Without user, password and token: the client writes addresses to its log.
    servers: Vec<ServerAddr>,
    /// With every server, whatever it says of itself.
    with_tls: bool,
    shown: String,
    secret: Secret,
}

#[derive(Clone, PartialEq, Eq)]
enum Secret {
    None,
    Password { user: String, password: String },
    Token(String),
}

/// The text is no address of NATS servers. Says nothing of the text itself, which may hold a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not the address of a NATS server, such as `nats://user:password@localhost:4222`: {0}")]
pub struct InvalidNatsUrl(&'static str);

impl NatsUrl {
    pub(crate) fn servers(&self) -> Vec<ServerAddr> {
        self.servers.clone()
    }
}

impl FromStr for NatsUrl {
    type Err = InvalidNatsUrl;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (mut servers, mut secret) = (Vec::<ServerAddr>::new(), Secret::None);
        let mut shown = Vec::new();
        for address in text.split(',').map(str::trim) {
            let (scheme, rest) = address.split_once("://").unwrap_or(("nats", address));
            if !matches!(scheme, "nats" | "tls") {
                return Err(InvalidNatsUrl("it begins with neither `nats://` nor `tls://`"));
            }
            let (userinfo, place) =
                rest.rsplit_once('@').map_or((None, rest), |(user, place)| (Some(user), place));
            let server: ServerAddr = format!("{scheme}://{place}")
                .parse()
                .map_err(|_| InvalidNatsUrl("the host or the port can't be read"))?;
            if servers.iter().any(|other| other.scheme() != scheme) {
                return Err(InvalidNatsUrl("some of its addresses are `tls://` and some are not"));
            }
            if server.host().is_empty() {
                return Err(InvalidNatsUrl("it names no host"));
            }
            let found = userinfo.map(read_secret).transpose()?.unwrap_or(Secret::None);
            if found != Secret::None && secret != Secret::None && found != secret {
                return Err(InvalidNatsUrl("its addresses have different users"));
            }
            let hidden = if found == Secret::None { "" } else { "***@" };
            shown.push(format!("{scheme}://{hidden}{}", place.trim_end_matches('/')));
            secret = if found == Secret::None { secret } else { found };
            servers.push(server);
        }
        if servers.len() > SERVERS_MAX {
            return Err(InvalidNatsUrl("it names more than 16 servers"));
        }
        let with_tls = servers.iter().any(ServerAddr::tls_required);
        Ok(Self { servers, with_tls, shown: shown.join(","), secret })
    }
}

fn read_secret(userinfo: &str) -> Result<Secret, InvalidNatsUrl> {
    let decoded = |text: &str| {
        let text = percent_decode_str(text).decode_utf8();
        text.map(std::borrow::Cow::into_owned).map_err(|_| InvalidNatsUrl("the user can't be read"))
    };
    Ok(match userinfo.split_once(':') {
        Some((user, password)) => Secret::Password { user: decoded(user)?, password: decoded(password)? },
        None if userinfo.is_empty() => Secret::None,
        None => Secret::Token(decoded(userinfo)?),
    })
}

impl std::fmt::Display for NatsUrl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.shown)
    }
}

impl std::fmt::Debug for NatsUrl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "NatsUrl({})", self.shown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_shown_without_secrets() {
        for (text, shown, secret) in [
            ("nats://localhost:4222", "nats://localhost:4222", Secret::None),
            ("localhost", "nats://localhost", Secret::None),
            ("tls://[::1]:4222/", "tls://[::1]:4222", Secret::None),
            (
                "nats://ann:pa%40ss@h:1, nats://ann:pa%40ss@g:2",
                "nats://***@h:1,nats://***@g:2",
                Secret::Password { user: "ann".into(), password: "pa@ss".into() },
            ),
            ("nats://s3cr3t@h", "nats://***@h", Secret::Token("s3cr3t".into())),
            (
                "nats://a:b@h1,nats://h2",
                "nats://***@h1,nats://h2",
                Secret::Password { user: "a".into(), password: "b".into() },
            ),
        ] {
            let url: NatsUrl = text.parse().unwrap();
            assert_eq!(url.to_string(), shown, "{text}");
            assert!(url.secret == secret, "{text}");
            let debug = format!("{:?}", NatsConfig::new(url.clone(), "test"));
            assert!(!debug.contains("pa@ss") && !debug.contains("s3cr3t"), "{debug}");
            assert_eq!(url.with_tls, text.starts_with("tls://"));
            assert!(url.servers().iter().all(|s| s.username().is_none() && s.password().is_none()));
        }
    }

    #[test]
    fn what_is_no_address_is_refused_without_being_repeated() {
        for (text, why) in [
            ("", "names no host"),
            ("nats://", "names no host"),
            ("https://a:hidden@h", "neither"),
            ("nats://a:hidden@h:port", "the port"),
            ("nats://a:hidden@h,nats://b:hidden@h", "different users"),
            ("tls://a:hidden@h,nats://a:hidden@h", "some of its addresses are `tls://`"),
            (&["h"; 17].join(","), "more than 16"),
        ] {
            let error = text.parse::<NatsUrl>().unwrap_err().to_string();
            assert!(error.contains(why) && !error.contains("hidden"), "{text}: {error}");
        }
    }
}
