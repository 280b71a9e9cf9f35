//! Traces, as a collector gets them: a request continues its sender's trace and says nothing that is secret; nothing
//! is sent unless asked for; and a collector that is away or hangs costs spans and nothing else.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

use charter_tests::{ADMIN, Caller, Database, Installation, Metrics, PASSWORD, Server, eventually};
use opentelemetry_proto::tonic::{
    collector::trace::v1::ExportTraceServiceRequest,
    common::v1::any_value::Value as Of,
    trace::v1::{Span, span::SpanKind, status::StatusCode},
};
use prost::Message;
use serde_json::json;
use std::{
    collections::BTreeMap,
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

/// A collector on loopback.
struct Collector {
    url: String,
    connections: Arc<AtomicUsize>,
    /// The bodies it was sent.
    bodies: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl Collector {
    /// One that takes what it is sent; or one that never answers.
    fn new(answers: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let collector = Self { url, connections: Arc::default(), bodies: Arc::default() };
        let (connections, bodies) = (Arc::clone(&collector.connections), Arc::clone(&collector.bodies));
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                connections.fetch_add(1, Ordering::SeqCst);
                let bodies = Arc::clone(&bodies);
                std::thread::spawn(move || serve(stream, answers, &bodies));
            }
        });
        collector
    }

    /// Every span it was sent, and the attributes of whoever sent it.
    fn spans(&self) -> Vec<(Span, BTreeMap<String, String>)> {
        let mut all = Vec::new();
        for body in self.bodies.lock().unwrap().iter() {
            for of_one in ExportTraceServiceRequest::decode(body.as_slice()).unwrap().resource_spans {
                let resource = attributes(&of_one.resource.unwrap().attributes);
                let spans = of_one.scope_spans.into_iter().flat_map(|scope| scope.spans);
                all.extend(spans.map(|span| (span, resource.clone())));
            }
        }
        all
    }

    fn of_trace(&self, trace: &str) -> Vec<Span> {
        self.spans().into_iter().map(|(span, _)| span).filter(|span| hex(&span.trace_id) == trace).collect()
    }
}

/// Answers the requests of one connection, each with a length.
fn serve(mut stream: TcpStream, answers: bool, bodies: &Mutex<Vec<Vec<u8>>>) {
    let mut heard = Vec::new();
    loop {
        let head = loop {
            if let Some(end) = heard.windows(4).position(|four| four == b"\r\n\r\n") {
                break end + 4;
            }
            if !reads(&mut stream, &mut heard) {
                return;
            }
        };
        let text = String::from_utf8_lossy(&heard[..head]).to_lowercase();
        assert!(text.starts_with("post /v1/traces http/1.1"), "{text}");
        assert!(text.contains("content-type: application/x-protobuf"), "{text}");
        let length =
            text.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok());
        let end = head + length.unwrap();
        while heard.len() < end {
            if !reads(&mut stream, &mut heard) {
                return;
            }
        }
        bodies.lock().unwrap().push(heard[head..end].to_vec());
        heard.drain(..end);
        let answer = b"HTTP/1.1 200 OK\r\ncontent-type: application/x-protobuf\r\ncontent-length: 0\r\n\r\n";
        if answers && stream.write_all(answer).is_err() {
            return;
        }
    }
}

