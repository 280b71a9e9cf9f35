//! `/groups` and their members.

use crate::support::Api;
use serde_json::{Value, json};

#[tokio::test]
async fn a_group_is_created_renamed_filled_emptied_and_deleted() {
    let api = Api::new().await;
    api.user_without_token("bob").await;
    let made = api.admin("POST", "/groups", json!({"slug": "ops"})).await.ok(201);
    assert_eq!((&made.body["slug"], &made.body["name"]), (&json!("ops"), &json!("ops")));
    let renamed = api.admin("PATCH", "/groups/ops", json!({"name": "Operations"})).await.ok(200);
    assert_eq!(renamed.body["name"], "Operations");
    api.admin("PUT", "/groups/ops/members/bob", Value::Null).await.ok(204);
    let head = api.head();
    api.admin("PUT", "/groups/ops/members/bob", Value::Null).await.ok(204);
    api.unchanged_since(head);
    let members = api.admin("GET", "/groups/ops/members", Value::Null).await.ok(200);
    assert_eq!(members.texts("items", "username"), ["bob"]);
    let bob = api.admin("GET", "/users/bob", Value::Null).await.ok(200);
    assert_eq!(bob.texts("groups", "slug"), ["ops"]);
    assert_eq!(api.admin("GET", "/groups/ops", Value::Null).await.ok(200).body["members"], 1);
    api.admin("DELETE", "/groups/ops/members/bob", Value::Null).await.ok(204);
    api.admin("DELETE", "/groups/ops", Value::Null).await.ok(204);
    api.admin("GET", "/groups/ops", Value::Null).await.refused(404, "not_found");
}

#[tokio::test]
async fn anyone_may_leave_a_group_that_carries_no_deny() {
    let api = Api::furnished().await;
    let bob = api.user("bob").await;
    for slug in ["ops", "barred"] {
        api.admin("POST", "/groups", json!({"slug": slug})).await.ok(201);
        api.admin("PUT", &format!("/groups/{slug}/members/bob"), Value::Null).await.ok(204);
    }
    let deny = json!({"subject": "group:barred", "permissions": ["minecraft.server.restart"],
                      "scope": "server:s1", "effect": "deny"});
    api.admin("POST", "/grants", deny).await.ok(201);
    api.by(&bob, "DELETE", "/groups/ops/members/bob", Value::Null).await.ok(204);
    let head = api.head();
    let reply = api.by(&bob, "DELETE", "/groups/barred/members/bob", Value::Null).await;
    assert_eq!(reply.status, 403, "{}", reply.text);
    api.by(&bob, "DELETE", "/groups/ops/members/ada", Value::Null).await.refused(403, "forbidden");
    api.unchanged_since(head);
}

#[tokio::test]
async fn whether_a_user_to_be_added_is_there_is_told_after_whether_the_group_is_unchanged() {
    let api = Api::new().await;
    api.user_without_token("dave").await;
    api.admin("POST", "/groups", json!({"slug": "ops"})).await.ok(201);
    let add = |user: &str| {
        let call = api.call("PUT", &format!("/groups/ops/members/{user}")).by(&api.admin);
        call.header("if-match", "\"1\"").send()
    };
    let there = add("dave").await.refused(412, "stale");
    let ghost = add("ghost").await.refused(412, "stale");
    assert_eq!(there.text, ghost.text);
}
