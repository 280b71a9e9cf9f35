//! `/audit`: what happened, as people read it.

use crate::support::Api;
use serde_json::{Value, json};

/// The offsets of a page's entries.
fn offsets(body: &Value) -> Vec<u64> {
    body["items"].as_array().unwrap().iter().map(|entry| entry["offset"].as_u64().unwrap()).collect()
}

async fn read(api: &Api, query: &str) -> Value {
    api.admin("GET", &format!("/audit{query}"), Value::Null).await.ok(200).body
}

fn types(body: &Value) -> Vec<&str> {
    body["items"].as_array().unwrap().iter().map(|entry| entry["type"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn an_entry_names_who_did_what_on_whom_where_and_why() {
    let api = Api::furnished().await;
    api.user_without_token("bob").await;
    let grant =
        json!({"subject": "user:bob", "permissions": ["minecraft.server.read"], "scope": "server:s1"});
    let call = api.call("POST", "/grants").by(&api.admin).json(&grant);
    call.header("x-reason", "Night shift").header("x-request-id", "r-1").send().await.ok(201);
    let entry = &read(&api, "?limit=1").await["items"][0];
    assert_eq!(entry["offset"], api.head().get());
    assert_eq!((&entry["type"], &entry["via"]), (&json!("grant.issued"), &json!("api")));
    assert_eq!((&entry["reason"], &entry["request_id"]), (&json!("Night shift"), &json!("r-1")));
    assert_eq!(
        (&entry["actor"]["kind"], &entry["actor"]["user"]["username"]),
        (&json!("user"), &json!("ada"))
    );
    assert_eq!(entry["user"]["username"], "bob");
    assert_eq!(
        (&entry["object"]["reference"], &entry["object"]["name"]),
        (&json!("server:s1"), &json!("One"))
    );
    assert_eq!(entry["scope"], "object");
    assert_eq!(entry["new"], json!({"effect": "allow", "permissions": ["minecraft.server.read"]}));
    assert_eq!(entry.get("old"), None);
}

#[tokio::test]
async fn names_are_those_of_now_or_of_then_for_what_is_gone() {
    let api = Api::furnished().await;
    api.user_without_token("bob").await;
    api.admin("PATCH", "/users/bob", json!({"username": "robert"})).await.ok(200);
    let registered = read(&api, "?subject=user:robert&type=user.registered").await;
    assert_eq!(registered["items"][0]["user"]["username"], "robert");
    api.admin("PATCH", "/objects/server/s2", json!({"name": "Second"})).await.ok(200);
    let created = read(&api, "?object=server:s2&type=object.created").await;
    let object = &created["items"][0]["object"];
    assert_eq!((&object["name"], &object["name_then"]), (&json!("Second"), &json!("Two")));
    assert_eq!(created["items"][0]["new"]["owner"]["username"], "ada");
    api.admin("DELETE", "/objects/server/s2", Value::Null).await.ok(204);
    let id = object["id"].as_str().unwrap();
    let gone = read(&api, &format!("?object=server:{id}&type=object")).await;
    assert_eq!(types(&gone), ["object.deleted", "object.renamed", "object.created"]);
    assert_eq!(gone["items"][0]["object"], json!({"id": id, "name": "Second"}));
}

#[tokio::test]
async fn entries_are_narrowed_and_newest_come_first() {
    let api = Api::furnished().await;
    api.user("bob").await;
    api.admin("POST", "/groups", json!({"slug": "crew", "name": "Night Shift"})).await.ok(201);
    api.admin("PUT", "/groups/crew/members/bob", Value::Null).await.ok(204);
    api.give("group:crew", &["core.user.read"], "global").await;
    let all = read(&api, "?limit=500").await;
    let every = offsets(&all);
    assert_eq!(every, (1..=api.head().get()).rev().collect::<Vec<_>>());
    for (query, found) in [
        ("?subject=user:bob", vec!["group.member_added", "credential.token_issued", "user.registered"]),
        ("?subject=group:crew", vec!["grant.issued", "group.member_added", "group.created"]),
        ("?subject=group:crew&actor=ada&type=group", vec!["group.member_added", "group.created"]),
        ("?actor=bob&type=credential", vec!["credential.token_issued"]),
        ("?q=NIGHT+shift", vec!["grant.issued", "group.member_added", "group.created"]),
        ("?q=core.user.read&type=grant", vec!["grant.issued"]),
        ("?q=nowhere", vec![]),
        ("?actor=module:none", vec![]),
        ("?actor=system&type=installation", vec!["installation.created"]),
        ("?to=1", vec!["installation.created"]),
        ("?to=1999-01-01T00:00:00Z", vec![]),
    ] {
        let body = read(&api, query).await;
        assert_eq!(types(&body), found, "{query}");
    }
    let here = all["items"][2]["recorded_at"].as_str().unwrap();
    let until = offsets(&read(&api, &format!("?limit=500&to={}", here.replace('+', "%2B"))).await);
    assert!(until.contains(&every[2]) && until.last() == Some(&1), "{until:?}");
    assert_eq!(offsets(&read(&api, &format!("?limit=500&from={}", every[2])).await), every[..3]);
}

#[tokio::test]
async fn what_the_system_did_because_somebody_asked_is_found_by_who_asked() {
    let api = Api::furnished().await;
    let olga = api.user("olga").await;
    api.give("user:olga", &["core.projection.read", "core.projection.rebuild"], "global").await;
    let begun =
        api.by(&olga, "POST", "/projections/directory/rebuild", json!({"switch": true})).await.ok(202);
    let at = format!("/operations/{}", begun.body["id"].as_str().unwrap());
    for _ in 0..5_000 {
        let state = api.by(&olga, "GET", &at, Value::Null).await.ok(200).body["state"].clone();
        if state != "running" {
            assert_eq!(state, "done");
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    }
    let found = read(&api, "?actor=olga&type=operations").await;
    assert_eq!(types(&found), ["operations.projection_rebuilt"]);
    let entry = &found["items"][0];
    assert_eq!(
        (&entry["actor"]["kind"], &entry["new"]["asked_by"]["username"]),
        (&json!("system"), &json!("olga"))
    );
    assert_eq!(types(&read(&api, "?actor=system&type=operations").await), ["operations.projection_rebuilt"]);
    assert_eq!(types(&read(&api, "?actor=ada&type=operations").await), Vec::<&str>::new());
}

#[tokio::test]
async fn pages_follow_each_other_while_more_happens() {
    let api = Api::furnished().await;
    let before = api.head().get();
    let (mut seen, mut path) = (Vec::new(), "?limit=7".to_owned());
    loop {
        let body = read(&api, &path).await;
        seen.extend(offsets(&body));
        let Some(next) = body["next"].as_str() else { break };
        path = format!("?limit=7&cursor={next}");
        api.admin("PATCH", "/objects/server/s2", json!({"name": format!("Name {}", seen.len())}))
            .await
            .ok(200);
    }
    assert_eq!(seen, (1..=before).rev().collect::<Vec<_>>());
    let foreign = path.replace("?limit=7", "?type=grant&limit=7");
    api.admin("GET", &format!("/audit{foreign}"), Value::Null).await.refused(400, "invalid_cursor");
}

#[tokio::test]
async fn who_audits_one_object_sees_its_entries_only_and_no_folder_he_may_not_know() {
    let api = Api::furnished().await;
    let bob = api.user("bob").await;
    api.by(&bob, "GET", "/audit", Value::Null).await.refused(403, "forbidden");
    api.give("user:bob", &["core.audit.read"], "server:s1").await;
    api.by(&bob, "GET", "/audit", Value::Null).await.refused(403, "forbidden");
    api.by(&bob, "GET", "/audit?object=server:s2", Value::Null).await.refused(404, "not_found");
    let all = api.by(&bob, "GET", "/audit?object=server:s1", Value::Null).await.ok(200).body;
    assert_eq!(types(&all), ["grant.issued", "grant.issued", "object.created"]);
    let created = &all["items"][2]["new"];
    assert_eq!((created.get("parent"), created.get("parent_name")), (None, None));
    let told = read(&api, "?object=server:s1&type=object.created").await;
    assert_eq!(told["items"][0]["new"]["parent_name"], "Europe");
    let id = all["items"][0]["object"]["id"].as_str().unwrap().to_owned();
    api.admin("DELETE", "/objects/server/s1", Value::Null).await.ok(204);
    let gone = format!("/audit?object=server:{id}");
    api.by(&bob, "GET", &gone, Value::Null).await.refused(403, "forbidden");
}

#[tokio::test]
async fn who_audits_one_object_learns_no_hidden_folder_by_searching_for_its_name() {
    let api = Api::furnished().await;
    let bob = api.user("bob").await;
    api.give("user:bob", &["core.audit.read"], "server:s1").await;
    api.admin("POST", "/objects/server/s1/move", json!({"parent": null})).await.ok(200);
    let moved = read(&api, "?object=server:s1&q=europe&type=object.moved").await;
    assert_eq!(moved["items"][0]["old"]["parent_name"], "Europe");
    let shown = api.by(&bob, "GET", "/audit?object=server:s1&type=object.moved", Value::Null).await.ok(200);
    assert_eq!(types(&shown.body), ["object.moved"]);
    assert!(!shown.text.contains("Europe"), "{}", shown.text);
    for guess in ["europe", "asia"] {
        let path = format!("/audit?object=server:s1&q={guess}");
        let told = api.by(&bob, "GET", &path, Value::Null).await.refused(403, "forbidden").body;
        assert_eq!((&told["field"], &told["missing"]), (&json!("q"), &json!(["core.audit.read"])));
    }
    api.give("user:bob", &["core.audit.read"], "global").await;
    let found = api.by(&bob, "GET", "/audit?object=server:s1&q=europe", Value::Null).await.ok(200).body;
    assert_eq!(types(&found), ["object.moved"]);
}

#[tokio::test]
async fn nobody_known_and_what_is_yet_to_come_are_said_and_not_an_empty_answer() {
    let api = Api::furnished().await;
    let bob = api.user("bob").await;
    for (query, field, said) in [
        ("actor=nobdy", "actor", "there is no user `nobdy`"),
        ("actor=user:nobdy", "actor", "there is no user `nobdy`"),
        ("subject=user:nobdy", "subject", "there is no user `nobdy`"),
        ("subject=group:crw", "subject", "there is no group `crw`; one that is gone is named by its id"),
    ] {
        let told = api.admin("GET", &format!("/audit?{query}"), Value::Null).await.refused(404, "not_found");
        assert_eq!((&told.body["field"], &told.body["detail"]), (&json!(field), &json!(said)), "{query}");
    }
    let (head, beyond) = (api.head(), format!("from={}", api.head().get() + 1));
    for query in
        [beyond.as_str(), "from=2999-01-01T00:00:00Z", "from=9999999999999999999&to=1999-01-01T00:00:00Z"]
    {
        let told =
            api.admin("GET", &format!("/audit?{query}"), Value::Null).await.refused(422, "beyond_head");
        assert_eq!(told.body["field"], "from", "{query}");
        assert!(told.text.contains(&format!("at offset {head}")), "{}", told.text);
    }
    for query in ["from=2&to=1", "from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z"] {
        let told =
            api.admin("GET", &format!("/audit?{query}"), Value::Null).await.refused(422, "invalid_range");
        assert_eq!(told.body["field"], "from", "{query}");
    }
    // Who audits one object need not know who there is.
    api.give("user:bob", &["core.audit.read"], "server:s1").await;
    for query in ["actor=nobdy", "actor=ada-s-cat", "subject=user:nobdy", "subject=group:crw"] {
        let path = format!("/audit?object=server:s1&{query}");
        assert_eq!(api.by(&bob, "GET", &path, Value::Null).await.ok(200).body["items"], json!([]), "{query}");
    }
}

#[tokio::test]
async fn what_makes_no_sense_is_refused() {
    let api = Api::furnished().await;
    let long = format!("q={}", "x".repeat(201));
    for (query, field) in [
        ("type=nothing", "type"),
        ("type=grant.", "type"),
        ("from=yesterday", "from"),
        ("to=-1", "to"),
        ("subject=bob", "subject"),
        ("subject=role:viewer", "subject"),
        ("actor=module:No+Name", "actor"),
        ("q=", "q"),
        (&long, "q"),
    ] {
        let reply = api.admin("GET", &format!("/audit?{query}"), Value::Null).await;
        assert_eq!(reply.refused(400, "invalid_parameter").body["field"], field, "{query}");
    }
    api.admin("GET", "/audit?object=server:none", Value::Null).await.refused(404, "not_found");
}
