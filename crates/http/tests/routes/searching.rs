//! Lists that are searched and sorted: `q`, `sort`, and what else sifts them.

use crate::support::{Api, PASSWORD};
use charter_commands::EraseUser;
use charter_control::{Clock, Config, Request, RequestMeta, SystemClock, TablesError};
use charter_events::{Timestamp, Via};
use charter_policy::Caller;
use charter_store::{Query, SecretWrite};
use charter_tables::DIRECTORY;
use serde_json::{Value, json};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

/// All pages of a list, so many rows each: what stands in a member of their rows.
async fn walked(api: &Api, secret: &str, path: &str, limit: usize, member: &str) -> Vec<String> {
    let (mut found, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = format!("{path}&limit={limit}{cursor}");
        let page = api.by(secret, "GET", &page, Value::Null).await.ok(200);
        found.extend(page.texts("items", member));
        match page.body["next"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return found,
        }
    }
}

async fn groups(api: &Api) {
    for (slug, name) in [("ops", "Night shift"), ("dev", "äpfel"), ("qa", "Apples"), ("all", "everybody")] {
        api.admin("POST", "/groups", json!({"slug": slug, "name": name})).await.ok(201);
    }
}

#[tokio::test]
async fn groups_are_sorted_by_any_of_their_orders_page_by_page() {
    let api = Api::new().await;
    groups(&api).await;
    api.admin("PATCH", "/groups/ops", json!({"name": "Day shift"})).await.ok(200);
    for (sort, expected) in [
        ("name", ["qa", "ops", "all", "dev"]),
        ("-name", ["dev", "all", "ops", "qa"]),
        ("slug", ["all", "dev", "ops", "qa"]),
        ("created", ["ops", "dev", "qa", "all"]),
        ("-created", ["all", "qa", "dev", "ops"]),
        ("changed", ["dev", "qa", "all", "ops"]),
    ] {
        for limit in [1, 3, 100] {
            let found = walked(&api, &api.admin, &format!("/groups?sort={sort}"), limit, "slug").await;
            assert_eq!(found, expected, "{sort}, {limit} a page");
        }
    }
}

#[tokio::test]
async fn a_search_finds_slugs_and_names_in_any_case_and_sees_what_was_just_written() {
    let api = Api::new().await;
    groups(&api).await;
    for (text, expected) in [
        ("SHIFT", &["ops"][..]),
        ("%C3%84PF", &["dev"]),
        ("a", &["qa", "all"]),
        ("ap", &["qa"]),
        ("%25", &[]),
        ("_", &[]),
    ] {
        let found = walked(&api, &api.admin, &format!("/groups?q={text}"), 2, "slug").await;
        assert_eq!(found, expected, "{text}");
    }
    for number in 0..20 {
        let new = json!({"slug": format!("n{number}"), "name": format!("Number {number}")});
        api.admin("POST", "/groups", new).await.ok(201);
        let found = walked(&api, &api.admin, &format!("/groups?q=number+{number}"), 100, "slug").await;
        assert!(found.contains(&format!("n{number}")), "{number}: {found:?}");
    }
}

#[tokio::test]
async fn roles_are_searched_among_those_that_fit_a_scope() {
    let api = Api::new().await;
    for (slug, scope) in [("watch-here", "object"), ("watch-all", "global"), ("watch-both", "both")] {
        let new = json!({"slug": slug, "scope": scope, "permissions": ["core.user.read"]});
        api.admin("POST", "/roles", new).await;
    }
    let all = walked(&api, &api.admin, "/roles?q=watch&sort=slug", 1, "slug").await;
    let global = walked(&api, &api.admin, "/roles?q=watch&sort=slug&scope=global", 1, "slug").await;
    let policy = api.control.policy();
    let fits = |slug: &String| {
        let role = policy.role(policy.role_by_slug(slug).unwrap()).unwrap();
        role.scope != charter_events::RoleScope::Object
    };
    assert!(all.len() > 1);
    assert_eq!(global, all.iter().filter(|slug| fits(slug)).cloned().collect::<Vec<_>>());
    let past = format!("/roles?q=watch&as_of={}", api.head());
    let past = api.admin("GET", &past, Value::Null).await;
    assert_eq!(past.refused(400, "invalid_parameter").body["field"], "as_of");
}

