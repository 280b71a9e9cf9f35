//! What undoing restores, what it leaves alone, and what it says of what it can't undo.

use crate::{
    random_world::{PEOPLE, Play, keys},
    say::*,
    undo::{Happened, START, done, not_now, readers, recorded},
    world::*,
};
use charter_commands::*;
use charter_events::{
    BackupRestored, EndedBy, Event, GrantEnded, GrantExpired, GrantRevoked, Hash, Namespace,
    ObjectTransferred, Offset, RoleScope, Scope, UserKind,
};
use charter_policy::{Caller, Policy};
use charter_testkit::{at, history::parsed, ids, to_user};

cases! {
    fn a_transfer_back_brings_back_the_denies_that_it_ended() {
        let mut w = readers(|h| {
            let h = h.object("server", "o", None, Some("b")).administrator("b").event(password("b"));
            allow(h, "c", &[START]).grant("no", to_user("c").keys([START]).on("server", "o").deny())
        });
        assert!(!w.can("c", START, on_server("o")));
        let given = done(&mut w, "b", transfer("o", "c"));
        assert!(w.can("c", START, on_server("o")));
        let undone = done(&mut w, "b", given.undo());
        assert!(!w.can("c", START, on_server("o")) && w.can("b", START, on_server("o")));
        w.ok("b", undone.undo());
        assert!(w.can("c", START, on_server("o")));
    }

    fn what_was_changed_again_since_is_left_alone() {
        let mut w = readers(|h| h.object("server", "o", None, Some("c")).folder("f", None).folder("g", None));
        let renamed = done(&mut w, "root", rename(server("o"), "first"));
        let moved = done(&mut w, "root", move_to(server("o"), Some("f")));
        w.ok("root", rename(server("o"), "second"));
        w.ok("root", move_to(server("o"), Some("g")));
        assert_eq!(not_now(&w, &renamed.undo()), [Why::Superseded]);
        assert_eq!(not_now(&w, &moved.undo()), [Why::Superseded]);
        let why = w.refused("root", moved.undo(), Code::NotUndoable);
        assert!(why.detail.contains("`object.moved`"), "{}", why.detail);
    }

    fn what_was_changed_again_after_a_preview_is_left_alone_too() {
        let mut w = readers(|h| h.object("server", "o", None, Some("c")));
        let renamed = done(&mut w, "root", rename(server("o"), "first"));
        let undo = renamed.undo();
        w.would("root", undo.clone());
        w.ok("root", rename(server("o"), "second"));
        w.refused("root", undo, Code::NotUndoable);
    }

    fn what_is_so_again_is_not_undone_twice() {
        let mut w = readers(|h| h.group("g", ["d"]));
        let removed = done(&mut w, "root", leave("g", "d"));
        let undone = done(&mut w, "root", removed.undo());
        assert_eq!(not_now(&w, &removed.undo()), [Why::Already]);
        let again = done(&mut w, "root", undone.undo());
        // That he is out is the last undo's doing by now.
        assert_eq!(not_now(&w, &removed.undo()), [Why::Superseded]);
        w.would("root", again.undo());
    }

    fn what_is_in_use_by_now_is_not_unmade() {
        let mut w = readers(|h| h);
        let made = done(&mut w, "root", new_role("r", RoleScope::Both, &[START]));
        w.would("root", made.undo());
        let role = w.policy.role_by_slug("r").unwrap();
        let given = IssueGrant { content: charter_events::Content::Role(role), ..issue("c", &[], Scope::Global) };
        let given = done(&mut w, "root", given);
        assert_eq!(not_now(&w, &made.undo()), [Why::InUse]);
        w.ok("root", given.undo());
        w.ok("root", made.undo());
        assert!(w.policy.role(role).is_none());

        let folder = done(&mut w, "root", create("folder", None));
        let id = w.policy.objects().last().unwrap().id;
        let inside = done(&mut w, "root", CreateObject { parent: Some(id), ..create("server", None) });
        assert_eq!(not_now(&w, &folder.undo()), [Why::InUse]);
        w.ok("root", inside.undo());
        w.ok("root", folder.undo());
        assert!(w.policy.object(id).is_none());
    }

    fn each_item_of_a_role_is_undone_by_itself() {
        let mut w = readers(|h| h.role("r", "global", [START]));
        let added = ["srv.server.read", "srv.server.delete"];
        let changed = done(&mut w, "root", add_to_role("r", &added));
        w.ok("root", take_from_role("r", &added[..1]));
        w.ok("root", add_to_role("r", &["srv.server.manage"]));
        w.ok("root", changed.undo());
        let held = w.policy.role(ids::role("r")).unwrap().permissions.to_vec();
        assert_eq!(held, patterns(&["srv.server.manage", START]));
    }

    fn what_is_undone_ends_with_the_time_it_had() {
        let mut w = readers(|h| h.grant("soon", to_user("c").keys([START]).until(SOON)));
        let revoked = done(&mut w, "root", revoke("soon"));
        w.would("root", revoked.undo());
        w.at(SOON);
        assert_eq!(not_now(&w, &revoked.undo()), [Why::Passed]);
        let mut w = readers(|h| h);
        let off = schedule("c", TOMORROW);
        w.ok("root", off);
        let cancelled = done(&mut w, "root", CancelDeletion { user: user("c") });
        w.would("root", cancelled.undo());
        w.at(TOMORROW);
        assert_eq!(not_now(&w, &cancelled.undo()), [Why::Passed]);
    }

    fn a_token_is_revoked_by_undoing_that_it_was_issued_and_never_comes_back() {
        let mut w = readers(|h| h);
        let issued = done(&mut w, "c", token("c", None, None));
        let revoked = done(&mut w, "root", issued.undo());
        assert!(w.policy.tokens_of(user("c")).next().is_none());
        assert_eq!(revoked.never(), [Why::Secret]);
        assert_eq!(not_now(&w, &issued.undo()), [Why::Already]);
    }

    fn a_profile_is_as_it_was_and_a_password_set_since_is_not_lost() {
        let mut w = readers(|h| h);
        let renamed = done(&mut w, "root", edit("c", ids::profile("cc")));
        let into = done(&mut w, "root", turn_into("c", UserKind::Service));
        assert_eq!(not_now(&w, &renamed.undo()), [Why::Superseded]);
        w.ok("root", into.undo());
        w.ok("root", renamed.undo());
        assert_eq!(w.policy.user(user("c")).unwrap().profile, Some(&ids::profile("c")));
        w.ok("root", turn_into("c", UserKind::Service));
        let back = done(&mut w, "root", turn_into("c", UserKind::Person));
        w.ok("root", reset("c"));
        assert_eq!(not_now(&w, &back.undo()), [Why::Superseded]);
    }

    fn what_can_t_be_undone_says_why() {
        let mut w = readers(|h| {
            let h = h.object("server", "o", None, Some("c")).object("server", "p", None, None);
            h.grant("soon", to_user("c").keys([START]).until(SOON)).grant("x", to_user("x").keys([START]))
        });
        let deleted = done(&mut w, "root", DeleteObject { object: server("o") });
        assert_eq!(deleted.never(), [Why::Deleted, Why::Deleted]);
        assert_eq!(done(&mut w, "root", reset("c")).never(), [Why::Secret]);
        assert_eq!(done(&mut w, "root", EndSessions { user: user("c") }).never(), [Why::Session]);
        let invited = InviteUser { user: user("e"), kind: UserKind::Person, profile: ids::profile("e") };
        assert_eq!(done(&mut w, "root", invited).never(), [Why::Account]);
        assert_eq!(done(&mut w, "root", transfer("p", "c")).never(), [Why::NoOwner]);
        w.at(SOON);
        let expired = recorded(&mut w, vec![GrantExpired { grant: ids::grant("soon") }.into()]);
        assert_eq!(expired.never(), [Why::Passed]);
        let keys = vec![key("srv.server.start")];
        let removed = done(&mut w, "root", RemovePermissions { namespace: parsed("srv"), keys });
        assert!(removed.never().iter().all(|why| *why == Why::Catalog));
        w.ok("root", schedule("x", TOMORROW));
        w.at(TOMORROW);
        let erased = done(&mut w, "system", EraseUser { user: user("x") });
        assert!(erased.never().iter().all(|why| [Why::Erased, Why::Secret].contains(why)));
        let restored = BackupRestored { head: Offset::ZERO, hash: Hash::ZERO, digest: Hash::ZERO };
        assert_eq!(recorded(&mut w, vec![restored.into()]).never(), [Why::Record]);
        let beginning = Happened { before: Policy::new(), first: Offset::ZERO.plus(1).unwrap(), events: vec![
            charter_events::InstallationCreated { name: ids::shown("Test") }.into(),
        ] };
        assert_eq!(beginning.never(), [Why::Beginning]);
    }

    fn whose_account_is_erased_gets_nothing_back() {
        let mut w = readers(|h| h.object("server", "o", None, Some("x")).group("g", ["x"]));
        let given = done(&mut w, "root", transfer("o", "c"));
        let removed = done(&mut w, "root", leave("g", "x"));
        let renamed = done(&mut w, "root", edit("x", ids::profile("xx")));
        w.ok("root", schedule("x", TOMORROW));
        w.at(TOMORROW);
        w.ok("system", EraseUser { user: user("x") });
        assert_eq!(not_now(&w, &given.undo()), [Why::Erased]);
        assert_eq!(not_now(&w, &removed.undo()), [Why::Gone]);
        assert_eq!(not_now(&w, &renamed.undo()), [Why::Erased]);
    }

    fn of_many_reasons_the_first_twenty_are_listed() {
        let mut w = readers(|h| (0..30).fold(h, |h, n| {
            h.grant(&format!("n{n}"), to_user("x").keys([START]).from(&format!("2026-03-03T12:00:{n:02}Z")))
        }));
        let by = EndedBy::Namespace(Namespace::core());
        let ended = (0..30).map(|n| GrantEnded { grant: ids::grant(&format!("n{n}")), by: by.clone() }.into());
        let ended = recorded(&mut w, ended.collect());
        let not = ended.try_undo().unwrap_err();
        assert_eq!((not.reasons.len(), not.more), (20, 10));
        assert_eq!(not.reasons[0].offset, ended.first);
        assert!(not.to_string().ends_with("and 29 more"), "{not}");
    }

    fn what_only_goes_with_something_else_is_not_undone_alone() {
        let mut w = readers(|h| h.object("server", "o", None, Some("c")));
        let by = EndedBy::Transfer(server("o"));
        let ended = GrantEnded { grant: ids::grant("owner:server:o"), by };
        assert_eq!(recorded(&mut w, vec![ended.into()]).never(), [Why::Gone]);
    }

    fn an_event_about_what_nobody_knew_is_not_undone() {
        let w = readers(|h| h);
        let (before, first) = (w.policy.clone(), w.policy.version());
        let happened = |event: Event| Happened { before: before.clone(), first, events: vec![event] };
        assert_eq!(happened(GrantRevoked { grant: ids::grant("none") }.into()).never(), [Why::Gone]);
        let moved = ObjectTransferred { object: server("none"), owner: user("c") };
        assert_eq!(happened(moved.into()).never(), [Why::Gone]);
    }
}

