//! On random worlds: the routes of AuthZEN and the API's own questions give the same answers, and searches find what
//! evaluations permit.

use crate::{
    authzen::question,
    support::{Api, Reply},
};
use charter_testkit::Rng;
use serde_json::{Value, json};
use std::collections::BTreeSet;

const WORLDS: u64 = 24;
const GRANTS: usize = 14;
pub(crate) const USERS: [&str; 4] = ["u0", "u1", "u2", "u3"];
/// Keys, and what a gateway calls them on a `doc`: two names, one, none.
pub(crate) const KEYS: [(&str, &[&str]); 4] = [
    ("lib.doc.read", &["GET", "view"]),
    ("lib.doc.edit", &["can_edit"]),
    ("lib.doc.share", &[]),
    ("core.grant.read", &[]),
];
pub(crate) const OBJECTS: [(&str, &str); 7] = [
    ("folder", "top"),
    ("folder", "inner"),
    ("folder", "apart"),
    ("doc", "a"),
    ("doc", "b"),
    ("doc", "c"),
    ("doc", "d"),
];

/// One random world: a tree, two groups, grants of every kind, some of them of the right to ask.
pub(crate) struct World {
    pub(crate) api: Api,
    /// Who asks: an administrator, one who may ask everywhere, and one who may here and there.
    callers: Vec<String>,
}

impl World {
    pub(crate) async fn of(seed: u64) -> Self {
        let api = Api::new().await;
        api.admin("PUT", "/catalog/lib", catalog()).await.ok(200);
        for (kind, name) in OBJECTS {
            let parent = match name {
                "inner" | "a" => json!("folder:top"),
                "b" => json!("folder:inner"),
                "c" => json!("folder:apart"),
                _ => Value::Null,
            };
            let object = json!({"type": kind, "name": name, "external_id": name, "parent": parent});
            api.admin("POST", "/objects", object).await.ok(201);
        }
        let mut callers = vec![api.admin.clone()];
        for user in USERS {
            let secret = api.user(user).await;
            if ["u0", "u1"].contains(&user) {
                callers.push(secret);
            }
        }
        let mut world = Self { api, callers };
        world.peopled(&mut Rng::part(seed, 71, 0)).await;
        world
    }

    async fn peopled(&mut self, rng: &mut Rng) {
        let api = &self.api;
        for (role, scope, held) in [
            ("asks", "global", "core.decision.read"),
            ("reads", "both", "lib.doc.read"),
            ("all", "both", "lib.*"),
        ] {
            let role = json!({"slug": role, "scope": scope, "permissions": [held]});
            api.admin("POST", "/roles", role).await.ok(201);
        }
        for group in ["g0", "g1"] {
            api.admin("POST", "/groups", json!({"slug": group})).await.ok(201);
            for user in USERS.iter().filter(|_| rng.percent(50)) {
                api.admin("PUT", &format!("/groups/{group}/members/{user}"), Value::Null).await.ok(204);
            }
        }
        let asks = json!({"subject": "user:u0", "role": "asks", "scope": "global"});
        api.admin("POST", "/grants", asks).await.ok(201);
        for _ in 0..GRANTS {
            let reply = api.admin("POST", "/grants", grant(rng)).await;
            // The same grant again, and a key where it can't be given: the world is random.
            assert!([201, 409, 422].contains(&reply.status), "{}", reply.text);
        }
        for (kind, name) in OBJECTS.iter().filter(|_| rng.percent(15)) {
            let sealed = format!("/objects/{kind}/{name}/inheritance");
            api.admin("POST", &sealed, json!({"inherits": false})).await.ok(200);
        }
        if rng.percent(40) {
            api.admin("POST", "/users/u3/suspend", Value::Null).await.ok(200);
        }
    }

    async fn native(&self, caller: &str, path: &str, body: Value) -> Reply {
        self.api.by(caller, "POST", path, body).await
    }

    async fn asked(&self, caller: &str, path: &str, body: Value) -> Reply {
        self.api.by(caller, "POST", &format!("/access/v1/{path}"), body).await
    }

