//! `/roles`: sets of permissions, edited as a whole.

use crate::support::Api;
use serde_json::{Value, json};

#[tokio::test]
async fn a_role_is_created_edited_as_a_whole_and_deleted() {
    let api = Api::furnished().await;
    let new = json!({"slug": "operators", "name": "Operators", "scope": "object",
                     "permissions": ["minecraft.server.restart", "minecraft.server.read"]});
    let made = api.admin("POST", "/roles", new).await.ok(201);
    assert_eq!(made.body["permissions"], json!(["minecraft.server.read", "minecraft.server.restart"]));
    let patch = json!({"permissions": ["minecraft.server.*"], "name": "Ops"});
    let etag = made.header("etag").to_owned();
    let edited = api.call("PATCH", "/roles/operators").by(&api.admin).header("if-match", &etag).json(&patch);
    let edited = edited.send().await.ok(200);
    assert_eq!(
        (&edited.body["permissions"], &edited.body["name"]),
        (&json!(["minecraft.server.*"]), &json!("Ops"))
    );
    let head = api.head();
    let again = api.call("PATCH", "/roles/operators").by(&api.admin).header("if-match", &etag).json(&patch);
    again.send().await.refused(412, "stale");
    let twice = json!({"permissions": ["minecraft.server.*", "minecraft.server.*"]});
    api.admin("PATCH", "/roles/operators", twice).await.refused(422, "duplicate");
    api.unchanged_since(head);
    api.admin("DELETE", "/roles/operators", Value::Null).await.ok(204);
    api.admin("GET", "/roles/operators", Value::Null).await.refused(404, "not_found");
}

#[tokio::test]
async fn roles_are_listed_by_where_they_can_be_assigned() {
    let api = Api::new().await;
    for (slug, scope) in [("g", "global"), ("o", "object"), ("b", "both")] {
        api.admin("POST", "/roles", json!({"slug": slug, "scope": scope})).await.ok(201);
    }
    let slugs = |path: &'static str| async {
        api.admin("GET", path, Value::Null).await.ok(200).texts("items", "slug")
    };
    let own = |slugs: Vec<String>| slugs.into_iter().filter(|slug| slug.len() == 1).collect::<Vec<_>>();
    assert_eq!(own(slugs("/roles").await), ["g", "o", "b"]);
    assert_eq!(own(slugs("/roles?scope=global").await), ["g", "b"]);
    assert_eq!(own(slugs("/roles?scope=object").await), ["o", "b"]);
    let object = slugs("/roles?scope=object").await;
    assert!(object.contains(&"owner".to_owned()) && !object.contains(&"administrator".to_owned()));
}

#[tokio::test]
async fn protected_roles_stay_as_they_are() {
    let api = Api::new().await;
    let head = api.head();
    for slug in ["administrator", "owner"] {
        api.admin("DELETE", &format!("/roles/{slug}"), Value::Null).await.refused(409, "protected_role");
        let patch = json!({"permissions": []});
        api.admin("PATCH", &format!("/roles/{slug}"), patch).await.refused(409, "protected_role");
    }
    api.unchanged_since(head);
}

#[tokio::test]
async fn nobody_adds_to_a_role_what_he_does_not_hold() {
    let api = Api::furnished().await;
    let editor = api.user("editor").await;
    api.give("user:editor", &["core.role.create", "core.role.edit", "core.role.read"], "global").await;
    let head = api.head();
    let role = json!({"slug": "mine", "scope": "global", "permissions": ["core.*", "minecraft.server.read"]});
    let reply = api.by(&editor, "POST", "/roles", role).await.refused(403, "not_held");
    assert_eq!(reply.body["missing"], json!(["core.*", "minecraft.server.read"]));
    api.unchanged_since(head);
}
