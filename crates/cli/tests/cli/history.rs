//! Undoing, exports that others read, and read models built anew, as people run them: on SQLite and PostgreSQL.

use crate::{
    databases::both,
    support::{Home, Server},
};
use charter_services::Database;
use serde_json::Value;
use std::path::Path;

fn head(ada: &Home) -> u64 {
    ada.run("events ls --limit 1000 -o json").done().json().as_array().unwrap().len() as u64
}

#[test]
fn an_undo_shows_what_it_would_do_asks_and_can_be_undone() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path());
    let ada = server.set_up();
    ada.run("user create bob").done();
    ada.run("group create ops").done();
    ada.run("group add ops bob").done();
    ada.run("grant allow group:ops -p core.user.read").done();
    ada.run("group rm ops --yes").done();
    let at = head(&ada);
    ada.run("check bob core.user.read").fails(3, "");

    // Without a terminal and without `--yes` it says what it would do, and does nothing.
    let shown = ada.run(&format!("undo {at}"));
    shown.fails(2, &format!("this would undo the command that event {at} is part of"));
    for part in ["group.created", "group.member_added", "grant.issued", "+ bob core.user.read platform-wide"]
    {
        assert!(shown.stderr.contains(part), "{part}: {}", shown.stderr);
    }
    assert_eq!(head(&ada), at);
    let only = ada.run(&format!("--preview undo {at}")).done();
    assert!(only.stdout.contains("group.created"), "{only:?}");
    assert_eq!(head(&ada), at);

    let undone = ada.run(&format!("undo {at} --yes")).done();
    let (first, last) = (at - 2, at + 3);
    let said = format!(
        "Undone: events {first} to {at}, by events {} to {last}. `charter undo {last}` takes that back.\n",
        at + 1
    );
    assert_eq!(undone.stdout, said);
    ada.run("check bob core.user.read").done();
    let event = ada.run(&format!("events ls --after {at} -o json")).done().json();
    assert_eq!(event[0]["reason"], format!("undoes {first}"));
    let again = ada.run(&format!("undo {last} --yes -o json")).done().json();
    assert_eq!(again["undone_last"], Value::from(last));
    ada.run("check bob core.user.read").fails(3, "");
}

#[test]
fn what_can_t_be_undone_says_why() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path());
    let ada = server.set_up();
    ada.run("undo 1 --yes").fails(5, "it is how the installation began");
    ada.run("undo 0 --yes").fails(1, "before the first command");
    ada.run("undo 999999 --yes").fails(1, "beyond the end of the log");
    ada.run("undo x --yes").fails(2, "it takes a whole number");
    ada.run("folder create eu").done();
    ada.run("folder rm eu --yes").done();
    let refused = ada.run(&format!("undo {} --yes", head(&ada)));
    refused.fails(5, "(not_undoable)").fails(5, "`object.deleted` at offset");
}

/// The store as arguments and variables name it.
fn exports_and_rebuilds(variables: &[(&str, &str)], data: &Path) {
    let server = Server::start_with(data, variables);
    let ada = server.set_up();
    ada.run("demo").done();
    let home = Home::new();
    let run = |args: &str| home.run_in(variables, &format!("{args} --data {}", data.display()));
    let lines = |form: &str| -> Vec<Value> {
        let text = run(&format!("replay export --format {form}")).done().stdout;
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    for form in ["cloudevents", "ocsf"] {
        let said = run(&format!("replay export --format {form}")).done().stderr;
        assert!(said.contains("It can't be imported.") && !said.contains("--secrets"), "{said}");
        let secrets = home.path("secrets");
        run(&format!("replay export --format {form} --secrets {}", secrets.display()))
            .fails(2, "can be imported");
        assert!(!secrets.exists());
    }
    let (own, clouds, ocsf) = (lines("charter"), lines("cloudevents"), lines("ocsf"));
    assert!(own.len() > 50);
    assert_eq!((clouds.len(), ocsf.len()), (own.len() - 1, own.len() - 1));
    for ((event, cloud), ocsf) in own[1..].iter().zip(&clouds).zip(&ocsf) {
        assert_eq!((&cloud["data"], &cloud["specversion"]), (event, &Value::from("1.0")));
        assert_eq!(ocsf["unmapped"]["hash"], event["hash"]);
        assert_eq!(ocsf["metadata"]["version"], "1.7.0");
    }
    home.run_in(variables, "replay export --format xml").fails(2, "cloudevents");

    // Beside the server, which keeps its own tables.
    let into = home.path("new");
    let built = run(&format!("replay rebuild --into {} -o json", into.display())).done().json();
    let built = built.as_array().unwrap();
    assert_eq!(built.len(), 4, "{built:?}");
    for one in built {
        assert_eq!(one["compared"], "equal", "{one}");
        assert!(one["rows"].as_u64().unwrap() > 0, "{one}");
    }
    assert!(into.join("tables.db").is_file());
    run(&format!("replay rebuild --into {}", into.display())).fails(2, "is there already");
    run("replay rebuild nothing").fails(2, "there is no such read model");
    let one = run("replay rebuild directory").done().stdout;
    assert!(one.contains("each as in the tables that are read."), "{one}");
    assert_eq!(server.stop("-TERM"), 0);
    run("replay rebuild").done();
}

#[test]
fn a_log_is_exported_for_others_and_its_tables_are_built_anew_on_sqlite() {
    let data = tempfile::tempdir().unwrap();
    exports_and_rebuilds(&[], data.path());
}

#[test]
fn a_log_is_exported_for_others_and_its_tables_are_built_anew_on_postgres() {
    let database = Database::fresh("history").unwrap();
    let data = tempfile::tempdir().unwrap();
    exports_and_rebuilds(&both(&database), data.path());
    database.remove().unwrap();
}
