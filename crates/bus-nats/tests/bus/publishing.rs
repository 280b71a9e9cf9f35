//! The stream is the log, whoever publishes and however often he begins anew.

use crate::support::*;
use async_nats::jetstream::stream::{DiscardPolicy, RetentionPolicy, StorageType};
use charter_bus_nats::{Publisher, connect_later, stream_name, subjects};
use charter_services::{Nats, NatsSettings};
use charter_store::{LogStore, MemoryStore};
use std::{sync::Arc, time::Duration};
use tokio::sync::watch;

#[tokio::test]
async fn the_stream_is_the_log_event_for_event() {
    let (nats, store) = (Nats::start().unwrap(), log_of(1_000).await);
    let bus = bus(&nats.url()).await;

    let running = Running::start(&bus, &store, quick()).await;
    until_last(&nats.url(), 1_000).await;
    running.append(&store, 7).await;
    until_last(&nats.url(), 1_007).await;

    assert_stream_is(&nats.url(), &store).await;
    assert!(running.alarms.lock().unwrap().is_empty());
    running.stop().await;
}

#[tokio::test]
async fn the_stream_keeps_everything_in_files_and_lets_nobody_delete() {
    let (nats, store) = (Nats::start().unwrap(), log_of(3).await);
    let running = Running::start(&bus(&nats.url()).await, &store, quick()).await;
    until_last(&nats.url(), 3).await;

    let stream = stream(&nats.url()).await;
    let config = &stream.cached_info().config;
    assert_eq!(config.name, stream_name(LOG));
    assert_eq!(config.subjects, [subjects(LOG)]);
    assert_eq!((config.storage, config.retention), (StorageType::File, RetentionPolicy::Limits));
    assert_eq!(config.discard, DiscardPolicy::Old);
    assert!(config.deny_delete && config.deny_purge);
    assert_eq!((config.max_messages, config.max_bytes, config.max_age), (-1, -1, Duration::ZERO));
    assert_eq!(config.duplicate_window, Duration::from_secs(120));
    assert_eq!(stream.cached_info().state.first_sequence, 1);
    assert!(stream.delete_message(2).await.is_err());
    assert!(stream.purge().await.is_err());
    running.stop().await;
}

#[tokio::test]
async fn a_publisher_that_begins_anew_goes_on_where_the_stream_ends() {
    let (nats, store) = (Nats::start().unwrap(), log_of(100).await);
    let bus = bus(&nats.url()).await;
    let first = Running::start(&bus, &store, quick()).await;
    until_last(&nats.url(), 100).await;
    first.stop().await;
    append(&store, 300).await;

    let second = Running::start(&bus, &store, quick()).await;
    until_last(&nats.url(), 400).await;

    assert_stream_is(&nats.url(), &store).await;
    second.stop().await;
}

#[tokio::test]
async fn one_of_two_servers_publishes_and_the_other_takes_over() {
    let (nats, store) = (Nats::start().unwrap(), log_of(10).await);
    let first = Running::start(&bus(&nats.url()).await, &store, quick()).await;
    until_last(&nats.url(), 10).await;
    // on a clone, which is another server on the same store
    let second = Running::start(&bus(&nats.url()).await, &store, quick()).await;
    first.stop().await;

    second.append(&store, 10).await;
    until_last(&nats.url(), 20).await;

    assert_stream_is(&nats.url(), &store).await;
    second.stop().await;
}

