//! Which crate may depend on which: the layer table, and the check that the workspace keeps to it.
//!
//! The table here is the one that counts; ARCHITECTURE.md shows it and is compared with it.

use crate::metadata::{Member, Workspace};
use std::fmt::Write;

/// One crate of the workspace, and what it may stand on.
struct Room {
    name: &'static str,
    layer: &'static str,
    /// No async, no I/O, no clock, no environment, no randomness.
    pure: bool,
    /// The rooms it may depend on directly, tests aside.
    on: &'static [&'static str],
}

const fn pure(name: &'static str, layer: &'static str, on: &'static [&'static str]) -> Room {
    Room { name, layer, pure: true, on }
}

const fn room(name: &'static str, layer: &'static str, on: &'static [&'static str]) -> Room {
    Room { name, layer, pure: false, on }
}

const ROOMS: &[Room] = &[
    pure("events", "0", &[]),
    pure("policy", "1", &["events"]),
    pure("tables", "1", &["events", "policy"]),
    pure("commands", "2", &["events", "policy"]),
    room("store", "2", &["events", "tables"]),
    pure("scenarios", "2", &["events", "policy"]),
    room("store-sqlite", "3 (adapter)", &["events", "store", "tables"]),
    room("store-postgres", "3 (adapter)", &["events", "store", "tables"]),
    room("bus-nats", "3 (adapter)", &["events", "store"]),
    room("follower", "4", &["events", "policy", "store", "bus-nats"]),
    room("control", "3", &["events", "policy", "tables", "commands", "store"]),
    room("oidc", "2", &[]),
    room("http", "4", &["events", "policy", "tables", "commands", "store", "control", "oidc"]),
    room("replay-tools", "4", &["events", "policy", "tables", "commands", "store"]),
    room(
        "cli",
        "4",
        &[
            "events",
            "policy",
            "tables",
            "commands",
            "store",
            "scenarios",
            "store-sqlite",
            "store-postgres",
            "bus-nats",
            "follower",
            "control",
            "oidc",
            "http",
            "replay-tools",
            "testkit",
        ],
    ),
    room(
        "tests",
        "4",
        &[
            "events",
            "policy",
            "tables",
            "commands",
            "store",
            "scenarios",
            "store-sqlite",
            "store-postgres",
            "bus-nats",
            "follower",
            "control",
            "http",
            "replay-tools",
            "testkit",
            "services",
        ],
    ),
    pure("testkit", "aside", &["events"]),
    room("services", "aside", &[]),
    room("xtask", "aside", &["events", "http", "bus-nats", "services"]),
    room(
        "bench",
        "outside",
        &[
            "events",
            "policy",
            "tables",
            "commands",
            "store",
            "store-sqlite",
            "store-postgres",
            "control",
            "replay-tools",
            "testkit",
            "services",
        ],
    ),
];

/// What any room's tests may use besides what the room may.
const FOR_TESTS: &[&str] = &["testkit", "scenarios", "policy", "store-sqlite", "services"];
/// What the tests of one room may use besides that: a follower is tried against the server itself.
const FOR_TESTS_OF: &[(&str, &[&str])] = &[("follower", &["control", "http"])];
/// What no room is built on.
const NEVER_BELOW: &[&str] = &["bench", "xtask", "tests"];
/// What would make a pure room impure.
const NOT_IN_PURE: &[&str] =
    &["tokio", "sqlx", "axum", "async-nats", "tracing", "getrandom", "rand", "reqwest"];
/// One provider of cryptography (aws-lc-rs), and peers to measure against in no product.
const NOT_IN_PRODUCT: &[&str] =
    &["ring", "openssl-sys", "openssl", "native-tls", "cedar-policy", "cedar-policy-core", "casbin"];

const PREFIX: &str = "charter-";

/// The table as ARCHITECTURE.md shows it.
pub(crate) fn table() -> String {
    let mut text = String::from("| room | layer | pure | stands on |\n|---|---|---|---|\n");
    for Room { name, layer, pure, on } in ROOMS {
        let pure = if *pure { "yes" } else { "" };
        let on = if on.is_empty() { "nothing".to_owned() } else { on.join(", ") };
        let _ = writeln!(text, "| {name} | {layer} | {pure} | {on} |");
    }
    text
}

/// Checks this workspace.
pub(crate) fn check_workspace() -> anyhow::Result<Vec<String>> {
    Ok(check(&crate::metadata::read()?))
}

