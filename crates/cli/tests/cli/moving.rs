//! An installation moved from SQLite to PostgreSQL and back is the same one: history, state, passwords, tokens, names.

use crate::{
    databases::both,
    support::{Home, PASSWORD, Ran, Server, finish},
};
use charter_services::Database;
use std::{path::Path, process::Stdio, time::Duration};

/// A store, as arguments and variables name it.
struct Kept<'a> {
    variables: Vec<(&'a str, &'a str)>,
    data: &'a Path,
}

impl Kept<'_> {
    fn run(&self, home: &Home, args: &str) -> Ran {
        home.run_in(&self.variables, &format!("{args} --data {}", self.data.display()))
    }

    fn serve(&self) -> Server {
        Server::start_with(self.data, &self.variables)
    }
}

/// What must not change: head, hash and state.
fn identity(home: &Home, kept: &Kept<'_>) -> serde_json::Value {
    kept.run(home, "replay verify -o json").done().json()
}

/// Fills an installation, and returns a token of its administrator.
fn fill(kept: &Kept<'_>) -> String {
    let server = kept.serve();
    let ada = server.set_up();
    ada.run("demo").done();
    ada.run_with(&["user", "create", "grace", "--name", "Grace Hopper", "--password-stdin"], PASSWORD).done();
    let token = ada.run("token create moving --until 30d").done().stdout.trim().to_owned();
    assert_eq!(server.stop("-TERM"), 0);
    token
}

/// Password, token and names work where the installation is now.
fn is_usable(kept: &Kept<'_>, token: &str) {
    let server = kept.serve();
    assert_eq!(server.code, None, "it has its administrator");
    let grace = Home::at(&server);
    grace.run_with(&["login", "grace", "--password-stdin"], PASSWORD).done();
    let robot = Home::at(&server);
    let ran =
        finish(robot.command().env("CHARTER_TOKEN", token).args(["user", "get", "grace", "-o", "json"]), "");
    assert_eq!(ran.done().json()["display_name"], "Grace Hopper");
    assert_eq!(server.stop("-TERM"), 0);
}

fn moved(home: &Home, from: &Kept<'_>, to: &Kept<'_>, name: &str) {
    let (log, secrets) = (home.path(&format!("{name}.ndjson")), home.path(&format!("{name}.secrets")));
    let (log, secrets) = (log.display(), secrets.display());
    from.run(home, &format!("replay export --out {log} --secrets {secrets}")).done();
    to.run(home, &format!("replay import {log} --secrets {secrets}")).done();
    let again = to.run(home, &format!("replay import {log} --secrets {secrets}")).done();
    assert!(again.stderr.contains("there already"), "{again:?}");
    assert_eq!(identity(home, from), identity(home, to));
    let left = std::fs::metadata(to.data.join("charter.db-wal")).map_or(0, |file| file.len());
    assert_eq!(left, 0, "whoever copies `charter.db` has everything");
}

#[test]
fn an_installation_moves_to_another_store_and_back() {
    let home = Home::new();
    let database = Database::fresh("move").unwrap();
    let folders = [(); 3].map(|()| tempfile::tempdir().unwrap());
    let first = Kept { variables: vec![], data: folders[0].path() };
    let second = Kept { variables: both(&database).to_vec(), data: folders[1].path() };
    let third = Kept { variables: vec![], data: folders[2].path() };
    let token = fill(&first);

    moved(&home, &first, &second, "there");
    is_usable(&second, &token);
    moved(&home, &second, &third, "back");
    is_usable(&third, &token);
}

#[test]
fn a_log_of_another_installation_is_not_imported_over_one_that_is_there() {
    let home = Home::new();
    let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let [first, second] = [0, 1].map(|n| Kept { variables: vec![], data: folders[n].path() });
    fill(&first);
    assert_eq!(second.serve().stop("-TERM"), 0);
    let before = identity(&home, &second);
    let log = home.path("log.ndjson").display().to_string();
    first.run(&home, &format!("replay export --out {log}")).done();
    second.run(&home, &format!("replay import {log}")).fails(5, "the file is of log ");
    assert_eq!(identity(&home, &second), before);
    first.run(&home, &format!("replay export --out {log}")).fails(1, "can't make `");
}

#[test]
fn secrets_are_exported_without_servers_only_and_to_a_file_of_ones_own() {
    let home = Home::new();
    let database = Database::fresh("move").unwrap();
    let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let secrets = home.path("secrets");
    let export =
        format!("replay export --out {} --secrets {}", home.path("log").display(), secrets.display());
    for (kept, says) in [
        (Kept { variables: vec![], data: folders[0].path() }, "is in use by another server"),
        (
            Kept { variables: both(&database).to_vec(), data: folders[1].path() },
            "servers run on this database",
        ),
    ] {
        let server = kept.serve();
        let ran = kept.run(&home, &export);
        assert!(ran.code != 0 && ran.stderr.contains(says), "{ran:?}");
        assert!(!secrets.exists() && !home.path("log").exists(), "{ran:?}");
        assert_eq!(server.stop("-TERM"), 0);
    }
    let first = Kept { variables: vec![], data: folders[0].path() };
    first.run(&home, "replay export --secrets -").fails(2, "never to stdout");
    let ran = first.run(&home, &export).done();
    assert!(ran.stderr.contains("destroy it after the move"), "{ran:?}");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(std::fs::metadata(&secrets).unwrap().permissions().mode() & 0o777, 0o600);
    }
}

