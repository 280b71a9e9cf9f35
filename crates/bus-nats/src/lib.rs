//! Publishes the log on NATS JetStream, and reads it there without missing an event.
//!
//! Layer 3, an adapter. The log is the truth, the stream a relay of it: its sequence is the offset, and whoever reads
//! it checks the chain and re-reads from a server what is missing. Owns the connection ([`connect`]), the stream and
//! its messages ([`Publisher`]), the reading of them ([`Consumer`]), and their description ([`asyncapi`]). Must not
//! know HTTP, use cases, or what an event means.
//!
//! # Rights a user needs on the NATS server
//!
//! `S` is the stream's name, `CHARTER_<log id without dashes>`, `L` the log's id. A publisher publishes to
//! - `$JS.API.STREAM.INFO.S`, `$JS.API.STREAM.CREATE.S`, `$JS.API.STREAM.UPDATE.S`, `$JS.API.STREAM.MSG.GET.S`, and
//! - `charter.L.>`;
//!
//! a consumer publishes to
//! - `$JS.API.CONSUMER.CREATE.S` and `$JS.API.CONSUMER.MSG.NEXT.S.>`.
//!
//! Both subscribe to `_INBOX.>`, and ask `$JS.API.INFO` whether JetStream is there; who may not is not held up.
//!
//! # Metrics
//!
//! | name | what it is |
//! |---|---|
//! | `charter_publisher_leads` | 1 while this server publishes |
//! | `charter_publish_lag_events` | events of the log that are not in the stream; 0 where another server publishes |
//! | `charter_publish_lag_seconds` | the age of the oldest of them |
//! | `charter_published_events_total` | events stored in the stream by this server |
//! | `charter_stream_forked` | 1 while the stream holds another history than the log |
//! | `charter_follower_stream_faults_total` | how often a consumer found in the stream what does not belong there |
//! | `charter_follower_gaps_total` | how often a consumer had to read at the source what the stream did not have |

mod asyncapi;
mod bus;
mod config;
mod consumer;
mod error;
mod message;
mod publisher;
mod state;
mod stream;

pub use asyncapi::{Documented, asyncapi};
pub use bus::{Bus, connect, connect_later};
pub use config::{InvalidNatsUrl, NatsConfig, NatsUrl, SERVERS_MAX};
pub use consumer::{Consumer, ConsumerError, ConsumerOptions, Position, Reread};
pub use error::{BusError, HEADERS_BYTES_MAX, MESSAGE_BYTES_MAX};
pub use message::{message_id, stream_name, subject, subjects};
pub use publisher::{Publisher, PublisherOptions};
pub use state::StreamState;
pub use stream::Fork;