fn check(workspace: &Workspace) -> Vec<String> {
    let mut faults = Vec::new();
    for member in &workspace.crates {
        let name = member.name.strip_prefix(PREFIX).unwrap_or(&member.name);
        let Some(room) = ROOMS.iter().find(|r| r.name == name) else {
            faults.push(format!("`{}` is not in the layer table", member.name));
            continue;
        };
        check_edges(room, member, &mut faults);
    }
    let bad = NOT_IN_PRODUCT.iter().filter(|name| workspace.built_from.contains(**name));
    faults.extend(bad.map(|name| format!("the product is built from `{name}`, which it never is")));
    faults
}

fn check_edges(room: &Room, member: &Member, faults: &mut Vec<String>) {
    for edge in &member.edges {
        let Some(on) = edge.on.strip_prefix(PREFIX) else {
            if room.pure && !edge.dev && NOT_IN_PURE.contains(&edge.on.as_str()) {
                faults.push(format!("`{}` is pure and must not depend on `{}`", room.name, edge.on));
            }
            continue;
        };
        let for_its_tests =
            FOR_TESTS_OF.iter().any(|(name, rooms)| *name == room.name && rooms.contains(&on));
        let for_tests = on == room.name || FOR_TESTS.contains(&on) || for_its_tests;
        let allowed = room.on.contains(&on) || (edge.dev && for_tests);
        if !allowed || NEVER_BELOW.contains(&on) {
            let kind = if edge.dev { "in its tests " } else { "" };
            faults.push(format!("`{}` must not depend on `{on}` {kind}(see the layer table)", room.name));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::Edge;

    fn workspace(name: &str, edges: &[(&str, bool)], built_from: &[&str]) -> Workspace {
        let edges = edges.iter().map(|&(on, dev)| Edge { on: on.to_owned(), dev }).collect();
        Workspace {
            crates: vec![Member { name: name.to_owned(), edges }],
            built_from: built_from.iter().map(|&name| name.to_owned()).collect(),
        }
    }

    #[test]
    fn the_workspace_keeps_to_the_layer_table() {
        assert_eq!(check_workspace().unwrap(), Vec::<String>::new());
    }

    #[test]
    fn the_architecture_document_shows_the_layer_table() {
        let document = std::fs::read_to_string(crate::tree::root().join("ARCHITECTURE.md")).unwrap();
        assert!(
            document.contains(&table()),
            "put the output of `cargo xtask layers --table` into ARCHITECTURE.md"
        );
    }

    #[test]
    fn what_the_table_allows_is_no_fault() {
        for (name, edges) in [
            ("charter-policy", &[("charter-events", false), ("imbl", false)][..]),
            ("charter-policy", &[("charter-testkit", true), ("tokio", true)]),
            ("charter-events", &[("charter-events", true)]),
            ("charter-control", &[("charter-store", false), ("tokio", false)]),
            ("charter-follower", &[("charter-http", true), ("charter-control", true)]),
        ] {
            assert_eq!(check(&workspace(name, edges, &[])), Vec::<String>::new(), "{name}");
        }
    }

    #[test]
    fn each_kind_of_wrong_edge_is_named() {
        for (name, edges, built_from, fault) in [
            (
                "charter-policy",
                &[("charter-commands", false)][..],
                &[][..],
                "`policy` must not depend on `commands`",
            ),
            (
                "charter-store-sqlite",
                &[("charter-control", false)],
                &[],
                "`store-sqlite` must not depend on `control`",
            ),
            ("charter-events", &[("charter-policy", false)], &[], "`events` must not depend on `policy`"),
            (
                "charter-http",
                &[("charter-bench", true)],
                &[],
                "`http` must not depend on `bench` in its tests",
            ),
            (
                "charter-commands",
                &[("tracing", false)],
                &[],
                "`commands` is pure and must not depend on `tracing`",
            ),
            ("charter-policy", &[("tokio", false)], &[], "`policy` is pure and must not depend on `tokio`"),
            ("charter-follower", &[("charter-http", false)], &[], "`follower` must not depend on `http`"),
            ("charter-attic", &[], &[], "`charter-attic` is not in the layer table"),
            ("charter-cli", &[], &["ring"], "the product is built from `ring`"),
            ("charter-http", &[], &["casbin"], "the product is built from `casbin`"),
        ] {
            let faults = check(&workspace(name, edges, built_from));
            assert!(faults.len() == 1 && faults[0].starts_with(fault), "{name}: {faults:?}");
        }
    }

    #[test]
    fn a_room_stands_only_on_rooms_of_the_table_and_never_in_a_circle() {
        // listed before it is stood upon, but for the rooms aside
        for (place, room) in ROOMS.iter().enumerate() {
            for on in room.on {
                let below = ROOMS.iter().position(|r| r.name == *on).unwrap();
                assert!(below < place || ROOMS[below].layer == "aside", "{} on {on}", room.name);
            }
        }
    }
}
