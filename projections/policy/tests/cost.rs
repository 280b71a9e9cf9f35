//! What questions look at, counted: entries on the chain and what they name, never everybody or everything.
#![expect(clippy::panic, reason = "a test")]

use charter_events::{PermissionKey, Scope};
use charter_policy::{Page, Policy};
use charter_testkit::{
    History, at,
    history::parsed,
    ids, to_group, to_user,
    workload::{Conflict, RbacW, Size},
};

const NOW: &str = "2026-03-01T12:00:00Z";

fn folded<'a>(
    events: impl IntoIterator<Item = &'a (charter_events::EventMeta, charter_events::Event)>,
) -> Policy {
    let mut policy = Policy::new();
    for (meta, event) in events {
        policy.apply(meta, event).unwrap_or_else(|error| panic!("event {}: {error}", meta.offset));
    }
    policy
}

/// chain × (1 + groups) + entries on the chain, the global scope among them.
fn bound(policy: &Policy, user: charter_events::UserId, scope: Scope) -> u64 {
    let groups = policy.groups_of(user).count();
    let mut chain = vec![Scope::Global];
    if let Scope::Object(object) = scope {
        chain.push(scope);
        chain.extend(policy.ancestors(object).map(Scope::Object));
    }
    let entries: usize = chain.iter().map(|scope| policy.grant_count_at(*scope)).sum();
    (chain.len() * (1 + groups) + entries) as u64
}

#[test]
fn a_check_visits_at_most_chain_times_subjects_plus_the_entries_on_the_chain() {
    let workload = RbacW::new(Size::Xs, 3);
    let policy = folded(&workload.events().collect::<Vec<_>>());
    for question in workload.questions(1).take(2_000) {
        let (_, visited) = policy.check_counted(question.user, &question.key, question.scope, at(NOW));
        assert!(visited <= bound(&policy, question.user, question.scope), "{question:?}: {visited}");
    }
    let conflict = Conflict::new(3);
    let policy = folded(&conflict.events().collect::<Vec<_>>());
    for (user, key, scope) in conflict.questions(1).take(2_000) {
        let (_, visited) = policy.check_counted(user, &key, scope, at(NOW));
        assert!(visited <= bound(&policy, user, scope), "{user} {key} {scope:?}: {visited}");
    }
}

/// A folder with very many entries: what a check looks at there does not grow with them.
#[test]
fn a_check_at_a_scope_with_thousands_of_grants_looks_up_its_subjects_only() {
    let key = "game.server.use";
    let mut history = History::new()
        .keys(&[key], &["server"])
        .object_type("core", "folder")
        .user("ann")
        .group("team", ["ann"])
        .folder("big", None)
        .grant("ann", to_group("team").keys([key]).on("folder", "big"));
    for number in 0..3_000 {
        let name = format!("u{number}");
        history = history.user(&name).grant(&name, to_user(&name).keys([key]).on("folder", "big"));
    }
    let policy = folded(history.events());
    let on = Scope::Object(ids::folder("big"));
    let (decision, visited) = policy.check_counted(ids::user("ann"), &parsed(key), on, at(NOW));
    assert!(decision.allowed() && decision.grants.as_slice() == [ids::grant("ann")]);
    assert!(visited <= 8, "{visited}");
    let (decision, visited) = policy.check_counted(ids::user("u2999"), &parsed(key), on, at(NOW));
    assert!(decision.allowed() && visited <= 8, "{visited}");
    assert_eq!(policy.who_can(&parsed(key), on, at(NOW), Page::ALL).users.len(), 3_001);
}

/// The same small part of a small and of a large world costs the same to ask about.
#[test]
fn reverse_questions_cost_what_they_answer_however_much_else_there_is() {
    let key = "game.server.use";
    let world = |others: usize| {
        let mut history = History::new()
            .keys(&[key], &["server"])
            .object_type("core", "folder")
            .object_type("game", "server")
            .user("ann")
            .user("ben")
            .group("team", ["ann"])
            .folder("f", None)
            .folder("rest", None);
        for number in 0..10 {
            history = history.object("server", &format!("s{number}"), Some("f"), None);
        }
        for number in 0..others {
            let name = format!("other{number}");
            history = history.user(&name).object("server", &name, Some("rest"), None);
        }
        history
            .grant("team", to_group("team").keys([key]).on("folder", "f"))
            .grant("ben", to_user("ben").keys([key]).on("server", "s0"))
    };
    let asked = |others: usize| {
        let policy = folded(world(others).events());
        let key: PermissionKey = parsed(key);
        let on = Scope::Object(ids::object("server", "s0"));
        let (who, of_users) = policy.who_can_counted(&key, on, at(NOW), Page::ALL);
        let (what, of_objects) =
            policy.allowed_objects_counted(ids::user("ann"), &key, "server", at(NOW), Page::ALL);
        (who.users.len(), of_users, what.objects.len(), of_objects)
    };
    let small = asked(0);
    assert_eq!((small.0, small.2), (2, 10));
    assert_eq!(small, asked(500));
}
