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

fn permissions(rights: &[String], subscribe: &str) -> String {
    let quoted: Vec<String> = rights.iter().map(|right| format!("\"{right}\"")).collect();
    format!(
        "authorization {{ users: [
           {{ user: ann, password: right, permissions: {{ publish: [{}], subscribe: [\"{subscribe}\"] }} }}
           {{ user: admin, password: admin }}
         ] }}",
        quoted.join(", ")
    )
}

fn server(rights: &[String], subscribe: &str) -> Nats {
    let config = Some(permissions(rights, subscribe));
    Nats::start_with(NatsSettings { config, ..NatsSettings::default() }).unwrap()
}

fn without(missing: &str) -> Vec<String> {
    publisher_rights().into_iter().filter(|right| right != missing).collect()
}

fn assert_names(error: &BusError, wanted: &str) {
    let named = matches!(error, BusError::Forbidden { action: "publish to", subject } if subject == wanted);
    assert!(named, "{wanted}: {error}");
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
async fn each_right_that_making_the_stream_takes_is_named() {
    let stream = stream_name(LOG);
    for (missing, named) in [
        (format!("$JS.API.STREAM.INFO.{stream}"), format!("$JS.API.STREAM.INFO.{stream}")),
        (format!("$JS.API.STREAM.CREATE.{stream}"), format!("$JS.API.STREAM.CREATE.{stream}")),
        (format!("charter.{LOG}.>"), format!("charter.{LOG}.probe")),
    ] {
        let error = prepared(&server(&without(&missing), "_INBOX.>")).await.unwrap_err();
        assert_names(&error, &named);
    }
    // who may not ask for this is told by what he may not do
    prepared(&server(&without("$JS.API.INFO"), "_INBOX.>")).await.unwrap();
}

#[tokio::test]
async fn the_right_to_set_a_stream_back_is_named_when_it_must_be() {
    let right = format!("$JS.API.STREAM.UPDATE.{}", stream_name(LOG));
    let nats = server(&without(&right), "_INBOX.>");
    let made = async_nats::jetstream::stream::Config {
        name: stream_name(LOG),
        subjects: vec![charter_bus_nats::subjects(LOG)],
        ..Default::default()
    };
    admin(&nats.url_as("admin", "admin")).await.create_stream(made).await.unwrap();

    assert_names(&prepared(&nats).await.unwrap_err(), &right);
}

#[tokio::test]
async fn the_right_to_read_a_message_is_named_when_there_are_any() {
    let right = format!("$JS.API.STREAM.MSG.GET.{}", stream_name(LOG));
    let nats = server(&without(&right), "_INBOX.>");
    let admin = nats.url_as("admin", "admin");
    let running = Running::start(&bus(&admin).await, &log_of(5).await, quick()).await;
    until_last(&admin, 5).await;
    running.stop().await;

    assert_names(&prepared(&nats).await.unwrap_err(), &right);
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
async fn a_right_taken_away_is_waited_for() {
    let nats = server(&publisher_rights(), "_INBOX.>");
    let (admin, store) = (nats.url_as("admin", "admin"), log_of(5).await);
    let running = Running::start(&bus(&nats.url_as("ann", "right")).await, &store, quick()).await;
    until_last(&admin, 5).await;
    let allow = |rights: &[String]| {
        let file = nats.folder().parent().unwrap().join("nats.conf");
        std::fs::write(file, permissions(rights, "_INBOX.>")).unwrap();
        nats.restart().unwrap();
    };

    allow(&without(&format!("charter.{LOG}.>")));
    running.append(&store, 5).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(last_sequence(&admin).await, 5);

    allow(&publisher_rights());
    until_last(&admin, 10).await;
    assert_stream_is(&admin, &store).await;
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
