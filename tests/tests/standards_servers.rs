//! SCIM and AuthZEN on two servers of one installation: what came in at one counts at the other, at once for whoever
//! names its version, and soon for everybody.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]

use charter_tests::{Answer, Caller, Database, Fleet, Installation, eventually};
use reqwest::Method;
use serde_json::{Value, json};

const USER: &str = "urn:ietf:params:scim:schemas:core:2.0:User";
const GROUP: &str = "urn:ietf:params:scim:schemas:core:2.0:Group";
const PATCH: &str = "urn:ietf:params:scim:api:messages:2.0:PatchOp";
/// How long a revocation elsewhere may go unseen; generous, for a machine that is busy with something else.
const SOON_SECONDS_MAX: u64 = 10;

struct Two {
    _fleet: Fleet,
    at_a: Caller,
    at_b: Caller,
}

impl Two {
    async fn start() -> Self {
        let fleet = Fleet::start(Installation::new(Database::Postgres).unwrap(), 2).await.unwrap();
        let (at_a, at_b) = (fleet.admin(0).unwrap(), fleet.admin(1).unwrap());
        Self { _fleet: fleet, at_a, at_b }
    }
}

/// A request, at no version before the one of an earlier answer.
async fn after(caller: &Caller, earlier: &Answer, method: Method, path: &str, body: Option<Value>) -> Answer {
    let request = caller.request(method, path).header("policy-version-min", earlier.version.unwrap());
    let request = match body {
        Some(body) => request.header("content-type", "application/scim+json").body(body.to_string()),
        None => request,
    };
    caller.send(request).await.unwrap()
}

async fn held_to(caller: &Caller, etag: &str, path: &str, body: &Value) -> Answer {
    let request = caller.request(Method::PATCH, path).header("if-match", etag).json(body);
    caller.send(request).await.unwrap()
}

fn patch(operations: &Value) -> Value {
    json!({"schemas": [PATCH], "Operations": operations})
}

fn id(answer: &Answer) -> &str {
    answer.text("id").unwrap()
}