    /// What a caller may not ask at all he may ask in neither way.
    async fn may_ask(&self, caller: &str) -> bool {
        let reply = self.asked(caller, "evaluation", question("u2", "view", ("doc", "a"))).await;
        assert!([200, 403].contains(&reply.status), "{}", reply.text);
        reply.status == 200
    }
}

fn catalog() -> Value {
    let key = |key: &str| json!({"key": key, "object_types": ["doc"]});
    let aliases: serde_json::Map<String, Value> = KEYS
        .iter()
        .flat_map(|(key, names)| names.iter().map(move |name| ((*name).to_owned(), json!(key))))
        .collect();
    json!({
        "permissions": [key("lib.doc.read"), key("lib.doc.edit"), key("lib.doc.share")],
        "object_types": [{"name": "doc", "read": "lib.doc.read", "create": "lib.doc.edit",
                          "manage": "lib.doc.edit", "aliases": aliases}]
    })
}

fn grant(rng: &mut Rng) -> Value {
    let (kind, name) = *rng.pick(&OBJECTS);
    let scope = if rng.percent(15) { "global".to_owned() } else { format!("{kind}:{name}") };
    let subject = *rng.pick(&["user:u0", "user:u1", "user:u2", "user:u3", "group:g0", "group:g1"]);
    let mut grant = json!({"subject": subject, "scope": scope});
    if rng.percent(35) {
        grant["role"] = json!(rng.pick(&["reads", "all"]));
    } else {
        let key = if rng.percent(25) { "core.decision.read" } else { rng.pick(&KEYS).0 };
        grant["permissions"] = json!([key]);
        grant["effect"] = json!(if rng.percent(35) { "deny" } else { "allow" });
    }
    if kind == "folder" && scope != "global" && rng.percent(50) {
        let reaches = ["children_only", "self_only", "direct_children_only", "self_and_direct_children"];
        grant["affects"] = json!(rng.pick(&reaches));
    }
    grant
}

