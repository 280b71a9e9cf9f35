//! Wrong bodies on the routes of AuthZEN: always 400, never a decision, and what nobody knows is ignored.

use crate::{
    authzen::{Gateway, question},
    support::Api,
};
use charter_http::{ACCESS_TABLE, BODY_BYTES_MAX, HttpConfig, router};
use serde_json::{Value, json};

/// The routes that take a body; each takes this one.
const PATHS: [&str; 5] = ["evaluation", "evaluations", "search/subject", "search/resource", "search/action"];

fn good() -> Value {
    question("ada", "view", ("server", "s1"))
}

async fn gateway() -> Gateway {
    Gateway::of(Api::furnished().await).await
}

#[test]
fn every_route_of_the_standard_that_takes_a_body_is_tried() {
    let rows = ACCESS_TABLE.iter().filter_map(|row| row.path.strip_prefix("/access/v1/"));
    assert_eq!(rows.collect::<Vec<_>>(), PATHS);
}

#[tokio::test]
async fn a_body_that_is_none_is_400_on_every_route() {
    let gateway = gateway().await;
    let head = gateway.api.head();
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let in_context = format!("{{\"context\":{}1{}}}", "{\"a\":".repeat(10_000), "}".repeat(10_000));
    let text = good().to_string();
    let doubled = |member: &str| format!("{{{member},{}", text.trim_start_matches('{'));
    let twice_within = text.replace(r#""id":"s1""#, r#""id":"s2","id":"s1""#);
    assert_ne!(twice_within, text);
    for path in PATHS {
        for (body, code) in [
            (b"" as &[u8], "malformed"),
            (b" ", "malformed"),
            (b"{", "malformed"),
            (b"\xef\xbb\xbf{}", "malformed"),
            (b"{\"a\":\"\xff\"}", "malformed"),
            (b"{\"a\":\"\\ud800\"}", "malformed"),
            (b"{\"a\":NaN}", "malformed"),
            (b"{\"a\":1e400}", "malformed"),
            (b"{} {}", "malformed"),
            (deep.as_bytes(), "malformed"),
            (in_context.as_bytes(), "malformed"),
            (doubled(r#""subject":{"type":"user","id":"gateway"}"#).as_bytes(), "duplicate_member"),
            (doubled(r#""\u0073ubject":{"type":"user","id":"gateway"}"#).as_bytes(), "duplicate_member"),
            (doubled(r#""x":1,"x":2"#).as_bytes(), "duplicate_member"),
            (twice_within.as_bytes(), "duplicate_member"),
            (b"[]", "invalid_type"),
            (b"null", "invalid_type"),
            (b"true", "invalid_type"),
            (b"\"x\"", "invalid_type"),
            (b"7", "invalid_type"),
        ] {
            let reply = gateway.raw(path, "application/json", body).await;
            let shown = String::from_utf8_lossy(&body[..body.len().min(60)]).into_owned();
            assert_eq!((reply.status, reply.code()), (400, code), "{path} {shown}: {}", reply.text);
        }
    }
    gateway.api.unchanged_since(head);
}

#[tokio::test]
async fn a_content_type_or_encoding_that_is_not_taken_is_400_on_every_route() {
    let gateway = gateway().await;
    let body = good().to_string();
    for path in PATHS {
        for content_type in ["text/plain", "application/json; charset=latin1", "application/jwt", "json", ""]
        {
            let reply = gateway.raw(path, content_type, body.as_bytes()).await;
            reply.refused(400, "unsupported_media_type");
        }
        for content_type in ["application/json; charset=utf-8", "Application/JSON"] {
            gateway.raw(path, content_type, body.as_bytes()).await.ok(200);
        }
        let call = gateway.api.call("POST", &format!("/access/v1/{path}")).by(&gateway.secret);
        let call = call.header("content-encoding", "gzip").raw("application/json", body.as_bytes());
        call.send().await.refused(400, "unsupported_encoding");
    }
}

#[tokio::test]
async fn a_member_of_the_wrong_type_is_400_and_named() {
    let gateway = gateway().await;
    let others = [json!(null), json!(7), json!("x"), json!([]), json!(true), json!(-0.0)];
    for path in PATHS {
        let searched = match path {
            "search/subject" => "subject",
            "search/resource" => "resource",
            _ => "none",
        };
        for member in ["subject", "resource"] {
            for other in &others {
                let mut body = good();
                body[member] = other.clone();
                let reply = gateway.ask(path, body).await.refused(400, "invalid_type");
                assert_eq!(reply.body["field"], member, "{path} {other}");
            }
            for (part, other) in ["type", "id"].iter().flat_map(|part| others.iter().map(move |o| (part, o)))
            {
                if other.is_string() || (*part == "id" && member == searched) {
                    continue;
                }
                let mut body = good();
                body[member][part] = other.clone();
                let reply = gateway.ask(path, body).await.refused(400, "invalid_type");
                assert_eq!(reply.body["field"], format!("{member}.{part}"), "{path} {other}");
            }
        }
        for member in ["properties", "context"] {
            for other in others.iter().filter(|other| !other.is_null()) {
                let mut body = good();
                if member == "context" {
                    body["context"] = other.clone();
                } else {
                    body["subject"]["properties"] = other.clone();
                }
                gateway.ask(path, body).await.refused(400, "invalid_type");
            }
        }
    }
}

#[tokio::test]
async fn a_page_that_is_none_is_400() {
    let gateway = gateway().await;
    for page in [
        json!(7),
        json!([]),
        json!({"limit": -1}),
        json!({"limit": 1.0}),
        json!({"limit": "1"}),
        json!({"limit": 1e2}),
        json!({"token": 7}),
        json!({"token": {}}),
    ] {
        for path in &PATHS[2..] {
            let mut body = good();
            body["page"] = page.clone();
            let reply = gateway.ask(path, body).await;
            assert_eq!(reply.status, 400, "{page}: {}", reply.text);
        }
    }
    let huge =
        br#"{"subject":{"type":"user"},"action":{"name":"view"},"resource":{"type":"server","id":"s1"},
                    "page":{"limit":18446744073709551616}}"#;
    gateway.raw("search/subject", "application/json", huge).await.refused(400, "invalid_type");
    for limit in [json!(1_u64 << 31), json!(1_u64 << 63), json!(u64::MAX)] {
        let mut body = good();
        body["page"] = json!({"limit": limit});
        gateway.ask("search/subject", body).await.ok(200);
    }
    for none in [json!(null), json!({}), json!({"limit": null, "token": null}), json!({"token": ""})] {
        let mut body = good();
        body["page"] = none;
        gateway.ask("search/subject", body).await.ok(200);
    }
}

#[tokio::test]
async fn what_holds_several_questions_is_400_when_it_can_not_be_read() {
    let gateway = gateway().await;
    for evaluations in [json!(null), json!({}), json!("x"), json!([1]), json!([[]]), json!([{}, null])] {
        let mut body = good();
        body["evaluations"] = evaluations.clone();
        let reply = gateway.ask("evaluations", body).await;
        assert_eq!((reply.status, reply.code()), (400, "invalid_type"), "{evaluations}: {}", reply.text);
    }
    for options in
        [json!(7), json!([]), json!({"evaluations_semantic": 7}), json!({"evaluations_semantic": null})]
    {
        let mut body = good();
        body["options"] = options.clone();
        let reply = gateway.ask("evaluations", body).await;
        assert_eq!(reply.status, 400, "{options}: {}", reply.text);
    }
    let mut lacking = good();
    lacking.as_object_mut().unwrap().remove("resource");
    gateway.ask("evaluations", lacking).await.refused(400, "missing_member");
    let mut top = good();
    top["subject"] = json!({"type": "user"});
    top["evaluations"] = json!([{"subject": {"type": "user", "id": "ada"}}]);
    gateway.ask("evaluations", top).await.refused(400, "missing_member");
}

#[tokio::test]
async fn a_thousand_questions_are_answered_and_one_more_is_400() {
    let gateway = gateway().await;
    let asked = |count: usize| {
        let mut body = good();
        body["evaluations"] = Value::Array(vec![json!({}); count]);
        body
    };
    let reply = gateway.ask("evaluations", asked(1_000)).await.ok(200);
    assert_eq!(reply.body["evaluations"].as_array().unwrap().len(), 1_000);
    gateway.ask("evaluations", asked(1_001)).await.refused(400, "limit_exceeded");
}

#[tokio::test]
async fn a_body_beyond_the_bound_is_413() {
    let gateway = gateway().await;
    let mut body = good();
    body["context"] = json!({"x": "x".repeat(BODY_BYTES_MAX)});
    gateway.ask("evaluation", body).await.refused(413, "body_too_large");
}

#[tokio::test]
async fn a_query_is_not_taken() {
    let gateway = gateway().await;
    for (query, code) in [("as_of=1", "unsupported_parameter"), ("token=x", "credential_in_query")] {
        let call = gateway.api.call("POST", &format!("/access/v1/evaluation?{query}")).by(&gateway.secret);
        call.json(&good()).send().await.refused(400, code);
    }
}

#[tokio::test]
async fn more_than_is_answered_at_once_is_turned_away_and_never_allowed() {
    let mut gateway = gateway().await;
    let config = HttpConfig { requests_at_once_max: 0, ..HttpConfig::default() };
    gateway.api.router = router(gateway.api.control.clone(), config);
    for path in PATHS {
        gateway.ask(path, good()).await.refused(503, "overloaded");
    }
}