async fn person(caller: &Caller, name: &str) -> Answer {
    let new = json!({"schemas": [USER], "userName": name});
    caller.post("/scim/v2/Users", &new).await.unwrap().expect(201).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_an_identity_provider_changes_at_one_server_it_finds_at_the_other() {
    let two = Two::start().await;
    let made = person(&two.at_a, "alice@example.com").await;
    let at = format!("/scim/v2/Users/{}", id(&made));

    let found = after(&two.at_b, &made, Method::GET, &at, None).await.expect(200).unwrap();
    assert_eq!((&found.body["meta"]["version"], &found.etag), (&made.body["meta"]["version"], &made.etag));
    let renamed = patch(&json!([{"op": "replace", "path": "displayName", "value": "Alice"}]));
    let changed =
        held_to(&two.at_b, found.etag.as_deref().unwrap(), &at, &renamed).await.expect(200).unwrap();
    assert_ne!(changed.etag, found.etag);

    // The first server has heard of it, whether or not it is told which version to be at: a change is held to the head.
    let stale = patch(&json!([{"op": "replace", "path": "displayName", "value": "Eve"}]));
    held_to(&two.at_a, made.etag.as_deref().unwrap(), &at, &stale).await.expect(412).unwrap();
    let seen = after(&two.at_a, &changed, Method::GET, &at, None).await.expect(200).unwrap();
    assert_eq!((&seen.body["displayName"], &seen.etag), (&json!("Alice"), &changed.etag));

    let team = json!({"schemas": [GROUP], "displayName": "Ops", "members": [{"value": id(&made)}]});
    let team = two.at_a.post("/scim/v2/Groups", &team).await.unwrap().expect(201).unwrap();
    let path = format!("/scim/v2/Groups/{}", id(&team));
    let at_other = after(&two.at_b, &team, Method::GET, &path, None).await.expect(200).unwrap();
    assert_eq!(at_other.body["members"], team.body["members"]);

    let gone = two.at_b.delete(&at).await.unwrap().expect(204).unwrap();
    after(&two.at_a, &gone, Method::GET, &at, None).await.expect(404).unwrap();
    let left = after(&two.at_a, &gone, Method::GET, &path, None).await.expect(200).unwrap();
    assert!(left.body["members"].as_array().is_none_or(Vec::is_empty), "{left:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_one_name_created_at_two_servers_at_once_one_is_somebody() {
    let two = Two::start().await;
    for round in 0..20 {
        let new = json!({"schemas": [USER], "userName": format!("User{round}@example.com")});
        let (a, b) =
            tokio::join!(two.at_a.post("/scim/v2/Users", &new), two.at_b.post("/scim/v2/Users", &new));
        let mut statuses = [a.unwrap().status, b.unwrap().status];
        statuses.sort_unstable();
        assert_eq!(statuses, [201, 409], "round {round}");
    }
    let listed = two.at_b.get("/scim/v2/Users?filter=userName%20sw%20%22user%22").await.unwrap();
    assert_eq!(listed.expect(200).unwrap().body["totalResults"], 20);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_is_switched_off_at_one_server_is_nobody_at_the_other() {
    let two = Two::start().await;
    let made = person(&two.at_a, "bob@example.com").await;
    let path = format!("/api/v1/users/{}/tokens", id(&made));
    let issued = two.at_a.post(&path, &json!({"name": "his"})).await.unwrap().expect(201).unwrap();
    let secret = issued.text("secret").unwrap().to_owned();
    let bob = Caller::new(two.at_b.url(), Some(secret));
    after(&bob, &issued, Method::GET, "/api/v1/user/me", None).await.expect(200).unwrap();

    let off = patch(&json!([{"op": "replace", "value": {"active": false}}]));
    let off =
        after(&two.at_a, &issued, Method::PATCH, &format!("/scim/v2/Users/{}", id(&made)), Some(off)).await;
    let off = off.expect(200).unwrap();
    assert_eq!(off.body["active"], false);

    after(&bob, &off, Method::GET, "/api/v1/user/me", None).await.expect(401).unwrap();
    for _ in 0..50 {
        bob.get("/api/v1/user/me").await.unwrap().expect(401).unwrap();
    }
}

/// Whether `bob` may read users, in a gateway's words; together with the same in a batch and by a search.
async fn decided(caller: &Caller, earlier: Option<&Answer>) -> bool {
    let ask = async |path: &str, body: Value| {
        let request = caller.request(Method::POST, &format!("/access/v1/{path}")).json(&body);
        let request = match earlier {
            Some(earlier) => request.header("policy-version-min", earlier.version.unwrap()),
            None => request,
        };
        caller.send(request).await.unwrap().expect(200).unwrap().body
    };
    let bob = json!({"type": "user", "id": "bob"});
    let question = json!({"subject": bob, "action": {"name": "core.folder.read"},
                          "resource": {"type": "folder", "id": "eu"}});
    let one = ask("evaluation", question.clone()).await["decision"].as_bool().unwrap();
    if earlier.is_some() {
        let batch = ask("evaluations", json!({"evaluations": [question, question]})).await;
        assert_eq!(batch["evaluations"], json!([{"decision": one}, {"decision": one}]));
        let search = json!({"subject": {"type": "user"}, "action": question["action"], "resource": question["resource"]});
        let found = ask("search/subject", search).await;
        assert_eq!(found["results"].as_array().unwrap().contains(&bob), one, "{found}");
    }
    one
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_revoked_at_one_server_a_gateway_is_denied_at_the_other() {
    let two = Two::start().await;
    let folder = json!({"type": "folder", "name": "Europe", "external_id": "eu"});
    two.at_a.post("/api/v1/objects", &folder).await.unwrap().expect(201).unwrap();
    let bob = two.at_a.post("/api/v1/users", &json!({"username": "bob"})).await.unwrap().expect(201).unwrap();
    let team = json!({"schemas": [GROUP], "displayName": "Ops", "members": []});
    let team = two.at_a.post("/scim/v2/Groups", &team).await.unwrap().expect(201).unwrap();
    let team = format!("/scim/v2/Groups/{}", id(&team));
    let grant = |subject: &str| json!({"subject": subject, "permissions": ["core.folder.read"], "scope": "folder:eu"});
    two.at_a.post("/api/v1/grants", &grant("group:ops")).await.unwrap().expect(201).unwrap();
    for round in 0..20 {
        // By a grant of his own, and by a membership that an identity provider keeps.
        let (given, path) = if round % 2 == 0 {
            let given =
                two.at_a.post("/api/v1/grants", &grant("user:bob")).await.unwrap().expect(201).unwrap();
            let path = format!("/api/v1/grants/{}", id(&given));
            (given, path)
        } else {
            let add = patch(&json!([{"op": "add", "path": "members", "value": [{"value": id(&bob)}]}]));
            (after(&two.at_a, &bob, Method::PATCH, &team, Some(add)).await.expect(200).unwrap(), team.clone())
        };
        assert!(decided(&two.at_b, Some(&given)).await, "round {round}");

        let taken = if round % 2 == 0 {
            two.at_a.delete(&path).await.unwrap().expect(204).unwrap()
        } else {
            let none = patch(&json!([{"op": "replace", "path": "members", "value": []}]));
            after(&two.at_a, &bob, Method::PATCH, &path, Some(none)).await.expect(200).unwrap()
        };

        assert!(!decided(&two.at_a, None).await, "round {round}, where it was revoked");
        if round % 4 < 2 {
            assert!(!decided(&two.at_b, Some(&taken)).await, "round {round}, by its version");
        } else {
            eventually("the other server denies", SOON_SECONDS_MAX, async || !decided(&two.at_b, None).await)
                .await
                .unwrap();
        }
        for _ in 0..5 {
            assert!(!decided(&two.at_b, None).await, "round {round}, once it was seen");
        }
    }
}
