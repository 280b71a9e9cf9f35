//! What went another way after a command and came back again is a later decision: undoing the command leaves it alone.

use crate::{
    say::*,
    undo::{START, done, not_now, readers},
    world::*,
};
use charter_commands::*;
use charter_events::{Event, GroupMemberRemoved, RoleScope, Scope, UserKind};
use charter_testkit::{history::parsed, ids, to_user};

/// The command happens, then these, and the last of them leads to what the command had led to: undoing the command is
/// refused, undoing the last one is not.
fn came_back(w: &mut World, command: impl Into<Command>, since: Vec<Command>) {
    let first = done(w, "root", command);
    let since: Vec<_> = since.into_iter().map(|command| done(w, "root", command)).collect();
    w.refused("root", first.undo(), Code::NotUndoable);
    assert_eq!(not_now(w, &first.undo()), [Why::Superseded], "{:?}", first.events);
    since.last().into_iter().for_each(|last| w.would("root", last.undo()));
}

cases! {
    fn a_suspension_that_came_back() {
        let mut w = readers(|h| h);
        came_back(&mut w, suspend("c"), vec![ReactivateUser { user: user("c") }.into(), suspend("c").into()]);
    }

    fn an_account_that_works_again_again() {
        let mut w = readers(|h| h);
        w.ok("root", suspend("c"));
        let back = ReactivateUser { user: user("c") };
        came_back(&mut w, back.clone(), vec![suspend("c").into(), back.into()]);
    }

    fn a_deletion_scheduled_again_or_called_off_again() {
        let off = CancelDeletion { user: user("c") };
        let mut w = readers(|h| h);
        came_back(&mut w, schedule("c", TOMORROW), vec![off.clone().into(), schedule("c", TOMORROW).into()]);
        came_back(&mut w, off.clone(), vec![schedule("c", TOMORROW).into(), off.into()]);
    }

    fn a_membership_that_came_back_or_ended_again() {
        let mut w = readers(|h| h.group("g", []));
        came_back(&mut w, join("g", "d"), vec![leave("g", "d").into(), join("g", "d").into()]);
        came_back(&mut w, leave("g", "d"), vec![join("g", "d").into(), leave("g", "d").into()]);
    }

    fn a_grant_given_and_taken_back_again() {
        let mut w = readers(|h| h.grant("start", to_user("c").keys([START])));
        let revoked = done(&mut w, "root", revoke("start"));
        // For an hour: it is the same access, decided again.
        let given = done(&mut w, "root", until(issue("c", &[START], Scope::Global), SOON));
        assert_eq!(not_now(&w, &revoked.undo()), [Why::Superseded]);
        w.ok("root", given.undo());
        assert_eq!(not_now(&w, &revoked.undo()), [Why::Superseded]);
        w.refused("root", revoked.undo(), Code::NotUndoable);
        assert!(!w.can("c", START, Scope::Global));
    }

    fn a_grant_of_something_else_since_stands_in_no_way() {
        let mut w = readers(|h| h.grant("start", to_user("c").keys([START])).object("server", "o", None, None));
        let revoked = done(&mut w, "root", revoke("start"));
        for other in [
            deny("c", &[START], on_server("o")),
            issue("c", &["srv.server.read"], Scope::Global),
            issue("d", &[START], Scope::Global),
        ] {
            let given = done(&mut w, "root", other);
            w.ok("root", given.undo());
        }
        w.ok("root", revoked.undo());
        assert!(w.can("c", START, Scope::Global));
    }

    fn an_item_of_a_role_that_came_back_stays_and_the_others_go() {
        let mut w = readers(|h| h.role("r", "global", [START]));
        let both = ["srv.server.read", "srv.server.delete"];
        let added = done(&mut w, "root", add_to_role("r", &both));
        w.ok("root", take_from_role("r", &both[..1]));
        w.ok("root", add_to_role("r", &both[..1]));
        w.ok("root", added.undo());
        let held = w.policy.role(ids::role("r")).map(|role| role.permissions.to_vec());
        assert_eq!(held, Some(patterns(&["srv.server.read", START])));
        came_back(&mut w, take_from_role("r", &[START]), vec![
            add_to_role("r", &[START]).into(),
            take_from_role("r", &[START]).into(),
        ]);
    }

    fn a_deleted_role_or_group_made_and_deleted_again() {
        let mut w = readers(|h| h.role("r", "global", [START]).group("g", []));
        let deleted = done(&mut w, "root", DeleteRole { role: ids::role("r") });
        let made = done(&mut w, "root", new_role("r", RoleScope::Both, &[START]));
        w.ok("root", made.undo());
        assert_eq!(not_now(&w, &deleted.undo()), [Why::Superseded]);
        let deleted = done(&mut w, "root", DeleteGroup { group: ids::group("g") });
        let made = done(&mut w, "root", CreateGroup { slug: parsed("g"), name: ids::shown("Again") });
        w.ok("root", made.undo());
        assert_eq!(not_now(&w, &deleted.undo()), [Why::Superseded]);
    }

    fn names_that_came_back() {
        let mut w = readers(|h| h.group("g", []).role("r", "global", [START]));
        let group = |name: &str| RenameGroup { group: ids::group("g"), name: ids::shown(name) };
        came_back(&mut w, group("one"), vec![group("two").into(), group("one").into()]);
        let role = |name: &str| {
            let (add, remove) = (Vec::new(), Vec::new());
            ChangeRole { role: ids::role("r"), name: Some(ids::shown(name)), add, remove }
        };
        came_back(&mut w, role("one"), vec![role("two").into(), role("one").into()]);
        let profile = |name: &str| edit("c", ids::profile(name));
        came_back(&mut w, profile("one"), vec![profile("two").into(), profile("one").into()]);
        let kind = |kind| turn_into("d", kind);
        came_back(&mut w, kind(UserKind::Service), vec![
            kind(UserKind::Person).into(),
            kind(UserKind::Service).into(),
        ]);
    }

    fn what_of_an_object_came_back() {
        let mut w = readers(|h| {
            let h = h.administrator("b").event(password("b"));
            h.object("server", "o", None, Some("b")).folder("f", None).folder("g", None)
        });
        let o = server("o");
        came_back(&mut w, rename(o, "one"), vec![rename(o, "two").into(), rename(o, "one").into()]);
        came_back(&mut w, move_to(o, Some("f")), vec![
            move_to(o, Some("g")).into(),
            move_to(o, Some("f")).into(),
        ]);
        came_back(&mut w, inherits(o, false), vec![inherits(o, true).into(), inherits(o, false).into()]);
        came_back(&mut w, transfer("o", "c"), vec![transfer("o", "d").into(), transfer("o", "c").into()]);
    }

    fn an_object_s_name_and_external_id_are_two_decisions() {
        let mut w = readers(|h| h.object("server", "o", None, Some("c")));
        let named = |name: Option<&str>, id: Option<&str>| RenameObject {
            object: server("o"),
            name: name.map(ids::shown),
            external_id: id.map(|id| Some(parsed(id))),
        };
        let renamed = done(&mut w, "root", named(Some("one"), None));
        w.ok("root", named(None, Some("prod-1")));
        w.ok("root", renamed.undo());
        let numbered = done(&mut w, "root", named(None, Some("prod-2")));
        w.ok("root", named(None, Some("prod-3")));
        w.ok("root", named(None, Some("prod-2")));
        assert_eq!(not_now(&w, &numbered.undo()), [Why::Superseded]);
    }

    fn an_undo_that_was_not_told_of_all_that_happened_is_refused() {
        let mut w = readers(|h| h.group("g", ["d"]));
        let removed = done(&mut w, "root", leave("g", "d"));
        let mut undo = removed.undo();
        w.ok("root", join("g", "d"));
        w.ok("root", leave("g", "d"));
        let (policy, now) = (w.policy.clone(), w.now);
        let decided = |undo: &Undo| {
            let (caller, limits) = (caller("root"), Limits::default());
            let mut ids = uuid::Uuid::nil;
            let mut ctx = Context::new(&caller, now, &mut ids, &limits);
            decide(&policy, &undo.clone().into(), &mut ctx).map_err(|refusal| refusal.code)
        };
        assert_eq!(decided(&undo), Err(Code::Stale));
        let next = undo.seen().plus(1).and_then(|next| next.plus(1));
        let left: Event = GroupMemberRemoved { group: ids::group("g"), user: user("d") }.into();
        next.into_iter().for_each(|offset| undo.saw(offset, &left));
        assert_eq!(decided(&undo), Err(Code::Stale), "it misses one");
        // The world tells it, as the writer does.
        w.refused("root", undo, Code::NotUndoable);
    }
}
