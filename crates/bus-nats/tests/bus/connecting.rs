//! Whoever configured the bus wrongly is told in one line what to change, and never sees a secret there.

use crate::support::config;
use charter_bus_nats::{BusError, NatsConfig, connect, connect_later};
use charter_services::{Nats, NatsSettings};
use std::io::{BufRead, BufReader, Write};

fn started(config: &str) -> Nats {
    Nats::start_with(NatsSettings { config: Some(config.to_owned()), ..NatsSettings::default() }).unwrap()
}

async fn refusal(config: &NatsConfig) -> BusError {
    let error = connect(config).await.unwrap_err();
    let text = error.to_string();
    assert!(!text.contains("hidden") && !format!("{error:?}").contains("hidden"), "{text}");
    assert_eq!(text.lines().count(), 1);
    error
}

#[tokio::test]
async fn a_server_that_is_not_there_may_come_later() {
    // a port that was free a moment ago
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let config = config(&format!("nats://ann:hidden@127.0.0.1:{port}"));

    let error = refusal(&config).await;

    assert!(error.is_away());
    let url = format!("`nats://***@127.0.0.1:{port}`");
    assert!(error.to_string().contains(&url) && error.to_string().contains("CHARTER_NATS_URL"), "{error}");
    assert!(!connect_later(&config).await.unwrap().is_connected());
}

#[tokio::test]
async fn a_wrong_user_password_or_token_is_named() {
    let nats = started("authorization { user: ann, password: right }");
    for url in [nats.url_as("ann", "hidden"), nats.url_as("bob", "hidden"), nats.url()] {
        let error = refusal(&config(&url)).await;
        assert!(matches!(error, BusError::Unauthorized { .. }), "{error}");
        assert!(error.to_string().contains("CHARTER_NATS_URL"), "{error}");
    }
    connect(&config(&nats.url_as("ann", "right"))).await.unwrap();

    let nats = started("authorization { token: right }");
    let url = |token: &str| format!("nats://{token}@127.0.0.1:{}", nats.port());
    assert!(matches!(refusal(&config(&url("hidden"))).await, BusError::Unauthorized { .. }));
    connect(&config(&url("right"))).await.unwrap();
}

#[tokio::test]
async fn a_file_of_credentials_that_is_missing_or_none_is_named() {
    let nats = Nats::start().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let garbage = folder.path().join("garbage.creds");
    std::fs::write(&garbage, "hidden").unwrap();
    for path in [folder.path().join("missing.creds"), garbage] {
        let config = NatsConfig { credentials_file: Some(path.clone()), ..config(&nats.url()) };
        let error = refusal(&config).await;
        assert!(!error.is_away());
        assert!(error.to_string().contains(path.to_str().unwrap()), "{error}");
        assert!(error.to_string().contains("CHARTER_NATS_CREDENTIALS"), "{error}");
        assert!(connect_later(&config).await.is_err());
    }
}

#[tokio::test]
async fn a_server_without_jetstream_is_named() {
    let settings = NatsSettings { without_jetstream: true, ..NatsSettings::default() };
    let nats = Nats::start_with(settings).unwrap();

    let error = refusal(&config(&nats.url())).await;

    assert!(matches!(error, BusError::NoJetStream { .. }), "{error}");
    assert!(error.to_string().contains("--jetstream"), "{error}");
}

#[tokio::test]
async fn an_account_without_jetstream_is_named() {
    let nats = started("accounts { A { users: [{ user: ann, password: right }] } }");

    let error = refusal(&config(&nats.url_as("ann", "right"))).await;

    assert!(matches!(error, BusError::NoJetStream { .. }), "{error}");
}

#[tokio::test]
async fn a_server_that_takes_only_small_messages_is_named() {
    let nats = started("max_payload: 65536");

    let error = refusal(&config(&nats.url())).await;

    assert!(matches!(error, BusError::MaxPayload { found: 65_536, .. }), "{error}");
}

#[tokio::test]
async fn a_server_without_tls_is_not_taken_for_one_with_it() {
    let nats = Nats::start().unwrap();

    let error = refusal(&config(&nats.url().replace("nats://", "tls://"))).await;

    assert!(matches!(error, BusError::Tls { .. }), "{error}");
}

#[tokio::test]
async fn a_server_that_is_too_old_is_named_with_its_version() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    // says what a server says, and answers the first ping
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let info =
            r#"{"server_id":"X","version":"2.9.10","max_payload":1048576,"headers":true,"jetstream":true}"#;
        stream.write_all(format!("INFO {info}\r\n").as_bytes()).unwrap();
        for line in BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok) {
            if line == "PING" {
                stream.write_all(b"PONG\r\n").unwrap();
            }
        }
    });

    let error = refusal(&config(&format!("nats://127.0.0.1:{port}"))).await;

    assert!(matches!(&error, BusError::TooOld { found, .. } if found == "2.9.10"), "{error}");
    assert!(error.to_string().contains("2.10"), "{error}");
}
