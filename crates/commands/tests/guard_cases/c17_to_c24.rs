//! Guard cases 17 to 24, as far as they concern what commands decide.

use crate::{say::*, world::*};
use charter_commands::{
    ChangePassword, Code, CreateObject, DeleteGroup, DeleteObject, EditUser, RecoverAdministrator,
    RemovePermissions, RenameObject, Setup,
};
use charter_events::{
    Affects, ChildTypes, Event, ObjectId, ProfileField, Scope, SealedProfile, Subject, UserId, UserKind,
};
use charter_testkit::{History, history::parsed, ids, to_group, to_user};

fn server_of_b(h: History) -> History {
    h.folder("f", None).object("server", "o", Some("f"), Some("b"))
}

cases! {
    fn case_17_a_folder_is_not_moved_under_grants_that_reach_what_is_in_it() {
        let mut w = World::with(|h| {
            let h = h.folder("f", None).object("folder", "sub", None, Some("b"));
            let h = h.object("server", "s", Some("sub"), Some("b"));
            let reach = to_user("c").keys(["srv.server.start"]).on("folder", "f");
            let h = h.grant("below", reach.affects(Affects::ChildrenOnly).child_types(ChildTypes::Objects));
            let mine = ["core.folder.read", "core.grant.manage", "core.object.move"];
            allow_in(allow_in(h, "x", "sub", &mine), "x", "f", &["core.folder.create"])
        });
        let sub = ids::folder("sub");
        w.would("root", move_to(sub, Some("f")));
        let why = w.refused("x", move_to(sub, Some("f")), Code::NotHeld);
        assert_eq!(why.missing, ["core.folder.create", "srv.server.start"]);
    }

    fn case_17_a_grant_that_reached_it_before_asks_for_nothing() {
        let mut w = World::with(|h| {
            let h = h.folder("f", None).folder("sub", Some("f")).object("server", "s", Some("sub"), Some("b"));
            let everywhere = to_user("c").keys(["srv.server.start"]).on("folder", "f");
            let direct = to_user("d").keys(["srv.server.delete"]).on("folder", "f").affects(Affects::DirectChildrenOnly);
            let h = h.grant("all", everywhere).grant("direct", direct);
            let h = allow_on(h, "x", "s", &["core.grant.manage", "core.object.move", "srv.server.read"]);
            h.grant("create", to_user("x").keys(["srv.server.create"]).on("folder", "f").affects(Affects::SelfOnly))
        });
        let why = w.refused("x", move_to(server("s"), Some("f")), Code::NotHeld);
        assert_eq!(why.missing, ["srv.server.delete"], "only what begins to reach it is asked for");
        w.given(|h| h.revoked("direct"));
        w.would("x", move_to(server("s"), Some("f")));
    }

    fn case_18_an_administrator_for_an_hour_contains() {
        let mut w = World::with(|h| {
            let h = h.user("t").grant("hour", to_user("t").role("administrator").until(SOON));
            let h = allow(h, "a", &["srv.server.start"]).group("ops", ["c"]).role("r", "both", ["srv.server.start"]);
            h.grant("ops", to_group("ops").role("r")).object("server", "o", None, Some("b"))
        });
        for contain in [
            revoke("a:global").into(),
            leave("ops", "c").into(),
            take_from_role("r", &["srv.server.start"]).into(),
            charter_commands::DeleteRole { role: ids::role("r") }.into(),
            DeleteGroup { group: ids::group("ops") }.into(),
            inherits(server("o"), false).into(),
            suspend("a").into(),
        ] {
            let contain: charter_commands::Command = contain;
            w.would("t", contain);
        }
    }

    fn case_19_a_deny_keeps_a_removed_key_and_binds_again_when_it_returns() {
        let mut w = World::with(|h| {
            let h = server_of_b(h).keys(&["srv.extra.x"], &["server"]).role("lit", "both", ["srv.extra.x"]);
            let h = h.role("wild", "object", ["srv.extra.*"]);
            let h = h.grant("wild", to_user("c").role("wild").on("server", "o"));
            let h = h.grant("no", to_user("c").keys(["srv.extra.x"]).on("server", "o").deny());
            let h = allow_on(h, "d", "o", &["srv.extra.x"]);
            allow_on(h, "a", "o", &["srv.extra.x", "srv.server.read"])
        });
        assert!(!w.can("c", "srv.extra.x", on_server("o")));
        assert!(w.can("a", "srv.extra.x", on_server("o")));
        let remove = RemovePermissions { namespace: parsed("srv"), keys: vec![key("srv.extra.x")] };
        w.refused("a", remove.clone(), Code::Forbidden);
        let decided = w.ok("root", remove);
        let names: Vec<_> = decided.events.iter().map(Event::type_name).collect();
        assert_eq!(
            names,
            [
                "role.permissions_changed",
                "grant.ended",
                "grant.keys_removed",
                "catalog.permissions_removed"
            ]
        );
        assert!(!w.can("a", "srv.extra.x", on_server("o")));
        w.given(|h| h.keys(&["srv.extra.x"], &["server"]));
        assert!(!w.can("c", "srv.extra.x", on_server("o")), "the deny binds again");
        assert!(!w.can("a", "srv.extra.x", on_server("o")), "an allow does not come back");
        assert!(w.can("a", "srv.server.read", on_server("o")));
    }

    fn case_20_names_of_somebody_stronger_do_not_change() {
        let mut w = World::with(|h| {
            let h = h.object("server", "o", None, Some("b"));
            allow(h, "a", &["core.user.edit"]).user("weak")
        });
        let named = |who: &str| edit(who, ids::profile(&format!("{who}2")));
        let known_as = |who: &str| {
            let profile = SealedProfile { external_id: Some(ids::tag("prod")), ..ids::profile(who) };
            edit(who, profile)
        };
        let mailed = |who: &str| EditUser { changed: vec![ProfileField::Email], ..edit(who, ids::profile(who)) };
        let shown = |who: &str| EditUser { changed: vec![ProfileField::DisplayName], ..edit(who, ids::profile(who)) };
        for change in [named, known_as, mailed] {
            w.would("a", change("weak"));
            w.would("root", change("b"));
            w.refused("a", change("b"), Code::NotHeld);
        }
        w.would("a", shown("b"));
        assert!(w.ok("a", edit("b", ids::profile("b"))).events.is_empty(), "nothing changes");
    }

    fn case_21_an_external_id_needs_the_create_key_everywhere() {
        let mut w = World::with(|h| {
            let h = h.object("folder", "mine", None, Some("a")).object("server", "s", Some("mine"), Some("a"));
            allow(h, "c", &["srv.server.create"])
        });
        let named = |parent: Option<&str>| CreateObject { external_id: Some(parsed("prod-1")), ..create("server", parent) };
        w.would("root", named(Some("mine")));
        w.would("c", named(None));
        w.would("a", create("server", Some("mine")));
        let why = w.refused("a", named(Some("mine")), Code::NotHeld);
        assert_eq!(why.field.as_deref(), Some("external_id"));
        let rename = |external_id| RenameObject { object: server("s"), name: None, external_id: Some(external_id) };
        w.refused("a", rename(Some(parsed("prod-1"))), Code::NotHeld);
        w.refused("a", rename(None), Code::NotHeld);
        w.would("a", crate::say::rename(server("s"), "shown"));
        w.would("root", rename(None));
        w.would("module:srv", named(Some("mine")));
        w.refused("module:other", named(Some("mine")), Code::ForeignNamespace);
    }

    fn case_22_what_may_not_be_known_answers_as_what_is_not_there() {
        let mut w = World::with(|h| server_of_b(h).object("server", "own", None, Some("a")));
        let (hidden, missing) = (server("o"), server("missing"));
        let about = |object: ObjectId| -> Vec<charter_commands::Command> {
            vec![
                rename(object, "x").into(),
                DeleteObject { object }.into(),
                move_to(object, None).into(),
                charter_commands::TransferObject { object, owner: user("a") }.into(),
                inherits(object, false).into(),
                issue("c", &["srv.server.read"], Scope::Object(object)).into(),
                charter_commands::MoveObject { object: server("own"), parent: Some(object) }.into(),
                CreateObject { parent: Some(object), ..create("server", None) }.into(),
            ]
        };
        for (known, unknown) in about(hidden).into_iter().zip(about(missing)) {
            let known = w.refused("a", known, Code::NotFound);
            assert_eq!(known, w.refused("a", unknown, Code::NotFound));
        }
        let known = w.refused("a", revoke("owner:server:o"), Code::NotFound);
        assert_eq!(known, w.refused("a", revoke("missing"), Code::NotFound));
    }

    fn case_22_who_may_know_it_is_told_the_missing_key() {
        let mut w = World::with(|h| {
            let h = allow_on(server_of_b(h), "a", "o", &["srv.server.read"]);
            allow_on(h, "c", "o", &["core.decision.read"])
        });
        for who in ["a", "c"] {
            assert_eq!(w.refused(who, rename(server("o"), "x"), Code::Forbidden).missing, ["srv.server.manage"]);
            assert_eq!(w.refused(who, transfer("o", who), Code::Forbidden).missing, ["core.object.transfer"]);
            let grant = issue("d", &["srv.server.read"], on_server("o"));
            assert_eq!(w.refused(who, grant, Code::Forbidden).missing, ["core.grant.manage"]);
        }
    }

    fn case_22_on_global_collections_what_is_and_what_is_not_answer_alike() {
        let mut w = World::with(|h| h.group("ops", ["c"]).role("r", "both", []));
        let pairs: [(charter_commands::Command, charter_commands::Command); 5] = [
            (join("ops", "a").into(), join("none", "a").into()),
            (leave("ops", "c").into(), leave("none", "c").into()),
            (add_to_role("r", &[]).into(), add_to_role("none", &[]).into()),
            (suspend("c").into(), suspend("nobody").into()),
            (reset("c").into(), reset("nobody").into()),
        ];
        for (there, missing) in pairs {
            let there = w.refused("a", there, Code::Forbidden);
            assert_eq!(there, w.refused("a", missing, Code::Forbidden));
        }
    }

    fn case_22_who_may_not_share_learns_nothing_of_users() {
        let mut w = World::with(|h| allow_on(server_of_b(h), "a", "o", &["core.grant.manage", "srv.server.read"]));
        let share = |who: &str| issue(who, &["srv.server.start"], on_server("o"));
        let known = w.refused("a", share("c"), Code::NotHeld);
        assert_eq!(known, w.refused("a", share("nobody"), Code::NotHeld));
    }

    fn case_23_the_last_administrator_keeps_a_way_to_sign_in() {
        let mut w = World::new();
        let remove = ChangePassword { user: user("root"), has_password: false };
        w.refused("root", remove.clone(), Code::LastAdministrator);
        w.refused("root", turn_into("root", UserKind::Service), Code::LastAdministrator);
        w.would("a", reset("a"));
        w.given(|h| h.user("root2").event(password("root2")).administrator("root2"));
        w.would("root", remove);
    }

    fn case_23_setup_is_open_once() {
        let setup = |name: &str| Setup { user: user(name), profile: ids::profile(name), has_password: true };
        let mut w = World::empty();
        w.refused("a", setup("first"), Code::InactiveCaller);
        w.refused("system", Setup { has_password: false, ..setup("first") }, Code::InvalidCredential);
        w.ok("system", setup("first"));
        assert!(w.policy.is_administrator(user("first"), w.now));
        w.refused("system", setup("second"), Code::SetupClosed);
    }

    fn case_23_setup_stays_closed_when_the_administrator_is_gone_and_recovery_works() {
        let mut w = World::with(|h| h.revoked("administrator:root").suspended("root"));
        let setup = Setup { user: user("second"), profile: ids::profile("second"), has_password: true };
        w.refused("system", setup, Code::SetupClosed);
        let recover = |who: &str, new: bool| RecoverAdministrator {
            user: user(who),
            profile: new.then(|| ids::profile(who)),
            has_password: true,
        };
        w.refused("b", recover("b", false), Code::SystemOnly);
        w.would("system", recover("second", true));
        w.refused("system", recover("nobody", false), Code::NotFound);
        let recovered = w.ok("system", recover("root", false));
        assert!(recovered.events.iter().any(|event| event.type_name() == "credential.sessions_ended"));
        assert_eq!(w.policy.lasting_administrators(w.now), [user("root")]);
    }
}

