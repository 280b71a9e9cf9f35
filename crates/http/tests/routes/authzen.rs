//! `/access/v1`: the questions in the words of AuthZEN.

use crate::support::{Api, Reply};
use charter_http::{HttpConfig, router};
use serde_json::{Value, json};

/// A gateway with a token that holds `core.decision.read` everywhere.
pub(crate) struct Gateway {
    pub(crate) api: Api,
    pub(crate) secret: String,
}

impl Gateway {
    pub(crate) async fn of(api: Api) -> Self {
        let secret = api.user("gateway").await;
        let role = json!({"slug": "gateways", "scope": "global", "permissions": ["core.decision.read"]});
        api.admin("POST", "/roles", role).await.ok(201);
        let grant = json!({"subject": "user:gateway", "role": "gateways", "scope": "global"});
        api.admin("POST", "/grants", grant).await.ok(201);
        Self { api, secret }
    }

    pub(crate) async fn ask(&self, path: &str, body: Value) -> Reply {
        self.raw(path, "application/json", body.to_string().as_bytes()).await
    }

    pub(crate) async fn raw(&self, path: &str, content_type: &str, body: &[u8]) -> Reply {
        let call = self.api.call("POST", &format!("/access/v1/{path}")).by(&self.secret);
        call.raw(content_type, body).send().await
    }

    /// As a server that is called so from outside.
    pub(crate) fn called(&mut self, url: &str) {
        let config = HttpConfig { public_url: Some(url.parse().unwrap()), ..HttpConfig::default() };
        self.api.router = router(self.api.control.clone(), config);
    }

    async fn decides(&self, user: &str, action: &str, resource: (&str, &str)) -> Value {
        let reply = self.ask("evaluation", question(user, action, resource)).await.ok(200);
        reply.body["decision"].clone()
    }
}

pub(crate) fn question(user: &str, action: &str, (kind, id): (&str, &str)) -> Value {
    json!({"subject": {"type": "user", "id": user}, "action": {"name": action},
           "resource": {"type": kind, "id": id}})
}

/// Servers whose catalog knows `view` and `see` for reading; bob may read `s1` and restart it.
async fn prepared() -> Gateway {
    let api = Api::furnished().await;
    let mut more = crate::support::catalog();
    more["object_types"][0]["aliases"]["see"] = json!("minecraft.server.read");
    api.admin("PUT", "/catalog/minecraft", more).await.ok(200);
    let bob = json!({"username": "bob", "external_id": "auth0|Bob"});
    api.admin("POST", "/users", bob).await.ok(201);
    api.give("user:bob", &["minecraft.server.read", "minecraft.server.restart"], "server:s1").await;
    Gateway::of(api).await
}

#[tokio::test]
async fn who_what_and_on_what_have_several_names() {
    let gateway = prepared().await;
    let bob = gateway.api.id_of("bob").to_string();
    let s1 = gateway.api.admin("GET", "/objects/server/s1", Value::Null).await.ok(200).body["id"].clone();
    let s1 = s1.as_str().unwrap();
    for user in ["bob", "auth0|Bob", &bob] {
        for action in ["view", "see", "minecraft.server.read"] {
            for id in ["s1", s1] {
                assert_eq!(gateway.decides(user, action, ("server", id)).await, true, "{user} {action} {id}");
            }
        }
        assert_eq!(gateway.decides(user, "minecraft.server.restart", ("server", "s1")).await, true);
        assert_eq!(gateway.decides(user, "view", ("server", "s2")).await, false);
    }
}

