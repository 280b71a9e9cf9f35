//! What a caller may not know looks exactly like what is not there.
use crate::support::{Api, Reply};
use serde_json::{Value, json};

fn alike(there: &Reply, missing: &Reply, about: &str) {
    assert_eq!(there.status, missing.status, "{about}: {} / {}", there.text, missing.text);
    assert_eq!(there.text, missing.text, "{about}");
    let names = |reply: &Reply| {
        let mut names: Vec<String> = reply.headers.keys().map(ToString::to_string).collect();
        names.sort();
        names
    };
    assert_eq!(names(there), names(missing), "{about}");
}

#[tokio::test]
async fn an_object_one_may_not_know_looks_like_none_on_every_route() {
    let api = Api::furnished().await;
    let carol = api.user("carol").await;
    // Keys of every kind, but on another object: all gates open.
    let keys = [
        "minecraft.server.read",
        "minecraft.server.manage",
        "minecraft.server.create",
        "core.object.move",
        "core.object.transfer",
        "core.grant.manage",
        "core.grant.read",
        "core.decision.read",
    ];
    let own = json!({"type": "server", "name": "Mine", "external_id": "own"});
    api.admin("POST", "/objects", own).await.ok(201);
    api.give("user:carol", &keys, "server:own").await;
    for (method, path, body) in [
        ("GET", "/objects/server/ID", Value::Null),
        ("PATCH", "/objects/server/ID", json!({"name": "x"})),
        ("DELETE", "/objects/server/ID", Value::Null),
        ("POST", "/objects/server/ID/transfer", json!({"owner": "carol"})),
        ("POST", "/objects/server/ID/move", json!({"parent": null})),
        ("POST", "/objects/server/ID/inheritance", json!({"inherits": false})),
        ("GET", "/objects/server/ID/access", Value::Null),
        ("GET", "/grants?scope=server:ID", Value::Null),
        (
            "POST",
            "/grants",
            json!({"subject": "user:carol", "permissions": ["minecraft.server.read"], "scope": "server:ID"}),
        ),
        ("POST", "/check", json!({"permission": "minecraft.server.read", "object": "server:ID"})),
        (
            "POST",
            "/check",
            json!({"user": "ada", "permission": "minecraft.server.read", "object": "server:ID"}),
        ),
        (
            "POST",
            "/check/batch",
            json!({"checks": [{"permission": "minecraft.server.read", "object": "server:ID"}]}),
        ),
        ("POST", "/explain", json!({"permission": "minecraft.server.read", "object": "server:ID"})),
        ("POST", "/effective", json!({"object": "server:ID"})),
        ("POST", "/effective", json!({"user": "ada", "object": "server:ID"})),
        ("POST", "/who-can", json!({"permission": "minecraft.server.read", "object": "server:ID"})),
    ] {
        let asked = |id: &str| {
            let body = if body.is_null() {
                Value::Null
            } else {
                serde_json::from_str(&body.to_string().replace("ID", id)).unwrap()
            };
            let path = path.replace("ID", id);
            let (api, carol) = (&api, &carol);
            async move { api.by(carol, method, &path, body).await }
        };
        let (there, missing, other_kind) = (asked("s1").await, asked("s9").await, asked("eu").await);
        assert_eq!(there.status, 404, "{method} {path}: {}", there.text);
        alike(&there, &missing, path);
        alike(&there, &other_kind, path);
        if method != "DELETE" {
            let own = asked("own").await;
            assert!([200, 201, 403, 409].contains(&own.status), "{method} {path} {}", own.text);
        }
    }
}

#[tokio::test]
async fn parents_are_hidden_from_who_may_not_know_them() {
    let api = Api::furnished().await;
    let carol = api.user("carol").await;
    api.give("user:carol", &["minecraft.server.read", "minecraft.server.manage"], "server:s1").await;
    let shown = api.by(&carol, "GET", "/objects/server/s1", Value::Null).await.ok(200);
    assert_eq!(shown.body["parent"], Value::Null);
    api.give("user:carol", &["core.folder.read"], "folder:eu").await;
    let shown = api.by(&carol, "GET", "/objects/server/s1", Value::Null).await.ok(200);
    assert_eq!(shown.body["parent"]["external_id"], "eu");
}

