//! `/projections` and `/operations`.

use crate::support::{Api, Reply};
use charter_control::Config;
use charter_events::{Event, Offset};
use charter_policy::Policy;
use charter_tables::{Changes, Column, Kind, Poison, Projection, Recorded, Spec, TableSpec, Value as Cell};
use serde_json::{Value, json};
use std::time::Duration;

/// The groups, but for one that it can't take.
pub(crate) struct Groups;

/// As a configuration takes it.
pub(crate) static GROUPS: Groups = Groups;

static SPEC: Spec = Spec {
    name: "groups",
    about: "The groups there are.",
    version: 1,
    tables: &[TableSpec {
        name: "test_groups",
        about: "A group.",
        columns: &[
            Column::new("group_id", Kind::Uuid, "Its id."),
            Column::new("slug", Kind::Text, "Its slug."),
        ],
        key: 1,
        indexes: &[],
    }],
};

impl Projection for Groups {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn on(&self, _: &Policy, recorded: Recorded<'_>, out: &mut Changes) -> Result<(), Poison> {
        if let Event::GroupCreated(made) = recorded.event {
            if made.slug.as_str() == "bad" {
                return Err(Poison { why: "it is bad".to_owned() });
            }
            let row = vec![Cell::Uuid(made.group.as_uuid()), Cell::text(made.slug.as_str())];
            out.put(0, 1, row);
        }
        Ok(())
    }
}

async fn api() -> Api {
    let config = Config {
        projections: vec![&Groups],
        tables_look_every: Duration::from_millis(5),
        ..Config::default()
    };
    let api = Api::set_up(config).await;
    until(&api, "/projections", |reply| reply.body["items"][0]["status"] == "following").await;
    until(&api, "/projections", |reply| reply.body["items"][0]["operation"].is_null()).await;
    api
}

