//! Requests about several things: all of it or nothing, with what was wrong named, and read back as it was answered.

use crate::support::Api;
use serde_json::{Value, json};

const HELD: [&str; 3] = ["minecraft.server.read", "minecraft.server.restart", "core.grant.manage"];
const NOT_HELD: &str = "minecraft.server.manage";

async fn prepared() -> (Api, String) {
    let api = Api::furnished().await;
    let carol = api.user("carol").await;
    api.user_without_token("dave").await;
    api.give("user:carol", &[&HELD[..], &["core.grant.read"]].concat(), "server:s1").await;
    (api, carol)
}

#[tokio::test]
async fn a_grant_with_one_key_that_is_not_held_is_refused_wherever_it_stands() {
    let (api, carol) = prepared().await;
    let head = api.head();
    for at in 0..=HELD.len() {
        for (wrong, status, code) in [
            (NOT_HELD, 403, "not_held"),
            ("minecraft.server.fly", 422, "unknown_permission"),
            ("*", 422, "invalid_value"),
        ] {
            let mut keys = HELD.to_vec();
            keys.insert(at, wrong);
            let grant = json!({"subject": "user:dave", "permissions": keys, "scope": "server:s1"});
            let reply = api.by(&carol, "POST", "/grants", grant).await.refused(status, code);
            assert!(
                reply.text.contains(wrong) || reply.text.contains(&format!("[{at}]")),
                "{at}: {}",
                reply.text
            );
        }
    }
    api.unchanged_since(head);
    let grant = json!({"subject": "user:dave", "permissions": HELD, "scope": "server:s1"});
    let made = api.by(&carol, "POST", "/grants", grant).await.ok(201);
    let path = format!("/grants/{}", made.body["id"].as_str().unwrap());
    assert_eq!(api.by(&carol, "GET", &path, Value::Null).await.ok(200).body, made.body);
}

#[tokio::test]
async fn a_grant_of_nothing_of_the_same_twice_or_of_too_much_is_no_half_of_one() {
    let (api, carol) = prepared().await;
    let twice = json!([HELD[0], HELD[1], HELD[0]]);
    let many: Vec<String> = (0..10_000).map(|number| format!("minecraft.server.k{number}")).collect();
    for keys in [json!([]), json!(many), json!([""]), json!([format!("{} ", HELD[0])]), json!([null])] {
        let head = api.head();
        let grant = json!({"subject": "user:dave", "permissions": keys, "scope": "server:s1"});
        let reply = api.by(&carol, "POST", "/grants", grant).await;
        assert_eq!(reply.status, 422, "{}", reply.text);
        api.unchanged_since(head);
    }
    let grant = json!({"subject": "user:dave", "permissions": twice, "scope": "server:s1"});
    let head = api.head();
    let reply = api.by(&carol, "POST", "/grants", grant).await;
    if reply.status >= 400 {
        api.unchanged_since(head);
    } else {
        assert_eq!(reply.body["permissions"], json!([HELD[0], HELD[1]]), "{}", reply.text);
        let path = format!("/grants/{}", reply.body["id"].as_str().unwrap());
        assert_eq!(api.by(&carol, "GET", &path, Value::Null).await.ok(200).body, reply.body);
    }
}

#[tokio::test]
async fn a_role_is_made_and_read_back_whole_or_not_at_all() {
    let (api, _) = prepared().await;
    let editor = api.user("editor").await;
    let keys = ["core.role.create", "core.role.read", "core.user.read", "core.group.read"];
    let role = json!({"slug": "editors", "scope": "global", "permissions": keys});
    api.admin("POST", "/roles", role).await.ok(201);
    let grant = json!({"subject": "user:editor", "role": "editors", "scope": "global"});
    api.admin("POST", "/grants", grant).await.ok(201);
    let head = api.head();
    for at in 0..=keys.len() {
        let mut all = keys.to_vec();
        all.insert(at, "core.user.edit");
        let role = json!({"slug": "more", "scope": "global", "permissions": all});
        let reply = api.by(&editor, "POST", "/roles", role).await.refused(403, "not_held");
        assert!(reply.text.contains("core.user.edit"), "{}", reply.text);
    }
    api.unchanged_since(head);
    let role = json!({"slug": "more", "scope": "global", "permissions": keys});
    let made = api.by(&editor, "POST", "/roles", role).await.ok(201);
    assert_eq!(api.by(&editor, "GET", "/roles/more", Value::Null).await.ok(200).body, made.body);
}

#[tokio::test]
async fn questions_in_one_request_are_answered_as_each_alone_in_any_order_and_number() {
    let (api, carol) = prepared().await;
    let ask = |permission: &str, object: &str| json!({"permission": permission, "object": object});
    let questions: Vec<Value> = ["server:s1", "server:s2", "folder:eu", "server:ghost"]
        .iter()
        .flat_map(|object| HELD.iter().chain([&NOT_HELD]).map(move |key| ask(key, object)))
        .collect();
    let known = ["server:s1"];
    let allowed: Vec<Value> = questions
        .iter()
        .filter(|question| known.contains(&question["object"].as_str().unwrap()))
        .cloned()
        .collect();
    let mut alone = Vec::new();
    for question in &allowed {
        let one = api.by(&carol, "POST", "/check", question.clone()).await.ok(200);
        alone.push(one.body["allowed"].clone());
    }
    for turn in 0..allowed.len() {
        let (mut asked, mut expected) = (allowed.clone(), alone.clone());
        asked.rotate_left(turn);
        expected.rotate_left(turn);
        asked.push(asked[0].clone());
        expected.push(expected[0].clone());
        let batch = api.by(&carol, "POST", "/check/batch", json!({"checks": asked})).await.ok(200);
        let told: Vec<Value> = batch.body["results"]
            .as_array()
            .unwrap_or(&Vec::new())
            .iter()
            .map(|one| one["allowed"].clone())
            .collect();
        assert_eq!(told, expected, "{}", batch.text);
    }
    // One that may not be asked, wherever it stands, is as it is alone: nothing else is answered instead of it.
    for hidden in questions.iter().filter(|question| !known.contains(&question["object"].as_str().unwrap())) {
        let single = api.by(&carol, "POST", "/check", hidden.clone()).await;
        for at in [0, 1, allowed.len()] {
            let mut asked = allowed.clone();
            asked.insert(at, hidden.clone());
            let batch = api.by(&carol, "POST", "/check/batch", json!({"checks": asked})).await;
            assert_eq!(
                (batch.status, batch.code()),
                (single.status, single.code()),
                "{hidden}: {}",
                batch.text
            );
        }
    }
}
