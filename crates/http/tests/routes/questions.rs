//! The questions: check, batch, effective, who can, where.

use crate::support::Api;
use serde_json::{Value, json};

fn denied() -> Value {
    let keys = ["minecraft.server.restart"];
    json!({"subject": "user:bob", "permissions": keys, "scope": "server:s1", "effect": "deny"})
}

async fn prepared() -> (Api, String) {
    let api = Api::furnished().await;
    let bob = api.user("bob").await;
    api.admin("POST", "/groups", json!({"slug": "ops"})).await.ok(201);
    api.admin("PUT", "/groups/ops/members/bob", Value::Null).await.ok(204);
    api.give("group:ops", &["minecraft.server.read", "minecraft.server.restart"], "folder:eu").await;
    (api, bob)
}

#[tokio::test]
async fn a_check_says_whether_and_why() {
    let (api, bob) = prepared().await;
    let question = json!({"permission": "minecraft.server.restart", "object": "server:s1"});
    let answer = api.by(&bob, "POST", "/check", question.clone()).await.ok(200);
    for (member, value) in [
        ("allowed", json!(true)),
        ("verdict", json!("allow")),
        ("because", json!("grant")),
        ("subject", json!("group")),
    ] {
        assert_eq!(answer.body[member], value);
    }
    assert_eq!(answer.body["scope"], json!({"kind": "hidden"}), "bob may not know the folder");
    assert_eq!(answer.body["grants"].as_array().unwrap().len(), 1);
    assert_eq!(answer.body["policy_version"], api.head().get());
    let seen = json!({"user": "bob", "permission": "minecraft.server.restart", "object": "server:s1"});
    let seen = api.admin("POST", "/check", seen).await.ok(200);
    assert_eq!(seen.body["scope"]["object"]["external_id"], "eu");

    let deny = denied();
    api.admin("POST", "/grants", deny).await.ok(201);
    let answer = api.by(&bob, "POST", "/check", question).await.ok(200);
    assert_eq!((&answer.body["verdict"], &answer.body["subject"]), (&json!("deny"), &json!("user")));
    let platform = api.by(&bob, "POST", "/check", json!({"permission": "core.user.read"})).await.ok(200);
    assert_eq!((&platform.body["allowed"], &platform.body["because"]), (&json!(false), &json!("not_set")));
    let admin = api.admin("POST", "/check", json!({"permission": "core.user.read"})).await.ok(200);
    assert_eq!(admin.body["because"], "administrator");
}

#[tokio::test]
async fn a_batch_answers_each_as_a_check_does_and_all_at_one_version() {
    let (api, bob) = prepared().await;
    let questions = [
        json!({"permission": "minecraft.server.restart", "object": "server:s1"}),
        json!({"permission": "minecraft.server.read", "object": "server:s1"}),
        json!({"permission": "core.user.read"}),
        json!({"permission": "minecraft.server.restart", "object": "server:s1"}),
    ];
    let batch = api.by(&bob, "POST", "/check/batch", json!({"checks": questions})).await.ok(200);
    let results = batch.body["results"].as_array().unwrap();
    assert_eq!(results.len(), questions.len());
    for (question, result) in questions.iter().zip(results) {
        let alone = api.by(&bob, "POST", "/check", question.clone()).await.ok(200);
        for member in ["allowed", "because", "scope", "subject", "grants", "policy_version"] {
            assert_eq!(alone.body.get(member), result.get(member), "{question} {member}");
        }
    }
    let unknown = json!({"checks": [questions[0], {"permission": "minecraft.server.fly"}]});
    let reply = api.by(&bob, "POST", "/check/batch", unknown).await.refused(422, "unknown_permission");
    assert_eq!(reply.body["field"], "checks[1].permission");
    let hidden =
        json!({"checks": [questions[0], {"permission": "minecraft.server.read", "object": "server:s2"}]});
    let reply = api.by(&bob, "POST", "/check/batch", hidden).await.refused(404, "not_found");
    assert_eq!(reply.body["field"], "checks[1].object");
    let none = api.by(&bob, "POST", "/check/batch", json!({"checks": []})).await.ok(200);
    assert_eq!(none.body["results"], json!([]));
}

