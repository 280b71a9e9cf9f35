//! The interop suites of the AuthZEN working group against a real server: every request of theirs, and the answers they
//! expect. `CHARTER_VECTORS` names the folder that holds them; without it there is nothing to compare with.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]

use charter_tests::{ADMIN, Caller, Database, Installation, PASSWORD, Server, on_both_databases};
use serde_json::{Map, Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};
use uuid::Uuid;

/// What else a suite calls its users.
const SUBJECT_TYPE: &str = "identity";

fn folder() -> Option<PathBuf> {
    std::env::var_os("CHARTER_VECTORS").map(PathBuf::from)
}

fn read(file: &str) -> Value {
    let path = folder().unwrap().join("authzen-http").join(file);
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// The facts behind a suite.
fn scenario(name: &str) -> Value {
    let text = std::fs::read_to_string(folder().unwrap().join("authzen.jsonl")).unwrap();
    let mut scenarios = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    scenarios.find(|scenario| scenario["name"] == name).unwrap()
}

fn object(value: &Value) -> &Map<String, Value> {
    value.as_object().unwrap()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

/// A server with a suite's facts, its people and things called what the suite calls them.
struct Stage {
    _installation: Installation,
    server: Server,
    admin: Caller,
    gateway: Caller,
    names: Value,
    /// What the facts call a type, and what the suite does.
    types: BTreeMap<String, String>,
    /// Objects by what the facts call them: as the server is asked about them.
    objects: BTreeMap<String, String>,
    /// The server's ids of those whose id in the suite is a UUID: such an id can only be the server's own.
    ids: BTreeMap<String, String>,
}

impl Stage {
    async fn of(installation: Installation, suite: &str, facts: Option<&str>) -> Self {
        let installation = installation.with("CHARTER_AUTHZEN_SUBJECT_TYPE", SUBJECT_TYPE);
        let server = Server::start(&installation).await.unwrap();
        let admin = server.set_up().await.unwrap();
        let names = read("names.json")[suite].clone();
        let scenario = scenario(facts.unwrap_or(text(&names["scenario"])));
        let mut stage = Self {
            gateway: admin.clone(),
            _installation: installation,
            server,
            admin,
            names,
            types: BTreeMap::new(),
            objects: BTreeMap::new(),
            ids: BTreeMap::new(),
        };
        stage.catalog(&scenario).await;
        stage.people(&scenario).await;
        stage.things(&scenario).await;
        stage.grants(&scenario).await;
        stage.gateway = stage.caller().await;
        stage
    }

    async fn post(&self, path: &str, body: Value) -> Value {
        self.admin.post(&format!("/api/v1{path}"), &body).await.unwrap().expect(201).unwrap().body
    }

    async fn put(&self, path: &str, body: Value, status: u16) {
        self.admin.put(&format!("/api/v1{path}"), &body).await.unwrap().expect(status).unwrap();
    }

    fn type_of(&self, facts: &str) -> String {
        self.types.get(facts).cloned().unwrap_or_else(|| facts.to_owned())
    }

    /// Keys, types, and the suite's words for actions as their aliases.
    async fn catalog(&mut self, scenario: &Value) {
        for (of_suite, of_facts) in object(&self.names["resources"]) {
            let (kind, of) = (of_suite.split_once(':').unwrap().0, text(of_facts).split_once(':').unwrap().0);
            self.types.insert(of.to_owned(), kind.to_owned());
        }
        let keys = list(&scenario["catalog"]);
        let types_of = |key: &Value| -> Vec<String> {
            list(&key["object_types"]).iter().map(|of| self.type_of(text(of))).collect()
        };
        let namespace = text(&keys[0]["key"]).split('.').next().unwrap();
        let permissions: Vec<Value> =
            keys.iter().map(|key| json!({"key": key["key"], "object_types": types_of(key)})).collect();
        let kinds: BTreeSet<String> = keys.iter().flat_map(types_of).collect();
        let object_types: Vec<Value> = kinds
            .iter()
            .map(|kind| {
                let own: Vec<&Value> =
                    keys.iter().filter(|key| types_of(key).contains(kind)).map(|key| &key["key"]).collect();
                let aliases: Map<String, Value> = object(&self.names["actions"])
                    .iter()
                    .filter(|(_, key)| own.contains(key))
                    .map(|(alias, key)| (alias.clone(), key.clone()))
                    .collect();
                json!({"name": kind, "read": own[0], "create": own[0], "manage": own[0], "aliases": aliases})
            })
            .collect();
        let document = json!({"permissions": permissions, "object_types": object_types});
        self.put(&format!("/catalog/{namespace}"), document, 200).await;
    }

    async fn people(&self, scenario: &Value) {
        let called: BTreeMap<&str, &str> = object(&self.names["subjects"])
            .iter()
            .map(|(of_suite, of_facts)| (text(of_facts), of_suite.split_once(':').unwrap().1))
            .collect();
        for user in list(&scenario["users"]).iter().map(text) {
            let external = called.get(user).filter(|called| **called != user);
            self.post("/users", json!({"username": user, "external_id": external})).await;
        }
        for (group, members) in object(&scenario["groups"]) {
            self.post("/groups", json!({"slug": group})).await;
            for member in list(members).iter().map(text) {
                let path = format!("/api/v1/groups/{group}/members/{member}");
                self.admin.put(&path, &json!({})).await.unwrap().expect(204).unwrap();
            }
        }
        for (role, what) in object(&scenario["roles"]) {
            let role = json!({"slug": role, "scope": what["scope"], "permissions": what["permissions"]});
            self.post("/roles", role).await;
        }
    }

    async fn things(&mut self, scenario: &Value) {
        let called: BTreeMap<String, String> = object(&self.names["resources"])
            .iter()
            .map(|(of_suite, of_facts)| (text(of_facts).to_owned(), of_suite.clone()))
            .collect();
        for thing in list(&scenario["objects"]) {
            let (of, name) = (text(&thing["type"]), text(&thing["name"]));
            let (of_facts, kind) = (format!("{of}:{name}"), self.type_of(of));
            let of_suite = called.get(&of_facts).cloned().unwrap_or_else(|| of_facts.clone());
            let id = of_suite.split_once(':').unwrap().1;
            let external = Uuid::try_parse(id).is_err().then_some(id);
            let parent = thing["parent"].as_str().map(|parent| &self.objects[&format!("folder:{parent}")]);
            let new = json!({"type": kind, "name": name, "external_id": external, "parent": parent});
            let made = self.post("/objects", new).await;
            let made = text(&made["id"]);
            if let Some(owner) = thing["owner"].as_str() {
                let path = format!("/api/v1/objects/{kind}/{made}/transfer");
                self.admin.post(&path, &json!({"owner": owner})).await.unwrap().expect(200).unwrap();
            }
            if external.is_none() {
                self.ids.insert(of_suite, made.to_owned());
            }
            self.objects.insert(of_facts, format!("{kind}:{made}"));
        }
    }

    async fn grants(&self, scenario: &Value) {
        for grant in list(&scenario["grants"]) {
            let mut new = Map::new();
            let scope = grant["on"].as_str().map_or("global", |on| &self.objects[on]);
            new.insert("scope".to_owned(), scope.into());
            for (member, of_facts) in [
                ("subject", "to"),
                ("role", "role"),
                ("permissions", "keys"),
                ("effect", "effect"),
                ("affects", "affects"),
                ("child_types", "child_types"),
            ] {
                if let Some(value) = grant.get(of_facts) {
                    new.insert(member.to_owned(), value.clone());
                }
            }
            self.post("/grants", new.into()).await;
        }
    }

    /// The gateway: it may ask, and do nothing else.
    async fn caller(&self) -> Caller {
        self.post("/users", json!({"username": "gateway", "password": PASSWORD})).await;
        let role = json!({"slug": "gateways", "scope": "global", "permissions": ["core.decision.read"]});
        self.post("/roles", role).await;
        self.post("/grants", json!({"subject": "user:gateway", "role": "gateways", "scope": "global"})).await;
        let signed_in = self.server.sign_in("gateway", PASSWORD).await.unwrap();
        let token = signed_in.post("/api/v1/user/me/tokens", &json!({"name": "suite"})).await.unwrap();
        let token = token.expect(201).unwrap();
        Caller::new(self.admin.url(), Some(text(&token.body["secret"]).to_owned()))
    }

    /// A request of the suite, but for ids that can only be the server's.
    fn translated(&self, mut request: Value) -> Value {
        let resource = &mut request["resource"];
        if resource.is_object() {
            let named = resource["id"].as_str().map(|id| format!("{}:{id}", text(&resource["type"])));
            if let Some(id) = named.and_then(|named| self.ids.get(&named)) {
                resource["id"] = json!(id);
            }
        } else {
            object_mut(&mut request).remove("resource");
        }
        if let Some(items) = request.get_mut("evaluations").and_then(Value::as_array_mut) {
            for item in items {
                *item = self.translated(item.take());
            }
        }
        request
    }

    async fn asked(&self, path: &str, request: &Value) -> Value {
        let request = self.translated(request.clone());
        let answer = self.gateway.post(&format!("/access/v1/{path}"), &request).await.unwrap();
        answer.expect(200).unwrap().body
    }

    /// Every case of a file, single questions and batches; how many.
    async fn evaluates(&self, file: &str) -> usize {
        let suite = read(file);
        for case in list(&suite["evaluation"]) {
            let answer = self.asked("evaluation", &case["request"]).await;
            assert_eq!(answer, json!({"decision": case["expected"]}), "{}", case["request"]);
        }
        for case in list(&suite["evaluations"]) {
            let answer = self.asked("evaluations", &case["request"]).await;
            assert_eq!(answer, json!({"evaluations": case["expected"]}), "{}", case["request"]);
        }
        list(&suite["evaluation"]).len() + list(&suite["evaluations"]).len()
    }

    /// Every case of a file of searches; how many.
    async fn finds(&self, path: &str, file: &str) -> usize {
        let suite = read(file);
        let cases = [list(&suite["evaluation"]), list(&suite["search"])].concat();
        for case in &cases {
            let answer = self.asked(path, &case["request"]).await;
            let mut found = sorted(&answer["results"]);
            if path == "search/subject" {
                // Every installation has an administrator, who may do everything; the suites' world has none.
                let everywhere =
                    found.iter().position(|row| row == &format!(r#"{{"id":"{ADMIN}","type":"user"}}"#));
                found.remove(everywhere.unwrap());
            }
            assert_eq!(found, sorted(&case["expected"]["results"]), "{}", case["request"]);
            assert_eq!(answer["page"]["next_token"], "");
        }
        cases.len()
    }
}

fn object_mut(value: &mut Value) -> &mut Map<String, Value> {
    value.as_object_mut().unwrap()
}

fn sorted(results: &Value) -> Vec<String> {
    let mut texts: Vec<String> = results.as_array().unwrap().iter().map(Value::to_string).collect();
    texts.sort();
    texts
}

async fn the_search_suite_finds_what_it_expects_by_either_facts(installation: Installation) {
    if folder().is_none() {
        return;
    }
    for facts in [None, Some("authzen search, flat")] {
        let stage = Stage::of(Installation::new(installation.kind()).unwrap(), "search", facts).await;
        assert_eq!(stage.finds("search/subject", "search-subject.json").await, 60);
        assert_eq!(stage.finds("search/resource", "search-resource.json").await, 18);
        assert_eq!(stage.finds("search/action", "search-action.json").await, 120);
    }
}

async fn the_identity_provider_suite_finds_what_it_expects(installation: Installation) {
    if folder().is_none() {
        return;
    }
    let stage = Stage::of(installation, "idp", None).await;
    assert_eq!(stage.finds("search/resource", "idp-results.json").await, 6);
}

async fn the_gateway_suite_is_answered_as_it_expects(installation: Installation) {
    if folder().is_none() {
        return;
    }
    let stage = Stage::of(installation, "gateway", None).await;
    assert_eq!(stage.evaluates("gateway-decisions.json").await, 25);
}

async fn the_to_do_suite_is_answered_as_it_expects(installation: Installation) {
    if folder().is_none() {
        return;
    }
    let stage = Stage::of(installation, "todo", None).await;
    assert_eq!(stage.evaluates("todo-decisions.json").await, 43);
}

on_both_databases!(
    the_search_suite_finds_what_it_expects_by_either_facts,
    the_identity_provider_suite_finds_what_it_expects,
    the_gateway_suite_is_answered_as_it_expects,
    the_to_do_suite_is_answered_as_it_expects,
);

#[tokio::test]
async fn a_server_says_where_the_endpoints_are() {
    let installation = Installation::new(Database::Sqlite).unwrap();
    let server = Server::start(&installation).await.unwrap();
    let nobody = Caller::new(&server.url, None);
    let path = "/.well-known/authzen-configuration";
    let told = nobody.get(path).await.unwrap().expect(200).unwrap().body;
    assert_eq!(told["policy_decision_point"], json!(server.url));
    let endpoint = text(&told["access_evaluation_endpoint"]);
    let there = nobody.post(endpoint.strip_prefix(server.url.as_str()).unwrap(), &json!({})).await.unwrap();
    there.expect(401).unwrap();
    let installation = installation.with("CHARTER_PUBLIC_URL", "https://pdp.example.com");
    drop(server);
    let server = Server::start(&installation).await.unwrap();
    let told = Caller::new(&server.url, None).get(path).await.unwrap().expect(200).unwrap().body;
    assert_eq!(told["policy_decision_point"], "https://pdp.example.com");
}
