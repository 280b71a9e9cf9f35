//! Requests that are too large, too many in one, or never complete: each has its answer, none costs much memory, and
//! others are answered meanwhile.

use crate::{Server, serve_on, server, set_up};
use charter_http::BODY_BYTES_MAX;
use std::time::Duration;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// How much more memory than before a server may hold after all of it.
const GROWTH_BYTES_MAX: u64 = 50 * 1024 * 1024;

/// The memory this process holds.
fn resident() -> u64 {
    let told = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = told.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0);
    pages * 4_096
}

fn post(headers: &str) -> String {
    format!(
        "POST /api/v1/session HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\
         content-type: application/json\r\n{headers}\r\n"
    )
}

#[tokio::test]
async fn a_body_of_the_largest_size_is_read_and_one_byte_more_is_not() {
    let server = server().await;
    for (size, status) in [(BODY_BYTES_MAX - 1, "422"), (BODY_BYTES_MAX, "422"), (BODY_BYTES_MAX + 1, "413")]
    {
        let body = format!("{}{{}}", " ".repeat(size - 2));
        let request = format!("{}{body}", post(&format!("content-length: {size}\r\n")));
        let reply = server.exchange(request.as_bytes()).await;
        // A server that has heard enough may close before all is written.
        let closed = status == "413" && reply.is_empty();
        assert!(closed || reply.starts_with(&format!("HTTP/1.1 {status}")), "{size}: {reply}");
    }
    server.answers().await;
}

#[tokio::test]
async fn what_is_compressed_is_refused_before_it_is_opened() {
    let server = server().await;
    let held = resident();
    for coding in ["gzip", "br", "deflate", "identity, gzip"] {
        let headers = format!("content-encoding: {coding}\r\ncontent-length: 10\r\n");
        let request = [post(&headers).as_bytes(), b"\x1f\x8b\x08\0\0\0\0\0\0\0"].concat();
        let reply = server.exchange(&request).await;
        assert!(reply.starts_with("HTTP/1.1 415"), "{coding}: {reply}");
    }
    assert!(resident().saturating_sub(held) < GROWTH_BYTES_MAX);
}

#[tokio::test]
async fn a_hundred_thousand_headers_are_given_up_long_before_the_last() {
    let server = server().await;
    let held = resident();
    let many: String = (0..100_000).map(|number| format!("x-{number}: y\r\n")).collect();
    for _ in 0..10 {
        let request = format!("GET /healthz HTTP/1.1\r\nhost: x\r\n{many}\r\n");
        let reply = server.exchange(request.as_bytes()).await;
        assert!(reply.is_empty() || reply.starts_with("HTTP/1.1 431"), "{reply}");
        server.answers().await;
    }
    assert!(resident().saturating_sub(held) < GROWTH_BYTES_MAX);
}

/// One frame of HTTP/2.
fn frame(kind: u8, flags: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags, 0, 0, 0, stream], payload].concat()
}

/// A connection of HTTP/2 on which the head of a request with a body was sent.
async fn begun(server: &Server) -> TcpStream {
    let mut stream = server.open().await;
    stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await.unwrap();
    stream.write_all(&frame(4, 0, 0, &[])).await.unwrap();
    // POST and http by their places in the table, then path, authority and content type as they are.
    let mut head = vec![0x83, 0x86];
    for (name, value) in [(0x04, "/api/v1/session"), (0x01, "x")] {
        head.extend([name, u8::try_from(value.len()).unwrap()]);
        head.extend(value.as_bytes());
    }
    head.extend([0x0f, 0x10, 16]);
    head.extend(b"application/json");
    stream.write_all(&frame(1, 0x4, 1, &head)).await.unwrap();
    stream
}

#[tokio::test]
async fn a_million_empty_frames_hold_up_nobody_and_cost_no_memory() {
    let server = server().await;
    let mut stream = begun(&server).await;
    let held = resident();
    let empty = frame(0, 0, 1, &[]).repeat(10_000);
    let sending = tokio::spawn(async move {
        for _ in 0..100 {
            // A server that has had enough of it says so by closing.
            if stream.write_all(&empty).await.is_err() {
                return;
            }
        }
        let _ = stream.write_all(&frame(0, 0x1, 1, b"{}")).await;
        let mut heard = [0; 1_024];
        assert_ne!(stream.read(&mut heard).await.unwrap_or(0), 0, "it is answered, or the connection ends");
    });
    while !sending.is_finished() {
        tokio::time::timeout(Duration::from_secs(5), server.answers()).await.unwrap();
    }
    sending.await.unwrap();
    assert!(resident().saturating_sub(held) < GROWTH_BYTES_MAX, "{}", resident() - held);
}

#[tokio::test]
async fn a_hundred_bodies_that_do_not_come_keep_nobody_out_and_end_as_408() {
    let (control, secret) = set_up().await;
    let server = serve_on(control).await;
    let held = resident();
    let mut slow = Vec::new();
    for _ in 0..100 {
        let mut stream = server.open().await;
        stream.write_all(post("content-length: 1000000\r\n").as_bytes()).await.unwrap();
        slow.push(tokio::spawn(async move {
            let (mut reading, mut writing) = stream.into_split();
            let writing = tokio::spawn(async move {
                while writing.write_all(b" ").await.is_ok() {
                    tokio::time::sleep(Duration::from_millis(500)).await;
                }
            });
            let mut reply = Vec::new();
            let _ = reading.read_to_end(&mut reply).await;
            writing.abort();
            String::from_utf8_lossy(&reply).into_owned()
        }));
    }
    let request = format!(
        "GET /api/v1/user/me HTTP/1.1\r\nhost: x\r\nconnection: close\r\nauthorization: Bearer {secret}\r\n\r\n"
    );
    for _ in 0..20 {
        let asked = tokio::time::timeout(Duration::from_secs(5), server.exchange(request.as_bytes()));
        let reply = asked.await.unwrap();
        assert!(reply.starts_with("HTTP/1.1 200"), "{reply}");
    }
    assert!(slow.iter().all(|one| !one.is_finished()), "all of them still send");
    for one in slow {
        let reply = tokio::time::timeout(Duration::from_secs(30), one).await.unwrap().unwrap();
        assert!(reply.starts_with("HTTP/1.1 408"), "{reply}");
    }
    assert!(resident().saturating_sub(held) < GROWTH_BYTES_MAX);
    server.answers().await;
}
