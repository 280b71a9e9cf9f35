//! Holding, as tables: who lacks what of a content over a reach, and for how long he holds it.
#![expect(clippy::panic, clippy::too_many_lines, reason = "a test")]

use charter_events::{Affects, ChildTypes, Pattern, Reach, Scope};
use charter_policy::{Caller, Lacking, Policy, Span};
use charter_testkit::{History, at, history::parsed, ids, to_group, to_user};

const NOW: &str = "2026-03-01T12:00:00Z";
const LATER: &str = "2026-03-02T00:00:00Z";
const LATEST: &str = "2026-03-03T00:00:00Z";

fn folded(history: &History) -> Policy {
    let mut policy = Policy::new();
    for (meta, event) in history.events() {
        policy.apply(meta, event).unwrap_or_else(|error| panic!("event {}: {error}", meta.offset));
    }
    policy
}

fn world() -> History {
    History::new()
        .keys(&["a.x.read", "a.x.write", "a.y.read"], &["server"])
        .keys(&["b.x.read"], &["server"])
        .object_type("core", "folder")
        .object_type("a", "server")
        .user("ann")
        .group("team", ["ann"])
        .role("a", "both", ["a.*"])
        .role("ax", "both", ["a.x.*"])
        .role("all", "both", ["*"])
        .folder("f", None)
        .object("server", "s", Some("f"), None)
}

fn patterns(texts: &[&str]) -> Vec<Pattern> {
    texts.iter().map(|text| parsed(text)).collect()
}

fn folder() -> Scope {
    Scope::Object(ids::folder("f"))
}

fn shown(items: &[Pattern]) -> Vec<&str> {
    items.iter().map(Pattern::as_str).collect()
}

#[test]
fn content_is_held_at_every_place_of_a_reach_or_not_at_all() {
    let reach = |affects, child_types| Reach { affects, child_types };
    let all = Reach::ALL;
    let everything = &["b.x.read", "a.*", "a.x.*", "a.x.read"][..];
    let below = |affects, child_types| {
        to_user("ann").role("a").on("folder", "f").affects(affects).child_types(child_types)
    };
    // what ann has; the content, scope and reach asked about; what she lacks, in byte order
    let table = [
        ("nothing", world(), everything, folder(), all, vec!["a.*", "a.x.*", "a.x.read", "b.x.read"]),
        (
            "all of a",
            world().grant("g", below(Affects::All, ChildTypes::All)),
            everything,
            folder(),
            all,
            vec!["b.x.read"],
        ),
        (
            "the folder alone",
            world().grant("g", below(Affects::SelfOnly, ChildTypes::All)),
            &["a.*"],
            folder(),
            all,
            vec!["a.*"],
        ),
        (
            "the folder alone, asked alone",
            world().grant("g", below(Affects::SelfOnly, ChildTypes::All)),
            &["a.*"],
            folder(),
            reach(Affects::SelfOnly, ChildTypes::All),
            vec![],
        ),
        (
            "objects below",
            world().grant("g", below(Affects::ChildrenOnly, ChildTypes::Objects)),
            &["a.x.*"],
            folder(),
            reach(Affects::ChildrenOnly, ChildTypes::All),
            vec!["a.x.*"],
        ),
        (
            "objects below, asked so",
            world().grant("g", below(Affects::ChildrenOnly, ChildTypes::Objects)),
            &["a.x.*"],
            folder(),
            reach(Affects::ChildrenOnly, ChildTypes::Objects),
            vec![],
        ),
        (
            "direct children only, asked two levels down",
            world().grant("g", below(Affects::DirectChildrenOnly, ChildTypes::All)),
            &["a.x.read"],
            folder(),
            reach(Affects::ChildrenOnly, ChildTypes::All),
            vec!["a.x.read"],
        ),
        (
            "a narrower wildcard does not cover",
            world().grant("g", to_user("ann").role("ax")),
            &["a.*", "a.x.*"],
            Scope::Global,
            all,
            vec!["a.*"],
        ),
        (
            "literal keys never cover",
            world().grant("g", to_group("team").keys(["a.x.read", "a.x.write"]).on("server", "s")),
            &["a.x.*", "a.x.read"],
            Scope::Object(ids::object("server", "s")),
            all,
            vec!["a.x.*"],
        ),
        (
            "a nearer deny on a matched key breaks the wildcard",
            world()
                .grant("g", to_user("ann").role("a").on("folder", "f"))
                .grant("no", to_user("ann").keys(["a.y.read"]).deny().on("server", "s")),
            &["a.*", "a.x.*"],
            Scope::Object(ids::object("server", "s")),
            all,
            vec!["a.*"],
        ),
        (
            "a global wildcard passes denies and seals",
            world()
                .grant("g", to_user("ann").role("a"))
                .grant("no", to_user("ann").keys(["a.y.read"]).deny().on("folder", "f"))
                .inherits("folder", "f", false),
            &["a.*"],
            folder(),
            all,
            vec![],
        ),
        (
            "a suspended user holds nothing",
            world().grant("g", to_user("ann").role("all")).suspended("ann"),
            &["a.*"],
            Scope::Global,
            all,
            vec!["a.*"],
        ),
        (
            "an object that is not there",
            world().grant("g", to_user("ann").role("ax")),
            &["a.x.*"],
            Scope::Object(ids::object("server", "x")),
            all,
            vec!["a.x.*"],
        ),
    ];
    for (what, history, content, scope, reach, expected) in table {
        let policy = folded(&history);
        let missing = policy.missing(ids::user("ann"), &patterns(content), scope, reach, at(NOW));
        assert_eq!(shown(&missing), expected, "{what}");
    }
}

