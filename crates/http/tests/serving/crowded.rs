//! Many connections at once: how many an address may have, and what becomes of those who say nothing.

use crate::{Server, read_all, serve_reached};
use charter_control::{Config, Control};
use charter_http::Listening;
use charter_store::MemoryStore;
use std::{num::NonZeroUsize, sync::Arc, time::Duration};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// Whether a connection is open: what is asked on it is answered.
async fn is_answered(stream: &mut TcpStream) -> bool {
    if stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n").await.is_err() {
        return false;
    }
    let mut heard = Vec::new();
    while !String::from_utf8_lossy(&heard).contains("\r\n\r\n") {
        match stream.read_buf(&mut heard).await {
            Ok(0) | Err(_) => return false,
            Ok(_) => {}
        }
    }
    heard.starts_with(b"HTTP/1.1 200")
}

fn at_most(count: usize, trusted: &[&str]) -> Listening {
    Listening {
        connections_of_address_max: NonZeroUsize::new(count),
        trusted_proxies: trusted.iter().map(|text| text.parse().unwrap()).collect(),
        ..Listening::default()
    }
}

async fn bounded(how: Listening) -> Server {
    let control = Control::start(Arc::new(MemoryStore::default()), Config::default()).await.unwrap().control;
    serve_reached(control, how).await
}

#[tokio::test]
async fn what_an_address_opens_beyond_its_bound_is_closed_at_once_and_counted_and_others_are_let_in() {
    let recorder = metrics_exporter_prometheus::PrometheusBuilder::new().build_recorder();
    let told = recorder.handle();
    let _here = metrics::set_default_local_recorder(&recorder);
    let refused = || {
        let text = told.render();
        let line = text.lines().find(|line| line.starts_with("charter_http_connections_refused_total "));
        line.and_then(|line| line.rsplit(' ').next()?.parse::<u64>().ok())
    };
    let server = bounded(at_most(8, &[])).await;
    let mut open = Vec::new();
    for _ in 0..8 {
        let mut stream = server.open_from("127.0.0.2").await;
        assert!(is_answered(&mut stream).await);
        open.push(stream);
    }
    assert_eq!(refused(), Some(0));
    for more in 1..=20 {
        let mut stream = server.open_from("127.0.0.2").await;
        assert!(!is_answered(&mut stream).await, "{more} more than it may");
        assert_eq!(refused(), Some(more));
    }
    assert!(is_answered(&mut server.open_from("127.0.0.3").await).await);
    server.answers().await;
    // Whoever leaves makes room, as soon as the server has seen that he left.
    open.truncate(7);
    let until_there_is_room = async {
        while !is_answered(&mut server.open_from("127.0.0.2").await).await {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), until_there_is_room).await.unwrap();
    for stream in &mut open {
        assert!(is_answered(stream).await, "those who were in stay");
    }
}

#[tokio::test]
async fn a_trusted_proxy_may_have_as_many_connections_as_it_needs() {
    let server = bounded(at_most(2, &["127.0.0.2/32"])).await;
    let mut open = Vec::new();
    for _ in 0..20 {
        let mut stream = server.open_from("127.0.0.2").await;
        assert!(is_answered(&mut stream).await);
        open.push(stream);
    }
    let mut others = [server.open_from("127.0.0.3").await, server.open_from("127.0.0.3").await];
    for stream in &mut others {
        assert!(is_answered(stream).await);
    }
    assert!(!is_answered(&mut server.open_from("127.0.0.3").await).await);
}

#[tokio::test]
async fn a_thousand_who_say_nothing_or_next_to_nothing_keep_nobody_out_and_are_shown_the_door() {
    let server = bounded(at_most(1_000, &[])).await;
    let mut stalled = Vec::new();
    for number in 0..1_000 {
        let mut stream = server.open_from("127.0.0.2").await;
        stalled.push(tokio::spawn(async move {
            let said: &[u8] = match number % 4 {
                0 => b"",
                1 => b"PRI * HTTP/2.0\r\n",
                2 => b"GET /healthz HTTP/1.1\r\nhost: x\r\nx-",
                _ => b"POST /api/v1/session HTTP/1.1\r\n",
            };
            stream.write_all(said).await.unwrap();
            // Some of them go on with a byte a second.
            while number % 8 >= 4 && number % 4 >= 2 && stream.write_all(b"a").await.is_ok() {
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
            drop(read_all(&mut stream).await);
        }));
    }
    assert!(!is_answered(&mut server.open_from("127.0.0.2").await).await, "all of them are in");
    for _ in 0..5 {
        tokio::time::timeout(Duration::from_secs(5), server.answers()).await.unwrap();
        assert!(is_answered(&mut server.open_from("127.0.0.3").await).await);
    }
    assert!(
        stalled.iter().all(|one| !one.is_finished()),
        "all of them still were while the others were served"
    );
    let all_closed = async {
        for one in stalled {
            one.await.unwrap();
        }
    };
    // Each is given ten seconds.
    tokio::time::timeout(Duration::from_secs(30), all_closed).await.unwrap();
    let until_there_is_room = async {
        while !is_answered(&mut server.open_from("127.0.0.2").await).await {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), until_there_is_room).await.unwrap();
}
