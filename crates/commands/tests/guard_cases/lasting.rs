//! Nothing lasting comes from something temporary, and nothing is undone by a side door: ways found by reading the
//! guards against one another.

use crate::{c01_to_c08::with_temporary_administrator, c09_to_c16::document, say::*, world::*};
use charter_commands::{CancelDeletion, Code, CreateObject, IssueToken};
use charter_events::{Event, Scope, UserKind};
use charter_policy::UserStatus;
use charter_testkit::{at, history::parsed, ids, to_user};

cases! {
    fn a_masked_token_of_a_temporary_administrator_makes_no_lasting_one() {
        let mut w = with_temporary_administrator(|h| h);
        let narrow = masked("t", &["core.user.*"]);
        let lasting = token("t", None, Some(&["core.user.*"]));
        w.refused_as(&narrow, lasting.clone(), Code::OutlivesHolder);
        w.ok_as(&narrow, IssueToken { expires_at: Some(at(SOON)), ..lasting });
    }

    fn what_is_denied_today_hides_nothing_that_ends_tomorrow() {
        let mut w = World::with(|h| {
            let h = h.role("both", "both", ["srv.server.read", "srv.server.start"]);
            let h = h.grant("timed", to_user("a").role("both").until(TOMORROW));
            h.grant("no", to_user("a").keys(["srv.server.start"]).deny())
        });
        w.refused("a", token("a", None, None), Code::OutlivesHolder);
        w.would("a", token("a", Some(at(SOON)), None));
    }

    fn tokens_that_ended_leave_room_for_others() {
        let mut w = World::new();
        w.limits.user_tokens = 1;
        w.ok("a", token("a", Some(at(SOON)), None));
        let another = IssueToken { token: ids::token("another"), ..token("a", None, None) };
        w.refused("a", another.clone(), Code::LimitExceeded);
        w.at(SOON);
        w.ok("a", another);
    }

    fn a_deletion_leaves_time_to_be_undone() {
        let mut w = World::with(|h| allow(h, "a", &["core.user.delete"]));
        w.would("root", schedule("c", SOON));
        w.refused("a", schedule("c", SOON), Code::NotHeld);
        w.would("a", schedule("c", TOMORROW));
        let mut w = with_temporary_administrator(|h| h);
        w.refused("t", schedule("c", "2026-03-01T12:00:01Z"), Code::OutlivesHolder);
        w.would("t", schedule("c", TOMORROW));
    }

    fn calling_a_deletion_off_lifts_no_suspension_and_accepts_no_invitation() {
        let mut w = World::with(|h| allow(h, "a", &["core.user.delete"]).suspended("b").invited("guest"));
        for (who, before) in
            [("b", UserStatus::Suspended), ("guest", UserStatus::Invited), ("c", UserStatus::Active)]
        {
            w.ok("a", schedule(who, TOMORROW));
            w.ok("a", CancelDeletion { user: user(who) });
            assert_eq!(w.policy.user(user(who)).unwrap().status, before, "{who}");
        }
    }

    fn an_external_id_takes_a_holding_as_lasting_as_the_name() {
        let mut w = World::with(|h| h.grant("timed", to_user("a").keys(["srv.server.create"]).until(TOMORROW)));
        let named = CreateObject { external_id: Some(parsed("prod-1")), ..create("server", None) };
        w.would("root", named.clone());
        w.refused("a", named, Code::OutlivesHolder);
        w.would("a", create("server", None));
    }

    fn a_catalog_takes_an_administrator_as_lasting_as_its_keys() {
        let mut w = with_temporary_administrator(|h| h);
        let mut more = document();
        more.permissions[0].description = ids::shown("Make one");
        w.would("root", more.clone());
        w.refused("t", more, Code::OutlivesHolder);
    }

    fn a_masked_token_edits_not_its_own_user() {
        let mut w = World::with(|h| allow(h, "a", &["core.user.edit"]));
        w.would("a", edit("a", ids::profile("renamed")));
        let narrow = masked("a", &["core.user.edit"]);
        w.refused_as(&narrow, edit("a", ids::profile("renamed")), Code::TokenTooNarrow);
    }

    fn turning_somebody_stronger_into_a_service_is_taking_his_password() {
        let mut w = World::with(|h| {
            let h = allow(allow(h, "a", &["core.user.edit"]), "b", &["srv.server.start"]);
            h.event(password("b")).event(password("c"))
        });
        w.refused("a", turn_into("b", UserKind::Service), Code::NotHeld);
        let events = w.ok("a", turn_into("c", UserKind::Service)).events;
        assert_eq!(
            events.iter().map(Event::type_name).collect::<Vec<_>>(),
            ["user.profile_changed", "credential.password_changed", "credential.sessions_ended"]
        );
    }

    fn timed_grants_elsewhere_make_no_guard_dearer() {
        // Grants on other objects say nothing about this one, so their begins and ends are no moments to judge.
        let mut w = World::with(|h| {
            let h = allow(h, "a", &["core.grant.manage", "srv.server.read"]);
            let mut h = h.object("server", "o", None, Some("b"));
            for number in 0..200 {
                let name = format!("o{number}");
                h = h.object("server", &name, None, Some("b"));
                for moment in number * 60..(number + 1) * 60 {
                    let grant = to_user("a").keys(["srv.server.start"]).on("server", &name);
                    let (hour, minute, second) = (12 + moment / 3_600, moment / 60 % 60, moment % 60);
                    let end = format!("2026-03-03T{hour}:{minute:02}:{second:02}Z");
                    h = h.grant(&format!("g{moment}"), grant.until(&end));
                }
            }
            h
        });
        w.would("a", issue("c", &["srv.server.read"], on_server("o")));
        w.would("a", issue("c", &["srv.server.read"], Scope::Global));
    }
}