#[tokio::test]
async fn two_publishers_that_both_believe_they_lead_do_no_harm() {
    let nats = Nats::start().unwrap();
    // two stores that hold the same log and know nothing of each other: each gives the lead away
    let stores = [log_of(0).await, log_of(0).await];
    let buses = [bus(&nats.url()).await, bus(&nats.url()).await];
    let running = [
        Running::start(&buses[0], &stores[0], quick()).await,
        Running::start(&buses[1], &stores[1], quick()).await,
    ];

    for _ in 0..20 {
        for (running, store) in running.iter().zip(&stores) {
            running.append(store, 100).await;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    until_last(&nats.url(), 2_000).await;

    assert_eq!(events_of(&stores[0]).await, events_of(&stores[1]).await);
    assert_stream_is(&nats.url(), &stores[0]).await;
    for running in running {
        assert!(running.alarms.lock().unwrap().is_empty());
        running.stop().await;
    }
}

#[tokio::test]
async fn a_bus_that_comes_later_is_published_to_then() {
    let folder = tempfile::tempdir().unwrap();
    let nats = Nats::start_in(folder.path(), None).unwrap();
    let (url, store) = (nats.url(), log_of(50).await);
    nats.stop().unwrap();
    let bus = connect_later(&config(&url)).await.unwrap();
    let running = Running::start(&bus, &store, quick()).await;
    running.append(&store, 50).await;
    assert!(!bus.is_connected());

    nats.restart().unwrap();
    until_last(&url, 100).await;

    assert_stream_is(&url, &store).await;
    running.stop().await;
}

#[tokio::test]
async fn preparing_makes_the_stream_and_publishes_nothing() {
    let (nats, store) = (Nats::start().unwrap(), log_of(5).await);
    let (_versions, versions) = watch::channel(store.head().await.unwrap().offset);
    let publisher = Publisher::new(bus(&nats.url()).await, Arc::new(store), LOG, versions);

    publisher.prepare().await.unwrap();
    publisher.prepare().await.unwrap();

    assert_eq!(stream(&nats.url()).await.cached_info().state.messages, 0);
}

#[tokio::test]
async fn a_stream_somebody_reconfigured_is_set_back() {
    let (nats, store) = (Nats::start().unwrap(), log_of(20).await);
    let running = Running::start(&bus(&nats.url()).await, &store, quick()).await;
    until_last(&nats.url(), 20).await;

    let admin = admin(&nats.url()).await;
    let mut edited = stream(&nats.url()).await.cached_info().config.clone();
    edited.max_age = Duration::from_secs(3_600);
    edited.max_messages = 1_000;
    edited.description = Some("mine".into());
    admin.update_stream(edited).await.unwrap();
    until("the limits are gone", || async {
        let config = stream(&nats.url()).await.cached_info().config.clone();
        config.max_age.is_zero() && config.max_messages == -1
    })
    .await;

    // what does not touch the messages is the operator's
    assert_eq!(stream(&nats.url()).await.cached_info().config.description.as_deref(), Some("mine"));
    running.stop().await;
}

#[tokio::test]
async fn a_stream_reconfigured_while_events_come_all_the_time_is_set_back() {
    let (nats, store) = (Nats::start().unwrap(), log_of(20).await);
    let running = Running::start(&bus(&nats.url()).await, &store, quick()).await;
    until_last(&nats.url(), 20).await;
    let mut edited = stream(&nats.url()).await.cached_info().config.clone();
    edited.max_age = Duration::from_secs(3_600);
    admin(&nats.url()).await.update_stream(edited).await.unwrap();

    let set_back = async {
        while !stream(&nats.url()).await.cached_info().config.max_age.is_zero() {
            // well before it would be looked at out of idleness
            running.append(&store, 1).await;
            tokio::time::sleep(quick().look_every / 4).await;
        }
    };
    tokio::time::timeout(PATIENCE, set_back).await.unwrap();
    until_last(&nats.url(), store.head().await.unwrap().offset.get()).await;

    assert_stream_is(&nats.url(), &store).await;
    running.stop().await;
}

#[tokio::test]
async fn a_stream_that_was_made_without_its_guards_gets_them() {
    let (nats, store) = (Nats::start().unwrap(), log_of(20).await);
    let made = async_nats::jetstream::stream::Config {
        name: stream_name(LOG),
        subjects: vec![subjects(LOG)],
        max_age: Duration::from_secs(60),
        ..Default::default()
    };
    admin(&nats.url()).await.create_stream(made).await.unwrap();

    let running = Running::start(&bus(&nats.url()).await, &store, quick()).await;
    until_last(&nats.url(), 20).await;

    let config = stream(&nats.url()).await.cached_info().config.clone();
    assert!(config.deny_delete && config.deny_purge && config.max_age.is_zero());
    assert_stream_is(&nats.url(), &store).await;
    running.stop().await;
}

#[tokio::test]
async fn a_stream_that_cannot_be_set_back_is_refused_and_says_why() {
    let config = || async_nats::jetstream::stream::Config {
        name: stream_name(LOG),
        subjects: vec![subjects(LOG)],
        ..Default::default()
    };
    for (made, why) in [
        (
            async_nats::jetstream::stream::Config { retention: RetentionPolicy::WorkQueue, ..config() },
            "its retention is not `limits`",
        ),
        (
            async_nats::jetstream::stream::Config { name: "OTHER".into(), ..config() },
            "another stream holds subjects",
        ),
    ] {
        let nats = Nats::start_with(NatsSettings::default()).unwrap();
        admin(&nats.url()).await.create_stream(made).await.unwrap();
        let (_versions, versions) = watch::channel(offset(1));
        let store = MemoryStore::new(LOG);
        let publisher = Publisher::new(bus(&nats.url()).await, Arc::new(store), LOG, versions);

        let error = publisher.prepare().await.unwrap_err();

        assert!(!error.is_away());
        assert!(error.to_string().contains(why), "{error}");
    }
}