#[test]
fn what_is_held_now_must_be_held_until_the_end() {
    let ann = || to_user("ann").role("a").on("folder", "f");
    let no = || to_user("ann").keys(["a.x.read"]).deny().on("folder", "f");
    let forever = Span::Until(None);
    let until = |moment| Span::Until(Some(at(moment)));
    let (fine, never, outlives) = (None, Some(false), Some(true));
    let table = [
        ("without end", world().grant("g", ann()), forever, fine),
        ("for a while, without end asked", world().grant("g", ann().until(LATER)), forever, outlives),
        ("for a while, asked now", world().grant("g", ann().until(LATER)), Span::Now, fine),
        ("for a while, asked as long", world().grant("g", ann().until(LATER)), until(LATER), fine),
        ("for a while, asked longer", world().grant("g", ann().until(LATER)), until(LATEST), outlives),
        ("not yet", world().grant("g", ann().from(LATER)), forever, never),
        ("a deny to come", world().grant("g", ann()).grant("no", no().from(LATER)), forever, outlives),
        (
            "a deny to come after the end",
            world().grant("g", ann()).grant("no", no().from(LATER)),
            until(LATER),
            fine,
        ),
        (
            "another takes over",
            world().grant("g", ann().until(LATER)).grant("h", to_group("team").role("a").on("folder", "f")),
            forever,
            fine,
        ),
        (
            "a gap between two",
            world().grant("g", ann().until(LATER)).grant("h", ann().from(LATEST)),
            forever,
            outlives,
        ),
        ("everything without end", world().grant("g", to_group("team").role("all")), forever, fine),
        (
            "everything for a while",
            world().grant("g", to_user("ann").role("all").until(LATER)),
            forever,
            outlives,
        ),
    ];
    for (what, history, span, expected) in table {
        let caller = Caller::of(ids::user("ann"));
        let held =
            folded(&history).require_held(&caller, &patterns(&["a.*"]), folder(), Reach::ALL, span, at(NOW));
        assert_eq!(
            held.as_ref().err().map(|lacking: &Lacking| lacking.outlives),
            expected,
            "{what}: {held:?}"
        );
    }
}

