//! How far the stream is behind the log, as metrics. Must not know why.

use charter_events::Offset;
use charter_store::Store;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::{sync::watch, time::sleep};

/// How often it is told.
const TELL_EVERY: Duration = Duration::from_secs(1);

/// Tells it for ever: the events not published, and the age of the oldest of them.
pub(super) async fn tell(
    store: &dyn Store,
    versions: &watch::Receiver<Offset>,
    position: &watch::Sender<Offset>,
) {
    loop {
        let (version, published) = (*versions.borrow(), *position.borrow());
        let events = version.get().saturating_sub(published.get());
        let seconds = if events == 0 { 0.0 } else { age_seconds(store, published).await.unwrap_or(0.0) };
        metrics::gauge!("charter_publish_lag_events").set(events as f64);
        metrics::gauge!("charter_publish_lag_seconds").set(seconds);
        sleep(TELL_EVERY).await;
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