#[tokio::test]
async fn what_nobody_knows_is_false() {
    let gateway = prepared().await;
    let missing = "00000000-0000-7000-8000-000000000000";
    let long = "x".repeat(5_000);
    for (user, action, kind, id) in [
        ("ghost", "view", "server", "s1"),
        (missing, "view", "server", "s1"),
        ("Bob", "view", "server", "s1"),
        ("auth0|bob", "view", "server", "s1"),
        ("", "view", "server", "s1"),
        (&long, "view", "server", "s1"),
        ("bob", "fly", "server", "s1"),
        ("bob", "VIEW", "server", "s1"),
        ("bob", "minecraft.server.fly", "server", "s1"),
        ("bob", "minecraft.*", "server", "s1"),
        ("bob", "*", "server", "s1"),
        ("bob", "", "server", "s1"),
        ("bob", &long, "server", "s1"),
        ("bob", "view", "server", "s9"),
        ("bob", "view", "server", missing),
        ("bob", "view", "server", ""),
        ("bob", "view", "server", &long),
        ("bob", "view", "server", "s1\n"),
        ("bob", "view", "boat", "s1"),
        ("bob", "view", "folder", "s1"),
        ("bob", "minecraft.server.read", "folder", "s1"),
        ("bob", "view", "", "s1"),
        ("bob", "view", "server:s1", ""),
        ("bob", "view", "serv", "er:s1"),
    ] {
        assert_eq!(gateway.decides(user, action, (kind, id)).await, false, "{user} {action} {kind} {id}");
    }
    let ship = json!({"subject": {"type": "spaceship", "id": "bob"}, "action": {"name": "view"},
                      "resource": {"type": "server", "id": "s1"}});
    assert_eq!(gateway.ask("evaluation", ship).await.ok(200).body, json!({"decision": false}));
}

#[tokio::test]
async fn a_colon_in_a_type_or_an_id_shifts_nothing() {
    let gateway = prepared().await;
    let object = json!({"type": "server", "name": "x", "external_id": "a:b"});
    gateway.api.admin("POST", "/objects", object).await.ok(201);
    gateway.api.give("user:bob", &["minecraft.server.read"], "server:a:b").await;
    assert_eq!(gateway.decides("bob", "view", ("server", "a:b")).await, true);
    assert_eq!(gateway.decides("bob", "minecraft.server.read", ("server:a", "b")).await, false);
}

#[tokio::test]
async fn other_types_of_subject_are_users_where_the_server_says_so() {
    let mut gateway = prepared().await;
    let asked = |kind: &str| {
        let mut body = question("bob", "view", ("server", "s1"));
        body["subject"]["type"] = json!(kind);
        body
    };
    assert_eq!(gateway.ask("evaluation", asked("identity")).await.ok(200).body["decision"], false);
    let config = HttpConfig { subject_types: vec!["identity".parse().unwrap()], ..HttpConfig::default() };
    gateway.api.router = router(gateway.api.control.clone(), config);
    for (kind, decision) in [("identity", true), ("user", true), ("Identity", false)] {
        assert_eq!(gateway.ask("evaluation", asked(kind)).await.ok(200).body["decision"], decision);
    }
    let who = json!({"subject": {"type": "identity"}, "action": {"name": "view"},
                     "resource": {"type": "server", "id": "s1"}});
    let found = gateway.ask("search/subject", who).await.ok(200);
    assert_eq!(found.texts("results", "type"), ["identity", "identity"], "as it was asked for");
}

#[tokio::test]
async fn searches_answer_in_the_gateways_words() {
    let gateway = prepared().await;
    let who = json!({"subject": {"type": "user"}, "action": {"name": "view"},
                     "resource": {"type": "server", "id": "s1"}});
    let found = gateway.ask("search/subject", who).await.ok(200);
    let expected = r#""results":[{"type":"user","id":"ada"},{"type":"user","id":"auth0|Bob"}]"#;
    assert!(found.text.contains(expected), "{}", found.text);
    let on_what = json!({"subject": {"type": "user", "id": "ada"}, "action": {"name": "view"},
                         "resource": {"type": "server"}});
    let found = gateway.ask("search/resource", on_what).await.ok(200);
    let expected = r#""results":[{"type":"server","id":"s1"},{"type":"server","id":"s2"}]"#;
    assert!(found.text.contains(expected), "{}", found.text);
    let what = json!({"subject": {"type": "user", "id": "bob"}, "resource": {"type": "server", "id": "s1"}});
    let found = gateway.ask("search/action", what).await.ok(200);
    assert_eq!(found.texts("results", "name"), ["minecraft.server.restart", "see", "view"]);
}

