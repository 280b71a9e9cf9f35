//! Two versions compared, and commands simulated, from a log alone.
#![expect(clippy::unwrap_used, reason = "a test")]

use charter_commands::Code;
use charter_events::{Offset, Scope, Timestamp};
use charter_policy::{DiffBounds, DiffChange, DiffFilter, DiffPlace};
use charter_replay_tools::{
    ToolError,
    as_of::{Past, as_of},
    diff::diff,
    simulate::{COMMANDS_MAX, Simulation, read, simulate},
};
use charter_store::{AsOf, Batch, Chain, LogStore, MemoryStore, conformance::meta};
use charter_testkit::{History, ids, random, to_group, to_user};
use uuid::Uuid;

const BOUNDS: DiffBounds = DiffBounds { rows_max: 100_000, steps_max: 10_000_000 };

async fn appended(commands: impl Iterator<Item = (Vec<charter_events::Event>, Timestamp)>) -> MemoryStore {
    let store = MemoryStore::default();
    let mut append = store.append().await.unwrap();
    let mut writing = Chain::new(append.head());
    let mut ids = 0;
    for (number, (events, at)) in (1..).zip(commands) {
        let mut id = || {
            ids += 1;
            Uuid::from_u128(ids)
        };
        let events = writing.extend(&meta(number), &events, at, &mut id).unwrap();
        append.write(&Batch { events, ..Batch::default() }).await.unwrap();
    }
    append.commit().await.unwrap();
    store
}

#[tokio::test]
async fn the_sum_of_diffs_on_the_way_is_the_diff_of_the_ends() {
    let history = random::History::long(5, 800);
    let store = appended(history.steps.iter().map(|step| (step.events.clone(), step.at))).await;
    let head = store.head().await.unwrap().offset.get();
    let filter = DiffFilter { every_place: true, ..DiffFilter::default() };
    let between = async |from: u64, to: u64| {
        let ends = [from, to].map(|offset| AsOf::Offset(Offset::new(offset).unwrap()));
        let filter = filter.clone();
        let found =
            diff(&store, ends.into(), Timestamp::MAX, |_, _| Ok::<_, ToolError>(filter), BOUNDS, |_| ());
        let found = found.await.unwrap().diff;
        assert_eq!(found.ended_by, None);
        found.rows
    };
    let mut sum = std::collections::BTreeMap::new();
    let first = history.steps.first().unwrap().events.len() as u64;
    let stops: Vec<u64> = (first..head).step_by(97).chain([head]).collect();
    for ends in stops.windows(2) {
        let [from, to] = ends else { panic!("two") };
        for row in between(*from, *to).await {
            let one = if row.change == DiffChange::Gained { 1 } else { -1 };
            *sum.entry((row.user, row.place, row.key)).or_insert(0) += one;
        }
    }
    sum.retain(|_, sum| *sum != 0);
    let ends: std::collections::BTreeMap<_, _> = between(first, head)
        .await
        .into_iter()
        .map(|row| ((row.user, row.place, row.key), if row.change == DiffChange::Gained { 1 } else { -1 }))
        .collect();
    assert!(ends.len() > 10, "{}", ends.len());
    assert_eq!(sum, ends);
}

async fn installed() -> Past {
    let history = History::new()
        .object_type("core", "folder")
        .object_type("m", "server")
        .keys(&["core.grant.manage", "core.group.manage", "core.group.create", "core.role.delete"], &["any"])
        .keys(&["m.server.read", "m.server.create", "m.server.manage", "m.server.restart"], &["server"])
        .role("ops", "both", ["m.server.*"])
        .user("admin")
        .user("ann")
        .user("bob")
        .group("team", ["ann"])
        .folder("f", None)
        .object("server", "s", Some("f"), None)
        .administrator("admin")
        .grant("g", to_group("team").role("ops").on("folder", "f"))
        .grant("b", to_user("bob").keys(["m.server.read"]).on("server", "s"));
    let commands = history.events().iter().map(|(meta, event)| (vec![event.clone()], meta.recorded_at));
    let store = appended(commands).await;
    as_of(&store, AsOf::Offset(store.head().await.unwrap().offset), Timestamp::MAX, |_| ()).await.unwrap()
}

