//! The certification scenario of the AuthZEN Authorization API 1.0: its fixture, and every clause of its Core levels
//! and of discovery. Its Properties levels are about attributes in the request, which decide nothing here.

use crate::{
    authzen::Gateway,
    support::{Api, Reply},
};
use serde_json::{Value, json};

/// `alice` reads and writes `record-1`, `bob` reads it.
async fn fixture() -> Gateway {
    let api = Api::new().await;
    let keys = ["read", "write", "delete"].map(|action| format!("docs.record.{action}"));
    let permissions: Vec<Value> =
        keys.iter().map(|key| json!({"key": key, "object_types": ["record"]})).collect();
    let aliases = json!({"read": keys[0], "write": keys[1], "delete": keys[2]});
    let record = json!({"name": "record", "read": keys[0], "create": keys[1], "manage": keys[2],
                        "aliases": aliases});
    let document = json!({"permissions": permissions, "object_types": [record]});
    api.admin("PUT", "/catalog/docs", document).await.ok(200);
    for user in ["alice", "bob"] {
        api.user_without_token(user).await;
    }
    for name in ["record-1", "record-2"] {
        let object = json!({"type": "record", "name": name, "external_id": name});
        api.admin("POST", "/objects", object).await.ok(201);
    }
    api.give("user:alice", &["docs.record.read", "docs.record.write"], "record:record-1").await;
    api.give("user:bob", &["docs.record.read"], "record:record-1").await;
    Gateway::of(api).await
}

fn alice() -> Value {
    json!({"type": "user", "id": "alice"})
}

fn record(id: &str) -> Value {
    json!({"type": "record", "id": id})
}

fn question() -> Value {
    json!({"subject": alice(), "action": {"name": "read"}, "resource": record("record-1")})
}

fn with(mut body: Value, member: &str, value: Value) -> Value {
    body[member] = value;
    body
}

fn without(mut body: Value, path: &[&str]) -> Value {
    let (last, above) = path.split_last().unwrap();
    let at = above.iter().fold(&mut body, |at, member| &mut at[*member]);
    at.as_object_mut().unwrap().remove(*last).unwrap();
    body
}

fn context() -> Value {
    json!({"time": "2025-06-27T18:03-07:00", "ip": "192.168.1.1"})
}

#[track_caller]
fn is_json(reply: &Reply) {
    assert_eq!((reply.status, reply.header("content-type")), (200, "application/json"), "{}", reply.text);
}

#[track_caller]
fn decided(reply: &Reply, decision: bool) {
    is_json(reply);
    assert_eq!(reply.body, json!({"decision": decision}));
}

#[tokio::test]
async fn c_2_2_1_a_request_that_is_permitted() {
    decided(&fixture().await.ask("evaluation", question()).await, true);
}

#[tokio::test]
async fn c_2_2_2_a_request_that_is_denied() {
    let body = json!({"subject": {"type": "user", "id": "bob"}, "action": {"name": "write"},
                      "resource": record("record-1")});
    decided(&fixture().await.ask("evaluation", body).await, false);
}

#[tokio::test]
async fn c_2_2_3_a_request_with_optional_context() {
    decided(&fixture().await.ask("evaluation", with(question(), "context", context())).await, true);
}

#[tokio::test]
async fn c_2_2_8_a_request_with_additional_properties() {
    let body = json!({
        "subject": {"type": "user", "id": "alice", "properties": {"department": "Sales", "role": "manager"}},
        "action": {"name": "read", "properties": {"method": "GET"}},
        "resource": {"type": "record", "id": "record-1", "properties": {"status": "active", "owner": "bob"}},
    });
    decided(&fixture().await.ask("evaluation", body).await, true);
}

#[tokio::test]
async fn c_2_2_9_a_request_with_unknown_fields() {
    let body = with(with(question(), "foo", json!("bar")), "futureField", json!({"nested": true}));
    decided(&fixture().await.ask("evaluation", body).await, true);
}

