//! `/setup`: the first administrator, once.

use crate::support::{Api, PASSWORD};
use serde_json::json;

#[tokio::test]
async fn the_first_administrator_is_made_once_with_the_printed_code() {
    let api = Api::fresh().await;
    assert_eq!(api.call("GET", "/setup").send().await.ok(200).body, json!({"needed": true}));
    let code = api.code.clone().unwrap();
    let with = |code: &str| json!({"code": code, "username": "ada", "password": PASSWORD});
    let head = api.head();
    let wrong = api.call("POST", "/setup").json(&with("AAAAA-AAAAA")).send().await;
    assert_eq!(wrong.refused(403, "wrong_secret").body["field"], "code");
    api.unchanged_since(head);

    let made = api.call("POST", "/setup").json(&with(&code)).send().await.ok(201);
    assert_eq!(made.body["username"], "ada");
    assert_eq!(api.call("GET", "/setup").send().await.body, json!({"needed": false}));
    let head = api.head();
    api.call("POST", "/setup").json(&with(&code)).send().await.refused(409, "setup_closed");
    api.unchanged_since(head);

    let me = api
        .call("POST", "/session")
        .json(&json!({"username": "ada", "password": PASSWORD}))
        .send()
        .await
        .ok(201);
    let me = api.by(me.body["secret"].as_str().unwrap(), "GET", "/user/me", json!(null)).await.ok(200);
    assert_eq!(me.body["administrator"], true);
}

#[tokio::test]
async fn a_weak_password_or_a_bad_name_makes_nobody() {
    let api = Api::fresh().await;
    let code = api.code.clone().unwrap();
    let head = api.head();
    for (username, password, code_wanted, field) in
        [("Ada", PASSWORD, "invalid_value", "username"), ("ada", "short", "password_too_short", "password")]
    {
        let body = json!({"code": code, "username": username, "password": password});
        let reply = api.call("POST", "/setup").json(&body).send().await.refused(422, code_wanted);
        assert_eq!(reply.body["field"], field);
    }
    api.unchanged_since(head);
}
