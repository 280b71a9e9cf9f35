//! What is gone and made again under the same name is something else: it inherits nothing.

use crate::support::{Api, PASSWORD};
use serde_json::{Value, json};

const KEY: &str = "minecraft.server.restart";

async fn may(api: &Api, user: &str, object: &str) -> bool {
    let question = json!({"user": user, "permission": KEY, "object": object});
    api.admin("POST", "/check", question).await.ok(200).body["allowed"].as_bool().unwrap()
}

/// The ids of all grants there are.
async fn grants(api: &Api) -> Vec<String> {
    api.admin("GET", "/grants?limit=500", Value::Null).await.ok(200).ids("items")
}

#[tokio::test]
async fn a_group_made_again_has_no_member_and_no_grant() {
    let api = Api::furnished().await;
    api.user_without_token("bob").await;
    let before = grants(&api).await;
    let made = api.admin("POST", "/groups", json!({"slug": "ops"})).await.ok(201);
    api.admin("PUT", "/groups/ops/members/bob", Value::Null).await.ok(204);
    api.give("group:ops", &[KEY], "server:s1").await;
    assert!(may(&api, "bob", "server:s1").await);
    api.admin("DELETE", "/groups/ops", Value::Null).await.ok(204);

    let again = api.admin("POST", "/groups", json!({"slug": "ops"})).await.ok(201);

    assert_ne!(again.body["id"], made.body["id"]);
    let members = api.admin("GET", "/groups/ops/members", Value::Null).await.ok(200);
    assert_eq!(members.body["items"], json!([]));
    assert_eq!(grants(&api).await, before);
    api.admin("PUT", "/groups/ops/members/bob", Value::Null).await.ok(204);
    assert!(!may(&api, "bob", "server:s1").await);
}

#[tokio::test]
async fn a_role_made_again_is_nobodys() {
    let api = Api::furnished().await;
    api.user_without_token("bob").await;
    let before = grants(&api).await;
    let role = json!({"slug": "starter", "scope": "object", "permissions": [KEY]});
    let made = api.admin("POST", "/roles", role.clone()).await.ok(201);
    let grant = json!({"subject": "user:bob", "role": "starter", "scope": "server:s1"});
    api.admin("POST", "/grants", grant).await.ok(201);
    assert!(may(&api, "bob", "server:s1").await);
    api.admin("DELETE", "/roles/starter", Value::Null).await.ok(204);
    assert!(!may(&api, "bob", "server:s1").await);

    let again = api.admin("POST", "/roles", role).await.ok(201);

    assert_ne!(again.body["id"], made.body["id"]);
    assert!(!may(&api, "bob", "server:s1").await);
    assert_eq!(grants(&api).await, before);
}

#[tokio::test]
async fn an_object_made_again_has_neither_grants_nor_its_old_owner() {
    let api = Api::furnished().await;
    for name in ["bob", "olga"] {
        api.user_without_token(name).await;
    }
    let server = json!({"type": "server", "name": "Mine", "external_id": "mine"});
    let made = api.admin("POST", "/objects", server.clone()).await.ok(201);
    api.give("user:bob", &[KEY], "server:mine").await;
    let sealed = json!({"inherits": false});
    api.admin("POST", "/objects/server/mine/inheritance", sealed).await.ok(200);
    api.admin("POST", "/objects/server/mine/transfer", json!({"owner": "olga"})).await.ok(200);
    assert!(may(&api, "bob", "server:mine").await && may(&api, "olga", "server:mine").await);
    api.admin("DELETE", "/objects/server/mine", Value::Null).await.ok(204);

    let again = api.admin("POST", "/objects", server).await.ok(201);

    assert_ne!(again.body["id"], made.body["id"]);
    assert!(!may(&api, "bob", "server:mine").await && !may(&api, "olga", "server:mine").await);
    let about = api.admin("GET", "/objects/server/mine", Value::Null).await.ok(200);
    assert_eq!((&about.body["inherits"], &about.body["owner"]["username"]), (&json!(true), &json!("ada")));
    // The old id names nothing.
    let old = format!("/objects/server/{}", made.body["id"].as_str().unwrap());
    api.admin("GET", &old, Value::Null).await.refused(404, "not_found");
}

#[tokio::test]
async fn an_account_withdrawn_and_made_again_opens_with_no_old_link_and_has_nothing() {
    let api = Api::furnished().await;
    let first = api.admin("POST", "/invitations", json!({"username": "bob"})).await.ok(201);
    api.admin("DELETE", "/invitations/bob", Value::Null).await.ok(204);
    let again = api.admin("POST", "/invitations", json!({"username": "bob"})).await.ok(201);
    assert_ne!(first.body["user"]["id"], again.body["user"]["id"]);
    let accept = |secret: &Value| {
        let body = json!({"secret": secret, "password": PASSWORD});
        api.call("POST", "/invitations/accept").json(&body).send()
    };
    accept(&first.body["secret"]).await.refused(401, "invalid_link");
    accept(&again.body["secret"]).await.ok(201);
    assert!(!may(&api, "bob", "server:s1").await);
    let id = first.body["user"]["id"].as_str().unwrap();
    let old = api.admin("GET", &format!("/users/{id}"), Value::Null).await;
    assert!(old.status == 404 || old.body["status"] == "erased", "{}", old.text);
}
