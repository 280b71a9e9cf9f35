//! Accounts, credentials and the catalog: names, states, and what ends with what.

use crate::{c09_to_c16::document, say::*, world::*};
use charter_commands::{
    AcceptInvitation, CancelDeletion, ChangePassword, Code, Command, CreateInstallation, EndSession,
    EndSessions, EraseUser, InviteUser, ReactivateUser, RegisterUser, RemovePermissions, RenewInvitation,
    RevokeGrant, RevokeToken, SendResetLink, UpsertCoreCatalog, WithdrawInvitation,
};
use charter_events::{Event, SealedProfile, Subject, UserKind};
use charter_policy::UserStatus;
use charter_testkit::{at, history::parsed, ids, to_group, to_user};

fn register(name: &str) -> RegisterUser {
    RegisterUser {
        user: user(name),
        kind: UserKind::Person,
        profile: ids::profile(name),
        has_password: false,
    }
}

cases! {
    fn an_account_that_stopped_asks_for_nothing() {
        let mut w = World::with(|h| h.object("server", "o", None, Some("b")));
        let share = issue("c", &["srv.server.read"], on_server("o"));
        w.would("b", share.clone());
        let own: [Command; 3] =
            [EndSessions { user: user("b") }.into(), reset("b").into(), revoke("owner:server:o").into()];
        w.given(|h| h.suspended("b"));
        w.refused("b", share, Code::InactiveCaller);
        for command in own {
            w.refused("b", command, Code::InactiveCaller);
        }
        w.refused("nobody", register("new"), Code::InactiveCaller);
    }

    fn no_two_users_share_a_name_of_any_kind() {
        let mut w = World::new();
        let known_as = |name: &str, other: &str| RegisterUser {
            profile: SealedProfile { external_id: Some(ids::tag(other)), ..ids::profile(name) },
            ..register(name)
        };
        w.would("root", register("new"));
        w.would("root", known_as("new", "new"));
        assert_eq!(w.refused("root", RegisterUser { profile: ids::profile("a"), ..register("new") }, Code::NameTaken)
            .field.as_deref(), Some("username"));
        assert_eq!(w.refused("root", known_as("new", "a"), Code::NameTaken).field.as_deref(), Some("external_id"));
        w.refused("root", register("a"), Code::NameTaken);
        w.refused("root", edit("c", ids::profile("a")), Code::NameTaken);
        w.refused("a", register("new"), Code::Forbidden);
    }

    fn a_service_has_no_password() {
        let mut w = World::with(|h| h.service("robot"));
        let robot = RegisterUser { kind: UserKind::Service, has_password: true, ..register("new") };
        w.refused("root", robot, Code::InvalidCredential);
        w.refused("root", reset("robot"), Code::InvalidCredential);
        w.ok("root", reset("a"));
        let events = w.ok("root", turn_into("a", UserKind::Service)).events;
        assert_eq!(events.iter().map(Event::type_name).collect::<Vec<_>>(), ["user.profile_changed", "credential.password_changed", "credential.sessions_ended"]);
        assert!(!w.policy.user(user("a")).unwrap().has_password);
    }

    fn an_invitation_is_accepted_once() {
        let mut w = World::new();
        let invite = InviteUser { user: user("new"), kind: UserKind::Person, profile: ids::profile("new") };
        w.refused("a", invite.clone(), Code::Forbidden);
        w.ok("root", invite);
        w.refused("root", suspend("new"), Code::InvalidState);
        w.refused("root", ReactivateUser { user: user("new") }, Code::InvalidState);
        let accept = AcceptInvitation { user: user("new"), profile: ids::profile("chosen"), has_password: true };
        w.refused("root", accept.clone(), Code::SystemOnly);
        let taken = AcceptInvitation { profile: ids::profile("a"), ..accept.clone() };
        w.refused("system", taken, Code::NameTaken);
        w.ok("system", accept.clone());
        w.refused("system", accept, Code::InvalidState);
        assert_eq!(w.policy.user(user("new")).unwrap().status, UserStatus::Active);
    }

    fn a_link_is_made_anew_by_who_holds_what_waits_on_the_account_or_unseen() {
        let mut w = World::with(|h| allow(h, "a", &["core.user.create"]));
        let renew = |shown| RenewInvitation { user: user("new"), shown };
        w.refused("a", renew(true), Code::NotFound);
        w.refused("c", renew(true), Code::Forbidden);
        w.ok("root", InviteUser { user: user("new"), kind: UserKind::Person, profile: ids::profile("new") });
        let events = w.ok("a", renew(true)).events;
        assert_eq!(events.iter().map(Event::type_name).collect::<Vec<_>>(), ["credential.sessions_ended"]);
        w.ok("root", issue("new", &["core.group.read"], charter_events::Scope::Global));
        w.refused("a", renew(true), Code::NotHeld);
        w.would("a", renew(false));
        w.would("root", renew(true));
        w.ok("root", issue_role("new", "administrator", charter_events::Scope::Global));
        w.refused("a", renew(false), Code::NotHeld);
        w.ok("system", AcceptInvitation { user: user("new"), profile: ids::profile("new"), has_password: true });
        w.refused("root", renew(true), Code::InvalidState);
        let robot = InviteUser { user: user("r2"), kind: UserKind::Service, profile: ids::profile("r2") };
        w.refused("root", robot, Code::InvalidCredential);
    }

    fn a_reset_link_is_seen_by_who_holds_what_the_user_has_and_mailed_unseen_by_who_edits_users() {
        let mut w = World::with(|h| allow(h, "a", &["core.user.edit"]));
        let link = |who: &str, shown| SendResetLink { user: user(who), shown };
        w.refused("c", link("b", true), Code::Forbidden);
        w.refused("a", link("nobody", true), Code::NotFound);
        let events = w.ok("a", link("c", true)).events;
        assert_eq!(events.iter().map(Event::type_name).collect::<Vec<_>>(), ["credential.sessions_ended"]);
        w.ok("root", issue("c", &["core.group.read"], charter_events::Scope::Global));
        w.refused("a", link("c", true), Code::NotHeld);
        w.would("a", link("c", false));
        w.would("root", link("c", true));
        // Through a narrowed token nobody has a link for himself.
        w.refused_as(&masked("root", &["core.user.edit"]), link("root", false), Code::TokenTooNarrow);
        // Administrators, of now and of later, have none, whoever asks.
        w.ok("root", issue_role("c", "administrator", charter_events::Scope::Global));
        w.refused("a", link("c", false), Code::NotHeld);
        for shown in [true, false] {
            w.refused("root", link("c", shown), Code::InvalidState);
            w.refused("root", link("root", shown), Code::InvalidState);
        }
        w.ok("root", suspend("b"));
        w.refused("root", link("b", true), Code::InvalidState);
        let robot = RegisterUser { user: user("r3"), kind: UserKind::Service, profile: ids::profile("r3"), has_password: false };
        w.ok("root", robot);
        w.refused("root", link("r3", true), Code::InvalidCredential);
    }

    fn an_invitation_is_withdrawn_at_once_while_nothing_waits_on_it() {
        let mut w = World::with(|h| allow(h.group("ops", []), "a", &["core.user.create", "core.user.delete"]));
        let invite = |who: &str| InviteUser { user: user(who), kind: UserKind::Person, profile: ids::profile("new") };
        let withdraw = |who: &str| WithdrawInvitation { user: user(who) };
        w.ok("a", invite("new"));
        w.refused("c", withdraw("new"), Code::Forbidden);
        w.refused("a", withdraw("c"), Code::InvalidState);
        w.ok("root", issue("new", &["core.group.read"], charter_events::Scope::Global));
        w.refused("root", withdraw("new"), Code::InUse);
        let grant = w.policy.grants_of(Subject::User(user("new"))).next().unwrap().id;
        w.ok("root", RevokeGrant { grant });
        w.ok("root", join("ops", "new"));
        w.refused("root", withdraw("new"), Code::InUse);
        w.ok("root", leave("ops", "new"));
        w.ok("a", withdraw("new"));
        w.refused("a", withdraw("new"), Code::InvalidState);
        w.refused("system", AcceptInvitation { user: user("new"), profile: ids::profile("new"), has_password: true }, Code::InvalidState);
        w.ok("a", invite("again"));
    }

    fn who_owns_objects_is_not_deleted() {
        let mut w = World::with(|h| {
            let h = h.object("server", "o", None, Some("b")).object("server", "p", None, Some("b"));
            allow_on(allow(h, "a", &["core.user.delete"]), "a", "p", &["srv.server.read"])
        });
        w.would("a", schedule("c", TOMORROW));
        let why = w.refused("a", schedule("b", TOMORROW), Code::OwnsObjects);
        assert_eq!(why.objects, [server("p")], "listed as far as the caller may read them");
        let why = w.refused("root", schedule("b", TOMORROW), Code::OwnsObjects);
        assert_eq!(why.objects.len(), 2);
        w.refused("root", schedule("c", NOW), Code::InvalidTime);
    }

    fn everything_of_an_erased_user_ends_and_nothing_comes_back_to_his_namesake() {
        let mut w = World::with(|h| {
            let h = allow(h, "a", &["core.user.read"]).group("ops", ["a"]);
            h.grant("ops", to_group("ops").keys(["core.group.read"]))
        });
        w.ok("a", token("a", None, None));
        w.ok("root", schedule("a", TOMORROW));
        assert!(!w.can("a", "core.user.read", charter_events::Scope::Global));
        w.would("root", CancelDeletion { user: user("a") });
        w.refused("root", EraseUser { user: user("a") }, Code::SystemOnly);
        w.refused("system", EraseUser { user: user("a") }, Code::InvalidTime);
        w.at(TOMORROW);
        let events = w.ok("system", EraseUser { user: user("a") }).events;
        assert_eq!(
            events.iter().map(Event::type_name).collect::<Vec<_>>(),
            ["grant.ended", "group.member_removed", "credential.token_revoked", "user.erased"]
        );
        for gone in [reset("a").into(), suspend("a").into(), schedule("a", "2026-04-01T00:00:00Z").into()] {
            let gone: Command = gone;
            w.refused("root", gone, Code::InvalidState);
        }
        w.refused("root", join("ops", "a"), Code::InvalidState);
        let again = RegisterUser { profile: ids::profile("a"), ..register("again") };
        w.ok("root", again);
        assert_eq!(w.policy.grants_of(Subject::User(user("again"))).count(), 0);
        assert!(!w.can("again", "core.group.read", charter_events::Scope::Global));
    }

    fn a_masked_token_becomes_no_more_than_it_is() {
        let mut w = World::with(|h| h.object("server", "o", None, Some("b")));
        let narrow = masked("b", &["core.user.*", "srv.server.read"]);
        w.refused_as(&narrow, reset("b"), Code::TokenTooNarrow);
        w.refused_as(&narrow, token("b", None, None), Code::TokenTooNarrow);
        w.refused_as(&narrow, token("b", None, Some(&["srv.server.*"])), Code::TokenTooNarrow);
        w.refused_as(&narrow, EndSessions { user: user("b") }, Code::TokenTooNarrow);
        w.would("b", reset("b"));
        w.ok_as(&narrow, token("b", None, Some(&["core.user.read", "srv.server.read"])));
        w.refused("b", token("b", None, None), Code::NameTaken);
        let other = |name: &str, mask: &[&str]| charter_commands::IssueToken {
            token: ids::token(name),
            ..token("b", None, Some(mask))
        };
        w.refused("b", other("x", &[]), Code::Empty);
        w.refused("b", other("x", &["srv.server.fly"]), Code::UnknownPermission);
        let past = charter_commands::IssueToken { expires_at: Some(at(NOW)), ..other("x", &["srv.server.read"]) };
        w.refused("b", past, Code::InvalidTime);
        w.limits.user_tokens = 1;
        w.refused("b", other("x", &["srv.server.read"]), Code::LimitExceeded);
    }

    fn a_token_or_session_is_ended_by_its_owner_or_by_who_edits_users() {
        let mut w = World::with(|h| allow(h, "a", &["core.user.edit"]));
        w.ok("b", token("b", None, None));
        w.ok("root", token("root", None, None));
        let end = |who: &str| RevokeToken { token: ids::token(&format!("token of {who}")) };
        w.would("b", end("b"));
        w.would("a", end("b"));
        let hidden = w.refused("c", end("b"), Code::NotFound);
        assert_eq!(hidden, w.refused("c", end("nobody"), Code::NotFound));
        w.refused("a", end("root"), Code::NotHeld);
        let session = |moment: &str| EndSession {
            session: charter_events::SessionId::from_u128(1),
            user: user("b"),
            expires_at: at(moment),
        };
        w.would("b", session(SOON));
        w.would("a", session(SOON));
        assert!(w.ok("b", session(NOW)).events.is_empty());
        w.refused("c", session(SOON), Code::Forbidden);
    }

    fn a_reset_and_one_s_own_change_end_the_sessions_in_the_same_command() {
        let mut w = World::with(|h| allow(h, "a", &["core.user.edit"]));
        for who in ["a", "c"] {
            let events = w.ok(who, reset("c")).events;
            let names: Vec<_> = events.iter().map(Event::type_name).collect();
            assert_eq!(names, ["credential.password_changed", "credential.sessions_ended"], "{who}");
        }
        let none = ChangePassword { user: user("d"), has_password: false };
        assert!(w.ok("d", none).events.is_empty());
    }

    fn the_installation_is_created_once_with_its_catalog_and_roles() {
        let mut w = World::new();
        let create = CreateInstallation { name: ids::shown("Test") };
        w.refused("system", create, Code::AlreadyInstalled);
        w.refused("root", UpsertCoreCatalog {}, Code::SystemOnly);
        assert!(w.ok("system", UpsertCoreCatalog {}).events.is_empty(), "this revision is logged");
        let keys = w.policy.permissions().filter(|known| known.namespace == "core").count();
        assert_eq!(keys, charter_commands::core_catalog::permissions().unwrap().len());
    }

    fn a_catalog_document_is_judged_whole() {
        let mut w = World::new();
        let changed = |change: &dyn Fn(&mut charter_commands::ApplyCatalog)| {
            let mut document = document();
            change(&mut document);
            document
        };
        type Change<'a> = &'a dyn Fn(&mut charter_commands::ApplyCatalog);
        let cases: [(Change<'_>, Code); 8] = [
            (&|d| d.permissions.push(d.permissions[0].clone()), Code::Duplicate),
            (&|d| d.object_types.push(d.object_types[0].clone()), Code::Duplicate),
            (&|d| d.permissions[0].object_types = vec![parsed("nothing")], Code::UnknownObjectType),
            (&|d| d.object_types[0].name = parsed("any"), Code::ReservedName),
            (&|d| {
                d.object_types[0].name = parsed("world");
                d.object_types[0].read = key("srv.world.read");
            }, Code::UnknownPermission),
            (&|d| d.permissions[0].object_types = vec![parsed("any"); 101], Code::LimitExceeded),
            (&|d| d.object_types[0].aliases = vec![
                charter_events::AliasDefinition { alias: parsed("x"), key: key("srv.server.read") }; 2
            ], Code::Duplicate),
            (&|d| d.object_types[0].aliases = vec![
                charter_events::AliasDefinition { alias: parsed("core.user.read"), key: key("srv.server.read") }
            ], Code::ReservedName),
        ];
        for (change, code) in cases {
            w.refused("root", changed(change), code);
        }
        w.would("root", changed(&|d| d.permissions[0].object_types = vec![parsed("any"), parsed("folder")]));
        let events = w.ok("root", changed(&|d| { d.permissions.remove(1); })).events;
        assert_eq!(events.iter().map(Event::type_name).collect::<Vec<_>>(), ["catalog.permissions_deprecated"]);
    }

    fn a_key_that_a_type_names_is_not_removed() {
        let mut w = World::with(|h| h.grant("x", to_user("a").keys(["srv.server.start"])));
        let remove = |text: &str| RemovePermissions { namespace: parsed("srv"), keys: vec![key(text)] };
        w.would("root", remove("srv.server.start"));
        w.would("module:srv", remove("srv.server.start"));
        w.refused("module:other", remove("srv.server.start"), Code::ForeignNamespace);
        w.refused("root", remove("srv.server.read"), Code::InUse);
        w.refused("root", remove("srv.server.fly"), Code::UnknownPermission);
        w.refused("root", remove("core.user.read"), Code::OutsideNamespace);
        let core = RemovePermissions { namespace: parsed("core"), keys: vec![key("core.user.read")] };
        w.refused("root", core, Code::ForeignNamespace);
        w.refused("root", RemovePermissions { namespace: parsed("srv"), keys: vec![] }, Code::Empty);
    }

    fn a_namespace_of_thousands_of_keys_fits_its_events() {
        let mut w = World::new();
        let mut large = document();
        let (one, long) = (large.permissions[0].clone(), "é".repeat(128));
        large.permissions.extend((0..5_000).map(|number| charter_events::PermissionDefinition {
            key: parsed(&format!("srv.server.{number:0>100}")),
            description: ids::shown(&long),
            ..one.clone()
        }));
        let events = w.ok("root", large).events;
        assert!(events.len() > 1, "one payload holds at most {} bytes", w.limits.payload_bytes);
        assert!(events.iter().all(|event| event.encode().unwrap().len() <= w.limits.payload_bytes));
        let removed = w.ok("root", document()).events;
        assert!(removed.iter().all(|event| event.encode().unwrap().len() <= w.limits.payload_bytes));
    }
}
