//! Each rule of the walk, as one small table: a history, questions, right answers with the entries behind them.
#![expect(clippy::panic, clippy::type_complexity, reason = "a test")]

use charter_events::{Affects, ChildTypes, GrantKeysRemoved, Scope, Timestamp};
use charter_policy::{Because, Decision, EffectiveState, Page, Policy, SubjectKind};
use charter_testkit::{History, at, history::parsed, ids, to_group, to_user};

const NOW: &str = "2026-03-01T12:00:00Z";
const USE: &str = "game.server.use";
const STOP: &str = "game.server.stop";

fn folded(history: &History) -> Policy {
    let mut policy = Policy::new();
    for (meta, event) in history.events() {
        policy.apply(meta, event).unwrap_or_else(|error| panic!("event {}: {error}", meta.offset));
    }
    policy
}

/// ann and ben in `team`, cat in nothing; folder `top` > `sub` > server `s`; server `lone` at the top.
fn world() -> History {
    History::new()
        .keys(&[USE, STOP], &["server"])
        .object_type("core", "folder")
        .object_type("game", "server")
        .user("ann")
        .user("ben")
        .user("cat")
        .group("team", ["ann", "ben"])
        .group("crew", ["ann"])
        .role("user", "both", [USE])
        .role("game", "both", ["game.*"])
        .folder("top", None)
        .folder("sub", Some("top"))
        .object("server", "s", Some("sub"), None)
        .object("server", "lone", None, None)
}

fn scope(on: &str) -> Scope {
    match on.split_once(':') {
        Some((object_type, name)) => Scope::Object(ids::object(object_type, name)),
        None => Scope::Global,
    }
}

fn ask(policy: &Policy, user: &str, key: &str, on: &str, now: Timestamp) -> Decision {
    policy.check(ids::user(user), &parsed(key), scope(on), now)
}

/// `allow grant server:s user g1 g2`, as far as each member is there.
fn shown(decision: &Decision, names: &[&str]) -> String {
    let mut words = vec![if decision.allowed() { "allow" } else { "deny" }, decision.because.as_str()];
    let scopes = ["server:s", "server:lone", "folder:sub", "folder:top", "global"];
    words.extend(scopes.iter().filter(|text| decision.scope == Some(scope(text))));
    words.extend(decision.subject.map(|kind| if kind == SubjectKind::User { "user" } else { "group" }));
    words.extend(names.iter().filter(|name| decision.grants.contains(&ids::grant(name))));
    assert_eq!(
        decision.grants.len(),
        names.iter().filter(|n| decision.grants.contains(&ids::grant(n))).count()
    );
    words.join(" ")
}

#[test]
fn the_nearest_scope_that_speaks_decides_user_before_group_and_deny_before_allow() {
    let entry = |to: &str, on: &str, deny: bool| {
        let spec = if to == "ann" { to_user(to) } else { to_group(to) };
        let spec = spec.keys([USE]);
        let spec = if deny { spec.deny() } else { spec };
        match on.split_once(':') {
            Some((object_type, name)) => spec.on(object_type, name),
            None => spec,
        }
    };
    // grants g1, g2, … as (to, on, deny); what ann gets of USE on server:s
    let table: &[(&[(&str, &str, bool)], &str)] = &[
        (&[], "deny not_set"),
        (&[("ann", "global", false)], "allow grant global user g1"),
        (&[("ann", "global", false), ("ann", "folder:top", true)], "deny grant folder:top user g2"),
        (&[("ann", "folder:top", true), ("team", "folder:sub", false)], "allow grant folder:sub group g2"),
        (&[("team", "server:s", true), ("ann", "server:s", false)], "allow grant server:s user g2"),
        (&[("ann", "server:s", true), ("ann", "server:s", false)], "deny grant server:s user g1"),
        (&[("team", "server:s", true), ("crew", "server:s", false)], "deny grant server:s group g1"),
        (&[("team", "server:s", false), ("crew", "server:s", false)], "allow grant server:s group g1 g2"),
        (&[("ann", "server:lone", false)], "deny not_set"),
    ];
    for (grants, expected) in table {
        let names = ["g1", "g2"];
        let history = names
            .iter()
            .zip(*grants)
            .fold(world(), |history, (name, (to, on, deny))| history.grant(name, entry(to, on, *deny)));
        let decision = ask(&folded(&history), "ann", USE, "server:s", at(NOW));
        assert_eq!(shown(&decision, &names), *expected, "{grants:?}");
    }
}

