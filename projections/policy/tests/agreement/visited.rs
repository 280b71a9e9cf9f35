//! What questions cost, counted in entries looked at: never in users or objects there are.

use crate::sides::folded;
use charter_events::{Event, EventMeta, ObjectId, PermissionKey, Scope, Subject, Timestamp, UserId};
use charter_policy::{Page, Policy};
use charter_testkit::{
    History, at, ids,
    model::{Place, World},
    random, to_group, to_user,
    workload::{Conflict, RbacW, Size},
};

/// What a check may look at: chain × (1 + groups) + entries on the chain.
fn allowance(policy: &Policy, world: &World, user: UserId, scope: Scope) -> u64 {
    let groups = world.groups.iter().filter(|group| group.members.contains(&user)).count();
    let mut chain = vec![];
    let mut at = Some(scope);
    while let Some(here) = at {
        chain.push(here);
        at = match here {
            Scope::Global => None,
            Scope::Object(id) => {
                let object = world.objects.iter().find(|object| object.id == id);
                match object {
                    Some(object) if !object.inherits => None,
                    Some(object) => Some(object.parent.map_or(Scope::Global, Scope::Object)),
                    None => None,
                }
            }
        };
    }
    let entries: usize = chain.iter().map(|scope| policy.grants_at(*scope).count()).sum();
    (chain.len() * (1 + groups) + entries) as u64
}

fn assert_checks_are_bounded(
    name: &str,
    events: &[(EventMeta, Event)],
    questions: impl Iterator<Item = (UserId, PermissionKey, Scope)>,
    now: Timestamp,
) {
    let policy = folded(events).unwrap();
    let world = World::of(events.iter().map(|(_, event)| event));
    for (user, key, scope) in questions {
        let (decision, visited) = policy.check_counted(user, &key, scope, now);
        let allowed = allowance(&policy, &world, user, scope);
        assert!(
            visited <= allowed,
            "{name}: {visited} visited, {allowed} allowed: {user} {key} {scope:?} {decision:?}"
        );
    }
}

#[test]
fn a_check_looks_at_chain_times_groups_and_the_entries_on_the_chain_at_most() {
    let conflict = Conflict::new(3);
    let events: Vec<_> = conflict.events().collect();
    assert_checks_are_bounded("X", &events, conflict.questions(1).take(5_000), conflict.now());
    let calm = RbacW::new(Size::Xs, 3);
    let events: Vec<_> = calm.events().collect();
    let questions = calm.questions(1).take(5_000).map(|q| (q.user, q.key, q.scope));
    assert_checks_are_bounded("RBAC-W", &events, questions, at("2026-06-01T00:00:00Z"));
    for seed in 0..40 {
        let history = random::History::crowded(seed);
        let world = World::of(history.steps.iter().flat_map(|step| &step.events));
        let questions = history.questions(&world, 60).into_iter().map(|q| (q.user, q.key, q.scope));
        assert_checks_are_bounded(&format!("crowded {seed}"), &history.events(), questions, history.now);
    }
}

/// A small installation, and as many other users, groups, objects and grants as are wanted.
fn with_others(others: usize) -> Policy {
    let mut history = History::new()
        .object_type("core", "folder")
        .object_type("m", "server")
        .keys(&["m.s.x"], &["server"])
        .role("r", "both", ["m.s.*"])
        .role("star", "global", ["*"])
        .user("admin")
        .user("ann")
        .user("bob")
        .user("cid")
        .group("team", ["bob", "cid"])
        .folder("f", None)
        .object("server", "s", Some("f"), Some("ann"))
        .object("server", "t", Some("f"), None)
        .grant("a", to_user("admin").role("star"))
        .grant("g", to_group("team").role("r").on("folder", "f"))
        .grant("d", to_user("cid").keys(["m.s.x"]).on("server", "s").deny());
    for number in 0..others {
        let (user, object) = (format!("user-{number}"), format!("object-{number}"));
        let group = format!("group-{number}");
        history = history
            .user(&user)
            .group(&group, [user.as_str()])
            .object("server", &object, None, Some(&user))
            .grant(&format!("to-{number}"), to_group(&group).role("r").on("server", &object));
    }
    folded(history.events()).unwrap()
}

#[test]
fn questions_cost_the_same_however_many_others_there_are() {
    let key: PermissionKey = "m.s.x".parse().unwrap();
    let scope = Scope::Object(ids::object("server", "s"));
    let now = at("2026-06-01T00:00:00Z");
    let costs = |policy: &Policy| {
        let (holders, who_can) = policy.who_can_counted(&key, scope, now, Page::ALL);
        assert_eq!(holders.users.len(), 3, "admin, ann, bob");
        let (objects, bobs) =
            policy.allowed_objects_counted(ids::user("bob"), &key, "server", now, Page::ALL);
        assert_eq!(objects.objects.len(), 2);
        let check = policy.check_counted(ids::user("bob"), &key, scope, now).1;
        let administrators =
            policy.allowed_objects_counted(ids::user("admin"), &key, "server", now, Page::first(10)).1;
        (check, who_can, bobs, administrators)
    };
    assert_eq!(costs(&with_others(0)), costs(&with_others(1_500)));
}

