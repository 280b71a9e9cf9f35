//! Users through `/scim/v2/Users`.

use super::{PATCH, Provider, USER, encoded, rooted};
use crate::support::{Api, PASSWORD};
use serde_json::{Value, json};

fn whole() -> Value {
    json!({
        "schemas": [USER, "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"],
        "userName": "Alice@Example.com",
        "externalId": "00u1",
        "displayName": "Alice Smith",
        "name": {"givenName": "Alice", "familyName": "Smith"},
        "emails": [
            {"value": "alice@home.example", "type": "home"},
            {"value": "alice@example.com", "type": "work", "primary": true}
        ],
        "active": true,
        "title": "Engineer",
        "groups": [],
        "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User": {"department": "Ops"}
    })
}

#[tokio::test]
async fn a_user_is_created_shown_changed_suspended_and_gone() {
    let api = Api::new().await;
    let provider = Provider::admin(&api).await;
    let made = provider.send("POST", "/Users", whole()).await.ok(201);
    assert_eq!(made.header("content-type"), "application/scim+json");
    let id = made.body["id"].as_str().unwrap().to_owned();
    let at = format!("Users/{id}");
    assert_eq!(made.header("location"), rooted(&at));
    let expected = json!({
        "schemas": [USER], "id": id, "userName": "Alice@Example.com", "externalId": "00u1",
        "displayName": "Alice Smith", "active": true,
        "emails": [{"value": "alice@example.com", "type": "work"}],
        "meta": made.body["meta"],
    });
    assert_eq!(made.body, expected);
    assert_eq!(made.body["meta"]["version"], made.header("etag"));
    assert_eq!(made.body["meta"]["location"], made.header("location"));
    assert_eq!(provider.get(&at).await.ok(200).body, expected);

    let native = api.admin("GET", &format!("/users/{id}"), Value::Null).await.ok(200);
    assert_eq!(native.body["login_name"], "Alice@Example.com");
    assert_eq!(
        (&native.body["username"], &native.body["kind"]),
        (&json!("alice-example.com"), &json!("person"))
    );

    let off =
        provider.patch(&at, json!([{"op": "Replace", "path": "active", "value": "False"}])).await.ok(200);
    assert_eq!(off.body["active"], false);
    let native = api.admin("GET", &format!("/users/{id}"), Value::Null).await.ok(200);
    assert_eq!(native.body["status"], "suspended");
    let on = provider.patch(&at, json!([{"op": "replace", "value": {"active": true}}])).await.ok(200);
    assert_eq!(on.body["active"], true);

    provider.call("DELETE", &at).send().await.ok(204);
    for method in ["GET", "DELETE"] {
        provider.call(method, &at).send().await.fault(404, None);
    }
    provider.send("PUT", &at, whole()).await.fault(404, None);
    provider.patch(&at, json!([{"op": "replace", "path": "active", "value": true}])).await.fault(404, None);
    assert!(!provider.found("/Users").await.contains(&id));
    let native = api.admin("GET", &format!("/users/{id}"), Value::Null).await.ok(200);
    assert_eq!(native.body["status"], "awaiting_deletion");
    api.admin("POST", &format!("/users/{id}/restore"), Value::Null).await.ok(200);
    assert_eq!(provider.get(&at).await.ok(200).body["userName"], "Alice@Example.com");
}

#[tokio::test]
async fn the_user_name_signs_in_in_any_case_and_is_nobody_elses_in_any_case() {
    let api = Api::new().await;
    let provider = Provider::admin(&api).await;
    let id = provider.user("Alice@Example.com").await;
    let reset = json!({"password": PASSWORD});
    api.admin("POST", &format!("/users/{id}/credential-reset"), reset).await.ok(204);
    let sign_in = json!({"username": "aLICE@example.COM", "password": PASSWORD});
    api.call("POST", "/session").json(&sign_in).send().await.ok(201);
    let head = api.head();
    for taken in
        ["Alice@Example.com", "alice@example.com", "ALICE@EXAMPLE.COM", "ada", "ADA", "alice-example.com"]
    {
        let again = json!({"schemas": [USER], "userName": taken});
        provider.send("POST", "/Users", again).await.fault(409, Some("uniqueness"));
    }
    api.unchanged_since(head);
}

