//! Guard cases 1 to 8.

use crate::{say::*, world::*};
use charter_commands::{Class, Code, ReactivateUser};
use charter_events::{Scope, UserKind};
use charter_testkit::{History, at, ids, to_group, to_user};

/// Owner `b`'s server `o` in folder `f`.
fn server_of_b(h: History) -> History {
    h.folder("f", None).object("server", "o", Some("f"), Some("b"))
}

/// `t` is an administrator for an hour; `root` for good.
pub(crate) fn with_temporary_administrator(more: impl FnOnce(History) -> History) -> World {
    World::with(|h| {
        let h = server_of_b(h).user("t").event(password("t"));
        more(h.grant("hour", to_user("t").role("administrator").until(SOON)))
    })
}

cases! {
    fn case_01_who_may_transfer_an_object_does_not_take_it_over() {
        let mut w = World::with(|h| allow_on(server_of_b(h), "a", "o", &["core.object.transfer"]));
        w.would("b", transfer("o", "c"));
        w.would("root", transfer("o", "a"));
        let why = w.refused("a", transfer("o", "a"), Code::NotHeld);
        assert_eq!(why.missing, ["*"]);
    }

    fn case_02_who_may_move_an_object_does_not_bring_it_under_a_grant_of_his() {
        let delegate = ["core.grant.manage", "core.object.move"];
        let mut w = World::with(|h| {
            let h = allow_on(server_of_b(h), "a", "o", &delegate).folder("mine", None).folder("other", None);
            let h = allow_in(h, "a", "mine", &["srv.server.create", "srv.server.delete"]);
            allow_in(h, "a", "other", &["srv.server.create"])
        });
        w.would("root", move_to(server("o"), Some("mine")));
        let why = w.refused("a", move_to(server("o"), Some("mine")), Code::NotHeld);
        assert_eq!(why.missing, ["srv.server.create", "srv.server.delete"]);
    }

    fn case_02_nor_out_of_a_folder_that_denies_him() {
        let mut w = World::with(|h| {
            let h = allow_on(server_of_b(h), "a", "o", &["core.grant.manage", "core.object.move"]);
            let h = allow(h, "a", &["srv.server.create", "srv.server.start"]);
            h.grant("no", to_user("a").keys(["srv.server.start"]).on("folder", "f").deny())
        });
        w.would("root", move_to(server("o"), None));
        let why = w.refused("a", move_to(server("o"), None), Code::NotHeld);
        assert_eq!(why.missing, ["srv.server.start"]);
    }

    fn case_02_nor_by_opening_a_sealed_object_to_it() {
        let mut w = World::with(|h| {
            let h = server_of_b(h).inherits("server", "o", false);
            let h = allow_on(h, "a", "o", &["core.grant.manage"]);
            allow_in(h, "a", "f", &["srv.server.delete"])
        });
        w.would("root", inherits(server("o"), true));
        w.would("b", inherits(server("o"), true));
        let why = w.refused("a", inherits(server("o"), true), Code::NotHeld);
        assert_eq!(why.missing, ["srv.server.delete"]);
    }

    fn case_02_moving_needs_to_manage_grants_on_the_object() {
        let mut w = World::with(|h| {
            let h = allow_on(server_of_b(h), "a", "o", &["core.object.move", "srv.server.read"]);
            h.folder("empty", None).grant("in", to_user("a").keys(["srv.server.create"]).on("folder", "empty"))
        });
        let why = w.refused("a", move_to(server("o"), Some("empty")), Code::Forbidden);
        assert_eq!(why.missing, ["core.grant.manage"]);
    }

    fn case_03_the_owner_s_grant_is_not_revoked() {
        let mut w = World::with(|h| {
            let h = allow_on(server_of_b(h), "a", "o", &["core.grant.manage"]);
            allow_on(h, "c", "o", &["core.grant.manage"])
        });
        w.would("a", revoke("c:o"));
        w.refused("a", revoke("owner:server:o"), Code::OwnerGrant);
        w.refused("root", revoke("owner:server:o"), Code::OwnerGrant);
        w.refused("b", revoke("owner:server:o"), Code::OwnerGrant);
    }

    fn case_04_who_only_manages_grants_does_not_demote_administrators() {
        let mut w = World::with(|h| {
            let h = h.user("root2").event(password("root2")).administrator("root2");
            allow(h, "a", &["core.grant.manage"])
        });
        w.would("root", revoke("administrator:root2"));
        let why = w.refused("a", revoke("administrator:root2"), Code::NotHeld);
        assert_eq!(why.missing, ["*"]);
    }

    fn case_04_nor_does_who_only_manages_groups() {
        let mut w = World::with(|h| {
            let h = h.user("root2").event(password("root2")).group("admins", ["root2"]);
            let h = h.grant("admins", to_group("admins").role("administrator"));
            allow(h, "a", &["core.group.delete", "core.group.manage"])
        });
        w.would("root", leave("admins", "root2"));
        w.refused("a", leave("admins", "root2"), Code::NotHeld);
        w.refused("a", charter_commands::DeleteGroup { group: ids::group("admins") }, Code::NotHeld);
    }

    fn case_05_an_administrator_for_an_hour_adds_nobody_to_a_group_with_lasting_grants() {
        let mut w = with_temporary_administrator(|h| {
            h.group("ops", []).grant("ops", to_group("ops").keys(["srv.server.start"]))
        });
        w.would("root", join("ops", "a"));
        w.refused("t", join("ops", "a"), Code::OutlivesHolder);
    }

    fn case_05_adds_nothing_to_a_role_and_creates_none() {
        let mut w = with_temporary_administrator(|h| h.role("r", "both", ["srv.server.read"]));
        w.would("root", add_to_role("r", &["srv.server.start"]));
        w.refused("t", add_to_role("r", &["srv.server.start"]), Code::OutlivesHolder);
        let made = new_role("made", charter_events::RoleScope::Both, &["srv.server.start"]);
        w.would("root", made.clone());
        w.refused("t", made, Code::OutlivesHolder);
    }

    fn case_05_lifts_no_lasting_deny_on_himself() {
        let mut w = with_temporary_administrator(|h| {
            h.grant("no", to_user("t").keys(["srv.server.start"]).deny())
        });
        w.would("root", revoke("no"));
        w.refused("t", revoke("no"), Code::OutlivesHolder);
    }

    fn case_05_leaves_no_group_with_a_deny() {
        let mut w = with_temporary_administrator(|h| {
            let h = h.group("kept", ["t"]).grant("kept", to_group("kept").keys(["srv.server.start"]).deny());
            h.group("free", ["t"]).grant("free", to_group("free").keys(["srv.server.start"]))
        });
        w.would("root", leave("kept", "t"));
        w.would("t", leave("free", "t"));
        w.refused("t", leave("kept", "t"), Code::OutlivesHolder);
    }

    fn case_05_deletes_no_group_with_a_deny() {
        let mut w = with_temporary_administrator(|h| {
            h.group("kept", ["a"]).grant("kept", to_group("kept").keys(["srv.server.start"]).deny())
        });
        let delete = charter_commands::DeleteGroup { group: ids::group("kept") };
        w.would("root", delete.clone());
        w.refused("t", delete, Code::OutlivesHolder);
    }

    fn case_05_moves_nothing_under_another_s_grants_and_transfers_nothing() {
        let mut w = with_temporary_administrator(|h| {
            allow_in(h.folder("g", None), "c", "g", &["srv.server.start"])
        });
        w.would("root", move_to(server("o"), Some("g")));
        w.refused("t", move_to(server("o"), Some("g")), Code::OutlivesHolder);
        w.would("root", transfer("o", "t"));
        w.refused("t", transfer("o", "t"), Code::OutlivesHolder);
    }

    fn case_05_issues_no_lasting_grant_and_himself_no_lasting_token() {
        let mut w = with_temporary_administrator(|h| h);
        w.would("root", issue("a", &["srv.server.start"], Scope::Global));
        w.refused("t", issue("a", &["srv.server.start"], Scope::Global), Code::OutlivesHolder);
        w.would("t", until(issue("a", &["srv.server.start"], Scope::Global), SOON));
        let longer = until(issue_role("t", "administrator", Scope::Global), TOMORROW);
        w.refused("t", longer, Code::OutlivesHolder);
        w.would("root", token("root", None, None));
        w.would("t", token("t", Some(at(SOON)), None));
        w.refused("t", token("t", None, None), Code::OutlivesHolder);
        w.refused("t", token("t", Some(at(TOMORROW)), None), Code::OutlivesHolder);
        w.would("a", token("a", None, None));
    }

    fn case_05_resets_nobody_s_password_who_has_more_for_good() {
        let mut w = with_temporary_administrator(|h| allow(h, "a", &["srv.server.start"]));
        w.would("root", reset("a"));
        w.would("t", reset("c"));
        w.refused("t", reset("a"), Code::OutlivesHolder);
    }

    fn case_06_a_deny_that_has_not_begun_is_not_lifted_by_whom_it_will_bind() {
        let mut w = World::with(|h| {
            let h = allow(h, "a", &["core.grant.manage", "srv.server.start"]);
            h.grant("no", to_user("a").keys(["srv.server.start"]).deny().from(TOMORROW))
        });
        w.would("root", revoke("no"));
        let why = w.refused("a", revoke("no"), Code::OutlivesHolder);
        assert_eq!(why.code.class(), Class::Forbidden);
    }

    fn case_06_nor_one_that_binds_him_already() {
        let mut w = World::with(|h| {
            let h = allow(h, "a", &["core.grant.manage", "srv.server.start"]);
            h.grant("no", to_user("a").keys(["srv.server.start"]).deny())
        });
        w.would("root", revoke("no"));
        w.refused("a", revoke("no"), Code::NotHeld);
    }

    fn case_07_helpdesk_resets_nobody_stronger() {
        let mut w = World::with(|h| {
            let h = allow(h, "a", &["core.user.edit"]);
            let h = h.object("server", "o", None, Some("b"));
            let h = h.user("gone").administrator("gone").suspended("gone");
            let h = h.user("next").grant("next", to_user("next").role("administrator").from(TOMORROW));
            h.group("ops", ["d"]).grant("ops", to_group("ops").keys(["srv.server.start"]))
        });
        w.would("a", reset("c"));
        for stronger in ["b", "gone", "next", "d"] {
            w.would("root", reset(stronger));
            w.refused("a", reset(stronger), Code::NotHeld);
            if stronger != "gone" {
                w.would("root", token(stronger, None, None));
                w.refused("a", token(stronger, None, None), Code::NotHeld);
            }
        }
    }

    fn case_08_what_is_no_lasting_administrator_does_not_count_as_the_one_that_remains() {
        let begun = |h: History, w: &str| h.grant(w, to_user(w).role("administrator"));
        let worlds: [(&str, &dyn Fn(History) -> History); 6] = [
            ("begins tomorrow", &|h| h.user("o").event(password("o"))
                .grant("o", to_user("o").role("administrator").from(TOMORROW))),
            ("ends tomorrow", &|h| h.user("o").event(password("o"))
                .grant("o", to_user("o").role("administrator").until(TOMORROW))),
            ("is an invited user's", &|h| begun(h.invited("o"), "o")),
            ("is a service's", &|h| begun(h.service("o"), "o")),
            ("is a suspended user's", &|h| begun(h.user("o").event(password("o")), "o").suspended("o")),
            ("is of somebody without a way to sign in", &|h| begun(h.user("o"), "o")),
        ];
        for (why, other) in worlds {
            let mut w = World::with(other);
            let refusal = w.refused("root", suspend("root"), Code::LastAdministrator);
            assert_eq!(refusal.code.class(), Class::Conflict, "{why}");
        }
        let mut w = World::with(|h| begun(h.user("o").event(password("o")), "o"));
        w.would("root", suspend("root"));
    }

    fn case_08_every_way_to_lose_the_last_administrator_is_refused() {
        let mut w = World::with(|h| {
            let h = h.revoked("administrator:root").role("all", "global", ["*"]).group("admins", ["root"]);
            h.grant("admins", to_group("admins").role("all"))
        });
        let (group, role) = (ids::group("admins"), ids::role("all"));
        w.refused("root", suspend("root"), Code::LastAdministrator);
        w.refused("root", schedule("root", TOMORROW), Code::LastAdministrator);
        w.refused("root", revoke("admins"), Code::LastAdministrator);
        w.refused("root", leave("admins", "root"), Code::LastAdministrator);
        w.refused("root", charter_commands::DeleteGroup { group }, Code::LastAdministrator);
        w.refused("root", charter_commands::DeleteRole { role }, Code::LastAdministrator);
        w.refused("root", take_from_role("all", &["*"]), Code::LastAdministrator);
        w.refused("root", turn_into("root", UserKind::Service), Code::LastAdministrator);
        let without = charter_commands::ChangePassword { user: user("root"), has_password: false };
        w.refused("root", without.clone(), Code::LastAdministrator);
        w.refused("system", without, Code::LastAdministrator);
        w.given(|h| h.user("root2").event(password("root2")).administrator("root2"));
        w.would("root", suspend("root"));
        w.would("root", leave("admins", "root"));
        w.ok("root", suspend("root2"));
        w.refused("root", suspend("root"), Code::LastAdministrator);
        w.ok("root", ReactivateUser { user: user("root2") });
        w.ok("root", suspend("root"));
        w.refused("root2", suspend("root2"), Code::LastAdministrator);
    }

    fn case_08_two_who_remove_each_other_leave_one() {
        let mut w = World::with(|h| h.user("root2").event(password("root2")).administrator("root2"));
        w.would("root2", revoke("administrator:root"));
        w.ok("root", revoke("administrator:root2"));
        w.refused("root2", revoke("administrator:root"), Code::NotFound);
        w.refused("root", revoke("administrator:root"), Code::LastAdministrator);
    }
}
