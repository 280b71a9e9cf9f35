//! Random histories: the tables at the end are what a naive reading of the policy says.

use crate::support::{Folded, fold};
use charter_events::{Actor, Event, EventMeta, Scope, Subject};
use charter_policy::{ContentView, Policy};
use charter_tables::{PROJECTIONS, Row, Value};
use charter_testkit::random::History;
use std::collections::BTreeMap;
use uuid::Uuid;

fn histories() -> Vec<(String, Vec<(EventMeta, Event)>)> {
    let small = (0..150).map(|seed| (format!("seed {seed}"), History::of(seed).events()));
    let crowded = (0..4).map(|seed| (format!("crowded {seed}"), History::crowded(seed).events()));
    let long = (0..2).map(|seed| (format!("long {seed}"), History::long(seed, 1_500).events()));
    small.chain(crowded).chain(long).collect()
}

fn uuid(id: Uuid) -> Value {
    Value::Uuid(id)
}

fn int(number: u64) -> Value {
    Value::Int(number as i64)
}

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

fn sorted(rows: impl IntoIterator<Item = Row>) -> Vec<Row> {
    let mut rows: Vec<_> = rows.into_iter().collect();
    rows.sort();
    rows
}

/// The word an API writes for a value.
fn word(value: serde_json::Value) -> Value {
    text(value.as_str().unwrap())
}

fn users(policy: &Policy) -> Vec<Row> {
    sorted(policy.users().map(|user| {
        vec![
            uuid(user.id.as_uuid()),
            word(serde_json::json!(user.kind)),
            text(user.status.as_str()),
            Value::Bool(user.has_password),
            Value::Bool(user.profile.is_some_and(|profile| profile.identity.is_some())),
            Value::Int(user.created_at.as_micros()),
            user.erase_at.map_or(Value::Null, |at| Value::Int(at.as_micros())),
            int(user.changed_at.get()),
            int(user.position.get()),
        ]
    }))
}

fn groups(policy: &Policy) -> Vec<Row> {
    sorted(policy.groups().map(|group| {
        let (slug, name) = (group.slug.as_str(), group.name.as_str());
        vec![
            uuid(group.id.as_uuid()),
            text(slug),
            text(name),
            text(&name.to_lowercase()),
            text(&format!("{}\n{}", slug, name.to_lowercase())),
            int(policy.members(group.id).count() as u64),
            int(group.changed_at.get()),
            int(group.position.get()),
        ]
    }))
}

/// Who is where is the policy's to say, since when the events'.
fn members(policy: &Policy, events: &[(EventMeta, Event)]) -> Vec<Row> {
    let mut since = BTreeMap::new();
    for (meta, event) in events {
        if let Event::GroupMemberAdded(e) = event {
            since.insert((e.group, e.user), meta);
        }
    }
    let all = policy.groups().flat_map(|group| policy.members(group.id).map(move |user| (group.id, user)));
    sorted(all.map(|(group, user)| {
        let meta = since[&(group, user)];
        let added = [Value::Int(meta.recorded_at.as_micros()), int(meta.offset.get())];
        [uuid(group.as_uuid()), uuid(user.as_uuid())].into_iter().chain(added).collect()
    }))
}

fn roles(policy: &Policy) -> Vec<Row> {
    sorted(policy.roles().map(|role| {
        let (slug, name) = (role.slug.as_str(), role.name.as_str());
        vec![
            uuid(role.id.as_uuid()),
            text(slug),
            text(name),
            text(&name.to_lowercase()),
            text(&format!("{}\n{}", slug, name.to_lowercase())),
            word(serde_json::json!(role.scope)),
            role.seeded.map_or(Value::Null, |seeded| word(serde_json::json!(seeded))),
            int(role.changed_at.get()),
            int(role.position.get()),
        ]
    }))
}

fn role_permissions(policy: &Policy) -> Vec<Row> {
    sorted(policy.roles().flat_map(|role| {
        role.permissions.iter().map(move |held| vec![uuid(role.id.as_uuid()), text(held.as_str())])
    }))
}

fn objects(policy: &Policy, events: &[(EventMeta, Event)]) -> Vec<Row> {
    let mut since = BTreeMap::new();
    for (meta, event) in events {
        if let Event::ObjectCreated(e) = event {
            since.insert(e.object, meta.recorded_at);
        }
    }
    sorted(policy.objects().map(|object| {
        let name = object.name.as_str().to_lowercase();
        let external = object.external_id.map(|id| id.as_str());
        let search: Vec<_> = [name.clone()].into_iter().chain(external.map(str::to_lowercase)).collect();
        vec![
            uuid(object.id.as_uuid()),
            text(object.object_type.as_str()),
            external.map_or(Value::Null, text),
            text(object.name.as_str()),
            text(&name),
            text(&search.join("\n")),
            object.parent.map_or(Value::Null, |id| uuid(id.as_uuid())),
            object.owner.map_or(Value::Null, |id| uuid(id.as_uuid())),
            Value::Bool(object.inherits),
            Value::Int(since[&object.id].as_micros()),
            int(object.changed_at.get()),
            int(object.position.get()),
        ]
    }))
}

