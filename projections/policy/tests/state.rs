//! The fold as a state: what contradicts it is refused and named, clones keep what they knew, and the digest is of
//! the facts alone.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test")]

use charter_events::{
    CredentialPasswordChanged, CredentialSessionEnded, CredentialSessionsEnded, EndedBy, Event, GrantEnded,
    GrantExpired, GrantId, GroupDeleted, ObjectDeleted, ObjectId, ObjectRenamed, Offset,
    PermissionsDeprecated, RoleDeleted, Scope, SeededRole, SessionId, Subject, UserErased,
};
use charter_policy::{FoldError, Policy, UserStatus};
use charter_testkit::{
    History, at,
    history::{owner_grant, parsed, seeded},
    ids, to_group, to_user,
};

const NOW: &str = "2026-03-01T12:00:00Z";
const USE: &str = "game.server.use";

fn folded(history: &History) -> Policy {
    let mut policy = Policy::new();
    for (meta, event) in history.events() {
        policy.apply(meta, event).unwrap_or_else(|error| panic!("event {}: {error}", meta.offset));
    }
    policy
}

fn world() -> History {
    History::new()
        .keys(&[USE, "game.server.stop"], &["server"])
        .object_type("core", "folder")
        .object_type("game", "server")
        .user("ann")
        .user("ben")
        .group("team", ["ann"])
        .role("user", "both", [USE])
        .role("objects", "object", [USE])
        .folder("f", None)
        .folder("g", Some("f"))
        .object("server", "s", Some("g"), Some("ann"))
        .grant("g1", to_group("team").role("user").on("folder", "f"))
        .grant("g2", to_user("ben").keys([USE]))
}

/// Folds everything but the last event, then says what becomes of it.
fn last(history: &History) -> Result<(), FoldError> {
    let (last, before) = history.events().split_last().unwrap();
    let mut policy = Policy::new();
    for (meta, event) in before {
        policy.apply(meta, event).unwrap_or_else(|error| panic!("event {}: {error}", meta.offset));
    }
    policy.apply(&last.0, &last.1)
}

#[test]
fn an_event_that_does_not_fit_the_state_is_refused_and_named() {
    let object = ids::object("server", "s");
    let owner = owner_grant("server", "s");
    let table: Vec<(&str, History)> = vec![
        ("user `", world().joined("team", "nobody")),
        ("group `", world().joined("nothing", "ann")),
        ("role `", world().grant("g", to_user("ann").role("nothing"))),
        ("permission `no.such.key`", world().grant("g", to_user("ann").keys(["no.such.key"]))),
        ("permission `no.such.key`", world().role("r", "both", ["no.such.key"])),
        ("object `", world().grant("g", to_user("ann").role("user").on("server", "x"))),
        ("object type `rock`", world().object("rock", "r", None, None)),
        ("grant `", world().revoked("nothing")),
        ("grant `", world().revoked("g1").revoked("g1")),
        ("grant `", world().grant("g1", to_user("ann").role("user"))),
        ("another state", world().user("ann")),
        ("role `user`", world().event(role_named("again", "user"))),
        ("already", world().joined("team", "ann")),
        ("no member", world().left("team", "ben")),
        ("held what is added", world().role_changed("user", &[USE], &[])),
        ("did not hold", world().role_changed("user", &[], &["game.*"])),
        ("grants of it", world().event(RoleDeleted { role: ids::role("user") })),
        ("members", world().event(GroupDeleted { group: ids::group("team") })),
        ("grants to it", world().left("team", "ann").event(GroupDeleted { group: ids::group("team") })),
        ("contains", world().event(ObjectDeleted { object: ids::folder("f") })),
        ("grants on it", world().event(ObjectDeleted { object })),
        ("lie in itself", world().moved("folder", "f", Some("g"))),
        ("no folder", world().object("server", "t", None, None).event(moved_into_server())),
        ("external id", world().object("server", "t", None, None).event(renamed("t", Some("s")))),
        ("scope does not allow", world().grant("g", to_user("ann").role("objects"))),
        ("literal keys only", world().grant("g", to_user("ann").role("user").deny())),
        ("gives nothing", world().grant("g", to_user("ann"))),
        ("end has not passed", world().at(NOW).event(expired("g2"))),
        ("reach", world().grant("g", reaching_too_far())),
        ("another state", world().reactivated("ann")),
        ("another state", world().suspended("ann").suspended("ann")),
        ("owns", world().left("team", "ann").event(ended(&owner)).event(erased("ann"))),
        ("grants to him", world().left("team", "ann").event(erased("ann"))),
        ("in a group", world().event(ended(&owner)).event(erased("ann"))),
        ("another namespace", world().object_type("other", "server")),
    ];
    for (what, history) in table {
        let error = last(&history).expect_err(what).to_string();
        assert!(error.contains(what), "expected `{what}` in: {error}");
    }
}

fn role_named(id: &str, slug: &str) -> Event {
    charter_events::RoleCreated {
        role: ids::role(id),
        slug: parsed(slug),
        name: ids::shown(slug),
        scope: charter_events::RoleScope::Both,
        permissions: Vec::new(),
        seeded: None,
    }
    .into()
}

