//! The program on a PostgreSQL database: migrating it, servers side by side, and the tools beside them.

use crate::support::{Home, PASSWORD, Server};
use charter_services::Database;
use std::time::{Duration, Instant};

/// How long a server may take to notice another.
const LEASES_SECONDS_MAX: u64 = 60;

/// A migrated database.
pub(crate) fn migrated(home: &Home) -> Database {
    let database = Database::fresh("cli").unwrap();
    home.run_in(&both(&database), "migrate").done();
    database
}

/// The server's URL and the owner's.
pub(crate) fn both(database: &Database) -> [(&str, &str); 2] {
    [("CHARTER_DATABASE_URL", &database.server_url), ("CHARTER_MIGRATION_URL", &database.owner_url)]
}

fn servers(database: &Database) -> [(&'static str, &str); 1] {
    [("CHARTER_DATABASE_URL", &database.server_url)]
}

/// Waits until a server knows of so many: it asks when it says that it is alive.
fn until_servers(home: &Home, count: usize) {
    let deadline = Instant::now() + Duration::from_secs(LEASES_SECONDS_MAX);
    loop {
        let ran = home.run("servers -o name").done();
        if ran.stdout.lines().count() == count {
            return;
        }
        assert!(Instant::now() < deadline, "{ran:?}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn a_database_is_migrated_by_its_owner_once_and_checked_by_anybody() {
    let home = Home::new();
    let database = Database::fresh("cli").unwrap();
    let checked = home.run_in(&both(&database), "migrate --check");
    assert_eq!(checked.code, 3, "{checked:?}");
    assert!(checked.stdout.contains("is empty; this build works with schema"), "{checked:?}");
    let refused = home.run_in(&servers(&database), "serve --listen 127.0.0.1:0");
    refused.fails(1, "run `charter migrate` first");
    assert!(!refused.stderr.contains("making schema"), "{refused:?}");
    let not_owner = home.run_in(&servers(&database), "migrate");
    not_owner.fails(1, "name the database as its owner in `CHARTER_MIGRATION_URL`");
    home.run_in(&servers(&database), "doctor").fails(1, "hint: `CHARTER_MIGRATION_URL` names");

    let done = home.run_in(&both(&database), "migrate").done();

    assert!(done.stdout.contains("it had none"), "{done:?}");
    assert!(done.stderr.contains(&format!("The role {} may run a server", database.server_role)), "{done:?}");
    let again = home.run_in(&both(&database), "migrate").done();
    assert!(again.stdout.contains(" already."), "{again:?}");
    let checked = home.run_in(&servers(&database), "migrate --check -o json").done().json();
    assert_eq!(checked["up_to_date"], true);
    let by_server = home.run_in(&servers(&database), "migrate").done();
    assert!(by_server.stdout.contains(" already.") && by_server.stderr.is_empty(), "{by_server:?}");
    let by_owner = [("CHARTER_MIGRATION_URL", database.owner_url.as_str())];
    let by_owner = home.run_in(&by_owner, "migrate").done();
    assert!(by_owner.stderr.contains("Only its owner"), "{by_owner:?}");
    let password = database.server_url.split(['@', ':']).nth(2).unwrap();
    assert!(!format!("{done:?}{again:?}{refused:?}").contains(password));
}

#[test]
fn a_server_migrates_an_empty_database_itself_when_it_is_told_the_owner() {
    let data = tempfile::tempdir().unwrap();
    let database = Database::fresh("cli").unwrap();
    std::fs::write(data.path().join("charter.db"), "").unwrap();
    let server = Server::start_with(data.path(), &both(&database));
    assert!(server.banner.contains(&format!("/{}\n", database.name)), "{}", server.banner);
    assert!(!server.banner.contains("postgres://") && server.code.is_some(), "{}", server.banner);
    let other = ["setup", "--code", "AAAA-AAAA", "--username", "eve", "--password-stdin"];
    Home::at(&server).run_with(&other, PASSWORD).fails(3, "hint: of several servers, the code counts");
    server.set_up().run("whoami -o name").is(0, "ada\n", "");
    assert_eq!(server.stop("-TERM"), 0);
}

#[test]
fn servers_on_one_database_know_each_other_and_answer_alike() {
    let home = Home::new();
    let database = migrated(&home);
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let first = Server::start_with(folders[0].path(), &servers(&database));
    let ada = first.set_up();
    let second = Server::start_with(folders[1].path(), &servers(&database));
    assert!(second.banner.contains(", beside another (build "), "{}", second.banner);
    assert_eq!(second.code, None);

    let there = Home::at(&second);
    there.run_with(&["login", "ada", "--password-stdin"], PASSWORD).done();
    there.run("group create ops").done();

    ada.run("group get ops -o name").is(0, "ops\n", "");
    ada.run(&format!("whoami --server {}", second.url)).fails(4, &format!("is not sent to {}", second.url));
    until_servers(&ada, 2);
    let doctor = home.run_in(&servers(&database), "doctor -o json").done().json();
    let found = |check: &str| {
        let row = doctor.as_array().unwrap().iter().find(|row| row["check"] == check);
        row.unwrap_or_else(|| panic!("{check}: {doctor}"))["detail"].as_str().unwrap().to_owned()
    };
    assert!(found("servers").starts_with("2 alive"), "{doctor}");
    assert!(found("state").contains("digest"), "{doctor}");
    home.run_in(&servers(&database), "verify").done();
    assert_eq!(second.stop("-TERM"), 0);
    until_servers(&ada, 1);
    assert_eq!(first.stop("-INT"), 0);
}

#[test]
fn an_administrator_is_recovered_beside_running_servers() {
    let home = Home::new();
    let database = migrated(&home);
    let data = tempfile::tempdir().unwrap();
    let server = Server::start_with(data.path(), &servers(&database));
    server.set_up();
    let mut recover = home.command();
    recover.env("CHARTER_DATABASE_URL", &database.server_url);
    recover.args(["recover-admin", "--username", "eve", "--password-stdin"]);
    let recovered = crate::support::finish(&mut recover, PASSWORD).done();
    assert!(
        recovered.stderr.contains("is an administrator: sign in with `charter login eve`"),
        "{recovered:?}"
    );
    let again = crate::support::finish(&mut recover, PASSWORD).done();
    assert!(again.stderr.contains("eve was an administrator already"), "{again:?}");
    let eve = Home::at(&server);
    eve.run_with(&["login", "eve", "--password-stdin"], PASSWORD).done();
    assert_eq!(eve.run("whoami -o json").json()["administrator"], true);
}

#[test]
fn a_database_of_a_newer_build_is_left_alone() {
    let home = Home::new();
    let database = migrated(&home);
    database.sql("UPDATE log.schema_version SET version = 99").unwrap();
    home.run_in(&both(&database), "migrate --check").fails(3, "");
    for verb in ["serve --listen 127.0.0.1:0", "migrate", "doctor", "verify"] {
        home.run_in(&both(&database), verb)
            .fails(1, "the database has schema 99, this build knows schemas up to");
    }
}
