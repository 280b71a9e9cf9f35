//! Groups through `/scim/v2/Groups`.

use super::{GROUP, Provider};
use crate::support::Api;
use serde_json::{Value, json};

#[tokio::test]
async fn a_group_is_created_with_its_members_renamed_and_gone() {
    let api = Api::new().await;
    let provider = Provider::admin(&api).await;
    let (alice, bob) = (provider.user("alice").await, provider.user("bob").await);
    let before = api.head();
    let new = json!({"schemas": [GROUP], "displayName": "Operators", "externalId": "g-1",
                     "members": [{"value": alice, "type": "User", "display": "ignored"}, {"value": bob}]});
    let made = provider.send("POST", "/Groups", new).await.ok(201);
    let id = made.body["id"].as_str().unwrap().to_owned();
    let at = format!("/Groups/{id}");
    let member = |id: &str| json!({"value": id, "$ref": format!("/scim/v2/Users/{id}"), "type": "User"});
    let expected = json!({
        "schemas": [GROUP], "id": id, "displayName": "Operators", "externalId": "g-1",
        "members": [member(&alice), member(&bob)], "meta": made.body["meta"],
    });
    assert_eq!(made.body, expected);
    assert_eq!(made.header("location"), format!("/scim/v2{at}"));
    assert_eq!(made.header("etag"), made.body["meta"]["version"].as_str().unwrap());
    let events = api.control.events(before, 100).await.unwrap();
    assert!(events.iter().all(|event| event.command == events[0].command), "{events:?}");
    let native = api.admin("GET", &format!("/groups/{id}"), Value::Null).await.ok(200);
    assert_eq!((&native.body["slug"], &native.body["members"]), (&json!("operators"), &json!(2)));
    assert_eq!(native.body["external_id"], "g-1");

    let put = json!({"schemas": [GROUP], "displayName": "Ops"});
    let now = provider.send("PUT", &at, put).await.ok(200);
    assert_eq!((&now.body["displayName"], now.members().len()), (&json!("Ops"), 2));
    assert!(now.body.get("externalId").is_none());
    let put =
        json!({"schemas": [GROUP], "displayName": "Ops", "externalId": "g-2", "members": [{"value": bob}]});
    let now = provider.send("PUT", &at, put.clone()).await.ok(200);
    assert_eq!((&now.body["externalId"], now.members()), (&json!("g-2"), vec![bob.clone()]));
    let head = api.head();
    assert_eq!(provider.send("PUT", &at, put).await.ok(200).body, now.body);
    api.unchanged_since(head);
    let of_bob = provider.get(&format!("Users/{bob}")).await.ok(200);
    let shown = json!([{"value": id, "$ref": format!("/scim/v2{at}"), "display": "Ops", "type": "direct"}]);
    assert_eq!(of_bob.body["groups"], shown);
    let put = json!({"schemas": [GROUP], "displayName": "Ops", "members": []});
    assert!(provider.send("PUT", &at, put).await.ok(200).members().is_empty());
    provider.call("DELETE", &at).send().await.ok(204);
    provider.get(&at).await.fault(404, None);
    // The same name again is another group, which inherits nothing.
    let again = provider.group("Operators", &[]).await;
    assert_ne!(again, id);
    assert!(provider.get(&format!("/Groups/{again}")).await.ok(200).members().is_empty());
}

#[tokio::test]
async fn two_groups_may_be_shown_alike() {
    let api = Api::new().await;
    let provider = Provider::admin(&api).await;
    let (one, other) = (provider.group("Ops", &[]).await, provider.group("Ops", &[]).await);
    assert_ne!(one, other);
    let native = api.admin("GET", &format!("/groups/{other}"), Value::Null).await.ok(200);
    assert_eq!(native.body["slug"], "ops-2");
}

#[tokio::test]
async fn each_operation_on_members_does_what_it_says() {
    let api = Api::new().await;
    let provider = Provider::admin(&api).await;
    let (a, b, c) = (provider.user("a").await, provider.user("b").await, provider.user("c").await);
    let id = provider.group("Ops", &[&a]).await;
    let at = format!("/Groups/{id}");
    let value = |users: &[&String]| users.iter().map(|user| json!({"value": user})).collect::<Value>();
    let nobody = "00000000-0000-7000-8000-000000000009";
    for (operations, left) in [
        (json!([{"op": "Add", "path": "members", "value": value(&[&b, &a])}]), vec![&a, &b]),
        (json!([{"op": "Remove", "path": format!("members[value eq \"{a}\"]")}]), vec![&b]),
        (json!([{"op": "Remove", "path": "members", "value": value(&[&b, &c])}]), vec![]),
        (json!([{"op": "replace", "path": "members", "value": value(&[&a, &c])}]), vec![&a, &c]),
        (
            json!([{"op": "add", "value": {"members": value(&[&b]), "displayName": "Operators"}}]),
            vec![&a, &b, &c],
        ),
        (
            json!([{"op": "remove", "path": format!("members[value eq \"{a}\" or value eq \"{b}\"]")}]),
            vec![&c],
        ),
        (json!([{"op": "remove", "path": format!("members[value eq \"{nobody}\"]")}]), vec![&c]),
        (
            json!([{"op": "add", "path": "members", "value": value(&[&a])},
                {"op": "remove", "path": format!("members[value eq \"{a}\"]")},
                {"op": "add", "path": "members", "value": value(&[&b])}]),
            vec![&b, &c],
        ),
        (
            json!([{"op": "remove", "path": "members"}, {"op": "add", "path": "members", "value": value(&[&a])}]),
            vec![&a],
        ),
        (json!([{"op": "remove", "path": "members[type eq \"user\"]"}]), vec![]),
        (json!([{"op": "replace", "path": "externalId", "value": "x"}]), vec![]),
    ] {
        let shown = operations.to_string();
        let now = provider.patch(&at, operations).await.ok(200);
        let mut left: Vec<String> = left.into_iter().cloned().collect();
        left.sort();
        assert_eq!(now.members(), left, "{shown}");
        assert_eq!(provider.get(&at).await.ok(200).body, now.body, "{shown}");
    }
    let head = api.head();
    for (operation, scim_type) in [
        (json!({"op": "add", "path": "members", "value": [{"value": nobody}]}), "invalidValue"),
        (json!({"op": "add", "path": "members", "value": [{"value": "alice"}]}), "invalidValue"),
        (json!({"op": "add", "path": "members", "value": [{"value": a.to_uppercase()}]}), "invalidValue"),
        (json!({"op": "add", "path": "members", "value": [{"value": id, "type": "Group"}]}), "invalidValue"),
        (json!({"op": "add", "path": "members", "value": ["x"]}), "invalidValue"),
        (json!({"op": "replace", "path": format!("members[value eq \"{a}\"]"), "value": {}}), "invalidPath"),
        (json!({"op": "add", "path": "members.value", "value": "x"}), "invalidPath"),
        (json!({"op": "add", "path": "title", "value": "x"}), "invalidPath"),
        (json!({"op": "remove", "path": "displayName"}), "mutability"),
    ] {
        let both = json!([{"op": "add", "path": "members", "value": value(&[&a])}, operation]);
        provider.patch(&at, both).await.fault(400, Some(scim_type));
    }
    api.unchanged_since(head);
}

