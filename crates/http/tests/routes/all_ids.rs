//! Ids in requests: what is there and what is not answer alike to who may not know, on every route; and of two ids,
//! both must be one's own.

use crate::support::{Api, Reply, catalog};
use charter_http::{ACCESS_TABLE, Row};
use serde_json::{Value, json};

const NONE: &str = "00000000-0000-7000-8000-000000000000";

/// The same status, body and headers, but for what names the one request.
fn alike(there: &Reply, missing: &Reply, about: &str) {
    assert_eq!((there.status, &there.text), (missing.status, &missing.text), "{about}");
    let headers = |reply: &Reply| {
        let all = reply.headers.iter().filter(|(name, _)| !["x-request-id", "date"].contains(&name.as_str()));
        let mut all: Vec<_> =
            all.map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned())).collect();
        all.sort();
        all
    };
    assert_eq!(headers(there), headers(missing), "{about}");
}

/// What is there, kind by kind, for a path to name.
struct There {
    grant: String,
    token: String,
    session: String,
    operation: String,
    user: String,
    group: String,
}

impl There {
    async fn of(api: &Api) -> Self {
        api.user("dana").await;
        let group = api.admin("POST", "/groups", json!({"slug": "ops"})).await.ok(201);
        api.admin("PUT", "/groups/ops/members/dana", Value::Null).await.ok(204);
        let grant = api.give("user:dana", &["minecraft.server.restart"], "server:s2").await;
        let issued = api.admin("POST", "/user/me/tokens", json!({"name": "ada's"})).await.ok(201);
        let sessions = api.admin("GET", "/user/me/sessions", Value::Null).await.ok(200);
        let projections = api.admin("GET", "/projections", Value::Null).await.ok(200);
        let name = projections.texts("items", "name").into_iter().next().unwrap_or_default();
        let begun = api.admin("POST", &format!("/projections/{name}/rebuild"), json!({"switch": true})).await;
        Self {
            grant,
            token: issued.body["token"]["id"].as_str().unwrap().to_owned(),
            session: sessions.ids("items").remove(0),
            operation: begun.body["id"].as_str().unwrap_or(NONE).to_owned(),
            user: api.id_of("dana").to_string(),
            group: group.body["id"].as_str().unwrap().to_owned(),
        }
    }

    /// The row's path, about what is there or about what is not.
    fn path(&self, row: &Row, there: bool) -> String {
        let (id, user) = match row.path {
            path if path.contains("/me/tokens/") => (self.token.as_str(), ""),
            path if path.contains("/me/sessions/") => (self.session.as_str(), ""),
            path if path.contains("/users/") || path.contains("/invitations/") => ("dana", ""),
            path if path.contains("/scim/v2/Users/") => (self.user.as_str(), ""),
            path if path.contains("/scim/v2/Groups/") => (self.group.as_str(), ""),
            path if path.contains("/roles/") => ("viewer", ""),
            path if path.contains("/groups/") => ("ops", "dana"),
            path if path.contains("/objects/") => ("s1", ""),
            path if path.contains("/grants/") => (self.grant.as_str(), ""),
            path if path.contains("/operations/") => (self.operation.as_str(), ""),
            _ => ("", ""),
        };
        let or_missing = |text: &str, missing: &str| if there { text.to_owned() } else { missing.to_owned() };
        // A path through something else names something that is there, so that only one thing is asked about.
        row.path
            .replace("{id}", &or_missing(id, NONE))
            .replace("{user}", &or_missing(user, "ghost"))
            .replace("{type}", "server")
            .replace("{namespace}", &or_missing("minecraft", "boats"))
            .replace("{name}", &or_missing("directory", "none"))
            .replace("{*tile}", &or_missing("0/000.p/1", "0/999"))
    }
}

fn names_a_thing(row: &Row) -> bool {
    // What the standard defines is there for everybody.
    let of_the_standard = ["/scim/v2/Schemas/", "/scim/v2/ResourceTypes/"];
    row.path.contains('{') && !of_the_standard.iter().any(|path| row.path.starts_with(path))
}