fn reads(stream: &mut TcpStream, into: &mut Vec<u8>) -> bool {
    let mut some = [0; 16_384];
    match stream.read(&mut some) {
        Ok(0) | Err(_) => false,
        Ok(count) => {
            into.extend_from_slice(&some[..count]);
            true
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn attributes(of: &[opentelemetry_proto::tonic::common::v1::KeyValue]) -> BTreeMap<String, String> {
    let told = |value: &Of| match value {
        Of::StringValue(text) => text.clone(),
        Of::IntValue(number) => format!("{number}"),
        other => format!("{other:?}"),
    };
    let value = |pair: &opentelemetry_proto::tonic::common::v1::KeyValue| {
        pair.value.as_ref().and_then(|any| any.value.as_ref()).map(told).unwrap_or_default()
    };
    of.iter().map(|pair| (pair.key.clone(), value(pair))).collect()
}

const PARENT: &str = "00f067aa0ba902b7";
/// Everything a span may say.
const SAID: [&str; 7] = [
    "http.request.method",
    "http.route",
    "http.response.status_code",
    "charter.policy_version",
    "charter.problem",
    "charter.command",
    "charter.events",
];

fn traced(caller: &Caller, method: &str, path: &str, trace: &str, flags: &str) -> reqwest::RequestBuilder {
    let parent = format!("00-{trace}-{PARENT}-{flags}");
    caller.request(method.parse().unwrap(), path).header("traceparent", parent)
}

fn nothing_else_is_said(spans: &[(Span, BTreeMap<String, String>)]) {
    assert!(spans.len() > 10);
    for (span, resource) in spans {
        assert_eq!((resource["service.name"].as_str(), resource.len()), ("charter-test", 2));
        assert!(span.events.is_empty(), "logs are no part of traces: {span:?}");
        for name in attributes(&span.attributes).keys() {
            assert!(SAID.contains(&name.as_str()), "{name} in {span:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_continues_its_senders_trace_and_tells_nothing_that_is_secret() {
    let collector = Collector::new(true);
    let installation = Installation::new(Database::Sqlite)
        .unwrap()
        .with("CHARTER_OTLP_ENDPOINT", &collector.url)
        .with("CHARTER_OTLP_SERVICE_NAME", "charter-test")
        .with("CHARTER_LOG_FORMAT", "json")
        .with("CHARTER_LOG", "trace");
    let server = Server::start(&installation).await.unwrap();
    let code = server.setup_code.clone().unwrap();
    let admin = server.set_up().await.unwrap();
    let me = admin.get("/api/v1/user/me").await.unwrap().expect(200).unwrap();
    let id =
        me.body.pointer("/id").or_else(|| me.body.pointer("/user/id")).unwrap().as_str().unwrap().to_owned();

    let (read, wrote, missed) = ("a".repeat(32), "b".repeat(32), "c".repeat(32));
    let path = format!("/api/v1/users/{id}");
    let seen = admin.send(traced(&admin, "GET", &path, &read, "01")).await.unwrap().expect(200).unwrap();
    let group = traced(&admin, "POST", "/api/v1/groups", &wrote, "01")
        .header("x-reason", "canary-reason")
        .header("x-request-id", "canary-request")
        .header("tracestate", "canary=state")
        .json(&json!({"slug": "canary-slug", "name": "canary-name"}));
    let made = admin.send(group).await.unwrap().expect(201).unwrap();
    let query = traced(&admin, "GET", "/api/v1/users?token=canary-query", &missed, "01");
    admin.send(query).await.unwrap().expect(400).unwrap();
    let printed = server.printed();
    server.stop().unwrap();

    let [span] = collector.of_trace(&read).try_into().unwrap();
    assert_eq!((hex(&span.parent_span_id).as_str(), span.name.as_str()), (PARENT, "GET /api/v1/users/{id}"));
    assert_eq!((span.kind(), span.trace_state.as_str()), (SpanKind::Server, ""));
    let version = seen.version.unwrap().to_string();
    let expected = [
        ("http.request.method", "GET"),
        ("http.route", "/api/v1/users/{id}"),
        ("http.response.status_code", "200"),
        ("charter.policy_version", version.as_str()),
    ];
    let expected: BTreeMap<_, _> =
        expected.map(|(name, value)| (name.to_owned(), value.to_owned())).into_iter().collect();
    assert_eq!(attributes(&span.attributes), expected);

    // Of a command also what was done for it, each within the one before it.
    let spans = collector.of_trace(&wrote);
    let named = |name: &str| {
        spans.iter().find(|span| span.name == name).unwrap_or_else(|| panic!("{name}: {spans:?}"))
    };
    let (request, command) = (named("POST /api/v1/groups"), named("command"));
    assert_eq!(hex(&request.parent_span_id), PARENT);
    assert_eq!(command.parent_span_id, request.span_id);
    assert_eq!(named("decide").parent_span_id, command.span_id);
    assert_eq!(named("append").parent_span_id, command.span_id);
    assert_eq!(attributes(&command.attributes)["charter.command"], "group.create");
    assert_eq!(attributes(&request.attributes)["charter.policy_version"], made.version.unwrap().to_string());

    let [refused] = collector.of_trace(&missed).try_into().unwrap();
    assert_eq!(attributes(&refused.attributes)["charter.problem"], "credential_in_query");
    assert_ne!(refused.status.unwrap_or_default().code(), StatusCode::Error, "it is the caller's mistake");

    nothing_else_is_said(&collector.spans());
    let secret = admin.secret().unwrap().to_owned();
    for body in collector.bodies.lock().unwrap().iter() {
        let text = String::from_utf8_lossy(body);
        for canary in ["canary", &code, PASSWORD, &secret, &id, &format!("\"{ADMIN}\""), "traceparent"] {
            assert!(!text.contains(canary), "{canary} is told to the collector");
        }
    }
    // The access log names the trace, and has none of the spans.
    assert!(printed.contains(&format!("\"trace_id\":\"{read}\"")));
    assert!(!printed.contains("otel.name") && !printed.contains("charter::trace"));
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_sent_unless_it_is_asked_for_and_of_those_who_do_not_trace_never() {
    let (foreign, silent) = (Collector::new(true), Collector::new(true));
    let without = Installation::new(Database::Sqlite)
        .unwrap()
        .with("OTEL_EXPORTER_OTLP_ENDPOINT", &foreign.url)
        .with("OTEL_TRACES_SAMPLER", "always_on");
    let none = Installation::new(Database::Sqlite)
        .unwrap()
        .with("CHARTER_OTLP_ENDPOINT", &silent.url)
        .with("CHARTER_OTLP_SAMPLE_RATIO", "0")
        .with("OTEL_TRACES_SAMPLER", "always_on");
    for (installation, wished) in [(without, 0), (none, 1)] {
        let server = Server::start(&installation).await.unwrap();
        let admin = server.set_up().await.unwrap();
        for flags in ["00", "02"] {
            let asked = traced(&admin, "GET", "/api/v1/user/me", &"a".repeat(32), flags);
            admin.send(asked).await.unwrap().expect(200).unwrap();
        }
        // A sender who traces is followed, within a bound, whatever the server's own share.
        let asked = traced(&admin, "GET", "/api/v1/user/me", &"b".repeat(32), "01");
        admin.send(asked).await.unwrap().expect(200).unwrap();
        server.stop().unwrap();
        assert_eq!(silent.of_trace(&"b".repeat(32)).len(), wished);
    }
    assert_eq!((foreign.connections.load(Ordering::SeqCst), foreign.spans().len()), (0, 0));
    assert_eq!(silent.spans().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collector_that_is_away_or_hangs_costs_spans_and_nothing_else() {
    let closed = {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}", listener.local_addr().unwrap())
    };
    let hanging = Collector::new(false);
    for (url, is_away) in [(&closed, true), (&hanging.url, false)] {
        let installation = Installation::new(Database::Sqlite).unwrap().with("CHARTER_OTLP_ENDPOINT", url);
        let server = Server::start(&installation).await.unwrap();
        let admin = server.set_up().await.unwrap();
        let lost = async || Metrics::of(&admin).await.unwrap().value("charter_trace_spans_total").unwrap();
        for number in 0..20 {
            let body = json!({"slug": format!("g{number}"), "name": "G"});
            admin.post("/api/v1/groups", &body).await.unwrap().expect(201).unwrap();
        }
        if is_away {
            // Again and again, and told once.
            for _ in 0..3 {
                let before = lost().await;
                eventually("spans are lost", 30, async || lost().await > before).await.unwrap();
            }
            assert_eq!(server.printed().matches("traces are lost").count(), 1, "{}", server.printed());
        } else {
            eventually("it tries", 30, async || hanging.connections.load(Ordering::SeqCst) > 0)
                .await
                .unwrap();
        }
        assert!(!server.printed().contains("panicked"), "{}", server.printed());
        let began = Instant::now();
        server.stop().unwrap();
        assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    }
}

#[test]
fn an_address_that_can_not_be_used_keeps_a_server_from_starting_and_is_not_repeated() {
    for wrong in ["http://user:canary@127.0.0.1:4318", "ftp://canary", "canary"] {
        let installation = Installation::new(Database::Sqlite).unwrap().with("CHARTER_OTLP_ENDPOINT", wrong);
        let output = installation.run(&["serve", "--listen", "127.0.0.1:0"]).unwrap();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{told}");
        assert!(told.contains("collector") && !told.contains("canary"), "{told}");
    }
}
