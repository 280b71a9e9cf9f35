//! The API as other machines reach it: over TLS with the same bounds as without, with its certificate changed
//! meanwhile, behind proxies, and no more often than each may ask.
#![expect(clippy::unwrap_used, reason = "tests")]

use charter_control::{Config, Control};
use charter_http::{HttpConfig, Listening, RateLimit, Tls, router, serve_over};
use charter_store::MemoryStore;
use rustls::{
    ClientConfig, RootCertStore,
    crypto::aws_lc_rs,
    pki_types::{CertificateDer, ServerName, pem::PemObject},
};
use std::{
    net::SocketAddr,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::oneshot,
    task::JoinHandle,
};
use tokio_rustls::{TlsConnector, client::TlsStream};

/// A certificate for `localhost` and its key, in files.
struct Files {
    folder: tempfile::TempDir,
}

impl Files {
    fn new() -> Self {
        let files = Self { folder: tempfile::tempdir().unwrap() };
        files.write_anew();
        files
    }

    fn paths(&self) -> (PathBuf, PathBuf) {
        (self.folder.path().join("certificate.pem"), self.folder.path().join("key.pem"))
    }

    fn write_anew(&self) {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let (certificate, key) = self.paths();
        std::fs::write(certificate, made.cert.pem()).unwrap();
        std::fs::write(key, made.signing_key.serialize_pem()).unwrap();
    }

    fn tls(&self) -> Tls {
        let (certificate, key) = self.paths();
        Tls::from_files(&certificate, &key).unwrap()
    }

    fn client(&self, protocol: &str) -> TlsConnector {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(self.paths().0).unwrap()).unwrap();
        let builder = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()));
        let mut config = builder
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = vec![protocol.as_bytes().to_vec()];
        TlsConnector::from(Arc::new(config))
    }
}

struct Server {
    at: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    served: JoinHandle<()>,
}

async fn server(tls: Option<Tls>, config: HttpConfig) -> Server {
    let control = Control::start(Arc::new(MemoryStore::default()), Config::default()).await.unwrap().control;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let served = tokio::spawn(async move {
        let stopped = async move { drop(stopped.await) };
        let how = Listening { tls, ..Listening::default() };
        serve_over(listener, how, router(control, config), stopped).await.unwrap();
    });
    Server { at, stop: Some(stop), served }
}

impl Server {
    async fn open(&self, files: &Files, protocol: &str) -> std::io::Result<TlsStream<TcpStream>> {
        let stream = TcpStream::connect(self.at).await?;
        files.client(protocol).connect(ServerName::try_from("localhost").unwrap(), stream).await
    }

    /// What comes back until the server closes.
    async fn told(&self, files: &Files, request: &str) -> String {
        let mut stream = self.open(files, "http/1.1").await.unwrap();
        let _ = stream.write_all(request.as_bytes()).await;
        rest(&mut stream).await
    }

    /// The same in plain text.
    async fn plainly(&self, request: &str) -> String {
        let mut stream = TcpStream::connect(self.at).await.unwrap();
        let _ = stream.write_all(request.as_bytes()).await;
        rest(&mut stream).await
    }
}

async fn rest(stream: &mut (impl AsyncRead + Unpin)) -> String {
    let mut reply = Vec::new();
    let _ = stream.read_to_end(&mut reply).await;
    String::from_utf8_lossy(&reply).into_owned()
}

fn get(path: &str, headers: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{headers}\r\n")
}

#[tokio::test]
async fn over_tls_it_answers_in_both_protocols_and_says_to_stay_there() {
    let files = Files::new();
    let server = server(Some(files.tls()), HttpConfig::default()).await;
    let reply = server.told(&files, &get("/healthz", "")).await;
    assert!(
        reply.starts_with("HTTP/1.1 200") && reply.contains("strict-transport-security: max-age="),
        "{reply}"
    );

    let mut stream = server.open(&files, "h2").await.unwrap();
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
    stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0").await.unwrap();
    let mut frame = [0; 9];
    stream.read_exact(&mut frame).await.unwrap();
    assert_eq!(frame.get(3), Some(&4), "the first frame is SETTINGS");
}

#[tokio::test]
async fn plain_text_is_not_answered_where_tls_is_spoken() {
    let files = Files::new();
    let server = server(Some(files.tls()), HttpConfig::default()).await;
    let reply = server.plainly(&get("/healthz", "")).await;
    assert!(!reply.contains("HTTP/1.1"), "{reply}");
    assert!(server.told(&files, &get("/healthz", "")).await.starts_with("HTTP/1.1 200"));
}

