//! `charter diff` and `--preview` against a real server.

use crate::support::{Home, PASSWORD, Server};

const CATALOG: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/minecraft.yaml");

fn prepared(data: &std::path::Path) -> (Server, Home) {
    let server = Server::start(data);
    let ada = server.set_up();
    ada.run(&format!("catalog apply {CATALOG}")).done();
    ada.run_with(&["user", "create", "bob", "--password-stdin"], PASSWORD).done();
    ada.run("object create server:s1").done();
    (server, ada)
}

#[test]
fn a_preview_shows_what_a_change_would_do_and_changes_nothing() {
    let data = tempfile::tempdir().unwrap();
    let (_server, ada) = prepared(data.path());
    let before = ada.run("events ls -o json").done().stdout;
    let shown = ada.run("grant allow bob -p minecraft.server.restart --on server:s1 --preview").done();
    assert!(shown.stdout.starts_with("grant.issued {"), "{}", shown.stdout);
    assert!(
        shown.stdout.contains("bob   gained  server:s1  grant    minecraft.server.restart"),
        "{}",
        shown.stdout
    );
    assert!(
        shown.stderr.contains("It would append 1 event: 1 change in who may do what."),
        "{}",
        shown.stderr
    );
    assert!(shown.stderr.contains("Nothing was changed: this is a preview at version "), "{}", shown.stderr);
    // An administrator is one line, however many permissions there are, and nobody is asked for leave.
    let shown = ada.run("--preview grant allow bob --role administrator").done();
    assert!(shown.stdout.contains("bob   gained  everywhere  administrator"), "{}", shown.stdout);
    let json = ada.run("--preview object rm server:s1 -o json").done().json();
    assert_eq!(json["complete"], true);
    assert_eq!(json["events"][1]["type"], "object.deleted");
    ada.run("--preview user suspend ada").fails(5, "last_administrator");
    ada.run("--preview check bob minecraft.server.restart").fails(2, "`--preview` is of no use here");
    ada.run("--preview serve").fails(2, "`--preview` is of no use here");
    assert_eq!(ada.run("events ls -o json").done().stdout, before);
}

#[test]
fn a_diff_tells_who_gained_and_lost_what() {
    let data = tempfile::tempdir().unwrap();
    let (_server, ada) = prepared(data.path());
    let head = || ada.run("whoami -o json").done().json()["policy_version"].to_string();
    let start = head();
    ada.run("grant allow bob -p minecraft.server.restart -p minecraft.server.read --on server:s1").done();
    let given = head();
    ada.run("user suspend bob").done();
    let shown = ada.run(&format!("diff --from {start} --to {given}")).done();
    assert_eq!(
        shown.stdout,
        "USER  CHANGE  WHERE      BECAUSE  WHAT\n\
         bob   gained  server:s1  grant    minecraft.server.read, minecraft.server.restart\n"
    );
    assert!(shown.stderr.starts_with(&format!("2 changes between version {start} (")), "{}", shown.stderr);
    let lost =
        ada.run(&format!("diff --from {given} --permission minecraft.server.read -o json")).done().json();
    assert_eq!(lost["changes"][0]["change"], "lost");
    assert_eq!(lost["changes"][0]["after"]["because"], "inactive_subject");
    ada.run(&format!("diff --from {start}")).done();
    ada.run(&format!("diff --from {start} --to {given} --rows 1")).fails(1, "diff_too_large");
    ada.run("diff --from 999999").fails(1, "beyond_head");
    ada.run("diff").fails(2, "--from");
}

#[test]
fn commands_tried_on_a_log_are_the_systems_unless_somebody_gives_them_and_that_is_said() {
    let data = tempfile::tempdir().unwrap();
    let (_server, ada) = prepared(data.path());
    let bob = ada.run("user get bob -o json").done().json()["id"].as_str().unwrap().to_owned();
    let create = r#""command": "group.create", "slug": "tried", "name": "Tried""#;
    let simulate = |line: &str| {
        let file = ada.file("commands.jsonl", line);
        ada.run(&format!("replay simulate {file} --data {}", data.path().display()))
    };
    let by_system = simulate(&format!("{{{create}}}")).done();
    assert!(by_system.stderr.contains("Commands without `as` are given by the system"), "{by_system:?}");
    let by_bob = simulate(&format!("{{\"as\": \"{bob}\", {create}}}"));
    assert_eq!(by_bob.code, 3, "bob may not: {by_bob:?}");
    assert!(!by_bob.stderr.contains("without `as`"), "{by_bob:?}");
}

#[test]
fn a_checkpoint_and_a_proof_are_told_to_programs_too() {
    let data = tempfile::tempdir().unwrap();
    let (_server, ada) = prepared(data.path());
    let note = ada.run("log checkpoint -o json").done().json();
    assert!(note["checkpoint"].as_str().unwrap().starts_with("charter/"), "{note}");
    let proof = ada.run("log prove 1 -o json").done().json();
    assert_eq!(proof["offset"], 1);
    assert!(proof["proof"].as_str().unwrap().contains("charter/"), "{proof}");
}
