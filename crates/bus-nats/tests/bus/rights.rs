//! The rights that are documented suffice, and each that is missing is named.

use crate::support::*;
use charter_bus_nats::{BusError, Consumer, Publisher, stream_name};
use charter_services::{Nats, NatsSettings};
use std::{sync::Arc, time::Duration};
use tokio::sync::watch;

/// What lib.rs says a publisher needs to publish to.
fn publisher_rights() -> Vec<String> {
    let stream = stream_name(LOG);
    let api = ["STREAM.INFO", "STREAM.CREATE", "STREAM.UPDATE", "STREAM.MSG.GET"];
    let mut rights: Vec<String> = api.iter().map(|name| format!("$JS.API.{name}.{stream}")).collect();
    rights.push("$JS.API.INFO".into());
    rights.push(format!("charter.{LOG}.>"));
    rights
}

/// What lib.rs says a consumer needs to publish to.
fn consumer_rights() -> Vec<String> {
    let stream = stream_name(LOG);
    vec![
        "$JS.API.INFO".into(),
        format!("$JS.API.CONSUMER.CREATE.{stream}"),
        format!("$JS.API.CONSUMER.MSG.NEXT.{stream}.>"),
    ]
}

fn server(rights: &[String], subscribe: &str) -> Nats {
    let quoted: Vec<String> = rights.iter().map(|right| format!("\"{right}\"")).collect();
    let config = format!(
        "authorization {{ users: [
           {{ user: ann, password: right, permissions: {{ publish: [{}], subscribe: [\"{subscribe}\"] }} }}
           {{ user: admin, password: admin }}
         ] }}",
        quoted.join(", ")
    );
    Nats::start_with(NatsSettings { config: Some(config), ..NatsSettings::default() }).unwrap()
}

async fn prepared(nats: &Nats) -> Result<(), BusError> {
    let (_versions, versions) = watch::channel(offset(5));
    let bus = charter_bus_nats::connect(&config(&nats.url_as("ann", "right"))).await?;
    Publisher::new(bus, Arc::new(log_of(5).await), LOG, versions).prepare().await
}

#[tokio::test]
async fn a_publisher_needs_no_more_than_is_documented() {
    let nats = server(&publisher_rights(), "_INBOX.>");
    let admin = nats.url_as("admin", "admin");
    prepared(&nats).await.unwrap();

    let store = log_of(5).await;
    let running = Running::start(&bus(&nats.url_as("ann", "right")).await, &store, quick()).await;
    until_last(&admin, 5).await;

    assert_stream_is(&admin, &store).await;
    running.stop().await;
}

#[tokio::test]
async fn each_right_a_publisher_lacks_is_named() {
    let log = format!("charter.{LOG}.>");
    for missing in publisher_rights() {
        // who may not ask this is told by what he may not do
        if missing == "$JS.API.INFO" || missing.contains("UPDATE") || missing.contains("MSG.GET") {
            continue;
        }
        let rights: Vec<String> = publisher_rights().into_iter().filter(|right| *right != missing).collect();
        let error = prepared(&server(&rights, "_INBOX.>")).await.unwrap_err();
        let named = if missing == log { format!("charter.{LOG}.installation.created") } else { missing };
        assert!(
            matches!(&error, BusError::Forbidden { action: "publish to", subject } if *subject == named),
            "{named}: {error}"
        );
    }
}

#[tokio::test]
async fn who_may_not_hear_answers_is_told_so() {
    let error = prepared(&server(&publisher_rights(), "nothing")).await.unwrap_err();
    let expected = "_INBOX.>";
    assert!(
        matches!(&error, BusError::Forbidden { action: "subscribe to", subject } if subject == expected),
        "{error}"
    );
}

#[tokio::test]
async fn a_right_taken_away_while_publishing_is_waited_for() {
    let rights: Vec<String> =
        publisher_rights().into_iter().filter(|right| !right.starts_with("charter.")).collect();
    let nats = server(&rights, "_INBOX.>");
    let store = log_of(5).await;
    let running = Running::start(&bus(&nats.url_as("ann", "right")).await, &store, quick()).await;
    tokio::time::sleep(Duration::from_secs(1)).await;

    assert_eq!(last_sequence(&nats.url_as("admin", "admin")).await, 0);
    assert!(running.alarms.lock().unwrap().is_empty());
    running.stop().await;
}

#[tokio::test]
async fn a_consumer_needs_no_more_than_is_documented() {
    let nats = server(&consumer_rights(), "_INBOX.>");
    let store = log_of(100).await;
    let running = Running::start(&bus(&nats.url_as("admin", "admin")).await, &store, quick()).await;
    let reader = bus(&nats.url_as("ann", "right")).await;

    let mut consumer = Consumer::open_with(&reader, start(), Source::of(&log_of(0).await), eager());
    assert_eq!(read_to(&mut consumer, 100).await, events_of(&store).await);

    assert!(consumer.from_stream());
    running.stop().await;
}