#[test]
fn an_administrator_is_let_in_before_any_deny_or_seal_and_only_by_a_global_wildcard() {
    let sealed = world()
        .inherits("server", "s", false)
        .grant("no", to_user("ann").keys([USE]).deny().on("server", "s"));
    let table = [
        (
            "no wildcard",
            sealed.clone().grant("g1", to_user("ann").role("user")),
            "deny grant server:s user no",
        ),
        ("own", sealed.clone().grant("g1", to_user("ann").role("game")), "allow administrator g1"),
        ("of a group", sealed.clone().grant("g1", to_group("team").role("game")), "allow administrator g1"),
        (
            "both ways",
            sealed
                .clone()
                .grant("g1", to_user("ann").role("game"))
                .grant("g2", to_group("crew").role("game")),
            "allow administrator g1 g2",
        ),
        (
            "on the object only",
            sealed.clone().grant("g1", to_user("ann").role("game").on("server", "s")),
            "deny grant server:s user no",
        ),
        (
            "ended",
            sealed.clone().grant("g1", to_user("ann").role("game").until(NOW)),
            "deny grant server:s user no",
        ),
        (
            "wildcard lost",
            sealed.clone().grant("g1", to_user("ann").role("game")).role_changed("game", &[USE], &["game.*"]),
            "deny grant server:s user no",
        ),
        (
            "wildcard gained",
            sealed.grant("g1", to_user("ann").role("user")).role_changed("user", &["game.server.*"], &[]),
            "allow administrator g1",
        ),
    ];
    for (what, history, expected) in table {
        let decision = ask(&folded(&history), "ann", USE, "server:s", at(NOW));
        assert_eq!(shown(&decision, &["no", "g1", "g2"]), expected, "{what}");
    }
}

#[test]
fn inactive_comes_before_unknown_and_unknown_before_administrator() {
    let history = world().invited("dan").administrator("ann").administrator("ben").administrator("dan");
    let history = history.suspended("ben");
    let policy = folded(&history);
    for (user, key, expected) in [
        ("ann", "game.server.nothing", Because::UnknownPermission),
        ("ben", "game.server.nothing", Because::InactiveSubject),
        ("ben", USE, Because::InactiveSubject),
        ("dan", USE, Because::InactiveSubject),
        ("nobody", USE, Because::InactiveSubject),
        ("ann", USE, Because::Administrator),
    ] {
        assert_eq!(ask(&policy, user, key, "global", at(NOW)).because, expected, "{user} {key}");
    }
    let nowhere =
        policy.check(ids::user("ann"), &parsed(USE), Scope::Object(ids::object("server", "x")), at(NOW));
    assert_eq!(nowhere.because, Because::NotSet);
}

#[test]
fn a_chain_ends_after_the_first_object_that_does_not_inherit() {
    let granted = world()
        .grant("everywhere", to_user("ann").keys([USE]))
        .grant("below", to_user("ann").keys([STOP]).on("folder", "top"));
    let table = [
        (
            "s inherits",
            granted.clone(),
            "allow grant global user everywhere",
            "allow grant folder:top user below",
        ),
        ("s is sealed", granted.clone().inherits("server", "s", false), "deny not_set", "deny not_set"),
        ("sub is sealed", granted.clone().inherits("folder", "sub", false), "deny not_set", "deny not_set"),
        (
            "top is sealed",
            granted.inherits("folder", "top", false),
            "deny not_set",
            "allow grant folder:top user below",
        ),
    ];
    for (what, history, on_use, on_stop) in table {
        let policy = folded(&history);
        for (key, expected) in [(USE, on_use), (STOP, on_stop)] {
            let decision = ask(&policy, "ann", key, "server:s", at(NOW));
            assert_eq!(shown(&decision, &["everywhere", "below"]), expected, "{what}: {key}");
        }
    }
}