#[tokio::test]
async fn on_every_route_with_an_id_what_is_there_and_what_is_not_answer_the_lowest_alike() {
    let api = Api::furnished().await;
    let there = There::of(&api).await;
    let nobody = api.user("nobody").await;
    let head = api.head();
    let mut tried = 0;
    for row in ACCESS_TABLE.iter().filter(|row| names_a_thing(row)) {
        for secret in [Some(&nobody), None] {
            let ask = |exists: bool| {
                let mut call = api.call(row.method, &there.path(row, exists)).header("if-match", "*");
                if let Some(secret) = secret {
                    call = call.by(secret);
                }
                if row.method == "POST" || row.method == "PATCH" {
                    call = call.json(&json!({}));
                }
                call.send()
            };
            let (found, missing) = (ask(true).await, ask(false).await);
            assert!([401, 403, 404, 422].contains(&found.status), "{row:?}: {}", found.text);
            alike(&found, &missing, &format!("{row:?}"));
            tried += 1;
        }
    }
    assert!(tried >= 60, "{tried} pairs");
    api.unchanged_since(head);
}

/// `olga` owns the folder `mine` with the server `m1` in it, and the server `m2`; the rest of the house is `ada`'s.
async fn two_owners() -> (Api, String) {
    let api = Api::furnished().await;
    let olga = api.user("olga").await;
    api.user("dave").await;
    let folder = json!({"type": "folder", "name": "Mine", "external_id": "mine"});
    api.admin("POST", "/objects", folder).await.ok(201);
    for (name, parent) in [("m1", json!("folder:mine")), ("m2", Value::Null)] {
        let server = json!({"type": "server", "name": name, "external_id": name, "parent": parent});
        api.admin("POST", "/objects", server).await.ok(201);
    }
    for object in ["folder/mine", "server/m1", "server/m2"] {
        api.admin("POST", &format!("/objects/{object}/transfer"), json!({"owner": "olga"})).await.ok(200);
    }
    (api, olga)
}