#[tokio::test]
async fn an_action_search_is_of_the_types_own_actions() {
    let gateway = prepared().await;
    let ada = json!({"type": "user", "id": "ada"});
    let what = |kind: &str, id: &str| json!({"subject": ada, "resource": {"type": kind, "id": id}});
    // An administrator may do everything there, managing its grants too; that is asked about by itself.
    let of_server = ["manage", "restart", "create"].map(|action| format!("minecraft.server.{action}"));
    let found = gateway.ask("search/action", what("server", "s1")).await.ok(200);
    let mut expected = of_server.to_vec();
    expected.extend(["see".to_owned(), "view".to_owned()]);
    expected.sort();
    assert_eq!(found.texts("results", "name"), expected);
    let found = gateway.ask("search/action", what("folder", "eu")).await.ok(200);
    assert_eq!(found.texts("results", "name"), ["core.folder.create", "edit", "view"]);
    assert_eq!(gateway.decides("ada", "core.grant.manage", ("server", "s1")).await, true);
}

#[tokio::test]
async fn pages_of_every_search_hold_each_result_once() {
    let gateway = prepared().await;
    for number in 0..5 {
        let object = json!({"type": "server", "name": "x", "external_id": format!("n{number}")});
        gateway.api.admin("POST", "/objects", object).await.ok(201);
        gateway.api.user_without_token(&format!("u{number}")).await;
        gateway.api.give(&format!("user:u{number}"), &["minecraft.server.read"], "server:s1").await;
    }
    let who = json!({"subject": {"type": "user"}, "action": {"name": "view"},
                     "resource": {"type": "server", "id": "s1"}});
    let on_what = json!({"subject": {"type": "user", "id": "ada"}, "action": {"name": "view"},
                         "resource": {"type": "server"}});
    let what = json!({"subject": {"type": "user", "id": "ada"}, "resource": {"type": "server", "id": "s1"}});
    for (path, body, count) in
        [("search/subject", who, 7), ("search/resource", on_what, 7), ("search/action", what, 5)]
    {
        let results = |reply: &Reply| reply.body["results"].as_array().unwrap().clone();
        let whole = results(&gateway.ask(path, body.clone()).await.ok(200));
        assert_eq!(whole.len(), count, "{path}");
        for limit in [1, 2, 4, count, count + 1, 1_000_000] {
            let (mut all, mut token) = (Vec::new(), String::new());
            loop {
                let mut body = body.clone();
                body["page"] = json!({"limit": limit, "token": token});
                let reply = gateway.ask(path, body).await.ok(200);
                let page = results(&reply);
                assert!(page.len() <= limit);
                all.extend(page);
                reply.body["page"]["next_token"].as_str().unwrap().clone_into(&mut token);
                if token.is_empty() {
                    break;
                }
            }
            assert_eq!(all, whole, "{path} by {limit}");
        }
        let mut none = body.clone();
        none["page"] = json!({"limit": 0});
        let reply = gateway.ask(path, none).await.ok(200);
        assert_eq!(results(&reply), [Value::Null; 0], "at most none");
        let mut rest = body;
        rest["page"] = json!({"token": reply.body["page"]["next_token"]});
        assert_eq!(results(&gateway.ask(path, rest).await.ok(200)), whole);
    }
}