#[tokio::test]
async fn lists_hold_what_a_check_allows_and_nothing_of_the_rest_shows() {
    let api = Api::furnished().await;
    let carol = api.user("carol").await;
    for (number, name) in ["a", "b", "c", "d", "e", "f"].into_iter().enumerate() {
        let object = json!({"type": "server", "name": name, "external_id": name, "parent": "folder:eu"});
        api.admin("POST", "/objects", object).await.ok(201);
        if number % 2 == 0 {
            api.give("user:carol", &["minecraft.server.read"], &format!("server:{name}")).await;
        }
    }
    for limit in [1, 2, 3, 4] {
        let first = api.by(&carol, "GET", &format!("/objects?limit={limit}"), Value::Null).await.ok(200);
        assert_eq!(first.texts("items", "name"), ["a", "c", "e"][..limit.min(3)]);
        assert_eq!(
            first.body["next"].is_string(),
            limit < 3,
            "a cursor only where rows are left for the caller"
        );
    }
    let folder = api.by(&carol, "GET", "/objects?parent=folder:eu", Value::Null).await;
    folder.refused(404, "not_found");
    let none = api.by(&carol, "GET", "/objects?type=folder", Value::Null).await.ok(200);
    assert_eq!(none.body["items"], json!([]));
    let unknown = api.by(&carol, "GET", "/objects?type=boat", Value::Null).await.ok(200);
    assert_eq!(unknown.body["items"], json!([]));
    for name in ["a", "b", "s1", "s2"] {
        let check = json!({"permission": "minecraft.server.read", "object": format!("server:{name}")});
        let reply = api.by(&carol, "POST", "/check", check).await;
        assert_eq!(reply.status == 200, name == "a", "{name}");
    }
}

#[tokio::test]
async fn an_unknown_username_answers_like_a_user_without_grants() {
    let api = Api::furnished().await;
    let carol = api.user("carol").await;
    api.user_without_token("dave").await;
    api.user_without_token("erin").await;
    api.admin("POST", "/users/erin/suspend", Value::Null).await.ok(200);
    api.give("user:carol", &["minecraft.server.read", "core.decision.read"], "server:s1").await;
    for (path, extra) in [
        ("/check", json!({"permission": "minecraft.server.restart"})),
        ("/explain", json!({"permission": "minecraft.server.restart"})),
        ("/effective", json!({})),
    ] {
        let mut texts = Vec::new();
        for user in ["dave", "erin", "ghost"] {
            let mut body = extra.clone();
            body["user"] = json!(user);
            body["object"] = json!("server:s1");
            let reply = api.by(&carol, "POST", path, body).await.ok(200);
            let mut shown = reply.body.clone();
            shown.as_object_mut().unwrap().remove("at");
            if let Some(decision) = shown.get_mut("decision") {
                decision.as_object_mut().unwrap().remove("at");
            }
            texts.push(shown.to_string());
        }
        assert_eq!(texts[0], texts[2], "{path}");
        assert_eq!(texts[1], texts[2], "{path}");
    }
    let body = json!({"user": "ghost", "permission": "minecraft.server.restart", "object": "server:s1"});
    api.admin("POST", "/check", body).await.refused(404, "not_found");
    let elsewhere = json!({"user": "ada", "permission": "core.user.read"});
    let reply = api.by(&carol, "POST", "/check", elsewhere).await.refused(403, "forbidden");
    assert_eq!(reply.body["missing"], json!(["core.decision.read"]));
}

#[tokio::test]
async fn global_collections_refuse_alike_what_is_there_and_what_is_not() {
    let api = Api::furnished().await;
    api.admin("POST", "/groups", json!({"slug": "ops"})).await.ok(201);
    let carol = api.user("carol").await;
    // A role with core's keys on one object opens the gates; it is worth nothing globally.
    let role = json!({"slug": "odd", "scope": "object", "permissions": ["core.*"]});
    api.admin("POST", "/roles", role).await.ok(201);
    let grant = json!({"subject": "user:carol", "role": "odd", "scope": "server:s2"});
    api.admin("POST", "/grants", grant).await.ok(201);
    let head = api.head();
    for (method, path, there, body) in [
        ("GET", "/users/", "ada", Value::Null),
        ("PATCH", "/users/", "ada", json!({"username": "x"})),
        ("POST", "/users/ID/suspend", "ada", Value::Null),
        ("POST", "/users/ID/reactivate", "ada", Value::Null),
        ("POST", "/users/ID/schedule-deletion", "ada", json!({})),
        ("POST", "/users/ID/restore", "ada", Value::Null),
        ("POST", "/users/ID/credential-reset", "ada", json!({"password": "long enough"})),
        ("GET", "/roles/", "viewer", Value::Null),
        ("PATCH", "/roles/", "viewer", json!({"name": "x"})),
        ("DELETE", "/roles/", "viewer", Value::Null),
        ("GET", "/groups/", "ops", Value::Null),
        ("PATCH", "/groups/", "ops", json!({"name": "x"})),
        ("DELETE", "/groups/", "ops", Value::Null),
        ("GET", "/groups/ID/members", "ops", Value::Null),
        ("PUT", "/groups/ID/members/carol", "ops", Value::Null),
        ("DELETE", "/groups/ID/members/carol", "ops", Value::Null),
        ("PUT", "/groups/ops/members/ID", "ada", Value::Null),
        ("DELETE", "/groups/ops/members/ID", "ada", Value::Null),
    ] {
        let full =
            |id: &str| if path.contains("ID") { path.replace("ID", id) } else { format!("{path}{id}") };
        let existing = api.by(&carol, method, &full(there), body.clone()).await;
        let missing = api.by(&carol, method, &full("missing"), body).await;
        assert_eq!(
            (existing.status, existing.code()),
            (403, "forbidden"),
            "{method} {path}: {}",
            existing.text
        );
        alike(&existing, &missing, path);
    }
    api.unchanged_since(head);
}

