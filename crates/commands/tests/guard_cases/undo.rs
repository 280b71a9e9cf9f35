//! Undoing is no way around a guard: each case has the same command by somebody who may as its control. What it
//! does restore stands in `undo_restores`.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a mistake in a case's own data should stop it at once"
)]

use crate::{say::*, world::*};
use charter_commands::*;
use charter_events::{Event, Offset, Scope, Subject, UserSuspended};
use charter_policy::Policy;
use charter_testkit::{History, history::parsed, ids, to_group, to_user};

/// A command as it stands in the log.
pub(crate) struct Happened {
    pub(crate) before: Policy,
    pub(crate) first: Offset,
    pub(crate) events: Vec<Event>,
}

impl Happened {
    pub(crate) fn undo(&self) -> Undo {
        self.try_undo().unwrap_or_else(|not| panic!("{:?} can't be undone: {not}", self.events))
    }

    pub(crate) fn try_undo(&self) -> Result<Undo, NotUndoable> {
        Undo::of(&self.before, self.first, &self.events)
    }

    /// Why it can't be undone, whatever the state is by now.
    pub(crate) fn never(&self) -> Vec<Why> {
        self.try_undo().expect_err("it can be undone").reasons.iter().map(|reason| reason.why).collect()
    }
}

/// A command happens.
pub(crate) fn done(w: &mut World, who: &str, command: impl Into<Command>) -> Happened {
    let (before, first) = (w.policy.clone(), w.policy.version().plus(1).unwrap());
    let events = w.ok(who, command).events;
    assert!(!events.is_empty(), "nothing happened");
    Happened { before, first, events }
}

/// Events happen that no guard was asked about, as those of one command.
pub(crate) fn recorded(w: &mut World, events: Vec<Event>) -> Happened {
    let (before, first) = (w.policy.clone(), w.policy.version().plus(1).unwrap());
    events.iter().for_each(|event| w.apply(event));
    Happened { before, first, events }
}

/// `a`, `b` and `t` may read the log.
pub(crate) fn readers(more: impl FnOnce(History) -> History) -> World {
    World::with(|h| {
        let audit = ["core.audit.read"];
        let h = h.user("t").event(password("t"));
        let h = h.grant("audit:a", to_user("a").keys(audit)).grant("audit:b", to_user("b").keys(audit));
        more(h.grant("audit:t", to_user("t").keys(audit)))
    })
}

/// The reasons why nothing can be undone, or is left to be.
pub(crate) fn not_now(w: &World, undo: &Undo) -> Vec<Why> {
    let Command::Undo(undo) = w.told(undo.clone()) else { panic!("an undo is another command") };
    let not = undo.commands(&w.policy, w.now).expect_err("it can be undone");
    not.reasons.iter().map(|reason| reason.why).collect()
}

pub(crate) const START: &str = "srv.server.start";

