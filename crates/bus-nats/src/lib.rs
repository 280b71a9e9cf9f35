//! Publishes the log on NATS JetStream, and reads it there without missing an event.
//!
//! Layer 3, an adapter. The log is the truth, the stream a relay of it: its sequence is the offset, and whoever reads it
//! checks the chain and re-reads from a server what is missing. Owns the connection ([`connect`]), the stream and its
//! messages ([`Publisher`]), the reading of them ([`Consumer`]), and their description ([`asyncapi`]). Must not know
//! HTTP, use cases, or what an event means.
//!
//! # Rights a user needs on the NATS server
//!
//! With `S` for the stream's name, `CHARTER_<log id without dashes>`, and `L` for the log's id:
//!
//! | who | publish to | subscribe to |
//! |---|---|---|
//! | publisher | `$JS.API.INFO`, `$JS.API.STREAM.INFO.S`, `$JS.API.STREAM.CREATE.S`, `$JS.API.STREAM.UPDATE.S`, `$JS.API.STREAM.MSG.GET.S`, `charter.L.>` | `_INBOX.>` |
//! | consumer | `$JS.API.INFO`, `$JS.API.STREAM.INFO.S`, `$JS.API.CONSUMER.CREATE.S.>`, `$JS.API.CONSUMER.MSG.NEXT.S.>`, `$JS.API.CONSUMER.DELETE.S.>` | `_INBOX.>` |

mod asyncapi;
mod bus;
mod config;
mod consumer;
mod error;
mod message;
mod publisher;
mod stream;

pub use asyncapi::{Documented, asyncapi};
pub use bus::{Bus, connect, connect_later};
pub use config::{InvalidNatsUrl, NatsConfig, NatsUrl, SERVERS_MAX};
pub use consumer::{Consumer, ConsumerError, ConsumerOptions, Position, Reread};
pub use error::{BusError, HEADERS_BYTES_MAX, MESSAGE_BYTES_MAX};
pub use message::{message_id, stream_name, subject, subjects};
pub use publisher::{Publisher, PublisherOptions};
pub use stream::Fork;