/// Look-alikes are other names, or none: nothing is folded into somebody else.
#[tokio::test]
async fn a_user_name_that_looks_like_another_is_a_distinct_user_or_refused() {
    let api = Api::new().await;
    let provider = Provider::admin(&api).await;
    let admin = provider.user("admin").await;
    let mut seen = vec![admin.clone()];
    for name in ["\u{430}dmin", "admin\u{200b}", "\u{fb01}le", "file", "caf\u{e9}", "cafe\u{301}", "admin."] {
        let id = provider.user(name).await;
        assert!(!seen.contains(&id), "{name:?}");
        let by_name = provider
            .found(&format!("/Users?filter={}", encoded(&format!("userName eq {}", json!(name)))))
            .await;
        assert_eq!(by_name, [id.as_str()], "{name:?}");
        assert_eq!(provider.get(&format!("Users/{id}")).await.ok(200).body["userName"], name);
        seen.push(id);
    }
    let head = api.head();
    let long = "a".repeat(129);
    for (name, status, scim_type) in [
        ("Admin", 409, "uniqueness"),
        ("ADMIN", 409, "uniqueness"),
        ("admin ", 400, "invalidValue"),
        (" admin", 400, "invalidValue"),
        ("", 400, "invalidValue"),
        ("ad\0min", 400, "invalidValue"),
        ("ad\nmin", 400, "invalidValue"),
        (&long, 400, "invalidValue"),
        (&admin, 400, "invalidValue"),
    ] {
        let user = json!({"schemas": [USER], "userName": name});
        provider.send("POST", "/Users", user).await.fault(status, Some(scim_type));
    }
    api.unchanged_since(head);
}

/// A directory's id for somebody, whatever it looks like, makes him nobody else.
#[tokio::test]
async fn an_external_id_like_somebodys_id_or_name_or_address_is_a_distinct_user_or_refused() {
    let api = Api::new().await;
    let provider = Provider::admin(&api).await;
    let bob = json!({"schemas": [USER], "userName": "bob", "emails": [{"value": "bob@example.com"}]});
    let bob = provider.send("POST", "/Users", bob).await.ok(201).body["id"].as_str().unwrap().to_owned();
    let group = provider.group("Operators", &[&bob]).await;
    for (number, external) in ["1", "bob@example.com", "Bob"].iter().enumerate() {
        let new = json!({"schemas": [USER], "userName": format!("new-{number}"), "externalId": external});
        let made = provider.send("POST", "/Users", new).await.ok(201);
        assert_ne!(made.body["id"], bob.as_str());
        assert!(made.body.get("groups").is_none(), "{}", made.text);
    }
    let head = api.head();
    for (external, status, scim_type) in [
        (bob.as_str(), 400, "invalidValue"),
        ("bob", 409, "uniqueness"),
        ("ada", 409, "uniqueness"),
        ("1", 409, "uniqueness"),
    ] {
        let new = json!({"schemas": [USER], "userName": "another", "externalId": external});
        provider.send("POST", "/Users", new).await.fault(status, Some(scim_type));
    }
    api.unchanged_since(head);
    assert_eq!(provider.get(&format!("/Groups/{group}")).await.ok(200).members(), [bob.as_str()]);
}

#[tokio::test]
async fn only_an_id_written_as_it_is_names_anybody() {
    let api = Api::new().await;
    let provider = Provider::admin(&api).await;
    let id = provider.user("bob").await;
    provider.get(&format!("Users/{id}")).await.ok(200);
    for other in [
        id.to_uppercase(),
        id.replace('-', ""),
        "bob".to_owned(),
        format!("%7B{id}%7D"),
        format!("{id}%20"),
        format!("%2e%2e%2f{id}"),
        format!("{id};a=b"),
        format!("{id}%00"),
    ] {
        provider.get(&format!("Users/{other}")).await.fault(404, None);
    }
}

#[tokio::test]
async fn what_a_replacement_does_not_name_is_cleared_but_for_whether_the_account_works() {
    let api = Api::new().await;
    let provider = Provider::admin(&api).await;
    let id = provider.send("POST", "/Users", whole()).await.ok(201).body["id"].as_str().unwrap().to_owned();
    let at = format!("Users/{id}");
    provider.patch(&at, json!([{"op": "replace", "path": "active", "value": false}])).await.ok(200);
    let put = json!({"schemas": [USER], "id": "ignored", "userName": "alice@new.example",
                     "name": {"formatted": "Alice S."}});
    let now = provider.send("PUT", &at, put.clone()).await.ok(200);
    let expected = json!({"schemas": [USER], "id": id, "userName": "alice@new.example", "displayName": "Alice S.",
                          "active": false, "meta": now.body["meta"]});
    assert_eq!(now.body, expected);
    let head = api.head();
    assert_eq!(provider.send("PUT", &at, put).await.ok(200).body, expected);
    api.unchanged_since(head);
}