#[test]
fn a_grant_counts_from_its_begin_until_just_before_its_end() {
    let (begin, end) = ("2026-03-01T12:00:00Z", "2026-03-01T12:00:01Z");
    let policy = folded(&world().grant("g", to_user("ann").keys([USE]).from(begin).until(end)));
    for (now, allowed) in [
        ("2026-03-01T11:59:59.999999Z", false),
        (begin, true),
        ("2026-03-01T12:00:00.999999Z", true),
        (end, false),
    ] {
        assert_eq!(ask(&policy, "ann", USE, "server:s", at(now)).allowed(), allowed, "{now}");
        assert_eq!(policy.allows_anywhere(ids::user("ann"), &parsed(USE), at(now)), allowed, "{now}");
    }
    let next = |now: &str| policy.valid_until(ids::user("ann"), at(now));
    assert_eq!(next("2026-03-01T11:00:00Z"), Some(at(begin)));
    assert_eq!(next(begin), Some(at(end)));
    assert_eq!(next(end), None);
    assert_eq!(policy.grants_ending_by(at(begin), 10), []);
    assert_eq!(policy.grants_ending_by(at(end), 10), [ids::grant("g")]);
}

#[test]
fn a_folder_grant_reaches_what_its_terms_say() {
    use Affects::*;
    // what of top (0), sub (1, a folder), s (2, an object) it reaches
    let table = [
        (All, ChildTypes::All, [true, true, true]),
        (All, ChildTypes::Objects, [true, false, true]),
        (SelfOnly, ChildTypes::All, [true, false, false]),
        (ChildrenOnly, ChildTypes::Containers, [false, true, false]),
        (SelfAndDirectChildren, ChildTypes::All, [true, true, false]),
        (DirectChildrenOnly, ChildTypes::Objects, [false, false, false]),
    ];
    for (affects, child_types, expected) in table {
        let spec = to_user("ann").keys([USE]).on("folder", "top").affects(affects).child_types(child_types);
        let policy = folded(&world().grant("g", spec));
        let got = ["folder:top", "folder:sub", "server:s"]
            .map(|on| ask(&policy, "ann", USE, on, at(NOW)).allowed());
        assert_eq!(got, expected, "{affects:?} {child_types:?}");
    }
}

#[test]
fn a_deny_keeps_a_key_that_left_and_binds_again_when_it_returns() {
    let gone = world()
        .role("servers", "both", ["game.server.*"])
        .grant("role", to_user("cat").role("servers").on("server", "s"))
        .grant("deny", to_user("cat").keys([USE]).deny().on("server", "s"))
        .grant("keys", to_user("ben").keys([USE, STOP]).on("server", "s"))
        .role_changed("user", &[], &[USE])
        .event(GrantKeysRemoved { grant: ids::grant("keys"), keys: vec![parsed(USE)] })
        .keys_removed(&[USE]);
    let back = gone.clone().keys(&[USE], &["server"]);
    let names = ["role", "deny", "keys"];
    for (history, user, key, expected) in [
        (&gone, "cat", USE, "deny unknown_permission"),
        (&gone, "cat", STOP, "allow grant server:s user role"),
        (&back, "cat", USE, "deny grant server:s user deny"),
        (&back, "ben", USE, "deny not_set"),
        (&back, "ben", STOP, "allow grant server:s user keys"),
    ] {
        assert_eq!(
            shown(&ask(&folded(history), user, key, "server:s", at(NOW)), &names),
            expected,
            "{user} {key}"
        );
    }
}

#[test]
fn a_wildcard_matches_keys_registered_later() {
    let late = world()
        .grant("g", to_user("ann").role("game").on("folder", "top"))
        .keys(&["game.server.late"], &["server"])
        .keys(&["gamex.server.late"], &["server"]);
    let policy = folded(&late);
    assert!(ask(&policy, "ann", "game.server.late", "server:s", at(NOW)).allowed());
    assert!(!ask(&policy, "ann", "gamex.server.late", "server:s", at(NOW)).allowed());
}

