//! Objects and folders: where they may lie, and what stays behind when they go.

use crate::{say::*, world::*};
use charter_commands::{Code, CreateObject, DeleteObject, RenameObject, TransferObject};
use charter_events::{Event, ObjectId, Scope, Subject};
use charter_testkit::{History, history::parsed, ids, to_user};

fn nested(h: History) -> History {
    h.folder("top", None).folder("sub", Some("top")).folder("low", Some("sub")).object(
        "server",
        "s",
        Some("low"),
        Some("b"),
    )
}

cases! {
    fn a_folder_never_lies_in_itself() {
        let mut w = World::with(nested);
        let top = ids::folder("top");
        w.would("root", move_to(ids::folder("low"), Some("top")));
        w.refused("root", move_to(top, Some("top")), Code::Cycle);
        w.refused("root", move_to(top, Some("sub")), Code::Cycle);
        w.refused("root", move_to(top, Some("low")), Code::Cycle);
        assert!(w.ok("root", move_to(top, None)).events.is_empty());
    }

    fn only_a_folder_contains_objects() {
        let mut w = World::with(|h| nested(h).object("server", "t", None, Some("b")));
        let inside = CreateObject { parent: Some(server("s")), ..create("server", None) };
        w.refused("root", inside, Code::NotAFolder);
        let into = charter_commands::MoveObject { object: server("t"), parent: Some(server("s")) };
        w.refused("root", into, Code::NotAFolder);
        w.refused("root", create("nothing", None), Code::UnknownObjectType);
    }

    fn folders_nest_so_deep_and_no_deeper_the_subtree_counted() {
        let mut w = World::with(|h| nested(h).folder("other", None).folder("under", Some("other")));
        w.limits.folder_depth_levels = 4;
        w.would("root", create("server", Some("low")));
        w.would("root", move_to(ids::folder("other"), Some("sub")));
        w.refused("root", move_to(ids::folder("other"), Some("low")), Code::LimitExceeded);
        w.limits.folder_depth_levels = 3;
        w.would("root", create("server", Some("sub")));
        w.refused("root", create("server", Some("low")), Code::LimitExceeded);
        w.refused("root", move_to(ids::folder("other"), Some("sub")), Code::LimitExceeded);
    }

    fn a_folder_that_contains_anything_stays() {
        let mut w = World::with(nested);
        let delete = |object: ObjectId| DeleteObject { object };
        w.refused("root", delete(ids::folder("low")), Code::NotEmpty);
        w.ok("b", delete(server("s")));
        w.ok("root", delete(ids::folder("low")));
    }

    fn creating_gives_the_creator_and_nobody_else_anything() {
        let mut w = World::with(|h| allow(h, "a", &["srv.server.create"]));
        let decided = w.ok("a", create("server", None));
        let object = ObjectId::new(decided.created.unwrap());
        assert_eq!(decided.events.len(), 2);
        for who in ["a", "b", "c", "root"] {
            let expected = who == "a" || who == "root";
            assert_eq!(w.can(who, "srv.server.start", Scope::Object(object)), expected, "{who}");
        }
        w.refused("b", create("server", None), Code::Forbidden);
        assert_eq!(w.policy.object(object).unwrap().owner, Some(user("a")));
        assert!(w.policy.grants_at(Scope::Object(object)).all(|grant| grant.is_owner_grant));
    }

    fn what_is_created_again_inherits_nothing() {
        let mut w = World::with(|h| h.object("server", "s", None, Some("b")));
        w.ok("b", issue("c", &["srv.server.start"], on_server("s")));
        let decided = w.ok("b", DeleteObject { object: server("s") });
        let names: Vec<_> = decided.events.iter().map(Event::type_name).collect();
        assert_eq!(names, ["grant.ended", "grant.ended", "object.deleted"]);
        let again = CreateObject { external_id: Some(parsed("s")), ..create("server", None) };
        let object = ObjectId::new(w.ok("root", again).created.unwrap());
        assert_ne!(object, server("s"));
        assert!(!w.can("c", "srv.server.start", Scope::Object(object)));
        assert!(!w.can("b", "srv.server.start", Scope::Object(object)));
        assert_eq!(w.policy.grants_of(Subject::User(user("c"))).count(), 0);
    }

    fn an_external_id_is_given_once_per_type_and_is_no_id() {
        let mut w = World::with(|h| nested(h).object_type("srv", "world").keys(&["srv.world.create"], &["world"]));
        let named = |object_type: &str, id: &str| CreateObject {
            external_id: Some(parsed(id)),
            ..create(object_type, None)
        };
        w.would("root", named("world", "s"));
        w.refused("root", named("server", "s"), Code::NameTaken);
        w.would("root", named("server", "S"));
        w.refused("root", named("server", &server("s").to_string()), Code::ReservedName);
        let rename = |id: &str| RenameObject { object: server("s"), name: None, external_id: Some(Some(parsed(id))) };
        w.would("root", rename(&server("s").to_string()));
        assert!(w.ok("root", rename("s")).events.is_empty());
    }

    fn an_object_at_the_top_needs_its_create_key_globally() {
        let mut w = World::with(|h| nested(h).object("folder", "mine", None, Some("a")));
        w.would("a", create("server", Some("mine")));
        assert_eq!(w.refused("a", create("server", None), Code::Forbidden).missing, ["srv.server.create"]);
        assert_eq!(w.refused("b", move_to(server("s"), None), Code::Forbidden).missing, ["srv.server.create"]);
    }

    fn sealing_and_opening_again_is_the_owner_s() {
        let mut w = World::with(|h| allow_in(nested(h), "c", "top", &["srv.server.start"]));
        assert!(w.can("c", "srv.server.start", on_server("s")));
        w.ok("b", inherits(server("s"), false));
        assert!(!w.can("c", "srv.server.start", on_server("s")));
        assert!(w.ok("b", inherits(server("s"), false)).events.is_empty());
        w.ok("b", inherits(server("s"), true));
        assert!(w.can("c", "srv.server.start", on_server("s")));
    }

    fn what_lies_sealed_moves_without_asking_for_what_stands_above() {
        let mut w = World::with(|h| {
            let h = allow_in(nested(h).folder("f", None), "c", "f", &["srv.server.start"]);
            let h = allow_on(h, "x", "s", &["core.grant.manage", "core.object.move"]);
            h.grant("create", to_user("x").keys(["srv.server.create"]).on("folder", "f"))
        });
        w.refused("x", move_to(server("s"), Some("f")), Code::NotHeld);
        w.given(|h| h.inherits("server", "s", false));
        w.would("x", move_to(server("s"), Some("f")));
    }

    fn leaving_a_sealed_folder_asks_for_the_global_grants_that_begin_to_count() {
        let mut w = World::with(|h| {
            let h = h.folder("vault", None).inherits("folder", "vault", false).object("server", "s", Some("vault"), Some("b"));
            let h = allow(h, "c", &["srv.server.start"]);
            let h = allow(h, "x", &["srv.server.create"]);
            allow_on(h, "x", "s", &["core.grant.manage", "core.object.move"])
        });
        let why = w.refused("x", move_to(server("s"), None), Code::NotHeld);
        assert_eq!(why.missing, ["srv.server.create", "srv.server.start"]);
        w.would("root", move_to(server("s"), None));
    }

    fn a_module_and_the_system_own_nothing_they_create() {
        let mut w = World::new();
        let decided = w.ok("module:srv", create("server", None));
        assert_eq!(decided.events.len(), 1);
        let object = ObjectId::new(decided.created.unwrap());
        w.ok("root", TransferObject { object, owner: user("a") });
        assert!(w.can("a", "srv.server.start", Scope::Object(object)));
    }

    fn a_cascade_too_large_is_refused_with_its_number() {
        let mut w = World::with(|h| {
            let h = nested(h);
            allow_on(allow_on(h, "a", "s", &["srv.server.read"]), "c", "s", &["srv.server.read"])
        });
        w.limits.command_events = 4;
        w.would("b", DeleteObject { object: server("s") });
        w.limits.command_events = 3;
        let why = w.refused("b", DeleteObject { object: server("s") }, Code::TooManyConsequences);
        assert!(why.detail.contains('4'), "{why:?}");
    }
}
