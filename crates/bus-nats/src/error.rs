//! What can be wrong with the bus, each in one line that says what to change. Owns the errors of connecting and
//! publishing; must not hold a secret.

use crate::stream::Fork;
use charter_events::json::EVENT_JSON_BYTES_MAX;
use std::path::PathBuf;

/// Room beside an event's JSON for its subject and headers, in bytes.
pub const HEADERS_BYTES_MAX: usize = 4 * 1024;
/// The longest message that is published, in bytes; the server's `max_payload` must not be smaller.
pub const MESSAGE_BYTES_MAX: usize = EVENT_JSON_BYTES_MAX + HEADERS_BYTES_MAX;

/// What is wrong with the bus.
#[derive(Debug, thiserror::Error)]
pub enum BusError {
    /// Nothing answers there, now. The one error that is no mistake of whoever configured it.
    #[error("no NATS server answers at `{url}` ({why}); start it, or correct CHARTER_NATS_URL")]
    Away {
        /// Where, without secrets.
        url: String,
        /// What was noticed.
        why: String,
    },
    /// User, password, token or credentials are wrong.
    #[error("the NATS server at `{url}` does not accept {what}; correct {variable}")]
    Unauthorized {
        /// Where, without secrets.
        url: String,
        /// What is not accepted.
        what: &'static str,
        /// The environment variable that says it.
        variable: &'static str,
    },
    /// The file of credentials can't be used.
    #[error("`{}`, which CHARTER_NATS_CREDENTIALS names, can't be read as a file of NATS credentials", path.display())]
    CredentialsFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        #[source]
        source: std::io::Error,
    },
    /// No TLS with this server.
    #[error(
        "TLS with the NATS server at `{url}` fails ({why}); correct the server's certificate, the address in \
         CHARTER_NATS_URL, or name its authority's certificate in SSL_CERT_FILE"
    )]
    Tls {
        /// Where, without secrets.
        url: String,
        /// What TLS says.
        why: String,
    },
    /// The server is too old.
    #[error("the NATS server at `{url}` has version {found}; run version 2.10 or newer")]
    TooOld {
        /// Where, without secrets.
        url: String,
        /// Its version.
        found: String,
    },
    /// No JetStream there.
    #[error(
        "JetStream is not enabled at `{url}`; start the NATS server with `--jetstream`, and enable it for the account"
    )]
    NoJetStream {
        /// Where, without secrets.
        url: String,
    },
    /// The user lacks a right.
    #[error("the NATS user may not {action} `{subject}`; allow it in the NATS server's permissions")]
    Forbidden {
        /// `publish to` or `subscribe to`.
        action: &'static str,
        /// The subject.
        subject: String,
    },
    /// The server takes smaller messages than there may be.
    #[error(
        "the NATS server at `{url}` takes messages of {found} bytes; set its max_payload to {MESSAGE_BYTES_MAX} or more"
    )]
    MaxPayload {
        /// Where, without secrets.
        url: String,
        /// The largest it takes.
        found: usize,
    },
    /// The stream can't carry the log as it is configured.
    #[error("the stream `{stream}` can't be used: {why}")]
    Stream {
        /// Its name.
        stream: String,
        /// What is wrong with it and what to change.
        why: String,
    },
    /// JetStream refuses what was asked for.
    #[error("JetStream refuses {asked}: {why}")]
    Refused {
        /// What was asked for.
        asked: String,
        /// What it says.
        why: String,
    },
    /// The stream holds another history than the log.
    #[error(transparent)]
    Fork(#[from] Fork),
}

impl BusError {
    /// Whether the bus is only away, as it may be for a while: nothing needs to be changed.
    pub const fn is_away(&self) -> bool {
        matches!(self, Self::Away { .. })
    }

    /// A stable word for logs and metrics.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Away { .. } => "bus_away",
            Self::Unauthorized { .. } => "bus_unauthorized",
            Self::CredentialsFile { .. } => "bus_credentials_file",
            Self::Tls { .. } => "bus_tls",
            Self::TooOld { .. } => "bus_too_old",
            Self::NoJetStream { .. } => "bus_no_jetstream",
            Self::Forbidden { .. } => "bus_forbidden",
            Self::MaxPayload { .. } => "bus_max_payload",
            Self::Stream { .. } => "bus_stream_unfit",
            Self::Refused { .. } => "bus_refused",
            Self::Fork(_) => "stream_forked",
        }
    }
}
