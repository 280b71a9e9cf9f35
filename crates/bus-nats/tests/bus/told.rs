//! What the metrics tell of publishing and reading.

use crate::support::*;
use charter_bus_nats::{Consumer, connect_later, stream_name};
use charter_services::Nats;
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};

fn value(told: &PrometheusHandle, name: &str) -> Option<f64> {
    let text = told.render();
    let line = text.lines().find(|line| line.split(' ').next() == Some(name))?;
    line.split(' ').next_back()?.parse().ok()
}

async fn until_value(told: &PrometheusHandle, name: &str, wanted: f64) {
    until(name, || async { value(told, name) == Some(wanted) }).await;
}

#[tokio::test]
async fn the_lag_rises_while_the_bus_is_away_and_drains_when_it_is_back() {
    // everything here runs on one thread
    let recorder = PrometheusBuilder::new().build_recorder();
    let told = recorder.handle();
    let _local = metrics::set_default_local_recorder(&recorder);
    let (nats, store) = (Nats::start().unwrap(), log_of(10).await);
    let running = Running::start(&bus(&nats.url()).await, &store, quick()).await;
    until_last(&nats.url(), 10).await;
    until_value(&told, "charter_publish_lag_events", 0.0).await;
    until_value(&told, "charter_publisher_leads", 1.0).await;

    nats.kill().unwrap();
    running.append(&store, 90).await;
    until_value(&told, "charter_publish_lag_events", 90.0).await;
    assert!(value(&told, "charter_publish_lag_seconds").unwrap() > 0.0);

    nats.restart().unwrap();
    until_value(&told, "charter_publish_lag_events", 0.0).await;
    until_value(&told, "charter_publish_lag_seconds", 0.0).await;
    assert_eq!(value(&told, "charter_published_events_total"), Some(100.0));
    assert_eq!(value(&told, "charter_stream_forked"), Some(0.0));
    running.stop().await;
    until_value(&told, "charter_publisher_leads", 0.0).await;
}

#[tokio::test]
async fn a_publisher_that_does_not_know_the_stream_yet_tells_only_what_came_since() {
    let recorder = PrometheusBuilder::new().build_recorder();
    let told = recorder.handle();
    let _local = metrics::set_default_local_recorder(&recorder);
    let folder = tempfile::tempdir().unwrap();
    let nats = Nats::start_in(folder.path(), None).unwrap();
    let (url, store) = (nats.url(), log_of(500).await);
    nats.stop().unwrap();
    let running = Running::start(&connect_later(&config(&url)).await.unwrap(), &store, quick()).await;

    until_value(&told, "charter_publisher_leads", 1.0).await;
    until_value(&told, "charter_publish_lag_events", 0.0).await;
    assert_eq!(value(&told, "charter_publish_lag_seconds"), Some(0.0));
    running.append(&store, 7).await;
    until_value(&told, "charter_publish_lag_events", 7.0).await;

    nats.restart().unwrap();
    until_last(&url, 507).await;
    until_value(&told, "charter_publish_lag_events", 0.0).await;
    running.stop().await;
}

#[tokio::test]
async fn a_fork_and_a_gap_are_told() {
    let recorder = PrometheusBuilder::new().build_recorder();
    let told = recorder.handle();
    let _local = metrics::set_default_local_recorder(&recorder);
    let (nats, ours, theirs) = (Nats::start().unwrap(), log_of(0).await, log_of(0).await);
    append_named(&ours, 10, "Ours").await;
    append_named(&theirs, 10, "Theirs").await;
    let bus = bus(&nats.url()).await;
    let running = Running::start(&bus, &theirs, quick()).await;
    until_last(&nats.url(), 10).await;
    running.stop().await;

    let running = Running::start(&bus, &ours, quick()).await;
    until_value(&told, "charter_stream_forked", 1.0).await;
    until_value(&told, "charter_publish_lag_events", 10.0).await;
    admin(&nats.url()).await.delete_stream(stream_name(LOG)).await.unwrap();
    until_value(&told, "charter_stream_forked", 0.0).await;
    running.stop().await;

    // behind the stream's end, so that only the source has it
    let mut consumer = Consumer::open_with(
        &bus,
        after(&ours, 10).await,
        Source::of(&ours),
        charter_bus_nats::ConsumerOptions { silence_max: std::time::Duration::from_millis(200), ..eager() },
    );
    append_named(&ours, 5, "Ours").await;
    read_to(&mut consumer, 15).await;
    until_value(&told, "charter_follower_gaps_total", 1.0).await;
}
