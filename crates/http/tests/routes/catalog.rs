//! `/catalog`: permissions and object types, registered by documents.

use crate::support::{Api, catalog};
use serde_json::{Value, json};

#[tokio::test]
async fn a_namespaces_document_is_applied_whole_and_again_without_effect() {
    let api = Api::new().await;
    let head = api.head();
    api.admin("PUT", "/catalog/minecraft", catalog()).await.ok(200);
    assert!(api.head() > head);
    let head = api.head();
    api.admin("PUT", "/catalog/minecraft", catalog()).await.ok(200);
    api.unchanged_since(head);
    let mut less = catalog();
    less["permissions"].as_array_mut().unwrap().pop();
    api.admin("PUT", "/catalog/minecraft", less).await.ok(200);
    let shown = api.admin("GET", "/permissions?namespace=minecraft", Value::Null).await.ok(200);
    let deprecated: Vec<&Value> =
        shown.body["items"].as_array().unwrap().iter().filter(|p| p["deprecated"] == true).collect();
    assert_eq!(deprecated.len(), 1);
    assert_eq!(deprecated[0]["key"], "minecraft.report.read");
}

#[tokio::test]
async fn the_catalog_is_shown_flat_or_as_a_tree_by_object_type_and_scope() {
    let api = Api::furnished().await;
    let keys = |path: &'static str| async {
        api.admin("GET", path, Value::Null).await.ok(200).texts("items", "key")
    };
    let all = keys("/permissions?limit=500").await;
    let mut sorted = all.clone();
    sorted.sort();
    assert_eq!(all, sorted);
    assert_eq!(keys("/permissions?namespace=minecraft").await.len(), 5);
    let on_servers = keys("/permissions?object_type=server&limit=500").await;
    assert!(on_servers.contains(&"minecraft.server.restart".to_owned()));
    assert!(on_servers.contains(&"core.grant.manage".to_owned()));
    assert!(!on_servers.contains(&"minecraft.report.read".to_owned()));
    let on_objects = keys("/permissions?scope=object&limit=500").await;
    assert!(!on_objects.contains(&"core.user.read".to_owned()));
    let first = api.admin("GET", "/permissions?limit=2", Value::Null).await.ok(200);
    let path = format!("/permissions?limit=2&cursor={}", first.body["next"].as_str().unwrap());
    assert_eq!(api.admin("GET", &path, Value::Null).await.ok(200).texts("items", "key"), all[2..4]);

    let tree = api.admin("GET", "/permissions?shape=tree&namespace=minecraft", Value::Null).await.ok(200);
    assert_eq!(tree.texts("tree", "namespace"), ["minecraft"]);
    let resources = tree.body["tree"][0]["resources"].as_array().unwrap();
    assert_eq!(
        resources.iter().map(|r| r["resource"].as_str().unwrap()).collect::<Vec<_>>(),
        ["report", "server"]
    );
    assert_eq!(tree.texts("object_types", "name"), ["folder", "server"]);
}

#[tokio::test]
async fn a_namespace_registers_its_own_alone_and_core_is_nobodys() {
    let api = Api::furnished().await;
    let key = |key: &str| json!({"permissions": [{"key": key, "description": "x"}]});
    for (namespace, body, status) in [
        ("game", key("other.a.b"), 422),
        ("core", key("core.a.b"), 403),
        ("Game", key("game.a.b"), 422),
        ("game", json!({"namespace": "other"}), 422),
        ("game", json!({"permissions": [{"key": "game.a.b"}, {"key": "game.a.b"}]}), 422),
        ("game", json!({"permissions": [{"key": "game.a.b", "object_types": ["boat"]}]}), 422),
    ] {
        let head = api.head();
        let reply = api.admin("PUT", &format!("/catalog/{namespace}"), body.clone()).await;
        assert_eq!(reply.status, status, "{namespace} {body}: {}", reply.text);
        api.unchanged_since(head);
    }
    let mut other = catalog();
    other["object_types"][0]["manage"] = json!("minecraft.server.read");
    let head = api.head();
    api.admin("PUT", "/catalog/minecraft", other).await.refused(409, "already_registered");
    api.unchanged_since(head);
}
