//! How far the stream is behind the log, as metrics. Must not know why.
//!
//! As long as it is not known how far the stream is, what was appended since this server leads is told: that much is
//! certainly not published.

use charter_events::Offset;
use charter_store::Store;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::{sync::watch, time::timeout};

/// How often it is told.
const TELL_EVERY: Duration = Duration::from_secs(1);

/// Tells it for ever: the events not published, and the age of the oldest of them.
pub(super) async fn tell(
    store: &dyn Store,
    versions: watch::Receiver<Offset>,
    mut position: watch::Receiver<Option<Offset>>,
) {
    let led_from = *versions.borrow();
    loop {
        let known = *position.borrow_and_update();
        let (version, published) = (*versions.borrow(), known.unwrap_or(led_from));
        let events = version.get().saturating_sub(published.get());
        let seconds = if events == 0 { 0.0 } else { age_seconds(store, published).await.unwrap_or(0.0) };
        metrics::gauge!("charter_publish_lag_events").set(events as f64);
        metrics::gauge!("charter_publish_lag_seconds").set(seconds);
        let becomes_known = async {
            // An error: this is over as well.
            let _ = position.wait_for(|now| now.is_some() && known.is_none()).await;
        };
        // An error: it was not within this time.
        let _ = timeout(TELL_EVERY, becomes_known).await;
    }
}

/// The age of the first event after an offset.
async fn age_seconds(store: &dyn Store, after: Offset) -> Option<f64> {
    let page = store.read(after, 1).await.ok()?;
    let recorded_micros = page.first()?.recorded_at.as_micros();
    let now_micros = SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_micros();
    let age_micros = i64::try_from(now_micros).ok()?.saturating_sub(recorded_micros);
    Some(age_micros.max(0) as f64 / 1_000_000.0)
}