#[test]
fn an_import_that_is_refused_leaves_nothing_a_server_could_start_on() {
    let home = Home::new();
    let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let first = Kept { variables: vec![], data: folders[0].path() };
    let new = folders[1].path().join("new");
    let second = Kept { variables: vec![], data: &new };
    let token = fill(&first);
    let [log, secrets, bad] = ["log", "secrets", "bad"].map(|name| home.path(name).display().to_string());
    first.run(&home, &format!("replay export --out {log} --secrets {secrets}")).done();
    let text = std::fs::read_to_string(&log).unwrap();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let ends_command = |line: &&str| {
        let event: serde_json::Value = serde_json::from_str(line).unwrap();
        event["command_index"].as_u64().unwrap() + 1 == event["command_size"].as_u64().unwrap()
    };
    let end = lines.len() - 5 - lines[1..lines.len() - 5].iter().rev().position(ends_command).unwrap();
    let within = 2;
    assert!(!ends_command(&lines[1]), "the first command has several events");
    for (cut, says) in [
        (lines[..end].concat(), format!("line {end}: the file was cut here")),
        (lines[..within].concat(), format!("line {within}: the file was cut here")),
        (text.replacen("minecraft", "minecrafT", 1), "is not what was exported: line ".to_owned()),
    ] {
        std::fs::write(&bad, cut).unwrap();
        let ran = second.run(&home, &format!("replay import {bad} --secrets {secrets}"));
        ran.fails(1, &says);
        assert!(ran.stderr.contains("nothing was written"), "{ran:?}");
        assert!(!new.exists(), "{ran:?}");
        let verified = second.run(&home, &format!("replay verify --file {bad} -o json"));
        assert!(verified.code == 2, "`--data` is given too: {verified:?}");
        let verified = home.run(&format!("replay verify --file {bad} -o json"));
        assert_eq!((verified.code, &verified.json()["sound"]), (1, &false.into()), "{verified:?}");
        assert!(verified.json()["line"].is_u64() && verified.json()["offset"].is_u64(), "{verified:?}");
        let read = home.run(&format!("replay inventory --file {bad}"));
        read.fails(1, says.rsplit(": ").next().unwrap());
        assert!(!read.stderr.contains("goes on"), "{read:?}");
    }
    let whole = std::fs::read_to_string(&secrets).unwrap();
    std::fs::write(&bad, whole.split_inclusive('\n').take(2).collect::<String>()).unwrap();
    second.run(&home, &format!("replay import {log} --secrets {bad}")).fails(1, "the file was cut");
    assert!(!new.exists());
    let args = ["replay", "import", "-", "--secrets", &secrets, "--data"];
    finish(home.command().args(args).arg(&new), &text).done();
    is_usable(&second, &token);
}

#[test]
fn an_import_without_secrets_says_what_is_lost_and_takes_them_later() {
    let home = Home::new();
    let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let [first, second] = [0, 1].map(|n| Kept { variables: vec![], data: folders[n].path() });
    let token = fill(&first);
    let (log, secrets) = (home.path("log"), home.path("secrets"));
    let (log, secrets) = (log.display(), secrets.display());
    first.run(&home, &format!("replay export --out {log} --secrets {secrets}")).done();
    let ran = second.run(&home, &format!("replay import {log}")).done();
    assert!(ran.stderr.contains("names stay sealed and nobody can sign in"), "{ran:?}");
    second.run(&home, &format!("replay import {log} --secrets {secrets}")).done();
    is_usable(&second, &token);
}

#[test]
fn a_log_is_exported_beside_its_server_and_is_the_same_elsewhere() {
    let home = Home::new();
    let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let [first, second] = [0, 1].map(|n| Kept { variables: vec![], data: folders[n].path() });
    let server = first.serve();
    server.set_up().run("demo").done();
    let exported = first.run(&home, "replay export").done();
    assert!(!exported.stdout.contains("argon2") && exported.stderr.contains("Secrets are not in it"));
    let import = ["replay", "import", "-", "--data", second.data.to_str().unwrap()];
    home.run_with(&import, &exported.stdout).done();
    assert_eq!(identity(&home, &first), identity(&home, &second));
    assert_eq!(server.stop("-TERM"), 0);
}

#[test]
fn an_import_that_was_killed_at_any_moment_is_made_again_and_goes_on() {
    let home = Home::new();
    home.run("bench gen --size X --out log").done();
    let database = Database::fresh("move").unwrap();
    home.run_in(&both(&database), "migrate").done();
    let from = Kept { variables: vec![], data: &home.path("log") };
    from.run(&home, "replay export --out events").done();
    for kept in [
        Kept { variables: both(&database).to_vec(), data: &home.path("of-database") },
        Kept { variables: vec![], data: &home.path("copy") },
    ] {
        for milliseconds in [20, 60, 180, 400] {
            let mut import = home.command();
            import.envs(kept.variables.iter().copied());
            import.args(["replay", "import", "events", "--data"]).arg(kept.data);
            let mut child = import.stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
            std::thread::sleep(Duration::from_millis(milliseconds));
            // An error: it had come to its end.
            drop(child.kill());
            child.wait().unwrap();
        }
        kept.run(&home, "replay import events").done();
        assert_eq!(identity(&home, &from), identity(&home, &kept));
    }
}
