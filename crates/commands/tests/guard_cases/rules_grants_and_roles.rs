//! What may be granted at all, and what may stand in a role, whoever asks.

use crate::{say::*, world::*};
use charter_commands::{ChangeRole, Code, DeleteRole, IssueGrant};
use charter_events::{Affects, ChildTypes, Content, Effect, RoleScope, Scope, Subject};
use charter_testkit::{History, at, history::parsed, ids, to_user};

fn server_of_b(h: History) -> History {
    h.folder("f", None).object("server", "o", Some("f"), Some("b"))
}

cases! {
    fn the_role_owner_is_given_by_creation_and_transfer_only() {
        let mut w = World::with(server_of_b);
        w.refused("b", issue_role("a", "owner", on_server("o")), Code::OwnerGrant);
        w.refused("root", issue_role("a", "owner", on_server("o")), Code::OwnerGrant);
    }

    fn a_role_is_assigned_where_its_scope_says() {
        let mut w = World::with(|h| {
            let h = server_of_b(h).role("here", "object", ["srv.server.read"]);
            h.role("there", "global", ["srv.server.read"]).role("anywhere", "both", ["srv.server.read"])
        });
        w.would("root", issue_role("a", "here", on_server("o")));
        w.would("root", issue_role("a", "there", Scope::Global));
        w.would("root", issue_role("a", "anywhere", Scope::Global));
        w.would("root", issue_role("a", "anywhere", on_server("o")));
        w.refused("root", issue_role("a", "here", Scope::Global), Code::RoleScope);
        w.refused("root", issue_role("a", "there", on_server("o")), Code::RoleScope);
        w.refused("root", issue_role("a", "administrator", on_server("o")), Code::RoleScope);
        w.refused("root", issue_role("a", "nothing", Scope::Global), Code::NotFound);
    }

    fn a_permission_fits_the_object_s_type() {
        let mut w = World::with(|h| server_of_b(h).object_type("srv", "world").keys(&["srv.world.open"], &["world"]));
        for fits in ["srv.server.start", "core.grant.read"] {
            w.would("root", issue("a", &[fits], on_server("o")));
            w.would("root", issue("a", &[fits], on_folder("f")));
        }
        w.would("root", issue("a", &["srv.world.open"], on_folder("f")));
        w.would("root", issue("a", &["core.user.read"], Scope::Global));
        w.refused("root", issue("a", &["srv.world.open"], on_server("o")), Code::TypeMismatch);
        w.refused("root", issue("a", &["core.user.read"], on_server("o")), Code::TypeMismatch);
        w.refused("root", issue("a", &["core.user.read"], on_folder("f")), Code::TypeMismatch);
        w.refused("root", deny("a", &["srv.world.open"], on_server("o")), Code::TypeMismatch);
    }

    fn a_deny_names_literal_keys() {
        let mut w = World::with(|h| server_of_b(h).role("r", "both", ["srv.server.*"]));
        w.would("root", issue_role("a", "r", Scope::Global));
        let denied = IssueGrant { effect: Effect::Deny, ..issue_role("a", "r", Scope::Global) };
        w.refused("root", denied, Code::DenyNeedsKeys);
    }

    fn what_is_deprecated_is_not_newly_granted_but_still_denied() {
        let mut w = World::with(server_of_b);
        let mut document = crate::c09_to_c16::document();
        document.permissions.retain(|permission| permission.key.as_str() != "srv.server.start");
        w.would("root", issue("a", &["srv.server.start"], on_server("o")));
        w.ok("root", issue("c", &["srv.server.start"], on_server("o")));
        w.ok("root", document);
        assert!(w.can("c", "srv.server.start", on_server("o")), "it is still checked");
        w.refused("root", issue("a", &["srv.server.start"], on_server("o")), Code::DeprecatedPermission);
        w.refused("root", new_role("r", RoleScope::Both, &["srv.server.start"]), Code::DeprecatedPermission);
        w.refused("root", add_to_role("viewer", &["srv.server.start"]), Code::DeprecatedPermission);
        w.would("root", deny("a", &["srv.server.start"], on_server("o")));
        w.ok("root", crate::c09_to_c16::document());
        w.would("root", issue("a", &["srv.server.start"], on_server("o")));
    }

    fn a_grant_begins_before_it_ends_and_ends_in_the_future() {
        let mut w = World::new();
        let grant = || issue("a", &["core.user.read"], Scope::Global);
        w.would("root", until(grant(), SOON));
        w.would("root", from(grant(), SOON));
        w.would("root", from(until(grant(), TOMORROW), SOON));
        for (wrong, field) in [
            (until(grant(), NOW), "expires_at"),
            (until(grant(), "1970-01-01T00:00:00Z"), "expires_at"),
            (from(until(grant(), SOON), SOON), "not_before"),
            (from(until(grant(), SOON), TOMORROW), "not_before"),
        ] {
            assert_eq!(w.refused("root", wrong, Code::InvalidTime).field.as_deref(), Some(field));
        }
        w.ok("root", until(grant(), SOON));
        assert!(w.can("a", "core.user.read", Scope::Global));
        w.now = at(SOON).saturating_add_micros(-1);
        assert!(w.can("a", "core.user.read", Scope::Global));
        w.at(SOON);
        assert!(!w.can("a", "core.user.read", Scope::Global), "expired without any record of it");
        assert_eq!(w.ok("system", charter_commands::ExpireGrants {}).events.len(), 1);
        assert!(w.ok("system", charter_commands::ExpireGrants {}).events.is_empty());
        w.refused("root", charter_commands::ExpireGrants {}, Code::SystemOnly);
    }

    fn reach_is_of_folders_only_and_makes_sense() {
        let mut w = World::with(server_of_b);
        let on = |scope, affects, child_types| {
            reaching(issue("a", &["srv.server.read"], scope), affects, child_types)
        };
        w.would("root", on(on_folder("f"), Affects::ChildrenOnly, ChildTypes::Objects));
        for wrong in [
            on(on_folder("f"), Affects::SelfOnly, ChildTypes::Objects),
            on(on_server("o"), Affects::SelfOnly, ChildTypes::All),
            on(on_server("o"), Affects::All, ChildTypes::Containers),
            on(Scope::Global, Affects::ChildrenOnly, ChildTypes::All),
        ] {
            w.refused("root", wrong, Code::InvalidReach);
        }
    }

    fn a_grant_s_reach_is_held_place_by_place() {
        let mut w = World::with(|h| {
            let below = to_user("a").keys(["core.grant.manage", "srv.server.start"]).on("folder", "f");
            server_of_b(h).grant("below", below.affects(Affects::ChildrenOnly).child_types(ChildTypes::Objects))
        });
        let grant = |affects, child_types| {
            reaching(issue("c", &["srv.server.start"], on_folder("f")), affects, child_types)
        };
        w.would("a", grant(Affects::ChildrenOnly, ChildTypes::Objects));
        w.would("a", grant(Affects::DirectChildrenOnly, ChildTypes::Objects));
        w.would("a", issue("c", &["srv.server.start"], on_server("o")));
        w.refused("a", grant(Affects::ChildrenOnly, ChildTypes::All), Code::NotFound);
        w.given(|h| allow_in(h, "a", "f", &["core.folder.read"]));
        w.refused("a", grant(Affects::ChildrenOnly, ChildTypes::All), Code::Forbidden);
        w.given(|h| h.grant("manage", to_user("a").keys(["core.grant.manage"]).on("folder", "f")));
        let why = w.refused("a", grant(Affects::All, ChildTypes::All), Code::NotHeld);
        assert_eq!(why.missing, ["srv.server.start"]);
    }

    fn unknown_things_and_too_many_are_refused_with_the_field() {
        let mut w = World::with(server_of_b);
        let unknown = issue("a", &["srv.server.fly"], on_server("o"));
        assert_eq!(w.refused("b", unknown, Code::UnknownPermission).field.as_deref(), Some("keys"));
        w.refused("b", issue("a", &[], on_server("o")), Code::Empty);
        let many: Vec<_> = (0..10_000).map(|number| format!("srv.server.k{number}")).collect();
        let many: Vec<_> = many.iter().map(String::as_str).collect();
        w.refused("b", issue("a", &many, on_server("o")), Code::LimitExceeded);
        let group = IssueGrant { subject: Subject::Group(ids::group("none")), ..issue("a", &["srv.server.read"], on_server("o")) };
        assert_eq!(w.refused("b", group, Code::NotFound).field.as_deref(), Some("subject"));
        let wide: Vec<_> = (0..1_001).map(|number| format!("n{number}.*")).collect();
        let wide: Vec<_> = wide.iter().map(String::as_str).collect();
        w.would("root", new_role("wide", RoleScope::Both, &wide[..1_000]));
        w.refused("root", new_role("wide", RoleScope::Both, &wide), Code::LimitExceeded);
        w.limits.payload_bytes = 2_000;
        w.refused("root", new_role("large", RoleScope::Both, &wide[..1_000]), Code::LimitExceeded);
        w.limits.object_grants = 1;
        w.refused("b", issue("a", &["srv.server.read"], on_server("o")), Code::LimitExceeded);
    }

    fn a_role_with_ten_thousand_grants_is_judged_grant_by_grant() {
        let mut w = World::with(|h| {
            let h = h.role("r", "object", []);
            let h = (0..10_000).fold(h, |h, number| {
                let name = format!("s{number}");
                let h = h.object("server", &name, None, None);
                h.grant(&name, to_user("c").role("r").on("server", &name))
            });
            allow(h, "a", &["core.role.edit", "srv.server.start"])
        });
        w.would("a", add_to_role("r", &["srv.server.start"]));
        w.given(|h| h.inherits("server", "s9999", false));
        w.refused("a", add_to_role("r", &["srv.server.start"]), Code::NotHeld);
    }

    fn protected_roles_are_neither_edited_nor_deleted_and_others_are() {
        let mut w = World::new();
        for role in ["administrator", "owner"] {
            w.refused("root", add_to_role(role, &["core.user.read"]), Code::ProtectedRole);
            w.refused("root", DeleteRole { role: ids::role(role) }, Code::ProtectedRole);
            let renamed = ChangeRole { name: Some(ids::shown("New")), ..add_to_role(role, &[]) };
            w.refused("root", renamed, Code::ProtectedRole);
        }
        for role in ["viewer", "operator"] {
            w.would("root", add_to_role(role, &["core.user.create"]));
            w.would("root", DeleteRole { role: ids::role(role) });
        }
    }

    fn an_edit_of_what_is_so_already_changes_nothing() {
        let mut w = World::with(|h| h.role("r", "both", ["srv.server.read"]).group("g", ["a"]));
        let same = ChangeRole { name: Some(ids::shown("r")), ..add_to_role("r", &["srv.server.read"]) };
        assert!(w.ok("root", same).events.is_empty());
        assert!(w.ok("root", take_from_role("r", &["srv.server.start"])).events.is_empty());
        let same = charter_commands::RenameGroup { group: ids::group("g"), name: ids::shown("g") };
        assert!(w.ok("root", same).events.is_empty());
        assert!(w.ok("root", leave("g", "c")).events.is_empty());
        let both = ChangeRole { remove: patterns(&["srv.server.start"]), ..add_to_role("r", &["srv.server.start"]) };
        w.refused("root", both, Code::Duplicate);
    }

    fn if_match_holds_the_target_to_a_version() {
        let mut w = World::with(|h| server_of_b(h).role("r", "both", []).group("g", []));
        let commands: [(charter_commands::Command, charter_events::Offset); 6] = [
            (add_to_role("r", &["srv.server.read"]).into(), w.policy.role(ids::role("r")).unwrap().changed_at),
            (DeleteRole { role: ids::role("r") }.into(), w.policy.role(ids::role("r")).unwrap().changed_at),
            (join("g", "a").into(), w.policy.group(ids::group("g")).unwrap().changed_at),
            (charter_commands::DeleteGroup { group: ids::group("g") }.into(), w.policy.group(ids::group("g")).unwrap().changed_at),
            (rename(server("o"), "x").into(), w.policy.object(server("o")).unwrap().changed_at),
            (move_to(server("o"), None).into(), w.policy.object(server("o")).unwrap().changed_at),
        ];
        for (command, version) in commands {
            w.if_match = Some(version);
            w.would("root", command.clone());
            w.if_match = version.plus(1);
            w.refused("root", command.clone(), Code::Stale);
            w.if_match = version.plus(1);
            let why = w.decide(&caller("a"), command).unwrap_err();
            assert_ne!(why.code, Code::Stale, "who may not, learns no version");
        }
    }

    fn a_name_is_given_once_and_is_no_id() {
        let mut w = World::with(|h| h.role("r", "both", []).group("g", []));
        let group = |slug: &str| charter_commands::CreateGroup { slug: parsed(slug), name: ids::shown("New") };
        w.would("root", group("r"));
        w.refused("root", group("g"), Code::NameTaken);
        w.would("root", new_role("g", RoleScope::Both, &[]));
        w.refused("root", new_role("r", RoleScope::Both, &[]), Code::NameTaken);
        w.refused("root", new_role("administrator", RoleScope::Both, &[]), Code::NameTaken);
        for id in ["019b7600-0000-7000-8000-000000000001", "019b7600000070008000000000000001"] {
            w.refused("root", group(id), Code::ReservedName);
            w.refused("root", new_role(id, RoleScope::Both, &[]), Code::ReservedName);
        }
    }

    fn a_token_s_mask_is_a_ceiling_at_the_door_and_in_the_guards() {
        let mut w = World::with(server_of_b);
        let share = issue("a", &["srv.server.start"], on_server("o"));
        let narrow = masked("root", &["core.user.read"]);
        w.refused_as(&narrow, share.clone(), Code::TokenTooNarrow);
        let hidden = IssueGrant { scope: on_server("missing"), ..share.clone() };
        w.refused_as(&narrow, hidden, Code::TokenTooNarrow);
        let managing = masked("root", &["core.grant.manage"]);
        let why = w.refused_as(&managing, share.clone(), Code::NotHeld);
        assert_eq!(why.missing, ["srv.server.start"]);
        w.ok_as(&masked("b", &["core.grant.manage", "srv.server.*"]), share);
        let role = IssueGrant { content: Content::Role(ids::role("administrator")), ..issue("a", &[], Scope::Global) };
        w.refused_as(&masked("root", &["core.*"]), role.clone(), Code::NotHeld);
        w.would("root", role);
    }

    fn anyone_gives_up_his_own_allow_but_no_deny_on_himself() {
        let mut w = World::with(|h| {
            let h = allow_on(server_of_b(h), "a", "o", &["srv.server.read", "srv.server.start"]);
            h.grant("no", to_user("a").keys(["srv.server.manage"]).on("server", "o").deny())
        });
        w.refused("a", revoke("no"), Code::Forbidden);
        w.refused_as(&masked("a", &["srv.server.start"]), revoke("a:o"), Code::TokenTooNarrow);
        w.ok("a", revoke("a:o"));
        assert!(!w.can("a", "srv.server.start", on_server("o")));
    }
}