#[tokio::test]
async fn c_2_3_1_the_decision_is_a_boolean() {
    let gateway = fixture().await;
    for action in ["read", "delete"] {
        let reply = gateway.ask("evaluation", with(question(), "action", json!({"name": action}))).await;
        assert_eq!(reply.body["decision"].as_bool(), Some(action == "read"), "{}", reply.text);
    }
}

#[tokio::test]
async fn c_2_3_2_a_context_in_the_answer_is_an_object() {
    let gateway = fixture().await;
    let reply = gateway.ask("evaluation", with(question(), "context", json!({"explain": true}))).await;
    is_json(&reply);
    assert!(reply.body["context"].is_object() && reply.body["decision"] == true, "{}", reply.text);
}

#[tokio::test]
async fn c_2_4_1_a_missing_required_field_is_400() {
    let gateway = fixture().await;
    for member in ["subject", "action", "resource"] {
        let reply = gateway.ask("evaluation", without(question(), &[member])).await;
        assert_eq!(reply.refused(400, "missing_member").body["field"], member);
    }
}

#[tokio::test]
async fn c_2_4_2_a_missing_required_sub_field_is_400() {
    let gateway = fixture().await;
    for path in
        [["subject", "type"], ["subject", "id"], ["action", "name"], ["resource", "type"], ["resource", "id"]]
    {
        let reply = gateway.ask("evaluation", without(question(), &path)).await;
        assert_eq!(reply.refused(400, "missing_member").body["field"], path.join("."));
    }
}

#[tokio::test]
async fn c_2_4_3_an_invalid_content_type_is_400() {
    let gateway = fixture().await;
    for content_type in ["text/plain", "application/xml", "application/problem+json"] {
        let reply = gateway.raw("evaluation", content_type, question().to_string().as_bytes()).await;
        reply.refused(400, "unsupported_media_type");
    }
    let call = gateway.api.call("POST", "/access/v1/evaluation").by(&gateway.secret);
    call.send().await.refused(400, "unsupported_media_type");
}

#[tokio::test]
async fn c_2_4_4_malformed_json_is_400() {
    let reply = fixture().await.raw("evaluation", "application/json", b"{\"subject\": ").await;
    reply.refused(400, "malformed");
}

#[tokio::test]
async fn c_2_4_5_an_empty_body_is_400() {
    fixture().await.raw("evaluation", "application/json", b"").await.refused(400, "malformed");
}

#[tokio::test]
async fn c_2_4_6_a_field_of_an_invalid_type_is_400() {
    let gateway = fixture().await;
    for (member, value) in [("subject", json!("alice")), ("action", json!({"name": 123}))] {
        let reply = gateway.ask("evaluation", with(question(), member, value)).await;
        reply.refused(400, "invalid_type");
    }
}

#[tokio::test]
async fn c_2_5_1_a_request_id_is_echoed() {
    let gateway = fixture().await;
    for id in ["bfe9eb29-ab87-4ca3-be83-a1d5d8305716", "an arbitrary string, (of 7)", &"x".repeat(300)] {
        for (path, body) in [("evaluation", question()), ("evaluation", json!({})), ("nowhere", json!({}))] {
            let call = gateway.api.call("POST", &format!("/access/v1/{path}")).by(&gateway.secret);
            let reply = call.header("x-request-id", id).json(&body).send().await;
            assert_eq!(reply.header("x-request-id"), id, "{path}");
        }
    }
}

#[tokio::test]
async fn c_2_5_2_a_request_without_an_id_does_not_fail() {
    let reply = fixture().await.ask("evaluation", question()).await;
    decided(&reply, true);
    assert_eq!(reply.header("x-request-id").len(), 36, "one is made");
}

#[tokio::test]
async fn c_2_6_the_same_request_again_is_answered_the_same() {
    let gateway = fixture().await;
    for _ in 0..10 {
        decided(&gateway.ask("evaluation", question()).await, true);
    }
}

#[track_caller]
fn decisions(reply: &Reply, expected: &[bool]) {
    is_json(reply);
    let each: Vec<Value> = expected.iter().map(|decision| json!({"decision": decision})).collect();
    assert_eq!(reply.body, json!({"evaluations": each}));
}