#[tokio::test]
async fn each_operation_of_a_patch_does_what_it_says() {
    patched([
        (json!([{"op": "add", "path": "displayName", "value": "A"}]), "displayName", json!("A")),
        (json!([{"op": "REPLACE", "path": "DISPLAYNAME", "value": "B"}]), "displayName", json!("B")),
        (
            json!([{"op": "replace", "path": format!("{USER}:displayName"), "value": "C"}]),
            "displayName",
            json!("C"),
        ),
        (
            json!([{"op": "replace", "value": {format!("{USER}:displayName"): "D"}}]),
            "displayName",
            json!("D"),
        ),
        (json!([{"op": "remove", "path": "displayName"}]), "displayName", Value::Null),
        (json!([{"op": "replace", "path": "name.formatted", "value": "E"}]), "displayName", json!("E")),
        (
            json!([{"op": "add", "value": {"name.givenName": "F", "name.familyName": "G"}}]),
            "displayName",
            json!("F G"),
        ),
        (json!([{"op": "replace", "path": "name.givenName", "value": "H"}]), "displayName", json!("F G")),
        (json!([{"op": "add", "path": "externalId", "value": "x1"}]), "externalId", json!("x1")),
        (json!([{"op": "remove", "path": "externalId"}]), "externalId", Value::Null),
    ])
    .await;
}

#[tokio::test]
async fn each_operation_on_addresses_does_what_it_says_and_what_is_not_kept_is_passed_over() {
    patched([
        (
            json!([{"op": "add", "path": "emails[type eq \"work\"].value", "value": "a@b.c"}]),
            "emails",
            json!([{"value": "a@b.c", "type": "work"}]),
        ),
        (
            json!([{"op": "add", "path": "emails", "value": [{"value": "home@b.c", "type": "home"}]}]),
            "emails",
            json!([{"value": "a@b.c", "type": "work"}]),
        ),
        (
            json!([{"op": "add", "path": "emails", "value": {"value": "b@b.c", "primary": true}}]),
            "emails",
            json!([{"value": "b@b.c", "type": "work"}]),
        ),
        (
            json!([{"op": "remove", "path": "emails[value eq \"other@b.c\"]"}]),
            "emails",
            json!([{"value": "b@b.c", "type": "work"}]),
        ),
        (
            json!([{"op": "remove", "path": "emails[value eq \"B@b.c\" and type eq \"WORK\"]"}]),
            "emails",
            Value::Null,
        ),
        (
            json!([{"op": "replace", "path": "emails", "value": [{"value": "c@b.c"}]}]),
            "emails",
            json!([{"value": "c@b.c", "type": "work"}]),
        ),
        (json!([{"op": "replace", "path": "emails", "value": []}]), "emails", Value::Null),
        (
            json!([{"op": "replace", "path": "userName", "value": "alice@x.example"}]),
            "userName",
            json!("alice@x.example"),
        ),
        (
            json!([{"op": "add", "path": "title", "value": "Dr"},
                {"op": "replace", "path": "phoneNumbers[type eq \"mobile\"].value", "value": "1"},
                {"op": "add", "path": "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:department", "value": "x"}]),
            "userName",
            json!("alice@x.example"),
        ),
    ])
    .await;
}