#[tokio::test]
async fn an_explanation_spells_the_deciding_grants_out() {
    let (api, _) = prepared().await;
    let question = json!({"user": "bob", "permission": "minecraft.server.restart", "object": "server:s1"});
    let answer = api.admin("POST", "/explain", question).await.ok(200);
    assert_eq!(answer.body["user"]["username"], "bob");
    assert_eq!(answer.body["object"]["external_id"], "s1");
    assert_eq!(answer.body["decision"]["allowed"], true);
    assert_eq!(answer.body["grants"][0]["subject"]["group"]["slug"], "ops");
    assert!(answer.body["summary"].as_str().unwrap().starts_with("allowed by 1 grant"), "{}", answer.text);
}

#[tokio::test]
async fn who_can_names_everyone_and_through_what() {
    let (api, _) = prepared().await;
    let question = |limit: u16, cursor: Option<&str>| {
        let mut question =
            json!({"permission": "minecraft.server.restart", "object": "server:s1", "limit": limit});
        if let Some(cursor) = cursor {
            question["cursor"] = json!(cursor);
        }
        question
    };
    let all = api.admin("POST", "/who-can", question(500, None)).await.ok(200);
    let users = all.body["users"].as_array().unwrap();
    let mut names: Vec<&str> = users.iter().map(|row| row["user"]["username"].as_str().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(names, ["ada", "bob"]);
    let bob = users.iter().find(|row| row["user"]["username"] == "bob").unwrap();
    assert_eq!((&bob["because"], &bob["through"][0]["slug"]), (&json!("grant"), &json!("ops")));
    let first = api.admin("POST", "/who-can", question(1, None)).await.ok(200);
    let next = first.body["next"].as_str().unwrap();
    let second = api.admin("POST", "/who-can", question(1, Some(next))).await.ok(200);
    assert_ne!(first.body["users"][0]["user"], second.body["users"][0]["user"]);
    let other =
        json!({"permission": "minecraft.server.read", "object": "server:s1", "limit": 1, "cursor": next});
    api.admin("POST", "/who-can", other).await.refused(400, "invalid_cursor");
}

#[tokio::test]
async fn allowed_objects_are_those_a_check_allows() {
    let (api, bob) = prepared().await;
    let question = json!({"permission": "minecraft.server.restart", "type": "server"});
    let own = api.by(&bob, "POST", "/allowed-objects", question.clone()).await.ok(200);
    assert_eq!(
        (&own.body["all"], own.texts("objects", "external_id")),
        (&json!(false), vec!["s1".to_owned()])
    );
    let all = api.admin("POST", "/allowed-objects", question).await.ok(200);
    assert_eq!((&all.body["all"], all.texts("objects", "external_id").len()), (&json!(true), 2));
    let page = |cursor: Option<&str>| {
        let (permission, of) = ("minecraft.server.restart", "server");
        json!({"permission": permission, "type": of, "limit": 1, "cursor": cursor})
    };
    let first = api.admin("POST", "/allowed-objects", page(None)).await.ok(200);
    let second = api.admin("POST", "/allowed-objects", page(first.body["next"].as_str())).await.ok(200);
    assert_eq!(first.texts("objects", "external_id"), ["s1"]);
    assert_eq!(second.texts("objects", "external_id"), ["s2"]);
    assert_eq!(second.body.get("next"), None);
    let boat = json!({"permission": "minecraft.server.restart", "type": "boat"});
    api.admin("POST", "/allowed-objects", boat).await.refused(422, "unknown_object_type");
    let ada = json!({"user": "ada", "permission": "minecraft.server.restart", "type": "server"});
    api.by(&bob, "POST", "/allowed-objects", ada).await.refused(403, "forbidden");
}

#[tokio::test]
async fn effective_gives_each_key_one_of_three_states() {
    let (api, bob) = prepared().await;
    let deny = denied();
    api.admin("POST", "/grants", deny).await.ok(201);
    for (secret, question) in
        [(&bob, json!({"object": "server:s1"})), (&api.admin, json!({"user": "bob", "object": "server:s1"}))]
    {
        let answer = api.by(secret, "POST", "/effective", question).await.ok(200);
        let state = |key: &str| {
            let rows = answer.body["permissions"].as_array().unwrap();
            rows.iter().find(|row| row["permission"] == key).unwrap()["state"].clone()
        };
        assert_eq!(state("minecraft.server.read"), "allowed");
        assert_eq!(state("minecraft.server.restart"), "denied");
        assert_eq!(state("minecraft.server.manage"), "not_set");
    }
}

#[tokio::test]
async fn a_revoked_grant_answers_deny_at_once() {
    let (api, bob) = prepared().await;
    let question = json!({"permission": "minecraft.server.manage", "object": "server:s1"});
    for _ in 0..20 {
        let grant = api.give("user:bob", &["minecraft.server.manage"], "server:s1").await;
        assert_eq!(api.by(&bob, "POST", "/check", question.clone()).await.ok(200).body["allowed"], true);
        api.admin("DELETE", &format!("/grants/{grant}"), Value::Null).await.ok(204);
        assert_eq!(api.by(&bob, "POST", "/check", question.clone()).await.ok(200).body["allowed"], false);
    }
}

#[tokio::test]
async fn where_one_may_not_ask_about_others_allowed_objects_tell_nothing_of_them() {
    let (api, _) = prepared().await;
    let carol = api.user("carol").await;
    let role = json!({"slug": "asks", "scope": "global", "permissions": ["core.decision.read"]});
    api.admin("POST", "/roles", role).await.ok(201);
    let asks = json!({"subject": "user:carol", "role": "asks", "scope": "global"});
    api.admin("POST", "/grants", asks).await.ok(201);
    // She may read it herself, and may not ask who else may.
    api.give("user:carol", &["minecraft.server.read"], "server:s1").await;
    let deny = json!({"subject": "user:carol", "permissions": ["core.decision.read"], "scope": "server:s1",
                      "effect": "deny"});
    api.admin("POST", "/grants", deny).await.ok(201);
    let check = json!({"user": "ada", "permission": "minecraft.server.read", "object": "server:s1"});
    api.by(&carol, "POST", "/check", check).await.refused(403, "forbidden");
    let question = json!({"user": "ada", "permission": "minecraft.server.read", "type": "server"});
    let found = api.by(&carol, "POST", "/allowed-objects", question).await.ok(200);
    assert_eq!(found.texts("objects", "external_id"), ["s2"]);
    let own = json!({"permission": "minecraft.server.read", "type": "server"});
    let found = api.by(&carol, "POST", "/allowed-objects", own).await.ok(200);
    assert_eq!(found.texts("objects", "external_id"), ["s1"]);
}

#[tokio::test]
async fn pages_of_allowed_objects_are_full_of_those_the_caller_may_know() {
    let api = Api::furnished().await;
    let bob = api.user("bob").await;
    api.give("user:bob", &["core.decision.read"], "global").await;
    for number in 0..6 {
        let name = format!("n{number}");
        api.admin("POST", "/objects", json!({"type": "server", "name": name, "external_id": name}))
            .await
            .ok(201);
        if number < 5 {
            let deny = json!({"subject": "user:bob", "permissions": ["core.decision.read"],
                              "scope": format!("server:{name}"), "effect": "deny"});
            api.admin("POST", "/grants", deny).await.ok(201);
        }
    }
    let question =
        json!({"user": "ada", "permission": "minecraft.server.restart", "type": "server", "limit": 3});
    let page = api.by(&bob, "POST", "/allowed-objects", question).await.ok(200);
    assert_eq!(page.texts("objects", "external_id"), ["s1", "s2", "n5"], "{}", page.text);
    assert_eq!(page.body.get("next"), None);
}
