//! Identities at a provider: whoever links somebody to one can become him, so no command that writes a profile is a way
//! around what a reset takes.

use crate::{
    say::*,
    undo::{done, readers},
    world::*,
};
use charter_commands::*;
use charter_events::{Event, ProfileField, Scope, UserKind, UserProfileChanged};
use charter_policy::UserStatus;
use charter_testkit::{at, ids, to_user};

/// Somebody is linked already.
fn linked(who: &str, to: &str) -> UserProfileChanged {
    UserProfileChanged {
        user: user(who),
        kind: UserKind::Person,
        profile: known_as(who, Some(to)),
        changed: vec![ProfileField::Identity],
    }
}

fn names(decided: &Decided) -> Vec<&'static str> {
    decided.events.iter().map(Event::type_name).collect()
}

fn without_password(who: &str) -> ChangePassword {
    ChangePassword { user: user(who), has_password: false }
}

cases! {
    fn linking_somebody_takes_what_resetting_him_takes() {
        let mut w = World::with(|h| {
            let h = h.object("server", "o", None, Some("b")).user("weak").user("hour");
            let h = h.grant("hour", to_user("hour").role("administrator").until(SOON));
            let h = h.grant("d", to_user("d").keys(["core.group.read"]).from(SOON));
            allow(h, "a", &["core.user.edit"]).event(linked("c", "c at home"))
        });
        let all = |who: &str| [link(who, Some("new")), link(who, Some("c at home")), link(who, None)];
        w.would("a", link("weak", Some("new")));
        w.would("a", link("c", None));
        w.refused("c", link("weak", Some("new")), Code::Forbidden);
        w.given(|h| h.event(linked("b", "b at home")).event(linked("d", "d at home")));
        for change in [link("b", Some("new")), link("b", None), link("d", Some("new")), link("d", None)] {
            w.would("root", change.clone());
            w.refused("a", change.clone(), Code::NotHeld);
            w.refused("hour", change.clone(), Code::OutlivesHolder);
            w.refused("a", Several { commands: vec![change.into()] }, Code::NotHeld);
        }
        for change in all("root") {
            w.refused("a", change, Code::NotHeld);
        }
    }

    fn nobody_links_himself_but_an_administrator_for_good() {
        let mut w = World::with(|h| {
            let h = h.user("hour").grant("hour", to_user("hour").role("administrator").until(SOON));
            allow(h, "a", &["core.user.edit"]).event(linked("a", "a at home")).event(linked("hour", "h at home"))
        });
        for change in [link("a", Some("new")), link("a", None)] {
            w.refused("a", change.clone(), Code::NotHeld);
            w.refused("a", Several { commands: vec![change.clone().into()] }, Code::NotHeld);
            w.would("root", change);
        }
        let shown = EditUser { changed: vec![ProfileField::DisplayName], ..link("a", Some("a at home")) };
        w.would("a", shown);
        // What is sealed is not seen here: what is said to change is judged as well.
        let unseen = EditUser { changed: vec![ProfileField::Identity], ..link("a", Some("a at home")) };
        w.refused("a", unseen, Code::NotHeld);
        for change in [link("hour", Some("new")), link("hour", None)] {
            w.refused("hour", change, Code::OutlivesHolder);
        }
        w.would("root", link("root", Some("new")));
        w.refused_as(&masked("root", &["core.*"]), link("root", Some("new")), Code::NotHeld);
        w.refused_as(&masked("a", &["core.user.*"]), link("a", Some("new")), Code::TokenTooNarrow);
    }

    fn an_identity_is_one_account_s() {
        let mut w = World::with(|h| h.event(linked("a", "home")));
        let register = |to: &str| RegisterUser {
            user: user("new"),
            kind: UserKind::Person,
            profile: known_as("new", Some(to)),
            has_password: false,
        };
        w.would("root", link("b", Some("other")));
        w.would("root", register("other"));
        w.ok("root", InviteUser { user: user("guest"), kind: UserKind::Person, profile: known_as("guest", None) });
        let accept = |to: &str| AcceptInvitation {
            user: user("guest"),
            profile: known_as("guest", Some(to)),
            has_password: false,
        };
        w.would("system", accept("other"));
        for taken in [
            w.refused("root", link("b", Some("home")), Code::NameTaken),
            w.refused("root", register("home"), Code::NameTaken),
            w.refused("system", accept("home"), Code::NameTaken),
        ] {
            assert_eq!(taken.field.as_deref(), Some("identity"));
        }
        // Free again once it is unlinked, or the account erased.
        w.ok("root", link("a", None));
        w.ok("root", link("b", Some("home")));
        w.ok("root", schedule("b", TOMORROW));
        w.at(TOMORROW);
        w.refused("root", link("c", Some("home")), Code::NameTaken);
        w.ok("system", EraseUser { user: user("b") });
        w.would("root", link("c", Some("home")));
    }

    fn a_service_has_no_identity() {
        let mut w = World::with(|h| h.service("robot").event(linked("a", "home")));
        let robot = RegisterUser {
            user: user("new"),
            kind: UserKind::Service,
            profile: known_as("new", Some("other")),
            has_password: false,
        };
        w.would("root", RegisterUser { kind: UserKind::Person, ..robot.clone() });
        w.refused("root", robot, Code::InvalidCredential);
        w.refused("root", link("robot", Some("other")), Code::InvalidCredential);
        w.refused("root", turn_into("a", UserKind::Service), Code::InvalidCredential);
        let unlinked = EditUser { kind: Some(UserKind::Service), ..link("a", None) };
        assert_eq!(names(&w.ok("root", unlinked)), ["user.profile_changed", "credential.sessions_ended"]);
    }

    fn every_change_of_it_ends_the_sessions_in_the_same_command() {
        let mut w = World::new();
        for to in [Some("home"), Some("work"), None] {
            let decided = w.ok("root", link("a", to));
            assert_eq!(names(&decided), ["user.profile_changed", "credential.sessions_ended"], "{to:?}");
            let Event::UserProfileChanged(e) = &decided.events[0] else { unreachable!() };
            assert_eq!(e.changed, [ProfileField::Identity]);
        }
        assert!(w.ok("root", link("a", None)).events.is_empty());
    }

    fn an_invitation_links_nobody_before_it_is_accepted_and_whom_a_directory_knows_to_no_other() {
        let mut w = World::new();
        let invite = |to| InviteUser { user: user("new"), kind: UserKind::Person, profile: known_as("new", to) };
        w.refused("root", invite(Some("home")), Code::InvalidCredential);
        w.ok("root", invite(None));
        let accept = |to: Option<&str>| AcceptInvitation {
            user: user("new"),
            profile: known_as("new", to),
            has_password: to.is_none(),
        };
        w.would("system", accept(Some("home")));
        w.would("system", accept(None));
        w.refused("root", accept(Some("home")), Code::SystemOnly);
        w.ok("root", link("new", Some("home")));
        w.refused("system", accept(Some("other")), Code::InvalidCredential);
        w.refused("system", accept(None), Code::InvalidCredential);
        w.ok("system", accept(Some("home")));
        assert_eq!(w.policy.user(user("new")).unwrap().status, UserStatus::Active);
    }

    fn undoing_a_link_or_its_end_takes_what_linking_takes() {
        let mut w = readers(|h| {
            let h = allow(h.object("server", "o", None, Some("b")), "a", &["core.user.edit"]);
            allow(h, "b", &["core.user.edit"])
        });
        for change in [link("b", Some("home")), link("b", Some("work")), link("b", None)] {
            let happened = done(&mut w, "root", change);
            w.would("root", happened.undo());
            w.refused("a", happened.undo(), Code::NotHeld);
            w.refused("b", happened.undo(), Code::NotHeld);
        }
        let happened = done(&mut w, "root", link("b", Some("home")));
        assert_eq!(names(&w.ok("root", happened.undo())), ["user.profile_changed", "credential.sessions_ended"]);
        assert!(w.policy.user(user("b")).unwrap().profile.unwrap().identity.is_none());
        // Somebody else's by now.
        let happened = done(&mut w, "root", link("b", Some("home")));
        let ended = done(&mut w, "root", link("b", None));
        w.ok("root", link("c", Some("home")));
        w.refused("root", ended.undo(), Code::NameTaken);
        w.refused("root", happened.undo(), Code::NotUndoable);
    }

    fn an_identity_is_a_way_in_for_the_last_administrator_and_does_not_end_as_his_only_one() {
        let mut w = World::new();
        w.refused("root", without_password("root"), Code::LastAdministrator);
        w.ok("root", link("root", Some("home")));
        w.would("root", link("root", None));
        w.ok("root", without_password("root"));
        assert_eq!(w.policy.lasting_administrators(at(NOW)), [user("root")]);
        w.would("root", link("root", Some("work")));
        w.refused("root", link("root", None), Code::LastAdministrator);
        w.refused("root", Several { commands: vec![link("root", None).into()] }, Code::LastAdministrator);
        let service = EditUser { kind: Some(UserKind::Service), ..link("root", None) };
        w.refused("root", service, Code::LastAdministrator);
        // Another one who can sign in, in either way, lets him go.
        w.ok("root", issue_role("a", "administrator", Scope::Global));
        w.refused("root", link("root", None), Code::LastAdministrator);
        w.ok("root", link("a", Some("a at home")));
        w.would("root", link("root", None));
        w.ok("a", link("root", None));
        w.refused("a", link("a", None), Code::LastAdministrator);
        w.refused("a", suspend("a"), Code::LastAdministrator);
        assert_eq!(w.policy.lasting_administrators(at(NOW)), [ids::user("a")]);
    }
}