/// Everything everybody may do at all places of a state, today and later.
fn decisions(places: &Policy, policy: &Policy) -> Vec<bool> {
    let scopes: Vec<_> =
        places.objects().map(|object| Scope::Object(object.id)).chain([Scope::Global]).collect();
    let mut all = Vec::new();
    for moment in [NOW, SOON, TOMORROW].map(at) {
        for who in PEOPLE.map(ids::user) {
            for scope in &scopes {
                all.extend(keys(policy).iter().map(|key| policy.check(who, key, *scope, moment).allowed()));
            }
        }
    }
    all
}

#[test]
fn what_is_undone_at_once_was_never_there() {
    let (mut accepted, mut undone) = (0, 0);
    for seed in 0..120 {
        let mut play = Play::new(seed);
        for number in 0..40 {
            let (actor, command) = play.next();
            let before = play.world.policy.clone();
            let Ok(decided) = play.world.decide(&Caller::of(actor), command.clone()) else { continue };
            if decided.events.is_empty() {
                continue;
            }
            accepted += 1;
            let happened = recorded(&mut play.world, decided.events);
            let Ok(undo) = happened.try_undo() else { continue };
            let told = format!("world {seed}, command {number}: {command:?}");
            let after = play.world.policy.clone();
            match play.world.decide(&caller("root"), undo) {
                // What ended by its own time already.
                Err(why) if why.code == Code::NotUndoable => {}
                Err(why) => panic!("{told} is not undone by the administrator: {why:?}"),
                Ok(back) => {
                    undone += 1;
                    drop(recorded(&mut play.world, back.events));
                }
            }
            assert_eq!(decisions(&before, &play.world.policy), decisions(&before, &before), "{told}");
            // The play goes on as if nothing had been undone.
            play.world.policy = after;
        }
    }
    println!("{accepted} accepted, {undone} undone");
    assert!(undone * 2 >= accepted && undone > 500, "{undone} of {accepted} undone: worth nothing");
}