#[tokio::test]
async fn c_3_2_1_a_batch_with_an_evaluations_array() {
    let body = json!({"subject": alice(), "action": {"name": "read"},
                      "evaluations": [{"resource": record("record-1")}, {"resource": record("record-2")}]});
    decisions(&fixture().await.ask("evaluations", body).await, &[true, false]);
}

#[tokio::test]
async fn c_3_2_2_a_batch_with_both_decisions() {
    let body = json!({"subject": {"type": "user", "id": "bob"}, "resource": record("record-1"),
                      "evaluations": [{"action": {"name": "read"}}, {"action": {"name": "write"}}]});
    decisions(&fixture().await.ask("evaluations", body).await, &[true, false]);
}

#[tokio::test]
async fn c_3_2_5_a_batch_without_defaults() {
    let denied = json!({"subject": {"type": "user", "id": "bob"}, "action": {"name": "write"},
                        "resource": record("record-1")});
    let body = json!({"evaluations": [question(), denied]});
    decisions(&fixture().await.ask("evaluations", body).await, &[true, false]);
}

#[tokio::test]
async fn c_3_2_6_a_batch_that_inherits_its_context() {
    let gateway = fixture().await;
    let overriding = json!({"time": "2025-06-27T19:00-07:00", "source": "batch-override"});
    let body = |top: Value, own: Value| {
        json!({"subject": alice(), "action": {"name": "read"}, "context": top, "evaluations": [
            {"resource": record("record-1")}, {"resource": record("record-2"), "context": own}]})
    };
    decisions(&gateway.ask("evaluations", body(context(), overriding)).await, &[true, false]);
    let reply = gateway.ask("evaluations", body(json!({"explain": true}), json!({}))).await.ok(200);
    let told = reply.body["evaluations"].as_array().unwrap();
    assert!(told[0]["context"].is_object() && told[1].get("context").is_none(), "{}", reply.text);
}

/// Of a Properties clause, what is no question of properties.
#[tokio::test]
async fn c_3_2_7_a_batch_whose_items_leave_all_to_the_top() {
    let body = json!({"subject": alice(), "action": {"name": "write"}, "resource": record("record-1"),
                      "evaluations": [{}, {"resource": record("record-2")}]});
    decisions(&fixture().await.ask("evaluations", body).await, &[true, false]);
}

#[tokio::test]
async fn c_3_3_answers_are_as_many_and_in_the_order_of_the_questions_and_nothing_else() {
    let gateway = fixture().await;
    let asked = ["read", "delete", "write", "read", "no-such-action", "write", "delete"];
    let items: Vec<Value> = asked.iter().map(|name| json!({"action": {"name": name}})).collect();
    let body = json!({"subject": alice(), "resource": record("record-1"), "evaluations": items});
    let expected = asked.map(|name| ["read", "write"].contains(&name));
    decisions(&gateway.ask("evaluations", body).await, &expected);
}

#[tokio::test]
async fn c_3_4_1_an_item_that_lacks_something_is_false_and_the_others_are_answered() {
    let body = json!({"subject": alice(), "action": {"name": "read"},
                      "options": {"evaluations_semantic": "execute_all"},
                      "evaluations": [{"resource": record("record-1")}, {}]});
    decisions(&fixture().await.ask("evaluations", body).await, &[true, false]);
}

#[tokio::test]
async fn c_3_4_2_without_evaluations_it_is_one_question() {
    decided(&fixture().await.ask("evaluations", question()).await, true);
}

#[tokio::test]
async fn c_3_4_3_with_no_evaluation_in_the_array_it_is_one_question() {
    decided(&fixture().await.ask("evaluations", with(question(), "evaluations", json!([]))).await, true);
}

fn who() -> Value {
    json!({"subject": {"type": "user"}, "action": {"name": "read"}, "resource": record("record-1")})
}

fn on_what() -> Value {
    json!({"subject": alice(), "action": {"name": "read"}, "resource": {"type": "record"}})
}