#[tokio::test]
async fn a_change_is_held_to_the_version_that_was_seen() {
    let api = Api::new().await;
    let provider = Provider::admin(&api).await;
    let user = provider.user("alice").await;
    let group = provider.group("Ops", &[]).await;
    let add = json!([{"op": "add", "path": "members", "value": [{"value": user}]}]);
    for (at, change, other) in [
        (
            format!("/Groups/{group}"),
            add,
            json!([{"op": "replace", "path": "displayName", "value": "Other"}]),
        ),
        (
            format!("Users/{user}"),
            json!([{"op": "replace", "path": "active", "value": false}]),
            json!([{"op": "replace", "path": "displayName", "value": "Other"}]),
        ),
    ] {
        let seen = provider.get(&at).await.ok(200).header("etag").to_owned();
        let known = provider.call("GET", &at).header("if-none-match", &seen).send().await.ok(304);
        assert_eq!((known.text.as_str(), known.header("etag")), ("", seen.as_str()));
        provider.patch(&at, other).await.ok(200);
        provider.call("GET", &at).header("if-none-match", &seen).send().await.ok(200);
        let head = api.head();
        let patch = json!({"schemas": [super::PATCH], "Operations": change}).to_string();
        let held = |tag: &str| {
            let call = provider.call("PATCH", &at).header("if-match", tag);
            call.raw("application/scim+json", patch.as_bytes()).send()
        };
        held(&seen).await.fault(412, None);
        held("W/\"1\"").await.fault(412, None);
        held("nonsense").await.fault(400, None);
        provider.call("DELETE", &at).header("if-match", &seen).send().await.fault(412, None);
        api.unchanged_since(head);
        let now = provider.get(&at).await.ok(200).header("etag").to_owned();
        held(&now).await.ok(200);
        held("*").await.ok(200);
        let now = provider.get(&at).await.ok(200).header("etag").to_owned();
        provider.call("DELETE", &at).header("if-match", &now).send().await.ok(204);
    }
}

/// A user's tag says when his groups change, and a change of him does not depend on it.
#[tokio::test]
async fn a_users_tag_differs_with_his_groups() {
    let api = Api::new().await;
    let provider = Provider::admin(&api).await;
    let user = provider.user("alice").await;
    let at = format!("Users/{user}");
    let alone = provider.get(&at).await.ok(200).header("etag").to_owned();
    let group = provider.group("Ops", &[&user]).await;
    let joined = provider.get(&at).await.ok(200).header("etag").to_owned();
    assert_ne!(alone, joined);
    provider.call("GET", &at).header("if-none-match", &alone).send().await.ok(200);
    provider.call("GET", &at).header("if-none-match", &joined).send().await.ok(304);
    let patch = json!({"schemas": [super::PATCH], "Operations": [{"op": "add", "path": "displayName", "value": "A"}]});
    let call = provider.call("PATCH", &at).header("if-match", &joined);
    call.raw("application/scim+json", patch.to_string().as_bytes()).send().await.ok(200);
    provider.call("DELETE", &format!("/Groups/{group}")).send().await.ok(204);
}

/// Each replacement is of the members there are when it is decided: none is mixed with another.
#[tokio::test(flavor = "multi_thread")]
async fn of_replacements_at_the_same_time_one_stands() {
    let api = Api::new().await;
    let provider = Provider::admin(&api).await;
    let mut users = Vec::new();
    for name in ["a", "b", "c", "d"] {
        users.push(provider.user(name).await);
    }
    let group = provider.group("Ops", &[]).await;
    let at = format!("/Groups/{group}");
    for _ in 0..10 {
        let replace = |user: &String| {
            let operation = json!([{"op": "replace", "path": "members", "value": [{"value": user}]}]);
            provider.patch(&at, operation)
        };
        let all =
            tokio::join!(replace(&users[0]), replace(&users[1]), replace(&users[2]), replace(&users[3]));
        for reply in [all.0, all.1, all.2, all.3] {
            reply.ok(200);
        }
        assert_eq!(provider.get(&at).await.ok(200).members().len(), 1);
    }
}