cases! {
    fn undoing_takes_leave_to_read_the_log_besides_what_its_commands_take() {
        let mut w = readers(|h| allow(h, "c", &["core.grant.manage", START]).object("server", "o", None, None));
        let revoked = done(&mut w, "root", revoke("c:global"));
        w.given(|h| allow(h, "d", &["core.grant.manage", START]));
        w.would("root", revoked.undo());
        // `d` might issue that grant, but not read what happened; `a` the other way round.
        let why = w.refused("d", revoked.undo(), Code::Forbidden);
        assert_eq!(why.missing, ["core.audit.read"]);
        let why = w.refused("a", revoked.undo(), Code::Forbidden);
        assert_eq!(why.missing, ["core.grant.manage"]);
    }

    fn nobody_gives_himself_back_a_grant_by_undoing_its_revocation() {
        let mut w = readers(|h| {
            let h = h.object("server", "o", None, Some("c"));
            allow_on(allow_on(h, "a", "o", &[START]), "b", "o", &["core.grant.manage"])
        });
        let revoked = done(&mut w, "root", revoke("a:o"));
        w.would("c", issue("a", &[START], on_server("o")));
        w.would("root", revoked.undo());
        w.refused("a", revoked.undo(), Code::NotFound);
        let why = w.refused("b", revoked.undo(), Code::NotHeld);
        assert_eq!(why.missing, [START]);
    }

    fn undoing_a_revocation_takes_what_the_role_holds_now_not_what_it_held_then() {
        let mut w = readers(|h| {
            let h = h.role("r", "global", [START]).grant("c:r", to_user("c").role("r"));
            allow(h, "a", &["core.grant.manage", START])
        });
        let revoked = done(&mut w, "a", revoke("c:r"));
        w.would("a", revoked.undo());
        w.ok("root", add_to_role("r", &["srv.server.delete"]));
        let why = w.refused("a", revoked.undo(), Code::NotHeld);
        assert_eq!(why.missing, ["srv.server.delete"]);
    }

    fn nobody_lifts_a_deny_on_himself_by_undoing_it() {
        let mut w = readers(|h| allow(h, "a", &["core.grant.manage", START]));
        let denied = done(&mut w, "root", deny("a", &[START], Scope::Global));
        w.would("root", denied.undo());
        w.refused("a", denied.undo(), Code::NotHeld);
    }

    fn nor_by_undoing_that_he_joined_a_group_with_a_deny() {
        let mut w = readers(|h| {
            let h = h.group("g", ["d"]).grant("no", to_group("g").keys([START]).deny());
            allow(h, "a", &[START])
        });
        let joined = done(&mut w, "root", join("g", "a"));
        w.would("root", joined.undo());
        w.refused("a", joined.undo(), Code::Forbidden);
    }

    fn nor_by_undoing_that_the_group_was_created_with_it() {
        let mut w = readers(|h| allow(h, "a", &["core.group.delete"]));
        let made = done(&mut w, "root", CreateGroup { slug: parsed("g"), name: ids::shown("g") });
        let group = w.policy.group_by_slug("g").unwrap();
        let deleted = done(&mut w, "root", DeleteGroup { group });
        assert_eq!(not_now(&w, &made.undo()), [Why::Already]);
        let remade = done(&mut w, "root", deleted.undo());
        let group = w.policy.group_by_slug("g").unwrap();
        w.would("a", remade.undo());
        let no = IssueGrant { subject: Subject::Group(group), ..deny("a", &[START], Scope::Global) };
        w.ok("root", no);
        // Made anew by an undo, and used since: to undo that one would end what others gave and denied.
        assert_eq!(not_now(&w, &remade.undo()), [Why::InUse]);
        w.refused("root", remade.undo(), Code::NotUndoable);
    }

    fn what_ends_restores_nothing_lasting_by_an_undo() {
        let mut w = readers(|h| {
            let h = h.role("r", "global", [START, "srv.server.read"]).grant("c:r", to_user("c").role("r"));
            let h = h.group("g", ["d"]).grant("g", to_group("g").keys([START]));
            h.grant("hour", to_user("t").role("administrator").until(SOON))
        });
        let narrowed = done(&mut w, "root", take_from_role("r", &[START]));
        let removed = done(&mut w, "root", leave("g", "d"));
        let revoked = done(&mut w, "root", revoke("c:r"));
        for happened in [&narrowed, &removed, &revoked] {
            w.would("root", happened.undo());
            w.refused("t", happened.undo(), Code::OutlivesHolder);
        }
    }

    fn who_gave_an_object_away_does_not_take_it_back_by_undoing_that() {
        let mut w = readers(|h| {
            let h = h.object("server", "o", None, Some("a"));
            allow(h, "a", &["core.object.transfer"])
        });
        let given = done(&mut w, "a", transfer("o", "c"));
        w.would("root", given.undo());
        let why = w.refused("a", given.undo(), Code::NotHeld);
        assert_eq!(why.missing, ["*"]);
        // The new owner may give it back so, if he may read the log.
        w.given(|h| h.grant("audit:c", to_user("c").keys(["core.audit.read"])));
        w.ok("c", given.undo());
        assert_eq!(w.policy.object(server("o")).unwrap().owner, Some(user("a")));
    }

    fn nobody_moves_an_object_back_under_a_grant_of_his() {
        let mut w = readers(|h| {
            let h = h.folder("mine", None).folder("f", None).object("server", "o", Some("mine"), Some("b"));
            let h = allow_in(h, "a", "mine", &["srv.server.create", "srv.server.delete"]);
            allow_on(h, "a", "o", &["core.grant.manage", "core.object.move"])
        });
        let moved = done(&mut w, "root", move_to(server("o"), Some("f")));
        w.would("root", moved.undo());
        let why = w.refused("a", moved.undo(), Code::NotHeld);
        assert_eq!(why.missing, ["srv.server.create", "srv.server.delete"]);
    }

    fn nor_opens_a_sealed_one_to_it() {
        let mut w = readers(|h| {
            let h = h.folder("f", None).object("server", "o", Some("f"), Some("b"));
            allow_in(allow_on(h, "a", "o", &["core.grant.manage"]), "a", "f", &["srv.server.delete"])
        });
        let sealed = done(&mut w, "b", inherits(server("o"), false));
        w.would("root", sealed.undo());
        w.refused("a", sealed.undo(), Code::NotHeld);
    }

    fn nor_gives_himself_a_name_that_gateways_trust() {
        let mut w = readers(|h| {
            let h = h.object("server", "o", None, Some("c")).object("server", "p", None, Some("a"));
            allow(h, "a", &["srv.server.manage"])
        });
        let named = RenameObject { object: server("p"), name: None, external_id: Some(Some(parsed("prod-1"))) };
        let taken = RenameObject { object: server("p"), name: None, external_id: Some(None) };
        w.ok("root", named);
        let lost = done(&mut w, "root", taken);
        w.would("root", lost.undo());
        w.refused("a", lost.undo(), Code::NotHeld);
        w.ok("root", RenameObject { object: server("o"), name: None, external_id: Some(Some(parsed("prod-1"))) });
        w.refused("root", lost.undo(), Code::NameTaken);
    }

    fn a_helper_brings_no_administrator_back_by_an_undo() {
        let mut w = readers(|h| {
            let h = h.user("boss").event(password("boss")).administrator("boss");
            allow(h, "a", &["core.user.suspend", "core.user.delete"])
        });
        let suspended = done(&mut w, "root", suspend("boss"));
        w.would("root", suspended.undo());
        w.refused("a", suspended.undo(), Code::NotHeld);
        let scheduled = done(&mut w, "root", schedule("boss", "2026-04-01T00:00:00Z"));
        w.refused("a", scheduled.undo(), Code::NotHeld);
        w.ok("root", scheduled.undo());
        // As it was before: suspended.
        w.would("root", suspended.undo());
    }

    fn a_helper_gives_nobody_stronger_his_old_name_back() {
        let mut w = readers(|h| allow(allow(h, "c", &[START]), "a", &["core.user.edit"]));
        let renamed = done(&mut w, "root", edit("c", ids::profile("cc")));
        w.would("root", renamed.undo());
        let why = w.refused("a", renamed.undo(), Code::NotHeld);
        assert_eq!(why.missing, [START]);
        // Nor anybody a name that is another's by now.
        w.ok("root", edit("d", ids::profile("c")));
        w.refused("root", renamed.undo(), Code::NameTaken);
    }

    fn the_last_administrator_stays_when_what_made_him_one_is_undone() {
        let mut w = readers(|h| h);
        let made = done(&mut w, "root", issue_role("b", "administrator", Scope::Global));
        w.given(|h| h.event(password("b")));
        w.would("b", made.undo());
        w.ok("b", suspend("root"));
        w.refused("b", made.undo(), Code::LastAdministrator);
    }

    fn a_masked_token_undoes_no_more_than_it_may_do() {
        let mut w = readers(|h| h.group("g", ["d"]));
        let removed = done(&mut w, "root", leave("g", "d"));
        let mask = ["core.audit.read", "core.group.manage"];
        assert!(w.decide(&masked("root", &mask), removed.undo()).is_ok());
        w.refused_as(&masked("root", &mask[1..]), removed.undo(), Code::TokenTooNarrow);
        w.refused_as(&masked("root", &mask[..1]), removed.undo(), Code::TokenTooNarrow);
    }

    fn whose_account_stopped_undoes_nothing() {
        let mut w = readers(|h| h.event(UserSuspended { user: user("a") }).group("g", ["d"]));
        let removed = done(&mut w, "root", leave("g", "d"));
        w.would("root", removed.undo());
        w.refused("a", removed.undo(), Code::InactiveCaller);
    }

    fn a_deleted_role_comes_back_only_for_who_may_make_it_and_give_it_wherever_it_was() {
        let mut w = readers(|h| {
            let h = h.role("r", "both", [START]).object("server", "o", None, Some("d"));
            let h = h.grant("r:c", to_user("c").role("r")).grant("r:o", to_user("b").role("r").on("server", "o"));
            allow(h, "a", &["core.grant.manage", "core.role.create", START])
        });
        // On `o` a deny keeps `a` from holding what he would give there.
        w.given(|h| h.grant("no", to_user("a").keys([START]).on("server", "o").deny()));
        let deleted = done(&mut w, "root", DeleteRole { role: ids::role("r") });
        assert_eq!(deleted.events.len(), 3);
        w.refused("a", deleted.undo(), Code::NotHeld);
        assert!(w.policy.role_by_slug("r").is_none(), "all or nothing");
        w.ok("root", deleted.undo());
        assert!(w.can("c", START, Scope::Global) && w.can("b", START, on_server("o")));
        assert_ne!(w.policy.role_by_slug("r"), Some(ids::role("r")), "nothing inherits an id");
    }

    fn a_deleted_group_comes_back_with_its_members_and_grants() {
        let mut w = readers(|h| {
            let h = h.group("g", ["c", "d"]).grant("yes", to_group("g").keys([START]));
            let h = h.grant("no", to_group("g").keys(["srv.server.delete"]).deny());
            allow(h, "a", &["core.grant.manage", "core.group.create", "core.group.manage"])
        });
        let deleted = done(&mut w, "root", DeleteGroup { group: ids::group("g") });
        w.refused("a", deleted.undo(), Code::NotHeld);
        // One of its members is erased meanwhile, and would not be in it any more.
        w.ok("root", schedule("d", TOMORROW));
        w.at("2026-03-03T00:00:00Z");
        w.ok("system", EraseUser { user: user("d") });
        let undone = done(&mut w, "root", deleted.undo());
        let group = w.policy.group_by_slug("g").unwrap();
        assert_eq!(w.policy.members(group).collect::<Vec<_>>(), [user("c")]);
        assert!(w.can("c", START, Scope::Global));
        assert_eq!(undone.events.len(), 4);
        // And that is undone by deleting it again.
        let again = done(&mut w, "root", undone.undo());
        assert!(w.policy.group_by_slug("g").is_none() && !w.can("c", START, Scope::Global));
        w.would("root", again.undo());
    }

    fn a_deleted_group_comes_back_with_its_id_in_another_system() {
        let mut w = readers(|h| h.group("g", ["c"]));
        let external_id = Some(parsed("directory-7"));
        w.ok("root", SetGroupExternalId { group: ids::group("g"), external_id: external_id.clone() });
        let deleted = done(&mut w, "root", DeleteGroup { group: ids::group("g") });
        let undone = done(&mut w, "root", deleted.undo());
        let group = w.policy.group(w.policy.group_by_slug("g").unwrap()).unwrap();
        assert_eq!(group.external_id.cloned(), external_id);
        assert_eq!((group.member_count, undone.events.len()), (1, 3));
        let again = done(&mut w, "root", undone.undo());
        assert!(w.policy.group_by_slug("g").is_none());
        w.would("root", again.undo());
    }

    fn a_slug_in_use_by_now_is_not_taken_away() {
        let mut w = readers(|h| h.group("g", ["c"]));
        let deleted = done(&mut w, "root", DeleteGroup { group: ids::group("g") });
        w.ok("root", CreateGroup { slug: parsed("g"), name: ids::shown("Another") });
        assert_eq!(not_now(&w, &deleted.undo()), [Why::SlugTaken]);
        w.refused("root", deleted.undo(), Code::NotUndoable);
    }

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
}
