//! `/grants`: issued, shown, listed, revoked.

use crate::support::Api;
use serde_json::{Value, json};

#[tokio::test]
async fn a_grant_is_issued_shown_listed_and_revoked() {
    let api = Api::furnished().await;
    let bob = api.user("bob").await;
    let role = json!({"slug": "ops-role", "scope": "object", "permissions": ["minecraft.server.*"]});
    api.admin("POST", "/roles", role).await.ok(201);
    let new = json!({"subject": "user:bob", "role": "ops-role", "scope": "folder:eu", "affects": "children_only",
                     "child_types": "objects", "expires_at": "2999-01-01T00:00:00Z"});
    let made = api.admin("POST", "/grants", new).await.ok(201);
    let id = made.body["id"].as_str().unwrap().to_owned();
    for (member, value) in [("affects", "children_only"), ("child_types", "objects"), ("effect", "allow")] {
        assert_eq!(made.body[member], value);
    }
    assert_eq!(made.body["subject"]["user"]["username"], "bob");
    assert_eq!(made.body["role"]["slug"], "ops-role");
    assert_eq!(made.body["scope"]["object"]["external_id"], "eu");
    assert_eq!((&made.body["live"], &made.body["owner_grant"]), (&json!(true), &json!(false)));
    for path in
        ["/grants?subject=user:bob", "/grants?role=ops-role", "/grants?scope=folder:eu&subject=user:bob"]
    {
        assert_eq!(api.admin("GET", path, Value::Null).await.ok(200).ids("items"), [id.as_str()], "{path}");
    }
    for path in
        ["/grants?role=no-role", "/grants?subject=group:none", "/grants?scope=global&subject=user:bob"]
    {
        assert_eq!(api.admin("GET", path, Value::Null).await.ok(200).body["items"], json!([]), "{path}");
    }
    api.by(&bob, "GET", "/objects/server/s1", Value::Null).await.ok(200);
    api.admin("DELETE", &format!("/grants/{id}"), Value::Null).await.ok(204);
    api.admin("GET", &format!("/grants/{id}"), Value::Null).await.refused(404, "not_found");
    api.by(&bob, "GET", "/objects/server/s1", Value::Null).await.refused(404, "not_found");
}

#[tokio::test]
async fn one_grants_what_one_holds_and_no_more() {
    let api = Api::furnished().await;
    let bob = api.user("bob").await;
    api.user_without_token("carol").await;
    let keys = ["core.grant.manage", "minecraft.server.read"];
    api.give("user:bob", &keys, "server:s1").await;
    let grant = |keys: &[&str]| json!({"subject": "user:carol", "permissions": keys, "scope": "server:s1"});
    let head = api.head();
    let reply =
        api.by(&bob, "POST", "/grants", grant(&["minecraft.server.restart", "core.grant.read"])).await;
    let reply = reply.refused(403, "not_held");
    assert_eq!(reply.body["missing"], json!(["core.grant.read", "minecraft.server.restart"]));
    api.unchanged_since(head);
    api.by(&bob, "POST", "/grants", grant(&["minecraft.server.read"])).await.ok(201);
}

#[tokio::test]
async fn what_makes_no_sense_together_is_refused() {
    let api = Api::furnished().await;
    api.user_without_token("bob").await;
    let grant = |more: Value| {
        let mut grant =
            json!({"subject": "user:bob", "permissions": ["minecraft.server.restart"], "scope": "server:s1"});
        grant.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        grant
    };
    for (more, code) in [
        (json!({"affects": "self_only"}), "invalid_reach"),
        (json!({"scope": "folder:eu", "affects": "self_only", "child_types": "objects"}), "invalid_reach"),
        (json!({"permissions": []}), "empty"),
        (json!({"permissions": ["minecraft.report.read"]}), "type_mismatch"),
        (json!({"expires_at": "2020-01-01T00:00:00Z"}), "invalid_time"),
        (json!({"not_before": "2999-01-01T00:00:00Z", "expires_at": "2998-01-01T00:00:00Z"}), "invalid_time"),
    ] {
        let head = api.head();
        let shown = more.to_string();
        let reply = api.admin("POST", "/grants", grant(more)).await;
        assert_eq!((reply.status, reply.code()), (422, code), "{shown}: {}", reply.text);
        assert!(reply.body["field"].is_string(), "{shown}: {}", reply.text);
        api.unchanged_since(head);
    }
    let head = api.head();
    for (role, scope) in [("administrator", "server:s1")] {
        let grant = json!({"subject": "user:bob", "role": role, "scope": scope});
        api.admin("POST", "/grants", grant).await.refused(422, "role_scope");
    }
    let owner = json!({"subject": "user:bob", "role": "owner", "scope": "server:s1"});
    api.admin("POST", "/grants", owner).await.refused(409, "owner_grant");
    api.unchanged_since(head);
}

#[tokio::test]
async fn an_owners_grant_moves_by_transfer_alone() {
    let api = Api::furnished().await;
    let listed = api.admin("GET", "/grants?scope=server:s1", Value::Null).await.ok(200);
    let id = listed.ids("items")[0].clone();
    let head = api.head();
    api.admin("DELETE", &format!("/grants/{id}"), Value::Null).await.refused(409, "owner_grant");
    api.unchanged_since(head);
}
