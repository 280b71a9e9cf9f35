//! A cluster of three servers that keep every message three times; one after the other is killed.

use crate::support::*;
use charter_bus_nats::{Consumer, NatsConfig, connect};
use charter_services::{Nats, NatsSettings};
use std::net::TcpListener;

/// Three servers that know each other.
fn cluster() -> Vec<Nats> {
    // held until all are known, so that they differ
    let held: Vec<TcpListener> = (0..3).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    let ports: Vec<u16> = held.iter().map(|listener| listener.local_addr().unwrap().port()).collect();
    drop(held);
    let routes: Vec<String> = ports.iter().map(|port| format!("nats://127.0.0.1:{port}")).collect();
    let config = |port| {
        let routes = routes.join(", ");
        format!("cluster {{ name: trio, listen: \"127.0.0.1:{port}\", routes: [{routes}] }}")
    };
    let start = |port| NatsSettings { config: Some(config(port)), ..NatsSettings::default() };
    ports.into_iter().map(|port| Nats::start_with(start(port)).unwrap()).collect()
}

#[tokio::test]
async fn a_cluster_that_loses_one_server_after_the_other_holds_the_whole_log() {
    let servers = cluster();
    let url = servers.iter().map(Nats::url).collect::<Vec<_>>().join(",");
    let config = NatsConfig { replicas: 3, ..NatsConfig::new(url.parse().unwrap(), "test") };
    until("the cluster has a leader", || async { connect(&config).await.is_ok() }).await;
    let store = log_of(0).await;
    let bus = connect(&config).await.unwrap();
    let running = Running::start(&bus, &store, quick()).await;
    let mut consumer = Consumer::open_with(&bus, start(), Source::of(&log_of(0).await), eager());

    let mut read = Vec::new();
    for (round, server) in (1_u64..).zip(&servers) {
        running.append(&store, 500).await;
        let other = &servers[usize::try_from(round).unwrap() % 3].url();
        until("some are stored", || async { last_sequence(other).await > (round - 1) * 500 }).await;
        server.kill().unwrap();
        until_last(other, round * 500).await;
        read.extend(read_to(&mut consumer, round * 500).await);
        server.restart().unwrap();
    }

    assert_eq!(stream(&servers[0].url()).await.cached_info().config.num_replicas, 3);
    assert_stream_is(&servers[0].url(), &store).await;
    assert_eq!(read, events_of(&store).await);
    assert!(running.alarms.lock().unwrap().is_empty());
    running.stop().await;
}
