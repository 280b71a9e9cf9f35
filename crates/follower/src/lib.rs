//! Decisions in another process: a policy fed by the log, from NATS or over HTTP.
//!
//! Layer 4. A service embeds a [`Follower`] and asks it, without a request to anybody: may this user do this here? It
//! answers from the same [`Policy`](charter_policy::Policy) and the same evaluator as the server. Owns how a policy is
//! kept up to date elsewhere; must not know the inside of the server.
//!
//! ```no_run
//! use charter_follower::{Follower, FollowerConfig, Token};
//! use charter_events::{PermissionKey, Scope, UserId};
//! use std::time::Duration;
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let token = Token::new(std::env::var("CHARTER_TOKEN")?);
//! let mut config = FollowerConfig::new("http://127.0.0.1:7400", token);
//! config.folder = Some("/var/lib/my-service/charter".into());
//! if let Ok(url) = std::env::var("CHARTER_NATS_URL") {
//!     config.nats = Some(charter_bus_nats::NatsConfig::new(url.parse()?, "my-service"));
//! }
//! let follower = Follower::start(config).await?;
//!
//! let user: UserId = "0190e9a0-0000-7000-8000-000000000001".parse()?;
//! let key: PermissionKey = "core.user.read".parse()?;
//! let decision = follower.check(user, &key, Scope::Global, follower.now())?;
//! println!("{} at version {}", decision.allowed(), decision.version);
//!
//! // Somebody was granted something, and the answer named version 42: wait for it, then ask.
//! let version = charter_events::Offset::new(42).ok_or("no offset")?;
//! follower.at_least(version, Duration::from_secs(2)).await?;
//! let policy = follower.fresh_policy()?;
//! assert!(policy.version() >= version);
//!
//! follower.shutdown().await;
//! # Ok(())
//! # }
//! ```
//!
//! # What it takes
//!
//! An API token whose user holds `core.audit.read` globally, because a follower reads the whole log. People's names are
//! sealed in it: a follower knows users by their ids. With a [`FollowerConfig::nats`] the events come from JetStream,
//! and the server is asked only for what is missing there.
//!
//! # What it promises
//!
//! - Every event is checked against its predecessor's hash before it is applied, wherever it came from.
//! - A state is shown only where a command is complete, so no answer sees half a command. Versions never go back.
//! - Nothing is skipped. An event this build can't read, a damaged one and a log that forked stop it for good
//!   ([`Stopped`]): it decides nothing any more, and [`Follower::status`] says why. Only what the server says does
//!   that: whatever is wrong with the stream on NATS is the stream's fault, and the log is followed over HTTP.
//! - It decides only while the server confirms its state: every [`FollowerConfig::check_every`] it asks where the
//!   server's log ends and compares the hash. After [`FollowerConfig::stale_max`] without that (the server is away, cut
//!   off from its own store, or its log was set back) there is no decision ([`NotFresh`]) until it is confirmed again.
//!   NATS brings events sooner; it confirms nothing, for whoever may publish there could send anything.
//! - The token is in no log, error or `Debug` text. HTTPS is verified with the system's certificates; unless the
//!   process has chosen a provider of cryptography for `rustls`, aws-lc-rs is.
//!
//! Recorded with the `metrics` facade: the gauges `charter_follower_version`, `charter_follower_stale_seconds` (how old
//! the answers may be) and `charter_follower_stopped` (1 when it stopped for good), the counters
//! `charter_follower_gaps_total` and `charter_follower_stream_faults_total`.

mod api;
mod backoff;
mod checks;
mod config;
mod error;
mod facts;
mod fold;
mod follow;
mod follower;
mod freshness;
mod reach;
mod shared;
mod snapshots;
mod sse;

pub use config::{FollowerConfig, Token};
pub use error::{FollowerError, NotFresh, NotReached, Stopped};
pub use facts::{Source, Status};
pub use follower::Follower;
