//! What a follower is told: where the server is, with which token, and its bounds. Every bound has its unit in its
//! name or type. Must not know what is done with them.

use charter_bus_nats::NatsConfig;
use std::{path::PathBuf, time::Duration};
use zeroize::Zeroizing;

/// What can be set about a follower. [`FollowerConfig::new`] has good values for all but the server and the token.
#[derive(Debug, Clone)]
pub struct FollowerConfig {
    /// The server's address, such as `https://charter.example` or `http://127.0.0.1:7400`: what comes before
    /// `/api/v1`.
    pub server: String,
    /// An API token whose user holds `core.audit.read` globally.
    pub token: Token,
    /// Where the log is published on NATS; none: it is followed over HTTP. While NATS is away HTTP takes its place.
    pub nats: Option<NatsConfig>,
    /// A folder of this follower's own for its snapshots; none: each start reads the whole log.
    pub folder: Option<PathBuf>,
    /// A snapshot is written after so many events, and at the end.
    pub snapshot_every_events: u64,
    /// How long one request may take.
    pub request_timeout: Duration,
    /// A stream on which nothing arrives for so long, not even a heartbeat, is taken to be dead.
    pub silence_max: Duration,
    /// How often the server is asked where its log ends, which makes the answers fresh and shows what the stream lost;
    /// at least three times within `stale_max`.
    pub check_every: Duration,
    /// How old an answer may be: when the server has not confirmed the state for longer, there is none
    /// ([`NotFresh`](crate::NotFresh)), as the server itself answers no more when it is cut off from its store. `None`
    /// answers for ever, from a state that knows of no revocation since: only for what does less harm when it is
    /// allowed wrongly than when it is refused.
    pub stale_max: Option<Duration>,
    /// The shortest wait before something that failed is tried again; it doubles with every failure, …
    pub retry_first: Duration,
    /// … up to this.
    pub retry_max: Duration,
}

impl FollowerConfig {
    /// A follower of this server.
    pub fn new(server: impl Into<String>, token: Token) -> Self {
        Self {
            server: server.into(),
            token,
            nats: None,
            folder: None,
            snapshot_every_events: 50_000,
            request_timeout: Duration::from_secs(30),
            silence_max: Duration::from_secs(45),
            check_every: Duration::from_secs(3),
            stale_max: Some(Duration::from_secs(10)),
            retry_first: Duration::from_millis(250),
            retry_max: Duration::from_secs(30),
        }
    }
}

/// An API token in the clear. It has no `Display`, and `Debug` does not show it; it is wiped when dropped.
#[derive(Clone)]
pub struct Token(Zeroizing<String>);

impl Token {
    /// Takes a token's text; spaces and line breaks around it, as files have them, are no part of it.
    pub fn new(text: impl Into<String>) -> Self {
        let text = Zeroizing::new(text.into());
        Self(Zeroizing::new(text.trim().to_owned()))
    }

    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_not_shown() {
        let config = FollowerConfig::new("http://127.0.0.1:7400", Token::new(" cht_secret\n"));
        assert_eq!(config.token.expose(), "cht_secret");
        assert!(!format!("{config:?}").contains("secret"));
    }
}