fn what() -> Value {
    json!({"subject": alice(), "resource": record("record-1")})
}

#[track_caller]
fn found(reply: &Reply, expected: &[Value]) {
    is_json(reply);
    assert_eq!(reply.body["results"].as_array().unwrap(), expected);
    assert_eq!(reply.body["page"], json!({"next_token": ""}));
}

fn users(names: &[&str]) -> Vec<Value> {
    names.iter().map(|name| json!({"type": "user", "id": name})).collect()
}

#[tokio::test]
async fn c_4_2_1_a_subject_search_finds_who_may() {
    // The administrator may do everything.
    found(&fixture().await.ask("search/subject", who()).await, &users(&["ada", "alice", "bob"]));
}

#[tokio::test]
async fn c_4_2_2_a_subject_search_with_context() {
    let reply = fixture().await.ask("search/subject", with(who(), "context", context())).await;
    found(&reply, &users(&["ada", "alice", "bob"]));
}

#[tokio::test]
async fn c_4_2_3_a_subject_search_ignores_an_id_of_the_subject() {
    let gateway = fixture().await;
    for id in [json!("alice"), json!("nobody"), json!(7)] {
        let body = with(who(), "subject", json!({"type": "user", "id": id}));
        found(&gateway.ask("search/subject", body).await, &users(&["ada", "alice", "bob"]));
    }
}

#[tokio::test]
async fn c_4_3_1_a_resource_search_finds_on_what() {
    found(&fixture().await.ask("search/resource", on_what()).await, &[record("record-1")]);
}

#[tokio::test]
async fn c_4_3_2_a_resource_search_with_context() {
    let reply = fixture().await.ask("search/resource", with(on_what(), "context", context())).await;
    found(&reply, &[record("record-1")]);
}

#[tokio::test]
async fn c_4_3_3_a_resource_search_ignores_an_id_of_the_resource() {
    let gateway = fixture().await;
    for id in ["record-1", "record-2", "nothing"] {
        let body = with(on_what(), "resource", record(id));
        found(&gateway.ask("search/resource", body).await, &[record("record-1")]);
    }
}

#[tokio::test]
async fn c_4_4_1_an_action_search_finds_what() {
    let reply = fixture().await.ask("search/action", what()).await;
    found(&reply, &[json!({"name": "read"}), json!({"name": "write"})]);
}

#[tokio::test]
async fn c_4_4_2_an_action_search_with_context() {
    let reply = fixture().await.ask("search/action", with(what(), "context", context())).await;
    found(&reply, &[json!({"name": "read"}), json!({"name": "write"})]);
}

#[tokio::test]
async fn c_4_5_pages_are_asked_for_by_limit_and_by_token() {
    let gateway = fixture().await;
    let first = gateway.ask("search/subject", with(who(), "page", json!({"limit": 1}))).await;
    is_json(&first);
    assert_eq!(first.body["results"].as_array().unwrap(), &users(&["ada"]));
    let token = first.body["page"]["next_token"].as_str().unwrap();
    assert!(!token.is_empty());
    // The token alone: the limit need not be said again.
    let rest = gateway.ask("search/subject", with(who(), "page", json!({"token": token}))).await;
    found(&rest, &users(&["alice", "bob"]));
}

#[tokio::test]
async fn c_4_6_1_an_unknown_identifier_is_found_nowhere() {
    let gateway = fixture().await;
    let ghost = json!({"type": "user", "id": "nonexistent-user"});
    found(&gateway.ask("search/action", with(what(), "subject", ghost.clone())).await, &[]);
    found(&gateway.ask("search/resource", with(on_what(), "subject", ghost)).await, &[]);
    found(&gateway.ask("search/action", with(what(), "resource", record("record-9"))).await, &[]);
    found(&gateway.ask("search/subject", with(who(), "resource", record("record-9"))).await, &[]);
}