#[tokio::test]
async fn over_tls_a_head_and_a_body_have_the_same_bounds() {
    let files = Files::new();
    let server = server(Some(files.tls()), HttpConfig::default()).await;
    let many: String = (0..200).map(|n| format!("x-{n}: y\r\n")).collect();
    let large = format!("x-large: {}\r\n", "y".repeat(1_000_000));
    for headers in [many, large] {
        let reply = server.told(&files, &get("/healthz", &headers)).await;
        assert!(reply.is_empty() || reply.starts_with("HTTP/1.1 431"), "{reply}");
    }
    let body = " ".repeat(charter_http::BODY_BYTES_MAX + 1);
    let request = format!(
        "POST /api/v1/session HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let reply = server.told(&files, &request).await;
    assert!(reply.is_empty() || reply.starts_with("HTTP/1.1 413"), "{reply}");
    assert!(server.told(&files, &get("/healthz", "")).await.starts_with("HTTP/1.1 200"));
}

#[tokio::test]
async fn those_who_stall_before_or_in_tls_keep_nobody_out_and_are_shown_the_door() {
    let files = Files::new();
    let server = server(Some(files.tls()), HttpConfig::default()).await;
    let mut stalled = Vec::new();
    for number in 0..200 {
        let mut stream = TcpStream::connect(server.at).await.unwrap();
        if number % 2 == 0 {
            // the first bytes of a ClientHello, and no more
            stream.write_all(&[0x16, 0x03, 0x01, 0x02]).await.unwrap();
        }
        stalled.push(stream);
    }
    let began = Instant::now();
    assert!(server.told(&files, &get("/healthz", "")).await.starts_with("HTTP/1.1 200"));
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    for stream in &mut stalled {
        tokio::time::timeout(Duration::from_secs(30), rest(stream)).await.unwrap();
    }
}

#[tokio::test]
async fn what_is_being_answered_over_tls_when_it_is_told_to_end_is_answered() {
    let files = Files::new();
    let mut server = server(Some(files.tls()), HttpConfig::default()).await;
    let mut stream = server.open(&files, "http/1.1").await.unwrap();
    let head = b"POST /api/v1/session HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
        content-type: application/json\r\ncontent-length: 2\r\n\r\n{";
    stream.write_all(head).await.unwrap();
    assert!(server.told(&files, &get("/healthz", "")).await.starts_with("HTTP/1.1 200"));
    server.stop.take().unwrap().send(()).unwrap();
    stream.write_all(b"}").await.unwrap();
    let reply = rest(&mut stream).await;
    assert!(reply.starts_with("HTTP/1.1 422"), "{reply}");
    tokio::time::timeout(Duration::from_secs(15), server.served).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_new_certificate_is_shown_from_then_on_and_a_broken_one_never() {
    let files = Files::new();
    let tls = files.tls();
    let server = server(Some(tls.clone()), HttpConfig::default()).await;
    let (certificate, key) = files.paths();
    let before = std::fs::read(&certificate).unwrap();

    files.write_anew();
    assert!(server.open(&files, "http/1.1").await.is_err(), "the new one is not known yet");
    tls.read_again().unwrap();
    assert!(server.told(&files, &get("/healthz", "")).await.starts_with("HTTP/1.1 200"));

    let new = std::fs::read(&certificate).unwrap();
    for broken in [&before[..], b"", b"nonsense"] {
        std::fs::write(&certificate, broken).unwrap();
        let error = tls.read_again().unwrap_err().to_string();
        assert!(error.contains("certificate.pem"), "{error}");
    }
    std::fs::write(&certificate, new).unwrap();
    let secret = std::fs::read_to_string(&key).unwrap();
    std::fs::write(&key, "nonsense").unwrap();
    let error = tls.read_again().unwrap_err().to_string();
    assert!(error.contains("key.pem") && !secret.lines().any(|line| error.contains(line)), "{error}");
    assert!(server.told(&files, &get("/healthz", "")).await.starts_with("HTTP/1.1 200"));
}

fn bounded(trusted: &[&str]) -> HttpConfig {
    HttpConfig {
        trusted_proxies: trusted.iter().map(|text| text.parse().unwrap()).collect(),
        address_rate: RateLimit::new(1, 3),
        ..HttpConfig::default()
    }
}

#[tokio::test]
async fn strangers_who_ask_too_often_are_told_when_there_is_room_and_probes_are_always_answered() {
    let server = server(None, bounded(&[])).await;
    for left in [2, 1, 0] {
        let reply = server.plainly(&get("/api/v1/setup", "")).await;
        assert!(
            reply.starts_with("HTTP/1.1 200") && reply.contains(&format!("ratelimit: \"address\";r={left}"))
        );
    }
    for headers in ["", "x-forwarded-for: 192.0.2.1\r\n", "authorization: Bearer cht_nonsense\r\n"] {
        let path = if headers.starts_with("auth") { "/api/v1/users" } else { "/api/v1/setup" };
        let reply = server.plainly(&get(path, headers)).await;
        assert!(reply.starts_with("HTTP/1.1 429") && reply.contains("\"code\":\"rate_limited\""), "{reply}");
        assert!(
            reply.contains("retry-after: ") && reply.contains("ratelimit-policy: \"address\";q=3"),
            "{reply}"
        );
        assert!(server.plainly(&get("/healthz", "")).await.starts_with("HTTP/1.1 200"));
    }
}

#[tokio::test]
async fn behind_a_trusted_proxy_each_address_has_its_own_bound() {
    let server = server(None, bounded(&["127.0.0.0/8"])).await;
    let ask = async |from: &str| {
        let reply = server.plainly(&get("/api/v1/setup", &format!("x-forwarded-for: {from}\r\n"))).await;
        reply.get(9..12).unwrap_or_default().to_owned()
    };
    for _ in 0..3 {
        assert_eq!(ask("192.0.2.1").await, "200");
    }
    assert_eq!(ask("192.0.2.1").await, "429");
    assert_eq!(ask("203.0.113.9, 192.0.2.1").await, "429", "what a client adds in front changes nothing");
    assert_eq!(ask("192.0.2.2").await, "200");
}
