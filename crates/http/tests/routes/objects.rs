//! `/objects`: everything that can be granted on.

use crate::support::Api;
use serde_json::{Value, json};

#[tokio::test]
async fn an_object_is_created_shown_with_its_permissions_renamed_moved_and_deleted() {
    let api = Api::furnished().await;
    let made = api.admin("GET", "/objects/server/s1", Value::Null).await.ok(200);
    assert_eq!((&made.body["type"], &made.body["name"]), (&json!("server"), &json!("One")));
    assert_eq!(made.body["parent"]["external_id"], "eu");
    assert_eq!(made.body["owner"]["username"], "ada");
    let permissions = made.body["permissions"].as_array().unwrap();
    assert!(permissions.contains(&json!("minecraft.server.restart")));
    assert!(!permissions.contains(&json!("minecraft.report.read")), "it can't be granted on a server");
    assert!(!permissions.contains(&json!("core.folder.create")), "it can't be granted on a server");

    let renamed = api.admin("PATCH", "/objects/server/s1", json!({"name": "First"})).await.ok(200);
    assert_eq!((&renamed.body["name"], &renamed.body["external_id"]), (&json!("First"), &json!("s1")));
    let cleared = api.admin("PATCH", "/objects/server/s1", json!({"external_id": null})).await.ok(200);
    assert_eq!(cleared.body["external_id"], cleared.body["id"]);
    let id = cleared.body["id"].as_str().unwrap().to_owned();
    api.admin("GET", "/objects/server/s1", Value::Null).await.refused(404, "not_found");
    let moved =
        api.admin("POST", &format!("/objects/server/{id}/move"), json!({"parent": null})).await.ok(200);
    assert_eq!(moved.body["parent"], Value::Null);
    api.admin("DELETE", &format!("/objects/server/{id}"), Value::Null).await.ok(204);
    api.admin("GET", &format!("/objects/server/{id}"), Value::Null).await.refused(404, "not_found");
}