#[tokio::test]
async fn c_4_6_2_an_unknown_type_is_found_nowhere() {
    let gateway = fixture().await;
    let ship = json!({"type": "spaceship"});
    let this_ship = json!({"type": "spaceship", "id": "alice"});
    for (path, body) in [
        ("search/subject", with(who(), "subject", ship.clone())),
        ("search/subject", with(who(), "resource", this_ship.clone())),
        ("search/resource", with(on_what(), "resource", ship)),
        ("search/resource", with(on_what(), "subject", this_ship.clone())),
        ("search/action", with(what(), "subject", this_ship.clone())),
        ("search/action", with(what(), "resource", this_ship)),
    ] {
        found(&gateway.ask(path, body).await, &[]);
    }
}

#[tokio::test]
async fn c_4_7_1_a_search_that_lacks_a_required_field_is_400() {
    let gateway = fixture().await;
    for (path, body, members) in [
        ("search/subject", who(), &["subject", "action", "resource"] as &[&str]),
        ("search/resource", on_what(), &["subject", "action", "resource"]),
        ("search/action", what(), &["subject", "resource"]),
    ] {
        for member in members {
            let reply = gateway.ask(path, without(body.clone(), &[member])).await;
            assert_eq!(reply.refused(400, "missing_member").body["field"], *member);
        }
    }
}

#[tokio::test]
async fn c_4_7_2_a_search_that_lacks_a_required_sub_field_is_400() {
    let gateway = fixture().await;
    for (path, body, missing) in [
        ("search/subject", who(), ["resource", "id"]),
        ("search/subject", who(), ["subject", "type"]),
        ("search/resource", on_what(), ["subject", "id"]),
        ("search/resource", on_what(), ["resource", "type"]),
        ("search/action", what(), ["subject", "id"]),
        ("search/action", what(), ["resource", "id"]),
    ] {
        let reply = gateway.ask(path, without(body, &missing)).await;
        assert_eq!(reply.refused(400, "missing_member").body["field"], missing.join("."));
    }
}

#[tokio::test]
async fn c_5_every_endpoint_echoes_the_request_id_and_ignores_unknown_fields() {
    let gateway = fixture().await;
    for (path, body) in [
        ("evaluation", question()),
        ("evaluations", with(question(), "evaluations", json!([{}, {"zzz": 1}]))),
        ("search/subject", with(who(), "page", json!({"limit": 1, "zzz": 1, "properties": {}}))),
        ("search/resource", with(on_what(), "resource", json!({"type": "record", "zzz": {}}))),
        ("search/action", what()),
    ] {
        let call = gateway.api.call("POST", &format!("/access/v1/{path}")).by(&gateway.secret);
        let call = call.header("x-request-id", "req 7").json(&with(body, "zzz", json!([1])));
        let reply = call.send().await;
        is_json(&reply);
        assert_eq!(reply.header("x-request-id"), "req 7");
    }
}

#[tokio::test]
async fn c_6_the_metadata_name_every_endpoint_as_the_server_is_called_from_outside() {
    let mut gateway = fixture().await;
    let call = gateway.api.call("GET", "/.well-known/authzen-configuration");
    let reply = call.header("host", "pdp.internal:7400").send().await;
    is_json(&reply);
    assert_eq!(reply.body["policy_decision_point"], "http://pdp.internal:7400");
    gateway.called("https://pdp.example.com");
    let call = gateway.api.call("GET", "/.well-known/authzen-configuration");
    let reply = call.header("host", "pdp.internal:7400").send().await;
    is_json(&reply);
    let members = reply.body.as_object().unwrap().clone();
    assert_eq!(members["policy_decision_point"], "https://pdp.example.com");
    for (member, path) in [
        ("access_evaluation_endpoint", "evaluation"),
        ("access_evaluations_endpoint", "evaluations"),
        ("search_subject_endpoint", "search/subject"),
        ("search_resource_endpoint", "search/resource"),
        ("search_action_endpoint", "search/action"),
    ] {
        let url = members[member].as_str().unwrap();
        assert_eq!(url, format!("https://pdp.example.com/access/v1/{path}"));
        let reply = gateway.ask(path, json!({})).await;
        assert_eq!(reply.status, 400, "{path} is there");
    }
    assert_eq!(members.len(), 6);
}