#[test]
fn a_large_command_is_undone_as_a_whole() {
    let names: Vec<String> = (0..20_000).map(|n| format!("u{n}")).collect();
    let mut w = readers(|h| {
        let h = names.iter().fold(h, |h, name| h.user(name)).group("all", names.iter().map(String::as_str));
        (0..500).fold(h, |h, n| {
            let name = format!("o{n}");
            let grant = charter_testkit::to_group("all").keys([START]).on("server", &name);
            h.object("server", &name, None, None).grant(&name, grant)
        })
    });
    let deleted = done(&mut w, "root", DeleteGroup { group: ids::group("all") });
    assert_eq!(deleted.events.len(), 20_501);
    let undone = w.ok("root", deleted.undo());
    assert_eq!(undone.events.len(), 20_501);
    assert!(w.can("u19999", START, on_server("o499")));
}

#[test]
fn a_command_of_too_many_events_is_not_undone() {
    let mut w = readers(|h| h);
    let one = recorded(&mut w, vec![charter_events::CredentialSessionsEnded { user: user("c") }.into()]);
    let events = vec![
        charter_events::GroupMemberAdded { group: ids::group("g"), user: user("c") }.into();
        UNDO_EVENTS_MAX + 1
    ];
    let large = Happened { events, ..one };
    w.refused("root", large.undo(), Code::LimitExceeded);
}