/// Asks until the answer is as expected.
async fn until(api: &Api, path: &str, expected: impl Fn(&Reply) -> bool) -> Reply {
    for _ in 0..5_000 {
        let reply = api.admin("GET", path, Value::Null).await;
        if expected(&reply) {
            return reply;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    panic!("{path} was never answered so: {}", api.admin("GET", path, Value::Null).await.text)
}

async fn ended(api: &Api, begun: Reply) -> Value {
    let begun = begun.ok(202);
    let at = begun.header("location").strip_prefix("/api/v1").unwrap().to_owned();
    assert_eq!(begun.body["state"], "running");
    until(api, &at, |reply| reply.body["state"] != "running").await.body
}

#[tokio::test]
async fn a_projection_is_rebuilt_held_switched_and_rolled_back() {
    let api = api().await;
    api.admin("POST", "/groups", json!({"slug": "ops"})).await.ok(201);
    let shown = api.admin("GET", "/projections", Value::Null).await.ok(200).body;
    let groups = &shown["items"][0];
    assert_eq!((groups["name"].as_str(), groups["version"].as_u64()), (Some("groups"), Some(1)));
    assert_eq!(groups["generations"][0]["active"], true);
    let rebuilt = ended(&api, api.admin("POST", "/projections/groups/rebuild", json!({})).await).await;
    assert_eq!((&rebuilt["state"], &rebuilt["target"]), (&json!("done"), &json!("groups/2")));
    assert!(!rebuilt["asked_by"].is_null());
    api.admin("POST", "/projections/groups/switch", Value::Null).await.refused(409, "nothing_to_switch_to");
    let held = api.admin("POST", "/projections/groups/rebuild", json!({"switch": false})).await;
    assert_eq!(ended(&api, held).await["kind"], "projection.build");
    let shown = api.admin("GET", "/projections", Value::Null).await.ok(200).body;
    let generations = shown["items"][0]["generations"].as_array().unwrap();
    let told: Vec<_> = generations.iter().map(|one| (&one["number"], &one["active"], &one["new"])).collect();
    let (yes, no) = (json!(true), json!(false));
    let expected = [(json!(1), &no, &no), (json!(2), &yes, &no), (json!(3), &no, &yes)];
    assert_eq!(told, expected.each_ref().map(|(number, active, new)| (number, *active, *new)));
    let switched = api.admin("POST", "/projections/groups/switch", Value::Null).await;
    assert_eq!(ended(&api, switched).await["target"], "groups/3");
    let back = ended(&api, api.admin("POST", "/projections/groups/rollback", Value::Null).await).await;
    assert_eq!((&back["state"], &back["target"]), (&json!("done"), &json!("groups/2")));
    let all = api.admin("GET", "/operations", Value::Null).await.ok(200);
    assert_eq!(all.texts("items", "kind")[0], "projection.rollback");
    let done = format!("/operations/{}", back["id"].as_str().unwrap());
    api.admin("POST", &format!("{done}/cancel"), Value::Null).await.refused(409, "not_running");
    api.admin("POST", &format!("{done}/resume"), Value::Null).await.refused(409, "not_resumable");
}

#[tokio::test]
async fn what_is_not_there_is_not_found_and_nothing_changes() {
    let api = api().await;
    let stranger = api.user("stranger").await;
    let head = api.head();
    for verb in ["rebuild", "switch", "rollback", "skip"] {
        let body = match verb {
            "rebuild" => json!({}),
            "skip" => json!({"offset": 1}),
            _ => Value::Null,
        };
        let path = format!("/projections/nothing/{verb}");
        let told = api.admin("POST", &path, body.clone()).await.refused(404, "not_found").body;
        assert_eq!(told["detail"], "there is no projection `nothing`: there are `groups`");
        api.by(&stranger, "POST", &path, body).await.refused(403, "forbidden");
    }
    for id in ["00000000-0000-7000-8000-000000000000", "nonsense"] {
        api.admin("GET", &format!("/operations/{id}"), Value::Null).await.refused(404, "not_found");
        api.admin("POST", &format!("/operations/{id}/cancel"), Value::Null).await.refused(404, "not_found");
    }
    api.admin("POST", "/projections/groups/rebuild", json!({"now": true}))
        .await
        .refused(422, "unknown_member");
    assert_eq!(api.admin("GET", "/operations", Value::Null).await.body["items"].as_array().unwrap().len(), 1);
    api.unchanged_since(head);
}

#[tokio::test]
async fn a_projection_that_stopped_is_seen_everywhere_and_goes_on_for_a_reason() {
    let api = api().await;
    api.admin("POST", "/groups", json!({"slug": "bad"})).await.ok(201);
    let at = api.control.head().offset.get();
    api.admin("POST", "/groups", json!({"slug": "ops"})).await.ok(201);
    let stopped = |reply: &Reply| reply.body["items"][0]["status"] == "stopped";
    let shown = until(&api, "/projections", stopped).await.body;
    assert_eq!(shown["items"][0]["generations"][0]["fault"], json!({"offset": at, "why": "it is bad"}));
    let said = json!([format!("projection `groups` stopped at offset {at}")]);
    for _ in 0..5_000 {
        let ready = api.call("GET", "/readyz").send().await.ok(200).body;
        if ready["degraded"] == said {
            break;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert_eq!(api.call("GET", "/readyz").send().await.body["degraded"], said);
    let skip = |offset: u64, reason: Option<&'static str>| {
        let call =
            api.call("POST", "/projections/groups/skip").by(&api.admin).json(&json!({"offset": offset}));
        match reason {
            Some(reason) => call.header("x-reason", reason).send(),
            None => call.send(),
        }
    };
    skip(at, None).await.refused(422, "reason_required");
    skip(0, Some("broken")).await.refused(422, "unknown_offset");
    skip(at + 1_000, Some("broken")).await.refused(422, "unknown_offset");
    skip(at - 1, Some("broken")).await.refused(409, "not_stopped_there");
    let asked = json!({"method": "POST", "path": "/api/v1/projections/groups/skip", "body": {"offset": at}});
    let preview =
        api.call("POST", "/commands/preview").by(&api.admin).header("x-reason", "broken").json(&asked);
    let previewed = preview.send().await.ok(200);
    assert_eq!(previewed.texts("events", "type"), ["operations.projection_skipped"]);
    assert!(!api.control.policy().is_skipped("groups", Offset::new(at).unwrap()), "only previewed");
    skip(at, Some("broken")).await.ok(200);
    until(&api, "/projections", |reply| {
        reply.body["items"][0]["status"] == "following" && reply.body["items"][0]["behind"] == 0
    })
    .await;
    skip(at, Some("broken")).await.ok(200);
}

#[tokio::test]
async fn who_may_only_read_sees_operations_and_stops_none() {
    let api = api().await;
    let reader = api.user("reader").await;
    api.give("user:reader", &["core.projection.read"], "global").await;
    let nobody = api.user("nobody").await;
    let begun = api.admin("POST", "/projections/groups/rebuild", json!({})).await.ok(202);
    let at = begun.header("location").strip_prefix("/api/v1").unwrap().to_owned();
    api.by(&reader, "GET", &at, Value::Null).await.ok(200);
    assert_eq!(
        api.by(&reader, "GET", "/operations", Value::Null).await.body["items"].as_array().unwrap().len(),
        2
    );
    api.by(&reader, "POST", &format!("{at}/cancel"), Value::Null).await.refused(403, "forbidden");
    api.by(&reader, "POST", "/projections/groups/rebuild", json!({})).await.refused(403, "forbidden");
    api.by(&nobody, "GET", &at, Value::Null).await.refused(404, "not_found");
    let told = api.by(&nobody, "GET", "/operations", Value::Null).await.refused(403, "forbidden").body;
    assert_eq!(told["missing"], json!(["core.projection.read"]));
}