#[tokio::test]
async fn nobody_finds_an_object_he_may_not_read() {
    let api = Api::furnished().await;
    for number in 0..30 {
        let new = json!({"type": "server", "name": format!("Web {number:02}"), "external_id": format!("w{number}"),
                         "parent": if number % 3 == 0 { json!("folder:eu") } else { Value::Null }});
        api.admin("POST", "/objects", new).await.ok(201);
    }
    let bob = api.user("bob").await;
    api.give("user:bob", &["minecraft.server.read"], "folder:eu").await;
    api.give("user:bob", &["minecraft.server.read"], "server:w1").await;
    let expected: Vec<String> =
        (0..30).filter(|n| n % 3 == 0 || *n == 1).rev().map(|n| format!("Web {n:02}")).collect();
    for limit in [1, 4, 100] {
        let found = walked(&api, &bob, "/objects?q=web&sort=-name", limit, "name").await;
        assert_eq!(found, expected, "{limit} a page");
    }
    assert_eq!(walked(&api, &api.admin, "/objects?q=web", 7, "name").await.len(), 30);
    let inside = "/objects?q=web&type=server&parent=folder:eu";
    assert_eq!(walked(&api, &api.admin, inside, 3, "name").await.len(), 10);
    api.by(&bob, "GET", inside, Value::Null).await.refused(404, "not_found");
    assert_eq!(walked(&api, &bob, "/objects?q=web&parent=none", 100, "name").await, ["Web 01"]);
    assert_eq!(walked(&api, &bob, "/objects?q=web&type=folder", 100, "name").await, [""; 0]);
    // A grant that ends takes its rows from the next page on.
    api.admin("DELETE", "/objects/server/w1", Value::Null).await.ok(204);
    assert_eq!(walked(&api, &bob, "/objects?q=web+01", 100, "name").await, [""; 0]);
}

#[tokio::test]
async fn objects_are_listed_by_owner_and_a_name_nobody_has_owns_nothing() {
    let api = Api::furnished().await;
    assert_eq!(walked(&api, &api.admin, "/objects?owner=ada", 2, "external_id").await, ["eu", "s1", "s2"]);
    assert_eq!(walked(&api, &api.admin, "/objects?owner=ada&sort=-type", 2, "type").await[0], "server");
    let told = api.admin("GET", "/objects?owner=nobody", Value::Null).await.refused(404, "not_found");
    assert_eq!(told.body["detail"], "there is no user `nobody`");
    let stranger = api.user("stranger").await;
    api.give("user:stranger", &["core.folder.read"], "folder:eu").await;
    assert_eq!(walked(&api, &stranger, "/objects?owner=nobody", 2, "name").await, [""; 0]);
}

async fn people(api: &Api) {
    for (username, display_name, email) in [
        ("zoe", "Zoë Ångström", "z@example.org"),
        ("bob", "bob", "robert@example.org"),
        ("cleo", "Cleopatra", "queen@nile.example"),
    ] {
        let new =
            json!({"username": username, "display_name": display_name, "email": email, "password": PASSWORD});
        api.admin("POST", "/users", new).await.ok(201);
    }
    api.admin("POST", "/users", json!({"username": "robot", "kind": "service"})).await.ok(201);
    api.admin("POST", "/users/bob/suspend", Value::Null).await.ok(200);
}

#[tokio::test]
async fn people_are_found_by_any_of_their_names_and_sorted_by_the_one_they_are_shown_by() {
    let api = Api::new().await;
    people(&api).await;
    for (query, expected) in [
        ("sort=name", &["ada", "bob", "cleo", "robot", "zoe"][..]),
        ("sort=-name", &["zoe", "robot", "cleo", "bob", "ada"]),
        ("sort=-created", &["robot", "cleo", "bob", "zoe", "ada"]),
        ("sort=-changed&kind=person&status=suspended", &["bob"]),
        ("q=%C3%85NGSTR%C3%96M", &["zoe"]),
        ("q=ROB", &["bob", "robot"]),
        ("q=nile", &["cleo"]),
        ("kind=service", &["robot"]),
        ("status=active", &["ada", "zoe", "cleo", "robot"]),
        ("q=example&kind=service", &[]),
    ] {
        for limit in [1, 2, 100] {
            let found = walked(&api, &api.admin, &format!("/users?{query}"), limit, "username").await;
            assert_eq!(found, expected, "{query}, {limit} a page");
        }
    }
}

#[tokio::test]
async fn a_page_of_people_goes_on_where_it_was_when_its_last_one_is_renamed_and_names_nobody_in_its_cursor() {
    let api = Api::new().await;
    people(&api).await;
    let page = api.admin("GET", "/users?sort=name&limit=2", Value::Null).await.ok(200);
    let cursor = page.body["next"].as_str().unwrap().to_owned();
    use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
    let bytes = URL_SAFE_NO_PAD.decode(&cursor).unwrap();
    assert!(!bytes.windows(3).any(|three| three == b"bob"), "the last row's name");
    api.admin("PATCH", "/users/bob", json!({"display_name": "zz"})).await.ok(200);
    let next =
        api.admin("GET", &format!("/users?sort=name&limit=2&cursor={cursor}"), Value::Null).await.ok(200);
    assert_eq!(next.texts("items", "username"), ["cleo", "robot"], "nobody is left out");
    let other = format!("/users?sort=-name&limit=2&cursor={cursor}");
    api.admin("GET", &other, Value::Null).await.refused(400, "invalid_cursor");
}