/// What the search's answer would be by the API's own: none where that knows of nothing.
fn names_of(native: &Reply, rows: &str, name: &dyn Fn(&Value) -> Option<String>) -> BTreeSet<String> {
    match native.status {
        200 => native.body[rows].as_array().unwrap().iter().filter_map(name).collect(),
        404 => BTreeSet::new(),
        _ => panic!("{}", native.text),
    }
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

/// What a key is called on an object of a type.
fn called(kind: &str, key: &str) -> Vec<String> {
    let known = KEYS.iter().find(|(known, names)| *known == key && kind == "doc" && !names.is_empty());
    known.map_or(vec![key.to_owned()], |(_, names)| names.iter().map(|name| (*name).to_owned()).collect())
}

async fn evaluations_agree(world: &World, caller: &str) -> BTreeSet<(String, String, String)> {
    let mut permitted = BTreeSet::new();
    for user in USERS.into_iter().chain(["ada", "ghost"]) {
        for (kind, name) in OBJECTS {
            for (key, _) in KEYS {
                let check = json!({"user": user, "permission": key, "object": format!("{kind}:{name}")});
                let native = world.native(caller, "/check", check).await;
                let expected = native.status == 200 && native.body["allowed"] == true;
                let mut names = called(kind, key);
                names.push(key.to_owned());
                let items: Vec<Value> = names.iter().map(|name| json!({"action": {"name": name}})).collect();
                let mut batch = question(user, key, (kind, name));
                batch["evaluations"] = json!(items);
                let several = world.asked(caller, "evaluations", batch).await.ok(200);
                for (place, action) in names.iter().enumerate() {
                    let alone = world.asked(caller, "evaluation", question(user, action, (kind, name))).await;
                    let shown = format!("{user} {action} {kind}:{name}: native {}", native.text);
                    assert_eq!(alone.ok(200).body, json!({"decision": expected}), "{shown}");
                    let among = &several.body["evaluations"][place];
                    assert_eq!(among["decision"], expected, "{shown}");
                    if expected {
                        permitted.insert((user.to_owned(), action.clone(), format!("{kind}:{name}")));
                    }
                }
            }
        }
    }
    permitted
}

async fn searches_agree(world: &World, caller: &str, permitted: &BTreeSet<(String, String, String)>) {
    for (kind, name) in OBJECTS {
        let object = format!("{kind}:{name}");
        for (key, _) in KEYS {
            let action = called(kind, key)[0].clone();
            let who = json!({"permission": key, "object": object});
            let native = world.native(caller, "/who-can", who).await;
            let found = world.asked(caller, "search/subject", question("x", &action, (kind, name))).await;
            if native.status == 403 {
                found.refused(403, "forbidden");
                continue;
            }
            let expected = names_of(&native, "users", &|row| text(&row["user"]["username"]));
            let found: BTreeSet<String> = found.ok(200).texts("results", "id").into_iter().collect();
            assert_eq!(found, expected, "who may {key} on {object}");
            // Of himself one may ask also where one may not ask who else may.
            for user in USERS.iter().filter(|_| native.status == 200) {
                let may = permitted.contains(&((*user).to_owned(), action.clone(), object.clone()));
                assert_eq!(found.contains(*user), may, "{user} {key} {object}");
            }
        }
    }
    for user in USERS {
        for (kind, key) in ["doc", "folder"].iter().flat_map(|kind| KEYS.map(|(key, _)| (*kind, key))) {
            let action = called(kind, key)[0].clone();
            let where_to = json!({"user": user, "permission": key, "type": kind});
            let native = world.native(caller, "/allowed-objects", where_to).await;
            let found = world.asked(caller, "search/resource", question(user, &action, (kind, "x"))).await;
            if native.status == 403 {
                found.refused(403, "forbidden");
                continue;
            }
            let expected = names_of(&native, "objects", &|row| text(&row["external_id"]));
            let found: BTreeSet<String> = found.ok(200).texts("results", "id").into_iter().collect();
            assert_eq!(found, expected, "where {user} may {key}");
            for (_, name) in OBJECTS.iter().filter(|(of, _)| *of == kind) {
                let may = permitted.contains(&(user.to_owned(), action.clone(), format!("{kind}:{name}")));
                assert_eq!(found.contains(*name), may, "{user} {key} {kind}:{name}");
            }
        }
        for (kind, name) in OBJECTS {
            let native = json!({"user": user, "object": format!("{kind}:{name}")});
            let native = world.native(caller, "/effective", native).await;
            let found = world.asked(caller, "search/action", question(user, "x", (kind, name))).await;
            if native.status == 403 {
                found.refused(403, "forbidden");
                continue;
            }
            let allowed = |row: &Value| (row["state"] == "allowed").then(|| text(&row["permission"]))?;
            let keys = names_of(&native, "permissions", &allowed);
            let own =
                |key: &&String| key.starts_with(if kind == "doc" { "lib.doc." } else { "core.folder." });
            let expected: BTreeSet<String> =
                keys.iter().filter(own).flat_map(|key| called_in_search(kind, key)).collect();
            let found: BTreeSet<String> = found.ok(200).texts("results", "name").into_iter().collect();
            assert_eq!(found, expected, "what {user} may do on {kind}:{name}");
        }
    }
}

fn called_in_search(kind: &str, key: &str) -> Vec<String> {
    match key {
        "core.folder.read" => vec!["view".to_owned()],
        "core.folder.manage" => vec!["edit".to_owned()],
        key => called(kind, key),
    }
}

#[tokio::test]
async fn answers_in_the_words_of_the_standard_are_those_of_the_api() {
    let (mut yes, mut asked) = (0, 0);
    for seed in 0..WORLDS {
        let world = World::of(seed).await;
        for caller in &world.callers {
            if !world.may_ask(caller).await {
                continue;
            }
            let permitted = evaluations_agree(&world, caller).await;
            searches_agree(&world, caller, &permitted).await;
            yes += permitted.len();
            asked += 1;
        }
    }
    assert!(yes > 1_000 && asked > 40, "{yes} permitted, {asked} callers: the worlds say too little");
}