#[test]
fn who_can_costs_the_entries_on_the_chain_the_members_they_name_and_a_walk_for_each_candidate() {
    for seed in 0..300 {
        let history = random::History::of(seed);
        let policy = folded(&history.events()).unwrap();
        let world = World::of(history.steps.iter().flat_map(|step| &step.events));
        for q in history.questions(&world, 6) {
            let (_, visited) = policy.who_can_counted(&q.key, q.scope, history.now, Page::ALL);
            let entries: Vec<_> = on_the_chain(&policy, &world, q.scope);
            let mut candidates: Vec<UserId> = Vec::new();
            for subject in entries.iter().chain(&addressed_globally(&policy)) {
                match subject {
                    Subject::User(user) => candidates.push(*user),
                    Subject::Group(group) => candidates.extend(policy.members(*group)),
                }
            }
            candidates.sort();
            candidates.dedup();
            let walks: u64 =
                candidates.iter().map(|user| 1 + allowance(&policy, &world, *user, q.scope)).sum();
            let most = entries.len() as u64 + addressed_globally(&policy).len() as u64 + walks;
            assert!(visited <= most, "seed {seed}: {visited} visited, {most} allowed: {q:?}");
        }
    }
}

fn addressed_globally(policy: &Policy) -> Vec<Subject> {
    policy.grants_at(Scope::Global).map(|grant| grant.subject).collect()
}

fn on_the_chain(policy: &Policy, world: &World, scope: Scope) -> Vec<Subject> {
    let mut subjects: Vec<Subject> = policy.grants_at(scope).map(|grant| grant.subject).collect();
    if let Scope::Object(id) = scope {
        let object = world.objects.iter().find(|object| object.id == id);
        match object {
            Some(object) if object.inherits => {
                subjects.extend(on_the_chain(
                    policy,
                    world,
                    object.parent.map_or(Scope::Global, Scope::Object),
                ));
            }
            _ => {}
        }
    }
    subjects
}

#[test]
fn allowed_objects_costs_the_subjects_grants_and_a_walk_for_each_object_they_reach() {
    for seed in 0..300 {
        let history = random::History::of(seed);
        let policy = folded(&history.events()).unwrap();
        let world = World::of(history.steps.iter().flat_map(|step| &step.events));
        for q in history.questions(&world, 6) {
            let (_, visited) =
                policy.allowed_objects_counted(q.user, &q.key, "server", history.now, Page::ALL);
            let addressed = |grant: &&charter_testkit::model::Grant| match grant.subject {
                Subject::User(user) => user == q.user,
                Subject::Group(id) => world.groups.iter().any(|g| g.id == id && g.members.contains(&q.user)),
            };
            let grants: Vec<_> = world.grants.iter().filter(addressed).collect();
            // Each grant is looked at, and each thing at or below its scope.
            let reached: u64 = grants.iter().map(|grant| 1 + within(&world, grant.scope).len() as u64).sum();
            let mut objects: Vec<ObjectId> =
                grants.iter().flat_map(|grant| within(&world, grant.scope)).collect();
            objects.sort();
            objects.dedup();
            let walk = |object: &ObjectId| 1 + allowance(&policy, &world, q.user, Scope::Object(*object));
            let groups = world.groups.iter().filter(|group| group.members.contains(&q.user)).count() as u64;
            let most = reached + objects.iter().map(walk).sum::<u64>() + 1 + groups;
            assert!(visited <= most, "seed {seed}: {visited} visited, {most} allowed: {q:?}");
        }
    }
}

/// The objects at or below a scope.
fn within(world: &World, scope: Scope) -> Vec<ObjectId> {
    let is_within = |object: &ObjectId| match scope {
        Scope::Global => true,
        Scope::Object(top) => {
            let mut at = Some(*object);
            while let Some(id) = at.filter(|id| *id != top) {
                at = world.objects.iter().find(|object| object.id == id).and_then(|object| object.parent);
            }
            at.is_some()
        }
    };
    world.objects.iter().map(|object| object.id).filter(is_within).collect()
}

#[test]
fn the_allowance_is_what_the_design_says() {
    let policy = with_others(0);
    let history =
        History::new().object_type("m", "server").user("bob").group("team", ["bob"]).folder("f", None);
    let world = World::of(history.events().iter().map(|(_, event)| event));
    assert!(
        !world
            .check(ids::user("bob"), &"m.s.x".parse().unwrap(), Place::Global, at("2026-01-01T00:00:00Z"))
            .allowed
    );
    // Folder and global scope, bob and his one group; g on the folder, a globally.
    assert_eq!(allowance(&policy, &world, ids::user("bob"), Scope::Object(ids::folder("f"))), 2 * 2 + 2);
}