/// A request that names two things.
type Asked = fn(&str, &str) -> (&'static str, String, Value);

/// Such requests, each with a first and a second thing: one of the caller's own, and one of another's. Where both are
/// the same, it is nobody's in particular.
type TwoIds = (&'static str, Asked, [(&'static str, &'static str); 2]);

fn requests_with_two_ids() -> [TwoIds; 7] {
    let servers = [("server:m2", "server:s2"), ("folder:mine", "folder:eu")];
    [
        (
            "move",
            |object, folder| {
                ("POST", format!("/objects/{}/move", object.replace(':', "/")), json!({"parent": folder}))
            },
            servers,
        ),
        (
            "create in and with",
            |folder, _| ("POST", "/objects".into(), json!({"type": "server", "name": "x", "parent": folder})),
            [("folder:mine", "folder:eu"), ("", "")],
        ),
        (
            "batch",
            |one, other| {
                let ask = |object| json!({"permission": "minecraft.server.read", "object": object});
                ("POST", "/check/batch".into(), json!({"checks": [ask(one), ask(other)]}))
            },
            [("server:m1", "server:s1"), ("server:m2", "server:s2")],
        ),
        (
            "type and id",
            |object_type, id| ("GET", format!("/objects/{object_type}/{id}"), Value::Null),
            [("server", "folder"), ("m1", "s1")],
        ),
        (
            "grant of a role at a place",
            |scope, role| {
                ("POST", "/grants".into(), json!({"subject": "user:dave", "role": role, "scope": scope}))
            },
            [("server:m1", "server:s1"), ("viewer", "ghost")],
        ),
        (
            "grants of one at a place",
            |scope, subject| ("GET", format!("/grants?scope={scope}&subject={subject}"), Value::Null),
            [("server:m1", "server:s1"), ("user:olga", "user:olga")],
        ),
        (
            "another's decision",
            |object, user| {
                (
                    "POST",
                    "/check".into(),
                    json!({"user": user, "permission": "minecraft.server.read", "object": object}),
                )
            },
            [("server:m1", "server:s1"), ("dave", "dave")],
        ),
    ]
}

#[tokio::test]
async fn of_two_ids_in_a_request_both_must_be_ones_own() {
    let (api, olga) = two_owners().await;
    for (name, asked, [(mine, theirs), (own, others)]) in requests_with_two_ids() {
        for (first, second, both_own) in
            [(theirs, own, false), (mine, others, own == others), (theirs, others, false), (mine, own, true)]
        {
            let (method, path, body) = asked(first, second);
            let head = api.head();
            let reply = api.by(&olga, method, &path, body).await;
            let passed = (200..300).contains(&reply.status);
            assert_eq!(passed, both_own, "{name} ({first}, {second}): {} {}", reply.status, reply.text);
            if !both_own {
                assert!(
                    [403, 404, 422].contains(&reply.status),
                    "{name} ({first}, {second}): {}",
                    reply.text
                );
                api.unchanged_since(head);
            }
        }
    }
    // A transfer names an object and a user: anybody who is active may be given one's own, nobody another's.
    for (object, owner, status) in [
        ("server/s2", "olga", 404),
        ("server/m2", "ghost", 404),
        ("server/s2", "ghost", 404),
        ("server/m2", "dave", 200),
    ] {
        let path = format!("/objects/{object}/transfer");
        let reply = api.by(&olga, "POST", &path, json!({"owner": owner})).await;
        assert_eq!(reply.status, status, "{object} to {owner}: {}", reply.text);
    }
}

#[tokio::test]
async fn a_group_and_its_member_are_changed_by_who_holds_what_the_group_has() {
    let (api, olga) = two_owners().await;
    for group in ["own", "other"] {
        api.admin("POST", "/groups", json!({"slug": group})).await.ok(201);
    }
    api.give("user:olga", &["core.group.manage"], "global").await;
    api.give("group:own", &["minecraft.server.read"], "server:m1").await;
    api.give("group:other", &["minecraft.server.read"], "server:s1").await;
    let dave = api.id_of("dave").to_string();
    let ghost = "00000000-0000-7000-8000-000000000000";
    for (group, user, put, delete) in [
        ("own", dave.as_str(), 204, 204),
        ("own", ghost, 404, 204),
        ("other", dave.as_str(), 403, 204),
        ("other", ghost, 403, 204),
    ] {
        let path = format!("/groups/{group}/members/{user}");
        let reply = api.by(&olga, "PUT", &path, Value::Null).await;
        assert_eq!(reply.status, put, "{path}: {}", reply.text);
        let reply = api.by(&olga, "DELETE", &path, Value::Null).await;
        assert_eq!(reply.status, delete, "{path}: {}", reply.text);
    }
    api.admin("PUT", "/groups/other/members/dave", Value::Null).await.ok(204);
    let head = api.head();
    let path = format!("/groups/other/members/{dave}");
    api.by(&olga, "DELETE", &path, Value::Null).await.refused(403, "not_held");
    api.unchanged_since(head);
}

#[tokio::test]
async fn credentials_and_grants_of_others_are_not_ended_by_naming_them() {
    let (api, olga) = two_owners().await;
    let there = There::of(&api).await;
    let head = api.head();
    for path in [
        format!("/user/me/tokens/{}", there.token),
        format!("/user/me/sessions/{}", there.session),
        format!("/grants/{}", there.grant),
        format!("/operations/{}/cancel", there.operation),
    ] {
        let method = if path.ends_with("cancel") { "POST" } else { "DELETE" };
        let reply = api.by(&olga, method, &path, Value::Null).await.refused(404, "not_found");
        let kind = path.replace(&there.token, NONE).replace(&there.session, NONE);
        let kind = kind.replace(&there.grant, NONE).replace(&there.operation, NONE);
        alike(&reply, &api.by(&olga, method, &kind, Value::Null).await, &path);
    }
    api.unchanged_since(head);
    api.admin("GET", "/user/me", Value::Null).await.ok(200);
}

/// A path is decoded once and never normalised: no spelling of an id leads to another id, on any route.
#[tokio::test]
async fn no_spelling_of_an_id_leads_to_another_on_any_route() {
    let api = Api::furnished().await;
    let there = There::of(&api).await;
    let boss = api.user("boss").await;
    let all = json!({"subject": "user:boss", "role": "administrator", "scope": "global"});
    api.admin("POST", "/grants", all).await.ok(201);
    let head = api.head();
    for row in ACCESS_TABLE.iter().filter(|row| row.path.ends_with('}') || row.path.contains("{id}/")) {
        let path = there.path(row, true);
        let last =
            row.path.split('/').position(|part| part == "{id}" || part == "{name}" || part == "{namespace}");
        let Some(at) = last else { continue };
        for spelling in [
            "%2e%2e%2fID",
            "..%2FID",
            "ID%2F",
            "%2FID",
            "ID%00",
            "ID;a=b",
            "%252FID",
            "ID%20",
            "%c0%aeID",
            "%ff",
            "ID%252e",
        ] {
            let mut parts: Vec<String> = path.split('/').map(str::to_owned).collect();
            parts[at] = spelling.replace("ID", &parts[at]);
            let path = parts.join("/");
            let call = api.call(row.method, &path).by(&boss).header("if-match", "*");
            let call = match row.method {
                "POST" | "PATCH" => call.json(&json!({})),
                "PUT" if row.path.contains("{namespace}") => call.json(&catalog()),
                "PUT" if row.path.starts_with("/scim/") => call.json(&json!({})),
                _ => call,
            };
            let reply = call.send().await;
            assert!([400, 404, 422].contains(&reply.status), "{} {path}: {}", row.method, reply.text);
        }
    }
    api.unchanged_since(head);
}
