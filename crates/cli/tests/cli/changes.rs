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