/// Patches a user step by step: what is done, and what an attribute then is.
async fn patched(steps: impl IntoIterator<Item = (Value, &'static str, Value)>) {
    let api = Api::new().await;
    let provider = Provider::admin(&api).await;
    let id = provider.user("alice").await;
    let at = format!("Users/{id}");
    for (operations, attribute, expected) in steps {
        let shown = operations.to_string();
        let now = provider.patch(&at, operations).await.ok(200);
        assert_eq!(now.body.get(attribute).cloned().unwrap_or_default(), expected, "{shown}: {}", now.text);
        assert_eq!(provider.get(&at).await.ok(200).body, now.body, "{shown}");
    }
}

#[tokio::test]
async fn a_patch_that_is_wrong_anywhere_changes_nothing() {
    let api = Api::new().await;
    let provider = Provider::admin(&api).await;
    let id = provider.user("alice").await;
    provider.user("bob").await;
    let at = format!("Users/{id}");
    let head = api.head();
    let first = json!({"op": "replace", "path": "displayName", "value": "Changed"});
    for (operation, status, scim_type) in [
        (json!({"op": "replace", "path": "userName", "value": "BOB"}), 409, "uniqueness"),
        (json!({"op": "replace", "path": "nothing", "value": "x"}), 400, "invalidPath"),
        (json!({"op": "replace", "path": "displayName]", "value": "x"}), 400, "invalidPath"),
        (json!({"op": "replace", "path": "displayName.x", "value": "x"}), 400, "invalidPath"),
        (json!({"op": "replace", "path": "displayName[value eq \"x\"]", "value": "x"}), 400, "invalidPath"),
        (json!({"op": "replace", "path": "emails[x eq \"x\"].value", "value": "x"}), 400, "invalidPath"),
        (json!({"op": "replace", "path": "", "value": "x"}), 400, "invalidPath"),
        (
            json!({"op": "replace", "path": "emails[type eq \"home\"].value", "value": "a@b.c"}),
            400,
            "noTarget",
        ),
        (json!({"op": "remove"}), 400, "noTarget"),
        (json!({"op": "remove", "path": "userName"}), 400, "mutability"),
        (json!({"op": "remove", "path": "active"}), 400, "mutability"),
        (json!({"op": "replace", "path": "id", "value": "x"}), 400, "mutability"),
        (json!({"op": "add", "path": "groups", "value": []}), 400, "mutability"),
        (json!({"op": "replace", "path": "active", "value": "perhaps"}), 400, "invalidValue"),
        (json!({"op": "replace", "path": "displayName", "value": 7}), 400, "invalidValue"),
        (json!({"op": "replace", "path": "displayName", "value": " x"}), 400, "invalidValue"),
        (json!({"op": "replace", "path": "emails", "value": [{"value": "no address"}]}), 400, "invalidValue"),
        (json!({"op": "replace", "path": "displayName"}), 400, "invalidValue"),
        (json!({"op": "replace", "value": "x"}), 400, "invalidValue"),
        (json!({"op": "move", "path": "displayName", "value": "x"}), 400, "invalidSyntax"),
        (json!({"op": "add", "path": "displayName", "value": "x", "more": 1}), 400, "invalidSyntax"),
        (json!("add"), 400, "invalidSyntax"),
    ] {
        let shown = operation.to_string();
        let reply = provider.patch(&at, json!([first, operation])).await;
        assert_eq!(reply.status, status, "{shown}: {}", reply.text);
        reply.fault(status, Some(scim_type));
    }
    for body in [
        json!({"schemas": [PATCH], "Operations": []}),
        json!({"schemas": [PATCH]}),
        json!({"schemas": [USER], "Operations": [first]}),
        json!({"Operations": [first]}),
        json!({"schemas": [PATCH], "Operations": first}),
        json!({"schemas": [PATCH], "Operations": vec![first.clone(); 1_001]}),
    ] {
        provider.send("PATCH", &at, body).await.fault(400, Some("invalidSyntax"));
    }
    api.unchanged_since(head);
}

#[tokio::test]
async fn an_account_that_is_not_active_is_made_and_suspended_at_once() {
    let api = Api::new().await;
    let provider = Provider::admin(&api).await;
    let before = api.head();
    let new = json!({"schemas": [USER], "userName": "later", "active": false});
    let made = provider.send("POST", "/Users", new).await.ok(201);
    assert_eq!(made.body["active"], false);
    let events = api.control.events(before, 100).await.unwrap();
    let commands: std::collections::BTreeSet<_> =
        events.iter().map(|event| event.command.command_id).collect();
    assert_eq!(commands.len(), 1, "{events:?}");
    let types: Vec<_> = events.iter().map(|event| event.type_name.clone()).collect();
    assert!(
        types.contains(&"user.registered".to_owned()) && types.contains(&"user.suspended".to_owned()),
        "{types:?}"
    );
}

#[tokio::test]
async fn services_and_those_who_await_deletion_are_not_there() {
    let api = Api::new().await;
    let provider = Provider::admin(&api).await;
    let service = json!({"username": "robot", "kind": "service"});
    let robot = api.admin("POST", "/users", service).await.ok(201).body["id"].as_str().unwrap().to_owned();
    provider.get(&format!("Users/{robot}")).await.fault(404, None);
    provider.call("DELETE", &format!("Users/{robot}")).send().await.fault(404, None);
    assert!(!provider.found("/Users").await.contains(&robot));
    assert!(provider.found(&format!("/Users?filter={}", encoded("userName eq \"robot\""))).await.is_empty());
    // A replacement of a group's members leaves alone whom a provider does not know of.
    let group = provider.group("Robots", &[]).await;
    api.admin("PUT", &format!("/groups/{group}/members/robot"), Value::Null).await.ok(204);
    let at = format!("/Groups/{group}");
    assert!(provider.get(&at).await.ok(200).members().is_empty());
    provider.patch(&at, json!([{"op": "replace", "path": "members", "value": []}])).await.ok(200);
    let native = api.admin("GET", &format!("/groups/{group}"), Value::Null).await.ok(200);
    assert_eq!(native.body["members"], 1);
    let add = json!([{"op": "add", "path": "members", "value": [{"value": robot}]}]);
    provider.patch(&at, add).await.fault(400, Some("invalidValue"));
}