fn moved_into_server() -> Event {
    let (object, parent) = (ids::object("server", "t"), Some(ids::object("server", "s")));
    charter_events::ObjectMoved { object, parent }.into()
}

fn renamed(name: &str, external_id: Option<&str>) -> Event {
    let external_id = external_id.map(parsed);
    ObjectRenamed { object: ids::object("server", name), name: ids::shown(name), external_id }.into()
}

fn expired(grant: &str) -> Event {
    GrantExpired { grant: ids::grant(grant) }.into()
}

fn ended(grant: &str) -> Event {
    GrantEnded { grant: ids::grant(grant), by: EndedBy::User(ids::user("ann")) }.into()
}

fn erased(user: &str) -> Event {
    UserErased { user: ids::user(user) }.into()
}

fn reaching_too_far() -> charter_testkit::GrantSpec {
    to_user("ann").role("user").affects(charter_events::Affects::ChildrenOnly)
}

#[test]
fn offsets_are_dense() {
    let events = world().into_events();
    let mut policy = Policy::new();
    let (meta, event) = events.get(1).unwrap();
    assert!(matches!(policy.apply(meta, event), Err(FoldError::Gap { after: Offset::ZERO, .. })));
}

#[test]
fn a_clone_never_sees_later_events() {
    let (before, events) = (folded(&world()), world().suspended("ann").revoked("g2").into_events());
    let digest = before.digest();
    let mut after = before.clone();
    for (meta, event) in events.iter().filter(|(meta, _)| meta.offset > before.version()) {
        after.apply(meta, event).unwrap();
    }
    assert_eq!(before.digest(), digest);
    assert_ne!(after.digest(), digest);
    assert!(before.user(ids::user("ann")).unwrap().is_active() && before.grant(ids::grant("g2")).is_some());
    assert!(!after.user(ids::user("ann")).unwrap().is_active() && after.grant(ids::grant("g2")).is_none());
}

fn session_ended(number: u128, expires_at: &str) -> CredentialSessionEnded {
    CredentialSessionEnded {
        session: SessionId::from_u128(number),
        user: ids::user("ann"),
        expires_at: at(expires_at),
    }
}

#[test]
fn the_digest_is_of_the_facts_and_not_of_how_they_came_about() {
    let base = || History::new().keys(&[USE], &["server"]).object_type("core", "folder");
    let one =
        base().user("ann").user("ben").folder("a", None).folder("b", None).group("team", ["ann", "ben"]);
    let other =
        base().group("team", []).user("ben").joined("team", "ben").folder("b", None).folder("a", None);
    let other = other.user("ann").joined("team", "ann");
    let detour = one.clone().grant("g", to_user("ann").keys([USE])).revoked("g");
    assert_eq!(folded(&one).digest(), folded(&other).digest());
    assert_eq!(folded(&one).digest(), folded(&detour).digest());
    for changed in [
        one.clone().suspended("ann"),
        one.clone().left("team", "ann"),
        one.clone().grant("g", to_user("ann").keys([USE])),
        one.clone().grant("g", to_user("ann").keys([USE]).on("folder", "a")),
        one.clone().grant("g", to_user("ann").keys([USE]).deny()),
        one.clone().moved("folder", "a", Some("b")),
        one.clone().inherits("folder", "a", false),
        one.clone().event(CredentialPasswordChanged { user: ids::user("ann"), has_password: true }),
        one.clone().event(PermissionsDeprecated { namespace: parsed("game"), keys: vec![parsed(USE)] }),
    ] {
        assert_ne!(folded(&changed).digest(), folded(&one).digest(), "{:?}", changed.events().last());
    }
}

#[test]
fn names_of_what_is_gone_are_free_again_and_tell_nothing_of_it() {
    let gone = world()
        .grant("on-s", to_group("team").role("user").on("server", "s"))
        .deleted("server", "s", &[&owner_grant("server", "s"), "on-s"])
        .revoked("g1")
        .left("team", "ann")
        .event(GroupDeleted { group: ids::group("team") })
        .revoked("g2")
        .event(RoleDeleted { role: ids::role("user") })
        .event(erased("ben"));
    let policy = folded(&gone);
    assert_eq!(policy.object_by_external_id("server", "s"), None);
    assert_eq!((policy.group_by_slug("team"), policy.role_by_slug("user")), (None, None));
    assert_eq!(policy.user_by_tag(&ids::tag("ben")), None);
    let ben = policy.user(ids::user("ben")).unwrap();
    assert_eq!((ben.status, ben.profile.is_none()), (UserStatus::Erased, true));
    assert_eq!(policy.grants_of(Subject::User(ids::user("ann"))).count(), 0);
    assert_eq!(policy.owned_objects(ids::user("ann")).count(), 0);
    let again = gone
        .event(charter_events::ObjectCreated {
            object: ObjectId::from_u128(77),
            object_type: parsed("server"),
            external_id: Some(parsed("s")),
            name: ids::shown("s"),
            parent: None,
            owner: None,
            inherits: true,
        })
        .event(role_named("again", "user"));
    let policy = folded(&again);
    assert_eq!(policy.object_by_external_id("server", "s"), Some(ObjectId::from_u128(77)));
    assert_eq!(policy.grants_at(Scope::Object(ObjectId::from_u128(77))).count(), 0);
    assert_eq!(policy.role_by_slug("user"), Some(ids::role("again")));
}