fn simulated(past: &Past, lines: &str) -> Result<Simulation, ToolError> {
    simulate(past, &read(&mut lines.as_bytes())?, BOUNDS)
}

#[tokio::test]
async fn commands_are_decided_one_after_the_other_and_what_they_do_together_is_told() {
    let past = installed().await;
    let (admin, bob) = (ids::user("admin"), ids::user("bob"));
    let server = ids::object("server", "s");
    let lines = format!(
        r#"{{"command": "group.add_member", "group": "team", "user": "{bob}", "as": "{admin}"}}

{{"command": "group.create", "slug": "night", "name": "Night"}}
{{"command": "grant.issue", "subject": "group:night", "role": "ops", "scope": "server:{server}", "expires_at": "2030-01-01T00:00:00Z"}}
{{"command": "group.remove_member", "group": "team", "user": "{}"}}
{{"command": "role.delete", "role": "ops", "as": "{bob}"}}
"#,
        ids::user("ann")
    );
    let told = simulated(&past, &lines).unwrap();
    let events = |at: usize| -> Vec<&str> {
        told.lines.get(at).unwrap().outcome.as_ref().unwrap().iter().map(|event| event.type_name()).collect()
    };
    let named: Vec<_> = told.lines.iter().map(|line| (line.line, line.command)).collect();
    assert_eq!(
        named,
        [
            (1, "group.add_member"),
            (3, "group.create"),
            (4, "grant.issue"),
            (5, "group.remove_member"),
            (6, "role.delete")
        ]
    );
    let refused: Vec<_> = told.lines.iter().filter_map(|line| line.outcome.as_ref().err()).collect();
    assert_eq!(refused.len(), 1, "{refused:?}");
    assert_eq!((events(0), events(2)), (vec!["group.member_added"], vec!["grant.issued"]));
    // Bob may not delete roles: refused, and the rest stands.
    assert_eq!(told.lines.last().unwrap().outcome.as_ref().unwrap_err().code, Code::Forbidden);
    let rows: Vec<_> = told.diff.rows.iter().map(|row| (row.user, row.change, row.place)).collect();
    let (folder, server) = [ids::folder("f"), server].map(|id| DiffPlace::At(Scope::Object(id))).into();
    assert!(
        rows.contains(&(bob, DiffChange::Gained, server))
            && rows.contains(&(bob, DiffChange::Gained, folder))
    );
    assert!(rows.contains(&(ids::user("ann"), DiffChange::Lost, server)));
    assert!(told.after.group_by_slug("night").is_some() && past.policy.group_by_slug("night").is_none());
}

#[tokio::test]
async fn a_line_that_is_no_command_is_named() {
    let past = installed().await;
    for (lines, number, says) in [
        ("{\"command\": \"group.create\"}", 1, "slug"),
        ("\n{\"command\": \"group.explode\"}", 2, "group.explode"),
        ("{\"command\": \"group.delete\", \"group\": \"none\"}", 1, "there is no group `none`"),
        ("{\"command\": \"group.delete\", \"group\": \"team\", \"colour\": 1}", 1, "colour"),
        ("{\"command\": \"object.delete\", \"object\": \"s\"}", 1, "there is no object `s`"),
        ("{\"command\": \"grant.issue\", \"subject\": \"group:team\", \"scope\": \"global\"}", 1, "not both"),
        ("nonsense", 1, "expected"),
    ] {
        match simulated(&past, lines) {
            Err(ToolError::Line { line, why }) => {
                assert!(line == number && why.contains(says), "{lines}: line {line}: {why}");
            }
            Err(other) => panic!("{lines}: {other}"),
            Ok(_) => panic!("{lines} is taken"),
        }
    }
    let many = "{\"command\": \"role.delete\", \"role\": \"ops\"}\n".repeat(COMMANDS_MAX + 1);
    let error = read(&mut many.as_bytes()).unwrap_err();
    assert!(matches!(error, ToolError::Line { line, .. } if line == COMMANDS_MAX as u64 + 1), "{error}");
    let long = "x".repeat(2 * 1024 * 1024);
    assert!(matches!(read(&mut long.as_bytes()), Err(ToolError::Line { line: 1, .. })));
}
