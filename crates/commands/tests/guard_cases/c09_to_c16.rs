//! Guard cases 9 to 16.

use crate::{say::*, world::*};
use charter_commands::{ApplyCatalog, CancelDeletion, Code, EditUser, IssueGrant, ReactivateUser};
use charter_events::{AliasDefinition, ObjectTypeDefinition, PermissionDefinition, ProfileField, Scope};
use charter_testkit::{History, at, history::parsed, ids, to_group, to_user};

fn server_of_b(h: History) -> History {
    h.folder("f", None).object("server", "o", Some("f"), Some("b"))
}

/// The document the world's module registered.
pub(crate) fn document() -> ApplyCatalog {
    let permission = |text: &&str| PermissionDefinition {
        key: key(text),
        description: ids::shown(text),
        object_types: vec![parsed("server")],
    };
    let definition = ObjectTypeDefinition {
        name: parsed("server"),
        read: key("srv.server.read"),
        create: key("srv.server.create"),
        manage: key("srv.server.manage"),
        aliases: Vec::new(),
    };
    ApplyCatalog {
        namespace: parsed("srv"),
        permissions: SERVER_KEYS.iter().map(permission).collect(),
        object_types: vec![definition],
    }
}

cases! {
    fn case_09_adding_to_a_role_needs_the_key_wherever_the_role_is_granted() {
        let mut w = World::with(|h| {
            let h = server_of_b(h).inherits("server", "o", false).role("r", "object", ["srv.server.read"]);
            let h = h.grant("r", to_user("a").role("r").on("server", "o"));
            allow(h, "a", &["core.role.edit", "srv.server.start"]).role("free", "object", ["srv.server.read"])
        });
        w.would("root", add_to_role("r", &["srv.server.start"]));
        w.would("a", add_to_role("free", &["srv.server.start"]));
        let why = w.refused("a", add_to_role("r", &["srv.server.start"]), Code::NotHeld);
        assert_eq!(why.missing, ["srv.server.start"]);
        assert!(!why.detail.contains(&server("o").to_string()), "a refusal names items, never where: {why:?}");
    }

    fn case_09_nor_does_it_go_past_a_nearer_deny() {
        let mut w = World::with(|h| {
            let h = server_of_b(h).role("r", "object", ["srv.server.read"]);
            let h = h.grant("r", to_user("a").role("r").on("server", "o"));
            let h = h.grant("no", to_user("a").keys(["srv.server.start"]).on("server", "o").deny());
            allow(h, "a", &["core.role.edit", "srv.server.start"])
        });
        w.would("root", add_to_role("r", &["srv.server.start"]));
        w.refused("a", add_to_role("r", &["srv.server.start"]), Code::NotHeld);
    }

    fn case_09_a_grant_that_has_not_begun_counts_and_one_that_ended_does_not() {
        let mut w = World::with(|h| {
            let h = server_of_b(h).inherits("server", "o", false);
            let h = h.role("later", "object", ["srv.server.read"]).role("over", "object", ["srv.server.read"]);
            let h = h.grant("later", to_user("c").role("later").on("server", "o").from(TOMORROW));
            let h = h.grant("over", to_user("c").role("over").on("server", "o").until("2026-03-01T11:00:00Z"));
            allow(h, "a", &["core.role.edit", "srv.server.start"])
        });
        w.would("a", add_to_role("over", &["srv.server.start"]));
        w.refused("a", add_to_role("later", &["srv.server.start"]), Code::NotHeld);
    }

    fn case_09_a_role_is_made_and_narrowed_only_of_what_is_held_globally() {
        let mut w = World::with(|h| {
            let h = h.role("big", "both", ["srv.server.read", "srv.server.start"]);
            allow(h, "a", &["core.role.create", "core.role.delete", "core.role.edit", "srv.server.read"])
        });
        let role = charter_events::RoleScope::Both;
        w.would("a", new_role("small", role, &["srv.server.read"]));
        let why = w.refused("a", new_role("large", role, &["srv.server.read", "srv.server.start"]), Code::NotHeld);
        assert_eq!(why.missing, ["srv.server.start"]);
        w.refused("a", new_role("wild", role, &["srv.server.*"]), Code::NotHeld);
        w.would("root", take_from_role("big", &["srv.server.read"]));
        w.refused("a", take_from_role("big", &["srv.server.read"]), Code::NotHeld);
        w.refused("a", charter_commands::DeleteRole { role: ids::role("big") }, Code::NotHeld);
    }

    fn case_10_the_owner_is_not_denied_on_his_own_object() {
        let mut w = World::with(server_of_b);
        w.ok("b", issue("a", &["core.grant.manage", "srv.server.start"], on_server("o")));
        w.would("a", deny("c", &["srv.server.start"], on_server("o")));
        w.refused("a", deny("c", &["srv.server.delete"], on_server("o")), Code::NotHeld);
        w.refused("a", deny("b", &["srv.server.start"], on_server("o")), Code::OwnerDenied);
        w.refused("b", deny("b", &["srv.server.start"], on_server("o")), Code::OwnerDenied);
        w.would("root", deny("b", &["srv.server.start"], on_server("o")));
    }

    fn case_10_denies_on_the_new_owner_end_with_the_transfer() {
        let mut w = World::with(server_of_b);
        w.ok("b", deny("c", &["srv.server.read", "srv.server.start"], on_server("o")));
        w.ok("b", deny("d", &["srv.server.read"], on_server("o")));
        w.ok("b", transfer("o", "c"));
        for permission in SERVER_KEYS {
            assert!(w.can("c", permission, on_server("o")), "{permission}");
            assert!(!w.can("b", permission, on_server("o")), "{permission}");
        }
        assert!(w.policy.grants_at(on_server("o")).any(|g| g.subject == charter_events::Subject::User(user("d"))));
        let object = w.policy.object(server("o")).unwrap();
        assert_eq!(object.owner, Some(user("c")));
        assert!(object.owner_grant.is_some());
    }

    fn case_10_only_an_active_user_becomes_owner() {
        let mut w = World::with(|h| server_of_b(h).invited("i").suspended("d"));
        w.would("b", transfer("o", "c"));
        w.refused("b", transfer("o", "i"), Code::InvalidState);
        w.refused("b", transfer("o", "d"), Code::InvalidState);
        w.refused("b", transfer("o", "nobody"), Code::NotFound);
        assert!(w.ok("b", transfer("o", "b")).events.is_empty());
    }

    fn case_11_what_is_held_from_tomorrow_is_not_promised_today() {
        let mut w = World::with(|h| {
            allow(h, "a", &["core.grant.manage"]).grant("next", to_user("a").role("administrator").from(TOMORROW))
        });
        let promised = from(issue_role("c", "administrator", Scope::Global), TOMORROW);
        w.would("root", promised.clone());
        let why = w.refused("a", promised.clone(), Code::NotHeld);
        assert_eq!(why.missing, ["*"]);
        w.at(TOMORROW);
        let begun = IssueGrant { not_before: None, ..promised };
        w.would("a", begun);
    }

    fn case_12_helpdesk_restores_and_edits_no_administrator() {
        let mut w = World::with(|h| {
            let h = h.user("old").administrator("old").suspended("old");
            let h = h.user("gone").administrator("gone").event(charter_events::UserDeletionScheduled {
                user: user("gone"),
                erase_at: at(TOMORROW),
            });
            let h = h.user("next").grant("next", to_user("next").role("administrator").from(TOMORROW));
            let h = h.user("t").grant("hour", to_user("t").role("administrator").until(SOON)).suspended("d");
            allow(h, "a", &["core.user.delete", "core.user.edit", "core.user.suspend"])
        });
        let reactivate = |who| ReactivateUser { user: user(who) };
        w.would("a", reactivate("d"));
        w.would("root", reactivate("old"));
        w.refused("a", reactivate("old"), Code::NotHeld);
        w.refused("t", reactivate("old"), Code::OutlivesHolder);
        let restore = CancelDeletion { user: user("gone") };
        w.would("root", restore.clone());
        w.refused("a", restore.clone(), Code::NotHeld);
        w.refused("t", restore, Code::OutlivesHolder);
        let shown = |who: &str| EditUser {
            changed: vec![ProfileField::DisplayName],
            ..edit(who, ids::profile(who))
        };
        w.would("a", shown("c"));
        w.would("t", shown("next"));
        w.refused("a", shown("next"), Code::NotHeld);
        w.refused("a", suspend("next"), Code::NotHeld);
        w.refused("a", schedule("next", TOMORROW), Code::NotHeld);
        w.refused("a", schedule("root", TOMORROW), Code::NotHeld);
        w.refused("a", charter_commands::EndSessions { user: user("root") }, Code::NotHeld);
    }

    fn case_13_a_type_never_changes_what_it_means() {
        let mut w = World::with(|h| allow(h, "a", &["core.module.install"]));
        assert!(w.ok("root", document()).events.is_empty(), "the same document again changes nothing");
        let mut other = document();
        other.object_types[0].manage = key("srv.server.read");
        w.refused("a", other.clone(), Code::NotHeld);
        w.refused("root", other.clone(), Code::AlreadyRegistered);
        w.refused("module:srv", other, Code::AlreadyRegistered);
        let alias = |to: &str| {
            let mut with = document();
            with.object_types[0].aliases = vec![AliasDefinition { alias: parsed("delete"), key: key(to) }];
            with
        };
        w.refused("a", alias("srv.server.read"), Code::NotHeld);
        w.ok("root", alias("srv.server.delete"));
        w.refused("root", alias("srv.server.read"), Code::AlreadyRegistered);
        assert!(w.ok("root", document()).events.is_empty(), "an alias left out stays");
    }

    fn case_13_a_type_belongs_to_who_registered_it_and_a_namespace_to_its_module() {
        let mut w = World::with(|h| allow(h, "a", &["core.module.install"]));
        let mut foreign = document();
        foreign.namespace = parsed("other");
        for permission in &mut foreign.permissions {
            permission.key = parsed(&permission.key.to_string().replace("srv.", "other."));
        }
        let named = |namespace: &str| ObjectTypeDefinition {
            name: parsed("server"),
            read: parsed(&format!("{namespace}.server.read")),
            create: parsed(&format!("{namespace}.server.create")),
            manage: parsed(&format!("{namespace}.server.manage")),
            aliases: Vec::new(),
        };
        foreign.object_types = vec![named("other")];
        w.refused("root", foreign.clone(), Code::AlreadyRegistered);
        foreign.object_types.clear();
        w.would("root", foreign.clone());
        w.would("module:other", foreign.clone());
        w.refused("a", foreign.clone(), Code::NotHeld);
        w.refused("b", foreign.clone(), Code::Forbidden);
        w.refused("module:srv", foreign, Code::ForeignNamespace);
        let mut outside = document();
        outside.permissions[0].key = key("core.role.create");
        w.refused("root", outside, Code::OutsideNamespace);
        let mut outside = document();
        outside.object_types[0] = named("core");
        w.refused("root", outside, Code::OutsideNamespace);
        let core = ApplyCatalog { namespace: parsed("core"), permissions: vec![], object_types: vec![] };
        w.refused("root", core.clone(), Code::ForeignNamespace);
        w.refused("system", core, Code::ForeignNamespace);
    }

    fn case_14_the_same_grant_stands_once() {
        let mut w = World::with(server_of_b);
        w.ok("b", issue("a", &["srv.server.start", "srv.server.read"], on_server("o")));
        let again = issue("a", &["srv.server.read", "srv.server.start", "srv.server.read"], on_server("o"));
        w.refused("b", again.clone(), Code::AlreadyGranted);
        w.would("b", until(again.clone(), TOMORROW));
        w.would("b", IssueGrant { effect: charter_events::Effect::Deny, ..again });
        w.would("b", issue("a", &["srv.server.start"], on_server("o")));
    }

    fn case_14_a_hundred_grants_of_one_subject_at_one_scope() {
        let mut w = World::with(server_of_b);
        let ends = |minutes: i64| IssueGrant {
            expires_at: Some(at(SOON).saturating_add_micros(minutes * 60_000_000)),
            ..issue("a", &["srv.server.start"], on_server("o"))
        };
        for minutes in 0..100 {
            w.ok("b", ends(minutes));
        }
        w.would("b", issue("c", &["srv.server.start"], on_server("o")));
        w.refused("b", ends(100), Code::LimitExceeded);
    }

    fn case_15_sealing_needs_everything_below() {
        let mut w = World::with(|h| {
            let h = h.folder("top", None).folder("sub", Some("top"));
            let h = allow_in(h, "a", "sub", &["core.grant.manage", "core.folder.read"]);
            h.grant("own", to_user("c").role("owner").on("folder", "sub"))
        });
        w.would("root", inherits(ids::folder("sub"), false));
        w.would("c", inherits(ids::folder("sub"), false));
        let why = w.refused("a", inherits(ids::folder("sub"), false), Code::NotHeld);
        assert_eq!(why.missing, ["*"]);
    }

    fn case_16_a_group_s_denies_are_given_only_by_who_holds_them() {
        let mut w = World::with(|h| {
            let h = h.group("kept", []).grant("kept", to_group("kept").keys(["srv.server.start"]).deny());
            let h = h.group("later", []);
            let h = h.grant("later", to_group("later").keys(["srv.server.start"]).from(TOMORROW));
            let h = h.group("free", []);
            allow(h, "a", &["core.group.manage"])
        });
        w.would("root", join("kept", "c"));
        w.would("a", join("free", "c"));
        w.refused("a", join("kept", "c"), Code::NotHeld);
        w.refused("a", join("later", "c"), Code::NotHeld);
        w.given(|h| h.joined("kept", "c"));
        assert!(w.ok("a", join("kept", "c")).events.is_empty(), "who is in already is in");
        w.refused("a", leave("kept", "c"), Code::NotHeld);
    }
}
