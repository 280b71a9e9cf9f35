//! Ids in requests: what is there and what is not answer alike to who may not know, on every route; and of two ids,
//! both must be one's own.

use crate::{
    all_requests::{ADMIN, House, Made, NOBODY, NONE},
    support::{Api, Reply, catalog},
};
use charter_http::{ACCESS_TABLE, Gate, Row};
use serde_json::{Value, json};

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

    /// The row's path, about what is there.
    fn path(&self, row: &Row) -> String {
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
        row.path
            .replace("{id}", id)
            .replace("{user}", user)
            .replace("{type}", "server")
            .replace("{namespace}", "minecraft")
            .replace("{name}", "directory")
            .replace("{*tile}", "0/000.p/1")
    }
}

/// Another value for a variable segment of a path, of something that is not there.
fn missing(segment: &str) -> &'static str {
    match segment {
        "{type}" => "boat",
        "{namespace}" => "boats",
        "{name}" => "none",
        "{*tile}" => "0/999",
        "{user}" => "ghost",
        _ => NONE,
    }
}

fn names_a_thing(row: &Row) -> bool {
    // What the standard defines is there for everybody.
    let of_the_standard = ["/scim/v2/Schemas/", "/scim/v2/ResourceTypes/"];
    row.path.contains('{') && !of_the_standard.iter().any(|path| row.path.starts_with(path))
}

/// Two who may know nothing of what the house makes: one with nothing, and one who holds every key on something of his
/// own, so that all gates are open to him.
async fn the_lowest(house: &House) -> [String; 2] {
    let (api, odd) = (&house.api, house.api.user("odd").await);
    let role = json!({"slug": "odd", "scope": "object", "permissions": ["core.*", "minecraft.*"]});
    api.admin("POST", "/roles", role).await.ok(201);
    let grant = json!({"subject": "user:odd", "role": "odd", "scope": "server:s2"});
    api.admin("POST", "/grants", grant).await.ok(201);
    [house.secrets[NOBODY].clone().unwrap(), odd]
}

#[tokio::test]
async fn on_every_route_with_an_id_what_is_there_and_what_is_not_answer_the_lowest_alike() {
    let mut house = House::new().await;
    let lowest = the_lowest(&house).await;
    for row in ACCESS_TABLE.iter().filter(|row| names_a_thing(row)) {
        // Whatever is somebody's own is another's.
        let made = house.made(row, ADMIN).await;
        let head = house.api.head();
        let names = made.names(row);
        assert!(!names.is_empty(), "{row:?}");
        for secret in [Some(&lowest[0]), Some(&lowest[1]), None] {
            let ask = |made: &Made| {
                let call = house.bare(row, made);
                match secret {
                    Some(secret) => call.by(secret).send(),
                    None => call.send(),
                }
            };
            let found = ask(&made).await;
            assert!([401, 403, 404].contains(&found.status), "{row:?}: {} {}", found.status, found.text);
            for name in &names {
                let missing = ask(&made.with(name, missing(name))).await;
                alike(&found, &missing, &format!("{row:?} {name} {secret:?}"));
            }
        }
        house.api.unchanged_since(head);
    }
}

/// Parameters of queries that name something: something that is there, and something that is not.
const NAMING: [(&str, &str, &str); 8] = [
    ("subject", "user:olga", "user:ghost"),
    ("scope", "server:s1", "server:ghost"),
    ("role", "administrator", "ghost"),
    ("parent", "folder:eu", "folder:ghost"),
    ("owner", "olga", "ghost"),
    ("user", "olga", "ghost"),
    ("object", "server:s1", "server:ghost"),
    ("actor", "olga", "ghost"),
];
/// Those that name nothing, or what everybody knows who may ask at all.
const NAMING_NOTHING: [&str; 36] = [
    "limit",
    "cursor",
    "q",
    "sort",
    "kind",
    "status",
    "as_of",
    "shape",
    "namespace",
    "object_type",
    "type",
    "from",
    "to",
    "permission",
    "every_place",
    "rows",
    "after",
    "digest",
    "offset",
    "filter",
    "sortBy",
    "sortOrder",
    "startIndex",
    "count",
    "attributes",
    "excludedAttributes",
    "follow",
    "wait",
    "view",
    "format",
    "return_to",
    // What an identity provider sends along.
    "code",
    "state",
    "iss",
    "error",
    "*",
];

#[tokio::test]
async fn what_a_query_names_answers_the_lowest_alike_whether_or_not_it_is_there() {
    let mut house = House::new().await;
    let lowest = the_lowest(&house).await;
    let mut tried = 0;
    for row in ACCESS_TABLE {
        let made = house.made(row, ADMIN).await;
        for parameter in row.query {
            let named = NAMING.iter().find(|(name, ..)| name == parameter);
            assert!(
                named.is_some() != NAMING_NOTHING.contains(parameter),
                "{row:?}: what does {parameter} name?"
            );
            let Some((_, there, not)) = named else { continue };
            for secret in &lowest {
                let ask = |value: &str| {
                    let path = made.path(row);
                    let path = path.split('?').next().unwrap().to_owned();
                    house.api.call(row.method, &format!("{path}?{parameter}={value}")).by(secret).send()
                };
                alike(&ask(there).await, &ask(not).await, &format!("{row:?} {parameter} {secret}"));
                tried += 1;
            }
        }
    }
    assert!(tried >= 20, "{tried} pairs");
}

/// The same body, about something that is not there.
fn about_others(body: &str, n: usize) -> Vec<String> {
    let object = format!("t{n}");
    let pairs = [
        (format!("\"server:{object}\""), "\"server:ghost\""),
        (format!("\"{object}\""), "\"ghost\""),
        ("\"user:nobody\"".to_owned(), "\"user:ghost\""),
        ("\"nobody\"".to_owned(), "\"ghost\""),
        ("\"ada\"".to_owned(), "\"ghost\""),
        (format!("\"u{n}\""), "\"ghost\""),
    ];
    let changed = pairs.iter().map(|(there, not)| body.replace(there, not));
    changed.filter(|changed| changed != body).collect()
}

#[tokio::test]
async fn what_a_body_names_answers_the_lowest_alike_whether_or_not_it_is_there() {
    let mut house = House::new().await;
    let lowest = the_lowest(&house).await;
    let mut tried = 0;
    // Who begins a session shows whether it begins; each stranger has his own number of tries.
    for row in ACCESS_TABLE.iter().filter(|row| row.gate != Gate::Public) {
        let made = house.made(row, ADMIN).await;
        let Some(body) = made.body().map(Value::to_string) else { continue };
        for other in about_others(&body, made.n) {
            for secret in &lowest {
                let head = house.api.head();
                let ask = |body: &str| {
                    let call = house.api.call(row.method, &made.path(row)).by(secret).header("if-match", "*");
                    call.raw("application/json", body.as_bytes()).send()
                };
                alike(&ask(&body).await, &ask(&other).await, &format!("{row:?} {other} {secret}"));
                house.api.unchanged_since(head);
                tried += 1;
            }
        }
    }
    assert!(tried >= 20, "{tried} pairs");
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
        let path = there.path(row);
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
                "PUT" if row.path.ends_with("/identity") => {
                    call.json(&json!({"issuer": "https://id.example.org", "subject": "s"}))
                }
                _ => call,
            };
            let reply = call.send().await;
            assert!([400, 404, 422].contains(&reply.status), "{} {path}: {}", row.method, reply.text);
        }
    }
    api.unchanged_since(head);
}
