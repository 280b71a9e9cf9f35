//! Which NATS servers the log is published on, as the command line names them, and the check that they can be used.

use super::store::Hidden;
use crate::{
    app::path_or_empty,
    exit::{Failure, Outcome, chain},
};
use charter_bus_nats::{Bus, BusError, InvalidNatsUrl, NatsConfig, connect, connect_later};
use std::{path::PathBuf, time::Duration};

/// How long a start waits for the bus before it goes on without it, in seconds.
const FIRST_TRY_SECONDS_MAX: u64 = 3;

/// Which bus.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct NatsArgs {
    /// Publish the log on NATS JetStream, at nats://USER:PASSWORD@HOST:PORT (several, separated by commas, are one
    /// cluster); `none`: do not, whatever the variable says. Other users of this machine see arguments: a password is
    /// safer in the variable
    #[arg(long, env = "CHARTER_NATS_URL", hide_env_values = true, value_name = "URL")]
    nats_url: Option<Hidden>,
    /// A file with a NATS user's credentials, as `nsc` writes it
    #[arg(long, env = "CHARTER_NATS_CREDENTIALS", value_name = "FILE", value_parser = path_or_empty())]
    nats_credentials: Option<PathBuf>,
    /// How many servers of a NATS cluster keep each message
    #[arg(long, env = "CHARTER_NATS_REPLICAS", value_name = "COUNT", default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u8).range(1..=5))]
    nats_replicas: u8,
}

impl NatsArgs {
    /// How to connect; `None` when nothing is to be published. `name` is what the NATS servers show.
    pub(crate) fn config(&self, name: &str) -> Outcome<Option<NatsConfig>> {
        let Some(text) = self.nats_url.as_ref().and_then(Hidden::given) else { return Ok(None) };
        let url = text.parse().map_err(|error: InvalidNatsUrl| {
            Failure::error(chain(&error)).hint("correct `CHARTER_NATS_URL`, or the flag given instead")
        })?;
        Ok(Some(NatsConfig {
            credentials_file: self.nats_credentials.clone().filter(|path| !path.as_os_str().is_empty()),
            replicas: usize::from(self.nats_replicas),
            ..NatsConfig::new(url, name)
        }))
    }
}

/// Connects. What somebody has to put right ends the start; whatever may pass is told, and waited for beside serving:
/// no command and no decision depends on the stream.
///
/// JetStream that is missing counts as passing once the log has begun: it takes itself away when its disk is full.
pub(crate) async fn bus(config: &NatsConfig, log_is_new: bool) -> Outcome<(Bus, Option<BusError>)> {
    let first = tokio::time::timeout(Duration::from_secs(FIRST_TRY_SECONDS_MAX), connect(config)).await;
    let first = first.unwrap_or_else(|_| {
        let why = format!("no answer as of NATS in {FIRST_TRY_SECONDS_MAX} s");
        Err(BusError::Away { url: config.url.to_string(), why })
    });
    match first {
        Ok(bus) => Ok((bus, None)),
        Err(error) if must_be_put_right(&error, log_is_new) => Err(Failure::error(chain(&error))),
        Err(error) => Ok((connect_later(config).await?, Some(error))),
    }
}

/// Whether an error is one of configuration.
pub(crate) const fn must_be_put_right(error: &BusError, log_is_new: bool) -> bool {
    match error {
        BusError::Unauthorized { .. }
        | BusError::CredentialsFile { .. }
        | BusError::Tls { .. }
        | BusError::TooOld { .. }
        | BusError::Forbidden { .. }
        | BusError::MaxPayload { .. } => true,
        BusError::NoJetStream { .. } => log_is_new,
        BusError::Away { .. } | BusError::Refused { .. } | BusError::Stream { .. } | BusError::Fork(_) => {
            false
        }
    }
}