/// Case 24: large, so it is not run again for every guard.
#[test]
fn case_24_a_group_of_a_hundred_thousand_that_carries_a_thousand_grants_is_deleted() {
    let group = ids::group("crowd");
    let mut w = World::with(|h| {
        let mut h = h.group("crowd", []);
        for number in 0..1_000_u32 {
            let name = format!("s{number}");
            h = h.object("server", &name, None, None);
            h = h.grant(&name, to_group("crowd").keys(["srv.server.read"]).on("server", &name));
        }
        for number in 0..100_000_u128 {
            let user = UserId::from_u128(1 << 64 | number);
            let profile = SealedProfile { username: tag(number), ..ids::profile("member") };
            h = h.event(charter_events::UserRegistered { user, kind: UserKind::Person, profile });
            h = h.event(charter_events::GroupMemberAdded { group, user });
        }
        h
    });
    w.refused("root", join("crowd", "a"), Code::LimitExceeded);
    let decided = w.ok("root", DeleteGroup { group });
    assert_eq!(decided.events.len(), 101_001);
    assert!(w.policy.group(group).is_none());
    assert_eq!(w.policy.grants_of(Subject::Group(group)).count(), 0);
    w.limits.command_events = 100;
    w.given(|h| (0..100).fold(h.group("more", []), |h, number| h.joined_as("more", number)));
    w.refused("root", DeleteGroup { group: ids::group("more") }, Code::TooManyConsequences);
}

fn tag(number: u128) -> charter_events::NameTag {
    let mut bytes = [0; 32];
    bytes[..16].copy_from_slice(&number.to_be_bytes());
    charter_events::NameTag::new(bytes)
}

trait JoinedAs {
    fn joined_as(self, group: &str, number: u128) -> Self;
}

impl JoinedAs for History {
    fn joined_as(self, group: &str, number: u128) -> Self {
        let user = UserId::from_u128(1 << 64 | number);
        self.event(charter_events::GroupMemberAdded { group: ids::group(group), user })
    }
}
