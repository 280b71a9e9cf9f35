//! The API over a real socket: both protocols, the bounds on what a client sends, and the end.
#![expect(clippy::unwrap_used, reason = "tests")]

mod crowded;
mod flooded;

use axum::{body::Body, http::Request};
use charter_control::{Config, Control};
use charter_http::{BODY_BYTES_MAX, HttpConfig, Listening, router, serve_over};
use charter_store::MemoryStore;
use std::{net::SocketAddr, sync::Arc, time::Duration};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpSocket, TcpStream},
    sync::oneshot,
    task::JoinHandle,
};
use tower::ServiceExt;

struct Server {
    at: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    served: JoinHandle<()>,
}

async fn server() -> Server {
    serve_on(Control::start(Arc::new(MemoryStore::default()), Config::default()).await.unwrap().control).await
}

/// An installation, and the session of its administrator.
async fn set_up() -> (Control, String) {
    let started = Control::start(Arc::new(MemoryStore::default()), Config::default()).await.unwrap();
    let router = router(started.control.clone(), HttpConfig::default());
    let mut secret = String::new();
    for (path, body) in [
        (
            "/api/v1/setup",
            format!(
                r#"{{"code":"{}","username":"ada","password":"correct horse battery"}}"#,
                started.setup_code.unwrap().expose()
            ),
        ),
        ("/api/v1/session", r#"{"username":"ada","password":"correct horse battery"}"#.to_owned()),
    ] {
        let request =
            Request::post(path).header("content-type", "application/json").body(Body::from(body)).unwrap();
        let answer = router.clone().oneshot(request).await.unwrap();
        assert_eq!(answer.status(), 201);
        let bytes = axum::body::to_bytes(answer.into_body(), usize::MAX).await.unwrap();
        let body: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        secret = body.get("secret").and_then(serde_json::Value::as_str).unwrap_or_default().to_owned();
    }
    (started.control, secret)
}

async fn serve_on(control: Control) -> Server {
    serve_reached(control, Listening::default()).await
}

async fn serve_reached(control: Control, how: Listening) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let served = tokio::spawn(async move {
        let stopped = async move { drop(stopped.await) };
        serve_over(listener, how, router(control, HttpConfig::default()), stopped).await.unwrap();
    });
    Server { at, stop: Some(stop), served }
}

impl Server {
    async fn open(&self) -> TcpStream {
        TcpStream::connect(self.at).await.unwrap()
    }

    /// A connection from another address of this machine.
    async fn open_from(&self, from: &str) -> TcpStream {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(format!("{from}:0").parse().unwrap()).unwrap();
        socket.connect(self.at).await.unwrap()
    }

    /// What comes back until the server closes.
    async fn exchange(&self, request: &[u8]) -> String {
        let mut stream = self.open().await;
        // A server that has heard enough may close before all is written.
        let _ = stream.write_all(request).await;
        read_all(&mut stream).await
    }

    async fn answers(&self) {
        let reply = self.exchange(b"GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").await;
        assert!(reply.starts_with("HTTP/1.1 200"), "{reply}");
    }
}

async fn read_all(stream: &mut TcpStream) -> String {
    let mut reply = Vec::new();
    let _ = stream.read_to_end(&mut reply).await;
    String::from_utf8_lossy(&reply).into_owned()
}

#[tokio::test]
async fn it_answers_and_ends_when_told() {
    let mut server = server().await;
    server.answers().await;
    server.stop.take().unwrap().send(()).unwrap();
    server.served.await.unwrap();
    assert!(TcpStream::connect(server.at).await.is_err());
}

#[tokio::test]
async fn what_is_being_answered_when_it_is_told_to_end_is_answered() {
    let mut server = server().await;
    let mut stream = server.open().await;
    let head = b"POST /api/v1/session HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\
        content-type: application/json\r\ncontent-length: 2\r\n\r\n{";
    stream.write_all(head).await.unwrap();
    server.answers().await;
    server.stop.take().unwrap().send(()).unwrap();
    stream.write_all(b"}").await.unwrap();
    let reply = read_all(&mut stream).await;
    assert!(reply.starts_with("HTTP/1.1 422"), "{reply}");
    assert!(reply.contains("missing_member"), "{reply}");
    server.served.await.unwrap();
}

#[tokio::test]
async fn a_live_stream_does_not_hold_up_the_end() {
    let (control, secret) = set_up().await;
    let mut server = serve_on(control).await;
    let mut streams = Vec::new();
    for _ in 0..3 {
        let mut stream = server.open().await;
        let head = format!(
            "GET /api/v1/events HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {secret}\r\n\
             accept: text/event-stream\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut heard = Vec::new();
        while !String::from_utf8_lossy(&heard).contains("event: user.registered") {
            assert_ne!(stream.read_buf(&mut heard).await.unwrap(), 0, "closed");
        }
        streams.push(stream);
    }
    server.stop.take().unwrap().send(()).unwrap();
    for stream in &mut streams {
        let rest = read_all(stream).await;
        assert!(rest.contains(": the server is stopping"), "{rest}");
    }
    // Far below the time that running requests get to end.
    tokio::time::timeout(Duration::from_secs(10), server.served).await.unwrap().unwrap();
}

#[tokio::test]
async fn http_2_is_spoken_to_those_who_begin_with_it() {
    let server = server().await;
    let mut stream = server.open().await;
    stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await.unwrap();
    stream.write_all(&[0, 0, 0, 4, 0, 0, 0, 0, 0]).await.unwrap();
    let mut frame = [0; 9];
    stream.read_exact(&mut frame).await.unwrap();
    assert_eq!(frame.get(3), Some(&4), "the first frame is SETTINGS");
}

#[tokio::test]
async fn a_head_with_too_many_or_too_large_headers_is_431() {
    let server = server().await;
    let many: String = (0..200).map(|n| format!("x-{n}: y\r\n")).collect();
    let large = format!("x-large: {}\r\n", "y".repeat(1_000_000));
    for headers in [many, large] {
        let reply =
            server.exchange(format!("GET /healthz HTTP/1.1\r\nhost: x\r\n{headers}\r\n").as_bytes()).await;
        assert!(reply.is_empty() || reply.starts_with("HTTP/1.1 431"), "{reply}");
        server.answers().await;
    }
}

#[tokio::test]
async fn a_body_in_chunks_without_a_length_has_the_same_bound() {
    let server = server().await;
    let chunk = [b"10000\r\n".as_slice(), &[b' '; 0x10000], b"\r\n"].concat();
    let mut request = b"POST /api/v1/session HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\
        content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"
        .to_vec();
    for _ in 0..=BODY_BYTES_MAX / 0x10000 {
        request.extend(&chunk);
    }
    request.extend(b"0\r\n\r\n");
    let reply = server.exchange(&request).await;
    assert!(reply.is_empty() || reply.starts_with("HTTP/1.1 413"), "{reply}");
    server.answers().await;
}

#[tokio::test]
async fn a_body_that_breaks_off_or_lies_about_its_length_harms_nobody() {
    let server = server().await;
    for request in [
        "POST /api/v1/session HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{",
        "POST /api/v1/session HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\n{}",
        "POST /api/v1/session HTTP/1.1\r\nhost: x\r\ncontent-length: x\r\n\r\n{}",
        "\0\0\0\r\n\r\n",
        "GET",
    ] {
        let mut stream = server.open().await;
        stream.write_all(request.as_bytes()).await.unwrap();
        stream.shutdown().await.unwrap();
        let reply = read_all(&mut stream).await;
        assert!(reply.is_empty() || reply.starts_with("HTTP/1.1 4"), "{reply}");
        server.answers().await;
    }
}