#[test]
fn every_question_gives_the_walk_s_answer() {
    let policy = folded(
        &world()
            .grant("team", to_group("team").role("game").on("folder", "top"))
            .grant("ben", to_user("ben").keys([USE]).deny().on("folder", "sub"))
            .grant("cat", to_user("cat").keys([USE]))
            .inherits("server", "lone", false),
    );
    let now = at(NOW);
    let server = Scope::Object(ids::object("server", "s"));
    let who = policy.who_can(&parsed(USE), server, now, Page::ALL);
    let users: Vec<_> = who.users.iter().map(|holder| holder.user).collect();
    assert_eq!(users, [ids::user("ann"), ids::user("cat")]);
    assert_eq!(who.users.first().unwrap().through, [ids::group("team")]);
    for (user, key, object_type, expected) in [
        ("ann", USE, "server", vec![ids::object("server", "s")]),
        ("ann", USE, "folder", vec![ids::folder("top"), ids::folder("sub")]),
        ("ben", USE, "folder", vec![ids::folder("top")]),
        ("ben", USE, "server", vec![]),
        ("cat", USE, "server", vec![ids::object("server", "s")]),
        ("cat", STOP, "server", vec![]),
    ] {
        let allowed = policy.allowed_objects(ids::user(user), &parsed(key), object_type, now, Page::ALL);
        assert_eq!((allowed.all, allowed.objects), (false, expected), "{user} {key} {object_type}");
    }
    let states: Vec<_> =
        policy.effective(ids::user("ben"), server, now).into_iter().map(|e| e.state).collect();
    assert_eq!(states, [EffectiveState::Allowed, EffectiveState::Denied]);
}

#[test]
fn pages_together_are_the_whole_list_whatever_is_made_meanwhile() {
    let names: Vec<String> = (0..25).map(|number| format!("u{number}")).collect();
    let mut history = world();
    for name in &names {
        history = history.user(name).joined("team", name);
        history = history.object("server", name, Some("top"), None);
    }
    let history = history.grant("team", to_group("team").keys([USE]).on("folder", "top"));
    let (policy, now) = (folded(&history), at(NOW));
    let more =
        folded(&history.user("late").joined("team", "late").object("server", "late", Some("top"), None));
    let (key, on) = (parsed(USE), Scope::Object(ids::folder("top")));
    let (mut users, mut objects) = (Vec::new(), Vec::new());
    let (mut page, mut asked) = (Page::first(4), &policy);
    loop {
        let answer = asked.who_can(&key, on, now, page);
        users.extend(answer.users.into_iter().map(|holder| holder.user));
        let Some(next) = answer.next else { break };
        page.after = Some(next);
        asked = &more;
    }
    page.after = None;
    loop {
        let answer = policy.allowed_objects(ids::user("ann"), &key, "server", now, page);
        objects.extend(answer.objects);
        let Some(next) = answer.next else { break };
        page.after = Some(next);
    }
    let all = more.who_can(&key, on, now, Page::ALL).users.into_iter().map(|holder| holder.user);
    assert!(users.iter().copied().eq(all));
    assert_eq!(users.len(), 28);
    assert_eq!(objects, policy.allowed_objects(ids::user("ann"), &key, "server", now, Page::ALL).objects);
    assert_eq!(objects.len(), 26);
}

#[test]
fn an_administrator_is_answered_all_and_still_page_by_page() {
    let policy = folded(&world().administrator("ann"));
    let (key, now) = (parsed(USE), at(NOW));
    let first = policy.allowed_objects(ids::user("ann"), &key, "server", now, Page::first(1));
    assert_eq!((first.all, first.objects), (true, vec![ids::object("server", "s")]));
    let rest = Page { after: first.next, limit: 9 };
    let second = policy.allowed_objects(ids::user("ann"), &key, "server", now, rest);
    assert_eq!((second.objects, second.next), (vec![ids::object("server", "lone")], None));
}