fn subject(subject: Subject) -> [Value; 2] {
    match subject {
        Subject::User(id) => [text("user"), uuid(id.as_uuid())],
        Subject::Group(id) => [text("group"), uuid(id.as_uuid())],
    }
}

fn scope(scope: Scope) -> Value {
    match scope {
        Scope::Global => uuid(Uuid::nil()),
        Scope::Object(id) => uuid(id.as_uuid()),
    }
}

fn terms(grant: &charter_policy::GrantView<'_>) -> [Value; 5] {
    [
        word(serde_json::json!(grant.effect)),
        grant.not_before.map_or(Value::Null, |at| Value::Int(at.as_micros())),
        grant.expires_at.map_or(Value::Null, |at| Value::Int(at.as_micros())),
        word(serde_json::json!(grant.reach.affects)),
        word(serde_json::json!(grant.reach.child_types)),
    ]
}

fn grants(policy: &Policy) -> Vec<Row> {
    sorted(policy.grants().map(|grant| {
        let mut row: Row = subject(grant.subject).into();
        row.extend([uuid(grant.id.as_uuid()), scope(grant.scope)]);
        row.extend(match &grant.content {
            ContentView::Role(role) => [uuid(role.as_uuid()), Value::Null],
            ContentView::Keys(keys) => [Value::Null, text(&serde_json::json!(keys).to_string())],
        });
        row.extend(terms(&grant));
        row.push(Value::Int(grant.issued_at.as_micros()));
        row.extend(match grant.issued_by {
            Actor::User(id) => [text("user"), uuid(id.as_uuid()), Value::Null],
            Actor::Service(id) => [text("service"), uuid(id.as_uuid()), Value::Null],
            Actor::Module(name) => [text("module"), Value::Null, text(name.as_str())],
            Actor::System => [text("system"), Value::Null, Value::Null],
        });
        row.extend([int(grant.changed_at.get()), int(grant.position.get())]);
        row
    }))
}

fn access_entries(policy: &Policy) -> Vec<Row> {
    sorted(policy.grants().flat_map(|grant| {
        let gives: Vec<[Value; 3]> = match &grant.content {
            ContentView::Role(role) => {
                vec![[text(&format!("role:{role}")), Value::Null, uuid(role.as_uuid())]]
            }
            ContentView::Keys(keys) => {
                keys.iter().map(|key| [text(key.as_str()), text(key.as_str()), Value::Null]).collect()
            }
        };
        let row = move |gives: [Value; 3]| {
            let mut row = vec![scope(grant.scope), uuid(grant.id.as_uuid())];
            row.extend(gives);
            row.extend(subject(grant.subject));
            row.extend(terms(&grant));
            row
        };
        gives.into_iter().map(row)
    }))
}

fn agrees(name: &str, folded: &Folded, events: &[(EventMeta, Event)]) {
    let policy = &folded.policy;
    for (projection, table, expected) in [
        ("directory", "users", users(policy)),
        ("directory", "groups", groups(policy)),
        ("directory", "group_members", members(policy, events)),
        ("directory", "roles", roles(policy)),
        ("directory", "role_permissions", role_permissions(policy)),
        ("directory", "objects", objects(policy, events)),
        ("grant_sets", "grants", grants(policy)),
        ("access_index", "access_entries", access_entries(policy)),
    ] {
        assert_eq!(sorted(folded.rows(projection, table)), expected, "{name}: {table}");
    }
    let offsets: Vec<_> =
        folded.rows("audit_history", "audit_entries").into_iter().map(|row| row[0].clone()).collect();
    assert_eq!(offsets, (1..=events.len() as u64).map(int).collect::<Vec<_>>(), "{name}: one entry an event");
}

#[test]
fn tables_of_a_random_history_are_what_the_policy_says_at_its_end() {
    for (name, events) in histories() {
        agrees(&name, &fold(&events, 1), &events);
    }
}

#[test]
fn changes_made_in_batches_of_any_size_leave_the_same_rows() {
    for (name, events) in histories().into_iter().step_by(7) {
        let one_by_one = fold(&events, 1);
        for batch in [2, 3, 17, 5_000] {
            let batched = fold(&events, batch);
            for projection in PROJECTIONS {
                let of = projection.spec().name;
                assert_eq!(batched.tables[of], one_by_one.tables[of], "{name}: {of} in batches of {batch}");
                assert_eq!(batched.digest(of), one_by_one.digest(of));
            }
        }
    }
}