#[tokio::test]
async fn a_token_is_good_for_its_search_and_its_caller_alone() {
    let gateway = prepared().await;
    let page = |token: &str| json!({"limit": 1, "token": token});
    let who = |action: &str, page: Value| {
        json!({"subject": {"type": "user"}, "action": {"name": action},
               "resource": {"type": "server", "id": "s1"}, "page": page})
    };
    let first = gateway.ask("search/subject", who("view", json!({"limit": 1}))).await.ok(200);
    let token = first.body["page"]["next_token"].as_str().unwrap();
    let mut flipped = token.to_owned();
    flipped.replace_range(20..21, if &token[20..21] == "A" { "B" } else { "A" });
    for (body, wrong) in [
        (who("minecraft.server.restart", page(token)), "another action"),
        (who("see", page(token)), "another name of it"),
        (who("view", page(&flipped)), "a flipped bit"),
        (who("view", page(&token[1..])), "cut"),
        (who("view", page("nonsense")), "made up"),
    ] {
        let reply = gateway.ask("search/subject", body).await.refused(400, "invalid_cursor");
        assert_eq!(reply.body["field"], "page.token", "{wrong}");
    }
    let on_what = json!({"subject": {"type": "user", "id": "ada"}, "action": {"name": "view"},
                         "resource": {"type": "server"}, "page": page(token)});
    gateway.ask("search/resource", on_what).await.refused(400, "invalid_cursor");
    let other =
        gateway.api.by(&gateway.api.admin, "POST", "/access/v1/search/subject", who("view", page(token)));
    other.await.refused(400, "invalid_cursor");
    gateway.ask("search/subject", who("view", page(token))).await.ok(200);
}