#[test]
fn an_object_without_external_id_is_known_by_its_id_and_nobody_else_can_be() {
    let plain = world().object("server", "t", None, None).event(renamed("t", None));
    let id = ids::object("server", "t").to_string();
    let policy = folded(&plain);
    assert_eq!(policy.object_by_external_id("server", &id), Some(ids::object("server", "t")));
    assert_eq!(policy.object_by_external_id("folder", &id), None);
    assert_eq!(policy.object_by_external_id("server", &id.to_uppercase()), None);
    assert!(last(&plain.event(renamed("s", Some(&id)))).is_err());
}

#[test]
fn the_owner_grant_follows_the_owner_in_whatever_order_it_is_told() {
    let owner = owner_grant("server", "s");
    let first = world();
    let moved = first.clone().transferred("server", "s", &owner, "ben");
    let before = first
        .clone()
        .grant("new", to_user("ben").role("owner").on("server", "s"))
        .event(GrantEnded { grant: ids::grant(&owner), by: EndedBy::Transfer(ids::object("server", "s")) })
        .event(charter_events::ObjectTransferred {
            object: ids::object("server", "s"),
            owner: ids::user("ben"),
        });
    for (history, user, grant) in [
        (&first, "ann", owner.clone()),
        (&moved, "ben", format!("{owner}:ben")),
        (&before, "ben", "new".to_owned()),
    ] {
        let policy = folded(history);
        let object = policy.object(ids::object("server", "s")).unwrap();
        assert_eq!((object.owner, object.owner_grant), (Some(ids::user(user)), Some(ids::grant(&grant))));
        assert!(policy.grant(ids::grant(&grant)).unwrap().is_owner_grant);
        assert!(policy.owned_objects(ids::user(user)).eq([ids::object("server", "s")]));
        assert_eq!(policy.seeded_role(SeededRole::Owner), Some(seeded(SeededRole::Owner)));
    }
}

#[test]
fn ended_sessions_are_remembered_until_they_would_have_ended_anyway() {
    let ended = world().event(session_ended(1, "2026-03-01T00:00:00Z"));
    let is_ended = |policy: &Policy, session: u128, user: &str, began: Offset| {
        policy.session_is_ended(SessionId::from_u128(session), ids::user(user), began)
    };
    let policy = folded(&ended);
    let began = policy.version();
    assert!(is_ended(&policy, 1, "ann", began) && !is_ended(&policy, 2, "ann", began));
    let later = ended.at("2026-03-02T00:00:00Z").event(session_ended(2, "2026-04-01T00:00:00Z"));
    let policy = folded(&later);
    assert!(!is_ended(&policy, 1, "ann", began) && is_ended(&policy, 2, "ann", began));
    let all = folded(&later.event(CredentialSessionsEnded { user: ids::user("ann") }));
    assert!(is_ended(&all, 9, "ann", began) && !is_ended(&all, 9, "ben", began));
    assert!(!is_ended(&all, 9, "ann", all.version()));
}

#[test]
fn lists_are_found_by_subject_scope_and_role() {
    let policy = folded(&world());
    let ids_of =
        |grants: Vec<charter_policy::GrantView<'_>>| grants.iter().map(|g| g.id).collect::<Vec<GrantId>>();
    let owner = ids::grant(&owner_grant("server", "s"));
    let team = Subject::Group(ids::group("team"));
    let folder = Scope::Object(ids::folder("f"));
    assert_eq!(ids_of(policy.grants_of(team).collect()), [ids::grant("g1")]);
    assert_eq!(ids_of(policy.grants_at(folder).collect()), [ids::grant("g1")]);
    assert_eq!(ids_of(policy.grants_at_for(folder, team).collect()), [ids::grant("g1")]);
    assert_eq!(policy.grants_at_for(Scope::Global, team).count(), 0);
    assert_eq!(ids_of(policy.grants_of_role(ids::role("user")).collect()), [ids::grant("g1")]);
    assert_eq!(ids_of(policy.grants_of_role(seeded(SeededRole::Owner)).collect()), [owner]);
    assert_eq!(policy.grant_count_at(Scope::Global), 1);
    assert!(policy.children(ids::folder("g")).eq([ids::object("server", "s")]));
    assert!(policy.roots().eq([ids::folder("f")]));
    assert_eq!((policy.depth(ids::object("server", "s")), policy.subtree_height(ids::folder("f"))), (2, 2));
    assert!(policy.is_below(ids::object("server", "s"), ids::folder("f")));
    assert!(!policy.is_below(ids::folder("f"), ids::folder("f")));
    assert_eq!((policy.object_count_of_type("server"), policy.object_count_of_type("folder")), (1, 2));
}