#[tokio::test]
async fn who_may_not_read_users_finds_no_names_by_filling_and_emptying_groups() {
    let api = Api::new().await;
    let manager = api.user("manager").await;
    let new = json!({"username": "alice", "external_id": "staff-7"});
    let alice = api.admin("POST", "/users", new).await.ok(201).body["id"].as_str().unwrap().to_owned();
    api.user_without_token("bob").await;
    for slug in ["ops", "held"] {
        api.admin("POST", "/groups", json!({"slug": slug})).await.ok(201);
    }
    api.give("group:held", &["core.role.read"], "global").await;
    api.give("user:manager", &["core.group.manage"], "global").await;
    api.admin("PUT", "/groups/ops/members/bob", Value::Null).await.ok(204);
    let nobody = "00000000-0000-7000-8000-000000000000";
    let asked = async |method: &str, group: &str, user: &str| {
        api.by(&manager, method, &format!("/groups/{group}/members/{user}"), Value::Null).await
    };
    let head = api.head();
    for method in ["PUT", "DELETE"] {
        for group in ["ops", "held"] {
            // By name: whose it is, nobody's, and one who is in the group already.
            let ghost = asked(method, group, "ghost").await.refused(403, "forbidden");
            assert_eq!(ghost.body["missing"], json!(["core.user.read"]));
            assert_eq!(ghost.body["field"], "user");
            for name in ["alice", "staff-7", "bob"] {
                alike(&asked(method, group, name).await, &ghost, name);
            }
        }
    }
    // By id, where one may not add anybody, and where one takes out who is not in.
    alike(&asked("PUT", "held", &alice).await, &asked("PUT", "held", nobody).await, "held");
    let there = asked("DELETE", "ops", &alice).await.ok(204);
    alike(&there, &asked("DELETE", "ops", nobody).await, "not in it");
    api.unchanged_since(head);
    // Whose id one was given, and oneself, one may name.
    asked("PUT", "ops", &alice).await.ok(204);
    asked("PUT", "ops", "manager").await.ok(204);
    asked("DELETE", "ops", "manager").await.ok(204);
    api.give("user:manager", &["core.user.read"], "global").await;
    asked("DELETE", "ops", "alice").await.ok(204);
    asked("PUT", "ops", "ghost").await.refused(404, "not_found");
    asked("DELETE", "ops", "ghost").await.refused(404, "not_found");
}

#[tokio::test]
async fn a_grant_one_may_not_see_looks_like_none() {
    let api = Api::furnished().await;
    let carol = api.user("carol").await;
    api.user_without_token("dave").await;
    api.give("user:carol", &["minecraft.server.read", "core.grant.read"], "server:s2").await;
    let hidden = api.give("user:dave", &["minecraft.server.read"], "server:s1").await;
    let seen = api.give("user:dave", &["minecraft.server.read"], "server:s2").await;
    let own = api.give("user:carol", &["minecraft.server.restart"], "server:s1").await;
    let none = "00000000-0000-7000-8000-000000000000";
    for method in ["GET", "DELETE"] {
        let there =
            api.by(&carol, method, &format!("/grants/{hidden}"), Value::Null).await.refused(404, "not_found");
        let missing =
            api.by(&carol, method, &format!("/grants/{none}"), Value::Null).await.refused(404, "not_found");
        alike(&there, &missing, method);
    }
    api.by(&carol, "GET", &format!("/grants/{seen}"), Value::Null).await.ok(200);
    api.by(&carol, "GET", &format!("/grants/{own}"), Value::Null).await.ok(200);
    let listed = api.by(&carol, "GET", "/grants?subject=user:dave", Value::Null).await.ok(200);
    assert_eq!(listed.ids("items"), [seen.as_str()]);
    let ghost = api.by(&carol, "GET", "/grants?subject=user:ghost", Value::Null).await.ok(200);
    assert_eq!(ghost.body["items"], json!([]));
    let reply =
        api.by(&carol, "DELETE", &format!("/grants/{seen}"), Value::Null).await.refused(403, "forbidden");
    assert_eq!(reply.body["missing"], json!(["core.grant.manage"]));
    api.by(&carol, "DELETE", &format!("/grants/{own}"), Value::Null).await.ok(204);
}