#[tokio::test]
async fn an_answer_says_why_only_to_those_who_ask_why() {
    let gateway = prepared().await;
    let with = |action: &str, context: Value| {
        let mut body = question("bob", action, ("server", "s1"));
        body["context"] = context;
        body
    };
    for context in
        [json!({}), json!(null), json!({"explain": false}), json!({"explain": "true"}), json!({"x": 1})]
    {
        let reply = gateway.ask("evaluation", with("view", context)).await.ok(200);
        assert_eq!(reply.text, r#"{"decision":true}"#);
    }
    let reply = gateway.ask("evaluation", with("view", json!({"explain": true}))).await.ok(200);
    let why = &reply.body["context"];
    assert_eq!((&why["because"], &why["subject"]), (&json!("grant"), &json!("user")), "{}", reply.text);
    assert_eq!(why["grants"].as_array().unwrap().len(), 1);
    assert_eq!(why["policy_version"], gateway.api.head().get());
    assert_eq!(reply.header("policy-version"), gateway.api.head().to_string());
    for (action, status, code) in [("fly", 400, "unknown_permission"), ("a.b.c", 400, "unknown_permission")] {
        let reply = gateway.ask("evaluation", with(action, json!({"explain": true}))).await.ok(200);
        let error = &reply.body["context"]["error"];
        assert_eq!((&error["status"], &error["code"]), (&json!(status), &json!(code)), "{}", reply.text);
        assert_eq!(reply.body["decision"], false);
    }
    let items = json!({"context": {"explain": true}, "evaluations": [
        {}, {"subject": "bob"}, {"context": {}}, {"context": 7}]});
    let reply = gateway.ask("evaluations", items).await.ok(200);
    let told = reply.body["evaluations"].as_array().unwrap();
    let codes: Vec<_> = told.iter().map(|item| item["context"]["error"]["code"].as_str()).collect();
    assert_eq!(codes, [Some("missing_member"), Some("invalid_type"), None, None], "{}", reply.text);
    assert!(told.iter().all(|item| item["decision"] == false));
}

#[tokio::test]
async fn several_questions_stop_where_they_are_told_to() {
    let gateway = prepared().await;
    let asked = |semantic: &str, actions: &[&str]| {
        let items: Vec<Value> = actions.iter().map(|name| json!({"action": {"name": name}})).collect();
        json!({"subject": {"type": "user", "id": "bob"}, "resource": {"type": "server", "id": "s1"},
               "options": {"evaluations_semantic": semantic, "another": 1}, "evaluations": items})
    };
    let (yes, no) = ("view", "fly");
    for (semantic, actions, expected) in [
        ("execute_all", &[yes, no, yes] as &[_], &[true, false, true] as &[bool]),
        ("deny_on_first_deny", &[yes, no, yes], &[true, false]),
        ("deny_on_first_deny", &[no, yes], &[false]),
        ("deny_on_first_deny", &[yes, yes], &[true, true]),
        ("permit_on_first_permit", &[no, yes, no], &[false, true]),
        ("permit_on_first_permit", &[yes, no], &[true]),
        ("permit_on_first_permit", &[no, no], &[false, false]),
    ] {
        let reply = gateway.ask("evaluations", asked(semantic, actions)).await.ok(200);
        let each: Vec<Value> = expected.iter().map(|decision| json!({"decision": decision})).collect();
        assert_eq!(reply.body, json!({"evaluations": each}), "{semantic} {actions:?}");
    }
    // An item that can't be read is a no like another.
    let mut broken = asked("deny_on_first_deny", &[yes, yes]);
    broken["evaluations"][0] = json!({"action": {"name": 7}});
    let reply = gateway.ask("evaluations", broken).await.ok(200);
    assert_eq!(reply.body, json!({"evaluations": [{"decision": false}]}));
    gateway.ask("evaluations", asked("whatever", &[yes])).await.refused(400, "invalid_value");
}

#[tokio::test]
async fn an_item_that_names_nobody_is_not_about_the_one_named_at_the_top() {
    let gateway = prepared().await;
    for wrong in [json!(null), json!({}), json!({"type": "user"}), json!("bob"), json!([])] {
        let mut body = question("bob", "view", ("server", "s1"));
        body["evaluations"] = json!([{"subject": wrong}, {}]);
        let reply = gateway.ask("evaluations", body).await.ok(200);
        assert_eq!(reply.body, json!({"evaluations": [{"decision": false}, {"decision": true}]}));
    }
}

#[tokio::test]
async fn a_caller_needs_a_credential_and_the_permission_to_ask() {
    let gateway = prepared().await;
    let api = &gateway.api;
    let body = question("bob", "view", ("server", "s1"));
    let call = |secret: Option<&str>| {
        let call = api.call("POST", "/access/v1/evaluation").json(&body);
        if let Some(secret) = secret { call.by(secret) } else { call }.send()
    };
    let reply = call(None).await.refused(401, "unauthenticated");
    assert_eq!(reply.header("www-authenticate"), "Bearer realm=\"charter\"");
    call(Some("nonsense")).await.refused(401, "invalid_token");
    let nobody = api.user("nobody").await;
    let reply = call(Some(&nobody)).await.refused(403, "forbidden");
    assert_eq!(reply.body["missing"], json!(["core.decision.read"]));
    let narrow = api.token(api.id_of("ada"), Some(&["core.user.read"])).await;
    call(Some(&narrow)).await.refused(403, "token_too_narrow");
    assert_eq!(call(Some(&gateway.secret)).await.ok(200).body["decision"], true);
}

/// A caller who may ask on `s1` alone, and may know `s2`.
async fn at_one_place(gateway: &Gateway) -> String {
    let carol = gateway.api.user("carol").await;
    gateway.api.give("user:carol", &["core.decision.read"], "server:s1").await;
    gateway.api.give("user:carol", &["minecraft.server.read"], "server:s2").await;
    carol
}

#[tokio::test]
async fn where_the_caller_may_not_ask_the_answer_is_the_one_for_what_is_not_there() {
    let gateway = prepared().await;
    gateway.api.give("user:bob", &["minecraft.server.read"], "server:s2").await;
    let object = json!({"type": "server", "name": "x", "external_id": "hidden"});
    gateway.api.admin("POST", "/objects", object).await.ok(201);
    gateway.api.give("user:bob", &["minecraft.server.read"], "server:hidden").await;
    let carol = at_one_place(&gateway).await;
    let mut texts = Vec::new();
    for id in ["hidden", "missing"] {
        for (path, mut body) in [
            ("evaluation", question("bob", "view", ("server", id))),
            ("search/action", question("bob", "view", ("server", id))),
            ("search/subject", question("bob", "view", ("server", id))),
        ] {
            body["context"] = json!({"explain": true});
            let reply = gateway.api.by(&carol, "POST", &format!("/access/v1/{path}"), body).await.ok(200);
            let mut names: Vec<String> = reply.headers.keys().map(ToString::to_string).collect();
            names.sort();
            texts.push((path, reply.text, names));
        }
    }
    assert_eq!(texts[..3], texts[3..], "what is hidden looks like what is missing");
    assert!(texts[0].1.starts_with(r#"{"decision":false,"#) && texts[1].1.contains(r#""results":[]"#));
    let decides = |id: &'static str| {
        let body = question("bob", "view", ("server", id));
        gateway.api.by(&carol, "POST", "/access/v1/evaluation", body)
    };
    assert_eq!(decides("s1").await.ok(200).body, json!({"decision": true}));
    assert_eq!(decides("s2").await.ok(200).body, json!({"decision": false}), "known, and not hers to ask");
}

#[tokio::test]
async fn a_search_says_when_the_caller_may_not_ask() {
    let gateway = prepared().await;
    let carol = at_one_place(&gateway).await;
    for (path, body) in [
        ("search/subject", question("bob", "view", ("server", "s2"))),
        ("search/action", question("bob", "view", ("server", "s2"))),
        ("search/resource", question("bob", "view", ("server", "s1"))),
        ("search/resource", question("ghost", "fly", ("boat", "s1"))),
    ] {
        let reply = gateway.api.by(&carol, "POST", &format!("/access/v1/{path}"), body).await;
        assert_eq!(reply.refused(403, "forbidden").body["missing"], json!(["core.decision.read"]), "{path}");
    }
    let body = question("bob", "view", ("server", "s1"));
    gateway.api.by(&carol, "POST", "/access/v1/search/subject", body).await.ok(200);
}

#[tokio::test]
async fn a_revoked_grant_is_false_at_once() {
    let gateway = prepared().await;
    for _ in 0..20 {
        let grant = gateway.api.give("user:bob", &["minecraft.server.manage"], "server:s1").await;
        assert_eq!(gateway.decides("bob", "minecraft.server.manage", ("server", "s1")).await, true);
        gateway.api.admin("DELETE", &format!("/grants/{grant}"), Value::Null).await.ok(204);
        assert_eq!(gateway.decides("bob", "minecraft.server.manage", ("server", "s1")).await, false);
    }
}

#[tokio::test]
async fn nobody_gives_another_meaning_to_a_key_by_an_alias() {
    let gateway = prepared().await;
    let mut document = crate::support::catalog();
    document["object_types"][0]["aliases"] = json!({"core.grant.manage": "minecraft.server.read"});
    let reply = gateway.api.admin("PUT", "/catalog/minecraft", document).await;
    reply.refused(422, "reserved_name");
    assert_eq!(gateway.decides("bob", "core.grant.manage", ("server", "s1")).await, false);
}

#[tokio::test]
async fn discovery_needs_to_know_how_the_server_is_called() {
    let api = Api::new().await;
    for host in ["", "ada:secret@pdp", "a b", "pdp/x"] {
        let call = api.call("GET", "/.well-known/authzen-configuration").header("host", host);
        assert_eq!(call.send().await.refused(400, "invalid_header").body["field"], "Host", "{host}");
    }
    let twice = api.call("GET", "/.well-known/authzen-configuration").header("host", "a").header("host", "b");
    twice.send().await.refused(400, "invalid_header");
    api.call("GET", "/.well-known/authzen-configuration").send().await.refused(400, "invalid_header");
}
