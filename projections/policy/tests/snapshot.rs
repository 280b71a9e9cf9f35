//! Snapshots: the same state, going on alike, and never anything that is none.
#![expect(clippy::panic, reason = "a test")]

use charter_events::{
    CredentialPasswordChanged, CredentialSessionEnded, CredentialSessionsEnded, CredentialTokenIssued,
    CredentialTokenRevoked, Event, GroupDeleted, Pattern, PermissionsDeprecated, RoleDeleted, SessionId,
    UserDeletionScheduled, UserErased,
};
use charter_policy::{Page, Policy};
use charter_testkit::{
    History, at,
    history::{owner_grant, parsed},
    ids, to_group, to_user,
    workload::{Conflict, RbacW, Size},
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

fn erased(user: &str) -> Event {
    UserErased { user: ids::user(user) }.into()
}

/// A history with everything in it that a snapshot has to carry.
fn everything() -> History {
    let token = |name: &str, mask: Option<Vec<Pattern>>| CredentialTokenIssued {
        token: ids::token(name),
        user: ids::user("ann"),
        name: ids::shown(name),
        expires_at: Some(at("2027-01-01T00:00:00Z")),
        mask,
    };
    world()
        .by("ann")
        .service("bot")
        .invited("dan")
        .suspended("ben")
        .administrator("ann")
        .grant(
            "timed",
            to_user("dan").keys([USE, "game.server.stop"]).from(NOW).until("2026-04-01T00:00:00Z"),
        )
        .grant("deny", to_group("team").keys([USE]).deny().on("server", "s"))
        .transferred("server", "s", &owner_grant("server", "s"), "ben")
        .object("server", "gone", None, None)
        .deleted("server", "gone", &[])
        .role("gone", "both", ["game.server.*"])
        .event(RoleDeleted { role: ids::role("gone") })
        .group("gone", [])
        .event(GroupDeleted { group: ids::group("gone") })
        .user("erased")
        .event(erased("erased"))
        .user("leaving")
        .event(UserDeletionScheduled { user: ids::user("leaving"), erase_at: at("2026-05-01T00:00:00Z") })
        .event(CredentialPasswordChanged { user: ids::user("ann"), has_password: true })
        .event(token("t1", Some(vec![parsed("game.*")])))
        .event(token("t2", None))
        .event(CredentialTokenRevoked { token: ids::token("t2") })
        .event(CredentialSessionsEnded { user: ids::user("ben") })
        .event(session_ended(1, "2027-01-01T00:00:00Z"))
        .event(PermissionsDeprecated { namespace: parsed("game"), keys: vec![parsed(USE)] })
        .revoked("g2")
        .keys_removed(&["game.server.stop"])
}

fn session_ended(number: u128, expires_at: &str) -> CredentialSessionEnded {
    CredentialSessionEnded {
        session: SessionId::from_u128(number),
        user: ids::user("ann"),
        expires_at: at(expires_at),
    }
}

#[test]
fn a_snapshot_is_the_same_state_and_goes_on_alike() {
    let mut policy = folded(&everything());
    let mut loaded = Policy::from_snapshot(&policy.to_snapshot().unwrap()).unwrap();
    let more = everything().user("more").joined("team", "more").grant("more", to_user("more").role("user"));
    for _ in 0..2 {
        assert_eq!(loaded.digest(), policy.digest());
        assert_eq!((loaded.version(), loaded.recorded_at()), (policy.version(), policy.recorded_at()));
        assert_eq!(loaded.to_snapshot().unwrap(), policy.to_snapshot().unwrap());
        assert_eq!(
            format!("{:?}", loaded.users().collect::<Vec<_>>()),
            format!("{:?}", policy.users().collect::<Vec<_>>())
        );
        assert_eq!(
            format!("{:?}", loaded.objects().collect::<Vec<_>>()),
            format!("{:?}", policy.objects().collect::<Vec<_>>())
        );
        assert_eq!(
            format!("{:?}", loaded.grants().collect::<Vec<_>>()),
            format!("{:?}", policy.grants().collect::<Vec<_>>())
        );
        for (meta, event) in more
            .events()
            .iter()
            .filter(|(meta, _)| meta.offset > policy.version())
            .cloned()
            .collect::<Vec<_>>()
        {
            policy.apply(&meta, &event).unwrap();
            loaded.apply(&meta, &event).unwrap();
        }
    }
    assert!(policy.user(ids::user("more")).is_some());
}

#[test]
fn a_snapshot_of_a_workload_answers_like_the_fold() {
    let (rbac, conflict) = (RbacW::new(Size::Xs, 5), Conflict::new(5));
    let mut questions: Vec<_> = rbac.questions(2).take(500).map(|q| (q.user, q.key, q.scope)).collect();
    let worlds = [rbac.events().collect::<Vec<_>>(), conflict.events().collect::<Vec<_>>()];
    for events in worlds {
        let mut policy = Policy::new();
        events.iter().for_each(|(meta, event)| policy.apply(meta, event).unwrap());
        let loaded = Policy::from_snapshot(&policy.to_snapshot().unwrap()).unwrap();
        assert_eq!(loaded.digest(), policy.digest());
        for (user, key, scope) in &questions {
            let now = at(NOW);
            assert_eq!(loaded.check(*user, key, *scope, now), policy.check(*user, key, *scope, now));
            let page = Page::first(50);
            assert_eq!(loaded.who_can(key, *scope, now, page), policy.who_can(key, *scope, now, page));
            assert_eq!(
                loaded.allowed_objects(*user, key, "server", now, page),
                policy.allowed_objects(*user, key, "server", now, page)
            );
        }
        questions = conflict.questions(2).take(500).collect();
    }
}

#[test]
fn bytes_that_are_no_snapshot_are_refused() {
    let bytes = folded(&everything()).to_snapshot().unwrap();
    let mut other_format = bytes.clone();
    *other_format.first_mut().unwrap() ^= 0xFF;
    let mut too_long = bytes.clone();
    too_long.push(0);
    for (what, bytes) in [
        ("nothing", &[][..]),
        ("another format", &other_format),
        ("cut off", bytes.get(..bytes.len() - 1).unwrap()),
        ("too long", &too_long),
    ] {
        assert!(Policy::from_snapshot(bytes).is_err(), "{what}");
    }
}