#[test]
fn a_ceiling_narrows_even_who_holds_everything() {
    let policy = folded(&world().grant("g", to_user("ann").role("all")));
    let through =
        |masks: &[&str]| Caller::User { id: ids::user("ann"), ceiling: Some(patterns(masks).into()) };
    for (masks, content, expected) in [
        (&["*"][..], &["a.*", "b.x.read"][..], &[][..]),
        (&["a.*"], &["a.*", "a.x.*", "a.x.read", "b.x.read"], &["b.x.read"]),
        (&["a.x.*"], &["a.*", "a.x.read"], &["a.*"]),
        (&["a.x.read"], &["a.x.*", "a.x.read"], &["a.x.*"]),
        (&[], &["a.x.read"], &["a.x.read"]),
    ] {
        let held = policy.require_held(
            &through(masks),
            &patterns(content),
            Scope::Global,
            Reach::ALL,
            Span::Until(None),
            at(NOW),
        );
        let missing = held.err().map_or_else(Vec::new, |lacking| lacking.items);
        assert_eq!(shown(&missing), expected, "{masks:?}");
    }
    let system = policy.require_held(
        &Caller::System,
        &patterns(&["*"]),
        Scope::Global,
        Reach::ALL,
        Span::Until(None),
        at(NOW),
    );
    assert_eq!(system, Ok(()));
}

#[test]
fn a_refusal_lists_twenty_items_in_byte_order_and_says_that_there_are_more() {
    let names: Vec<String> = (0..21).rev().map(|number| format!("c.x.k{number:02}")).collect();
    let keys: Vec<&str> = names.iter().map(String::as_str).collect();
    let policy = folded(&world().keys(&keys, &["server"]));
    for (count, shown_items, more) in [(20, 20, false), (21, 20, true)] {
        let content = patterns(keys.get(21 - count..).unwrap());
        let caller = Caller::of(ids::user("ann"));
        let held = policy.require_held(&caller, &content, Scope::Global, Reach::ALL, Span::Now, at(NOW));
        let lacking = held.unwrap_err();
        assert_eq!((lacking.items.len(), lacking.more), (shown_items, more));
        assert!(lacking.items.is_sorted() && lacking.items.first().unwrap().as_str() == "c.x.k00");
    }
}

#[test]
fn the_last_administrators_are_persons_who_can_sign_in_and_whose_grant_lasts() {
    use charter_events::CredentialPasswordChanged;
    let with_password = |history: History, name: &str| {
        history.event(CredentialPasswordChanged { user: ids::user(name), has_password: true })
    };
    let mut history = world().service("bot");
    for name in ["temp", "late", "gone", "member", "wild"] {
        history = with_password(history.user(name), name);
    }
    let history = with_password(history, "ann")
        .user("nopass")
        .administrator("ann")
        .administrator("bot")
        .administrator("nopass")
        .administrator("gone")
        .suspended("gone")
        .grant("temp", to_user("temp").role("administrator").until(LATER))
        .grant("late", to_user("late").role("administrator").from(LATER))
        .grant("wild", to_user("wild").role("a"))
        .group("admins", ["member"])
        .grant("admins", to_group("admins").role("administrator"));
    let policy = folded(&history);
    let named = |names: &[&str]| names.iter().map(|name| ids::user(name)).collect::<Vec<_>>();
    assert_eq!(policy.lasting_administrators(at(NOW)), named(&["ann", "member"]));
    assert_eq!(policy.administrators(at(NOW)), named(&["ann", "bot", "temp", "member", "nopass"]));
    for (name, is, will_be) in [
        ("ann", true, true),
        ("temp", true, true),
        ("late", false, true),
        ("gone", false, true),
        ("wild", false, false),
    ] {
        assert_eq!(policy.is_administrator(ids::user(name), at(NOW)), is, "{name}");
        assert_eq!(policy.is_or_will_be_administrator(ids::user(name), at(NOW)), will_be, "{name}");
    }
    assert!(!policy.is_or_will_be_administrator(ids::user("temp"), at(LATER)));
}
