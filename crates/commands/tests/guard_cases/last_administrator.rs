//! Every way to lose an administrator, after every other way: one always remains.

use crate::{say::*, world::*};
use charter_commands::{ChangePassword, Code, Command, DeleteGroup, DeleteRole};
use charter_events::UserKind;
use charter_testkit::{History, ids, to_group, to_user};

/// Two administrators, each by a custom role of his own, `first` by his own grant and `second` through a group.
fn two(h: History) -> History {
    let h = h.revoked("administrator:root").user("first").user("second");
    let h = h.event(password("first")).event(password("second"));
    let h = h.role("all1", "global", ["*"]).role("all2", "both", ["*"]).group("admins", ["second"]);
    h.grant("first", to_user("first").role("all1")).grant("second", to_group("admins").role("all2"))
}

/// The ways to lose `first` and the ways to lose `second`.
fn ways() -> (Vec<Command>, Vec<Command>) {
    let of_account = |who: &str| -> Vec<Command> {
        vec![
            suspend(who).into(),
            schedule(who, TOMORROW).into(),
            turn_into(who, UserKind::Service).into(),
            ChangePassword { user: user(who), has_password: false }.into(),
        ]
    };
    let (mut first, mut second) = (of_account("first"), of_account("second"));
    first.push(revoke("first").into());
    first.push(take_from_role("all1", &["*"]).into());
    first.push(DeleteRole { role: ids::role("all1") }.into());
    second.push(revoke("second").into());
    second.push(take_from_role("all2", &["*"]).into());
    second.push(DeleteRole { role: ids::role("all2") }.into());
    second.push(leave("admins", "second").into());
    second.push(DeleteGroup { group: ids::group("admins") }.into());
    (first, second)
}

cases! {
    fn after_any_way_to_lose_one_no_way_loses_the_other() {
        let (first, second) = ways();
        for lost in &first {
            for last in &second {
                let mut w = World::with(two);
                w.would("first", last.clone());
                w.ok("second", lost.clone());
                w.refused("second", last.clone(), Code::LastAdministrator);
                w.refused("system", last.clone(), Code::LastAdministrator);
            }
        }
    }

    fn nor_the_other_way_round() {
        let (first, second) = ways();
        for lost in &second {
            for last in &first {
                let mut w = World::with(two);
                w.ok("first", lost.clone());
                w.refused("first", last.clone(), Code::LastAdministrator);
                w.refused("system", last.clone(), Code::LastAdministrator);
            }
        }
    }

    fn one_command_that_loses_both_is_refused() {
        let mut w = World::with(|h| {
            let h = two(h).revoked("first");
            h.joined("admins", "first")
        });
        w.would("first", leave("admins", "first"));
        w.refused("first", DeleteGroup { group: ids::group("admins") }, Code::LastAdministrator);
        w.refused("first", revoke("second"), Code::LastAdministrator);
    }

    fn a_grant_on_an_object_makes_no_administrator() {
        let mut w = World::with(|h| {
            let h = two(h).object("server", "o", None, Some("second"));
            h.grant("o", to_user("a").role("all2").on("server", "o"))
        });
        w.ok("first", suspend("second"));
        w.refused("first", suspend("first"), Code::LastAdministrator);
        w.would("first", revoke("o"));
    }
}