#[tokio::test]
async fn a_row_carries_what_its_caller_may_do_on_it() {
    let api = Api::furnished().await;
    let bob = api.user("bob").await;
    api.give("user:bob", &["minecraft.server.read", "minecraft.server.restart"], "folder:eu").await;
    api.give("user:bob", &["minecraft.server.read"], "server:s2").await;
    let listed = api.by(&bob, "GET", "/objects", Value::Null).await.ok(200);
    let rows: Vec<(&str, &Value)> = listed.body["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["name"].as_str().unwrap(), &row["permissions"]))
        .collect();
    let both = json!(["minecraft.server.read", "minecraft.server.restart"]);
    assert_eq!(rows, [("One", &both), ("Two", &json!(["minecraft.server.read"]))]);
}

#[tokio::test]
async fn a_folder_with_something_in_it_stays() {
    let api = Api::furnished().await;
    let head = api.head();
    api.admin("DELETE", "/objects/folder/eu", Value::Null).await.refused(409, "not_empty");
    api.unchanged_since(head);
}

#[tokio::test]
async fn a_transfer_moves_the_owners_access() {
    let api = Api::furnished().await;
    let bob = api.user("bob").await;
    api.by(&bob, "GET", "/objects/server/s2", Value::Null).await.refused(404, "not_found");
    let given = api.admin("POST", "/objects/server/s2/transfer", json!({"owner": "bob"})).await.ok(200);
    assert_eq!(given.body["owner"]["username"], "bob");
    let shown = api.by(&bob, "GET", "/objects/server/s2", Value::Null).await.ok(200);
    assert!(shown.body["permissions"].as_array().unwrap().contains(&json!("minecraft.server.manage")));
    let sealed =
        api.by(&bob, "POST", "/objects/server/s2/inheritance", json!({"inherits": false})).await.ok(200);
    assert_eq!(sealed.body["inherits"], false);
}

#[tokio::test]
async fn where_one_may_know_the_object_a_refusal_names_the_missing_key() {
    let api = Api::furnished().await;
    let bob = api.user("bob").await;
    api.give("user:bob", &["minecraft.server.read"], "server:s1").await;
    api.give("user:bob", &["minecraft.server.manage"], "server:s2").await;
    let head = api.head();
    let reply =
        api.by(&bob, "PATCH", "/objects/server/s1", json!({"name": "x"})).await.refused(403, "forbidden");
    assert_eq!(reply.body["missing"], json!(["minecraft.server.manage"]));
    let reply = api.by(&bob, "DELETE", "/objects/server/s1", Value::Null).await.refused(403, "forbidden");
    assert_eq!(reply.body["missing"], json!(["minecraft.server.manage"]));
    api.unchanged_since(head);
}

#[tokio::test]
async fn the_sharing_screen_shows_own_and_inherited_entries_and_the_state_of_each_key() {
    let api = Api::furnished().await;
    for name in ["bob", "carol"] {
        api.user_without_token(name).await;
    }
    api.admin("POST", "/groups", json!({"slug": "ops"})).await.ok(201);
    api.give("group:ops", &["minecraft.server.restart", "minecraft.server.read"], "folder:eu").await;
    api.give("user:bob", &["minecraft.server.read"], "server:s1").await;
    let deny = |subject: &str| {
        let keys = ["minecraft.server.restart"];
        json!({"subject": subject, "permissions": keys, "scope": "server:s1", "effect": "deny"})
    };
    api.admin("POST", "/grants", deny("user:carol")).await.ok(201);
    api.admin("POST", "/grants", deny("group:ops")).await.ok(201);
    let keys = ["minecraft.server.read"];
    let unreaching =
        json!({"subject": "user:carol", "permissions": keys, "scope": "folder:eu", "affects": "self_only"});
    api.admin("POST", "/grants", unreaching).await.ok(201);

    let screen = api.admin("GET", "/objects/server/s1/access", Value::Null).await.ok(200);
    let own = screen.body["own"].as_array().unwrap();
    assert_eq!(own.len(), 4, "the owner's, bob's and two denies: {}", screen.text);
    assert_eq!(own[0]["owner_grant"], true);
    let inherited = screen.body["inherited"].as_array().unwrap();
    let scopes: Vec<&Value> = inherited.iter().map(|grant| &grant["scope"]["kind"]).collect();
    assert_eq!(scopes, ["object", "object", "global"], "{}", screen.text);
    let state = |who: &str, key: &str| {
        let subject =
            screen.body["subjects"].as_array().unwrap().iter().find(|row| {
                row["subject"]["user"]["username"] == who || row["subject"]["group"]["slug"] == who
            });
        let keys = subject.unwrap()["permissions"].as_array().unwrap().clone();
        keys.into_iter().find(|row| row["permission"] == key).unwrap()["state"].clone()
    };
    assert_eq!(state("bob", "minecraft.server.read"), "allowed");
    assert_eq!(state("bob", "minecraft.server.restart"), "not_set");
    assert_eq!(state("carol", "minecraft.server.restart"), "denied");
    assert_eq!(state("ops", "minecraft.server.restart"), "denied");
    assert_eq!(state("ops", "minecraft.server.read"), "allowed");
    assert_eq!(state("ada", "minecraft.server.manage"), "allowed");

    let mut seen = Vec::new();
    let mut path = "/objects/server/s1/access?limit=2".to_owned();
    loop {
        let page = api.admin("GET", &path, Value::Null).await.ok(200);
        seen.extend(page.ids("own"));
        seen.extend(page.ids("inherited"));
        match page.body["next"].as_str() {
            Some(next) => path = format!("/objects/server/s1/access?limit=2&cursor={next}"),
            None => break,
        }
    }
    let mut whole = screen.ids("own");
    whole.extend(screen.ids("inherited"));
    assert_eq!(seen, whole);
}

#[tokio::test]
async fn a_sealed_objects_screen_ends_at_the_object() {
    let api = Api::furnished().await;
    api.user_without_token("bob").await;
    api.give("user:bob", &["minecraft.server.read"], "folder:eu").await;
    api.admin("POST", "/objects/server/s1/inheritance", json!({"inherits": false})).await.ok(200);
    let screen = api.admin("GET", "/objects/server/s1/access", Value::Null).await.ok(200);
    assert_eq!((&screen.body["inherits"], &screen.body["inherited"]), (&json!(false), &json!([])));
}

#[tokio::test]
async fn who_may_know_an_object_is_told_which_key_he_lacks_on_it() {
    let api = Api::furnished().await;
    let bob = api.user("bob").await;
    api.give("user:bob", &["minecraft.server.read"], "server:s1").await;
    for (method, body) in [("PATCH", json!({"name": "x"})), ("DELETE", Value::Null)] {
        let known = api.by(&bob, method, "/objects/server/s1", body.clone()).await.refused(403, "forbidden");
        assert_eq!(known.body["missing"], json!(["minecraft.server.manage"]));
        api.by(&bob, method, "/objects/server/s2", body).await.refused(404, "not_found");
    }
}

#[tokio::test]
async fn rows_carry_what_a_question_about_each_of_them_would_answer() {
    let api = Api::furnished().await;
    let carol = api.user("carol").await;
    for name in ["a", "b", "c", "d"] {
        let server = json!({"type": "server", "name": name, "external_id": name, "parent": "folder:eu"});
        api.admin("POST", "/objects", server).await.ok(201);
    }
    api.give("user:carol", &["minecraft.server.read", "minecraft.server.restart"], "folder:eu").await;
    api.give("user:carol", &["minecraft.server.manage", "core.grant.read"], "server:b").await;
    let deny = json!({"subject": "user:carol", "permissions": ["minecraft.server.restart"], "scope": "server:c",
        "effect": "deny"});
    api.admin("POST", "/grants", deny).await.ok(201);
    api.admin("POST", "/objects/server/d/inheritance", json!({"inherits": false})).await.ok(200);
    let masked = api.token(api.id_of("carol"), Some(&["minecraft.server.*"])).await;
    let catalog = api.admin("GET", "/permissions?object_type=server", Value::Null).await.ok(200);
    let fitting = catalog.texts("items", "key");
    for secret in [&carol, &masked, &api.admin] {
        let listed = api.by(secret, "GET", "/objects?type=server", Value::Null).await.ok(200);
        let rows = listed.body["items"].as_array().unwrap();
        assert!(rows.len() >= 4, "{}", listed.text);
        for row in rows {
            let name = row["external_id"].as_str().unwrap();
            let asked = json!({"object": format!("server:{name}")});
            let asked = api.by(secret, "POST", "/effective", asked).await.ok(200);
            let allowed = asked.body["permissions"].as_array().unwrap().iter();
            let allowed =
                allowed.filter(|row| row["state"] == "allowed").map(|row| row["permission"].clone());
            let fits = |key: &Value| fitting.iter().any(|fits| key == fits.as_str());
            let allowed: Vec<Value> = allowed.filter(fits).collect();
            assert_eq!(row["permissions"], json!(allowed), "{name}");
            let alone = api.by(secret, "GET", &format!("/objects/server/{name}"), Value::Null).await.ok(200);
            assert_eq!(&alone.body, row, "{name}");
        }
    }
}