/// The system's clock, a month ahead once it is told so.
#[derive(Default)]
struct Later(AtomicBool);

impl Clock for Later {
    fn now(&self) -> Timestamp {
        const MONTH_MICROSECONDS: i64 = 31 * 24 * 3_600 * 1_000_000;
        let ahead = if self.0.load(Ordering::SeqCst) { MONTH_MICROSECONDS } else { 0 };
        SystemClock.now().saturating_add_micros(ahead)
    }
}

#[tokio::test]
async fn an_erased_person_is_found_by_no_name() {
    let clock = Arc::new(Later::default());
    let api = Api::set_up(Config { clock: clock.clone(), ..Config::default() }).await;
    people(&api).await;
    assert_eq!(walked(&api, &api.admin, "/users?q=cleo", 100, "username").await, ["cleo"]);
    let user = api.id_of("cleo");
    api.admin("POST", "/users/cleo/schedule-deletion", json!({})).await.ok(200);
    let admin = api.token(api.id_of("ada"), None).await;
    clock.0.store(true, Ordering::SeqCst);
    let request = Request {
        secrets: vec![SecretWrite::DestroyUserKey { user }],
        ..Request::new(Caller::System, EraseUser { user }.into(), RequestMeta::new(Via::System))
    };
    // The clock's own work may have done it meanwhile.
    let _ = api.control.submit(request).await;
    let erased = api.by(&admin, "GET", &format!("/users/{user}"), Value::Null).await.ok(200);
    assert_eq!(erased.body["status"], "erased");
    for query in ["q=cleo", "q=nile", "q=queen&sort=-name"] {
        let found = walked(&api, &admin, &format!("/users?{query}"), 100, "id").await;
        assert_eq!(found, [""; 0], "{query}");
    }
    let sorted = walked(&api, &admin, "/users?sort=name", 2, "id").await;
    assert_eq!(sorted.last(), Some(&user.to_string()), "after all who have a name");
    assert_eq!(walked(&api, &admin, "/users?status=erased", 2, "id").await, [user.to_string()]);
}

#[tokio::test]
async fn what_can_not_be_searched_or_sorted_by_is_refused() {
    let api = Api::furnished().await;
    let long = "x".repeat(201);
    for (path, field) in [
        ("/users?sort=email".to_owned(), "sort"),
        ("/groups?sort=--name".to_owned(), "sort"),
        ("/groups?sort=".to_owned(), "sort"),
        ("/objects?sort=owner".to_owned(), "sort"),
        ("/roles?q=".to_owned(), "q"),
        ("/users?q=++".to_owned(), "q"),
        (format!("/objects?q={long}"), "q"),
        ("/users?kind=robot".to_owned(), "kind"),
        ("/users?status=asleep".to_owned(), "status"),
    ] {
        let reply = api.admin("GET", &path, Value::Null).await.refused(400, "invalid_parameter");
        assert_eq!(reply.body["field"], field, "{path}");
    }
    let nobody = api.user("nobody").await;
    for list in ["users", "groups", "roles"] {
        api.by(&nobody, "GET", &format!("/{list}?q=a"), Value::Null).await.refused(403, "forbidden");
    }
}

#[tokio::test]
async fn where_no_tables_are_kept_a_search_says_so_and_the_plain_lists_go_on() {
    let config =
        Config { projections: Vec::new(), version_wait: Duration::from_millis(20), ..Config::default() };
    let api = Api::set_up(config).await;
    groups(&api).await;
    let reply = api.admin("GET", "/groups?q=a", Value::Null).await.refused(503, "tables_not_built");
    assert!(!reply.header("retry-after").is_empty());
    assert_eq!(api.admin("GET", "/groups", Value::Null).await.ok(200).texts("items", "slug").len(), 4);
    assert_eq!(walked(&api, &api.admin, "/users?q=ada", 10, "username").await, ["ada"], "people need none");
}

#[tokio::test]
async fn tables_that_are_behind_what_a_caller_has_seen_answer_nothing_older() {
    let api = Api::set_up(Config { version_wait: Duration::from_millis(50), ..Config::default() }).await;
    groups(&api).await;
    let (table, _) = DIRECTORY.table("groups").unwrap();
    let query = Query {
        spec: &DIRECTORY,
        table,
        filters: Vec::new(),
        order_by: None,
        descending: false,
        after: None,
        limit: 10,
    };
    let head = api.head();
    let (wanted, mut waited) = (head.plus(1).unwrap(), 0);
    let behind = loop {
        match api.control.list_rows(&query, wanted).await.unwrap_err() {
            // They may still be on their way to the head itself.
            TablesError::Behind { at, wanted } if at == head => break wanted,
            error if waited < 100 => drop(error),
            error => panic!("{error}"),
        }
        waited += 1;
    };
    assert_eq!(behind, wanted);
    assert_eq!(api.control.list_rows(&query, head).await.unwrap().rows.len(), 4);
}
