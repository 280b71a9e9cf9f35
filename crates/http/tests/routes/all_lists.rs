//! Lists and what they are lists of: whoever asks, a list holds exactly what he is shown one by one.

use crate::support::{Api, Reply};
use charter_http::ACCESS_TABLE;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Each list with the route of one of its rows, from the access table: a new pair is tested, or the test fails.
fn pairs() -> Vec<(&'static str, &'static str, bool)> {
    let reads = || ACCESS_TABLE.iter().filter(|row| row.method == "GET");
    let of = |list: &str, one: &str| {
        let rest = one.strip_prefix(list).and_then(|rest| rest.strip_prefix('/'));
        rest.is_some_and(|rest| rest.split('/').all(|part| part.starts_with('{') && !part.starts_with("{*")))
    };
    reads()
        .flat_map(|list| {
            let ones = reads().filter(move |one| of(list.path, one.path));
            ones.map(|one| (list.path, one.path, list.query.contains(&"sort")))
        })
        .collect()
}

/// The route of a row.
fn route(one: &str, row: &Value) -> String {
    let text = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
    one.replace("{type}", &text("type")).replace("{id}", &text("id"))
}

/// All pages of a list; none when it is refused.
async fn listed(api: &Api, secret: &str, path: &str) -> Option<Vec<Value>> {
    let joined = if path.contains('?') { "&" } else { "?" };
    if path.starts_with("/scim") {
        let reply = api.by(secret, "GET", path, Value::Null).await;
        let found = rows(&reply, "Resources")?;
        let total = reply.body["totalResults"].as_u64().unwrap() as usize;
        assert_eq!(found.len(), total, "{path}: what is counted is listed: {}", reply.text);
        return Some(found);
    }
    if path.starts_with("/api/v1/operations") {
        return rows(&api.by(secret, "GET", path, Value::Null).await, "items");
    }
    let (mut found, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = format!("{path}{joined}limit=3{cursor}");
        let reply = api.by(secret, "GET", &page, Value::Null).await;
        let page = rows(&reply, "items")?;
        found.extend(page);
        match reply.body["next"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return Some(found),
        }
    }
}

fn rows(reply: &Reply, member: &str) -> Option<Vec<Value>> {
    assert!([200, 403].contains(&reply.status), "{}", reply.text);
    (reply.status == 200).then(|| reply.body[member].as_array().unwrap().clone())
}

/// Keys, and the scope they are given on.
type Right = (&'static [&'static str], &'static str);

