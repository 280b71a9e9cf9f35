//! Whether the stream has what the log has.

use crate::exit::chain;
use charter_bus_nats::{NatsConfig, StreamState, connect};
use charter_events::{Head, Offset};
use charter_store::Store;

/// How far the stream is, or what is wrong with it.
pub(super) async fn examine(config: &NatsConfig, store: &dyn Store, head: &Head) -> Result<String, String> {
    let bus = connect(config).await.map_err(|error| chain(&error))?;
    let state = bus.stream_state(head.log_id).await.map_err(|error| chain(&error))?;
    let Some(StreamState { first, last, last_hash, .. }) = state else {
        return Ok(format!("{}: no stream yet; a server that publishes makes it", bus.url()));
    };
    // What is published meanwhile is no fault of the stream's.
    let end = store.head().await.map_err(|error| chain(&error))?.offset.get();
    if last > end {
        return Err(format!("the stream ends at {last}, beyond the log, which ends at {end}"));
    }
    let before = Offset::new(last.saturating_sub(1)).unwrap_or(Offset::ZERO);
    let event = if last == 0 { Vec::new() } else { store.read(before, 1).await.map_err(|e| chain(&e))? };
    if let (Some(event), Some(hash)) = (event.first(), last_hash)
        && event.hash != hash
    {
        return Err(format!("the stream holds another event at offset {last} than the log"));
    }
    Ok(format!("{}: {first} to {last}, {} behind the log", bus.url(), end.saturating_sub(last)))
}