/// A house with something of everything, and who asks: each with a few rights here or there, or with a token that is
/// narrowed.
async fn house() -> (Api, Vec<(&'static str, String)>) {
    let api = Api::furnished().await;
    let own = json!({"type": "server", "name": "Three", "external_id": "s3", "parent": "folder:eu"});
    api.admin("POST", "/objects", own).await.ok(201);
    let mut callers = vec![("the administrator", api.admin.clone())];
    let rights: [(&str, &[Right]); 8] = [
        ("nobody", &[]),
        (
            "sees grants on one object, and has some elsewhere",
            &[
                (&["core.grant.read"], "server:s1"),
                (&["minecraft.server.restart"], "server:s2"),
                (&["core.user.read"], "global"),
            ],
        ),
        (
            "manages grants in a folder and sees those of another place",
            &[(&["core.grant.manage"], "folder:eu"), (&["core.grant.read"], "server:s2")],
        ),
        (
            "asks about others on one object and reads another",
            &[(&["core.decision.read"], "server:s1"), (&["minecraft.server.read"], "server:s2")],
        ),
        ("asks about others everywhere", &[(&["core.decision.read"], "global")]),
        ("reads people and groups", &[(&["core.user.read", "core.group.read"], "global")]),
        (
            "reads roles, projections and folders",
            &[(&["core.role.read", "core.projection.read"], "global"), (&["core.folder.read"], "folder:eu")],
        ),
        (
            "manages people and groups, reads neither",
            &[(&["core.user.edit", "core.group.manage", "core.user.delete"], "global")],
        ),
    ];
    for (number, (what, rights)) in rights.into_iter().enumerate() {
        let name = format!("u{number}");
        let secret = api.user(&name).await;
        for (keys, scope) in rights {
            api.give(&format!("user:{name}"), keys, scope).await;
        }
        callers.push((what, secret));
    }
    let denied = json!({"subject": "user:u4", "permissions": ["core.decision.read"], "scope": "server:s3",
                        "effect": "deny"});
    api.admin("POST", "/grants", denied).await.ok(201);
    for mask in [&["core.grant.read", "core.user.read"][..], &["minecraft.server.read", "core.group.read"]] {
        callers
            .push(("an administrator with a narrowed token", api.token(api.id_of("ada"), Some(mask)).await));
    }
    api.admin("POST", "/groups", json!({"slug": "ops"})).await.ok(201);
    api.admin("PUT", "/groups/ops/members/u1", Value::Null).await.ok(204);
    api.give("group:ops", &["minecraft.server.restart"], "server:s2").await;
    api.admin("POST", "/users/u5/suspend", Value::Null).await.ok(200);
    api.admin("POST", "/users/u5/reactivate", Value::Null).await.ok(200);
    api.user_without_token("gone").await;
    api.admin("POST", "/users/gone/schedule-deletion", json!({})).await.ok(200);
    api.user_without_token("stopped").await;
    api.admin("POST", "/users/stopped/suspend", Value::Null).await.ok(200);
    api.admin("POST", "/projections/directory/rebuild", json!({"switch": true})).await.ok(202);
    (api, callers)
}

#[tokio::test]
async fn a_list_holds_exactly_what_its_caller_is_shown_one_by_one() {
    let (api, callers) = house().await;
    let known = pairs();
    for list in ["users", "roles", "groups", "objects", "grants", "operations"] {
        assert!(known.iter().any(|(path, ..)| *path == format!("/api/v1/{list}")), "{list} is a pair");
    }
    let (mut shown, mut hidden) = (0, 0);
    for (list, one, sorts) in known {
        let all = listed(&api, &api.admin, list).await.unwrap();
        assert!(!all.is_empty(), "the house has something of {list}");
        for (who, secret) in &callers {
            let mut wanted = BTreeSet::new();
            for row in &all {
                let reply = api.by(secret, "GET", &route(one, row), Value::Null).await;
                assert!([200, 403, 404].contains(&reply.status), "{who} {one}: {}", reply.text);
                if reply.status == 200 {
                    assert_eq!(reply.body["id"], row["id"], "{who} {one}");
                    wanted.insert(row["id"].as_str().unwrap().to_owned());
                }
            }
            shown += wanted.len();
            hidden += all.len() - wanted.len();
            let mut ways = vec![list.to_owned()];
            if sorts {
                ways.push(format!("{list}?sort=created"));
            }
            for way in ways {
                let rows = listed(&api, secret, &way).await.unwrap_or_default();
                let ids: Vec<&str> = rows.iter().map(|row| row["id"].as_str().unwrap()).collect();
                let set: BTreeSet<String> = ids.iter().map(|id| (*id).to_owned()).collect();
                assert_eq!(set, wanted, "{way} for {who}");
                assert_eq!(ids.len(), set.len(), "{way} for {who}: no row twice");
            }
        }
    }
    assert!(shown > 100 && hidden > 100, "the house shows both: {shown} {hidden}");
}

#[tokio::test]
async fn one_finds_ones_own_grants_in_the_list_also_where_one_sees_no_others() {
    let (api, callers) = house().await;
    let (_, secret) = &callers[2];
    let own = api.by(secret, "GET", "/grants?subject=user:u1", Value::Null).await.ok(200);
    let places: BTreeSet<String> = own.body["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|grant| grant["permissions"][0].to_string())
        .collect();
    assert_eq!(places.len(), 3, "{}", own.text);
    let there = api.by(secret, "GET", "/grants?role=owner", Value::Null).await.ok(200);
    assert_eq!(there.ids("items").len(), 1, "the owner's grant on the one object: {}", there.text);
}
