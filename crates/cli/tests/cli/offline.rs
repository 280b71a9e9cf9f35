//! The program without a server: parsing, contexts, scenario files, completions, exit codes.

use crate::support::{Home, finish};

const HOLDS: &str = "
name: nearest wins
catalog: [{key: minecraft.server.restart, object_types: [server]}]
users: [alice]
objects: [{type: server, name: s1}]
grants: [{name: g1, to: 'user:alice', keys: [minecraft.server.restart], on: 'server:s1'}]
checks: [{user: alice, permission: minecraft.server.restart, on: 'server:s1', expect: allow}]
";

#[test]
fn a_scenario_that_holds_exits_0_and_says_how_much_was_asked() {
    let home = Home::new();
    let file = home.file("holds.yaml", HOLDS);
    home.run(&format!("test {file}")).is(0, "", "1 scenarios, 1 expectations: all hold\n");
}

#[test]
fn a_scenario_that_differs_exits_1_and_shows_both_answers() {
    let home = Home::new();
    let file = home.file("differs.yaml", &HOLDS.replace("expect: allow", "expect: deny"));
    let ran = home.run(&format!("test {file}"));
    ran.fails(1, "1 scenarios, 1 expectations: 1 differ");
    assert!(
        ran.stdout.contains("expected  deny") && ran.stdout.contains("got       allow"),
        "{}",
        ran.stdout
    );
    let rows = home.run(&format!("test -o json {file}")).json();
    assert_eq!(rows[0]["outcome"], "differs");
}

#[test]
fn a_file_that_is_refused_exits_2_and_names_the_place() {
    let home = Home::new();
    let unknown_user = home.file("refused.yaml", &HOLDS.replace("user:alice", "user:bob"));
    let ran = home.run(&format!("test {unknown_user}"));
    ran.fails(2, "1 refused");
    assert!(ran.stdout.contains("refused.yaml:") && ran.stdout.contains("grants[0]"), "{}", ran.stdout);
    home.run("test nothing-there.yaml").fails(2, "1 refused");
    home.run("test Cargo.toml").fails(2, "1 refused");
    let fine = home.file("fine.yaml", HOLDS);
    home.run(&format!("test {fine} nothing-there.yaml")).fails(2, "1 scenarios, 1 expectations: 1 refused");
}

#[test]
fn completions_come_for_every_shell() {
    let home = Home::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ran = home.run(&format!("completions {shell}")).done();
        assert!(ran.stdout.contains("charter") && ran.stdout.contains("recover-admin"), "{shell}");
    }
    home.run("completions cobol").fails(2, "invalid value");
}

#[test]
fn the_version_is_printed_in_any_format() {
    let home = Home::new();
    let version = env!("CARGO_PKG_VERSION");
    home.run("version").is(0, &format!("charter {version}\n"), "");
    home.run("--version").is(0, &format!("charter {version}\n"), "");
    assert_eq!(home.run("version -o json").json()["version"], version);
    assert!(home.run("version -o yaml").stdout.contains(&format!("version: {version}")));
}

#[test]
fn what_is_not_understood_exits_2() {
    let home = Home::new();
    for args in [
        "",
        "frobnicate",
        "check",
        "check alice",
        "check alice Minecraft.server.restart",
        "grant allow alice",
        "grant allow alice --role r -p a.b.c",
        "grant deny alice",
        "grant allow alice --role r --until yesterday",
        "object mv server:s1",
        "object inherit server:s1 maybe",
        "role create Ops",
        "-o xml version",
    ] {
        assert_eq!(home.run(args).code, 2, "{args}");
    }
}

#[test]
fn an_unreachable_server_is_one_clear_line_and_a_hint() {
    let home = Home { server: Some("http://127.0.0.1:1".to_owned()), ..Home::new() };
    let ran = home.run("whoami");
    ran.fails(1, "error: can't reach http://127.0.0.1:1: ");
    assert!(ran.stderr.contains("\nhint: `charter serve` starts a server"), "{}", ran.stderr);
    assert_eq!(ran.stderr.lines().count(), 2, "{}", ran.stderr);
    let home = Home { server: Some("ftp://x".to_owned()), ..home };
    home.run("whoami").fails(2, "`ftp://x` is no address of a server");
}

#[test]
fn contexts_are_listed_chosen_and_forgotten() {
    let home = Home::new();
    home.run("context ls -o json").is(0, "[]\n", "");
    home.run("context create eu http://127.0.0.1:7401").done();
    home.run("context create us http://127.0.0.1:7402").done();
    home.run("context create us http://127.0.0.1:7403").fails(5, "there is a context `us` already");
    home.run("context use us").is(0, "", "The current context is us.\n");
    home.run("context ls -o name").is(0, "eu\nus\n", "");
    home.run("context get").is(
        0,
        "name       us\ncurrent    yes\nserver     http://127.0.0.1:7402\nuser       -\nexpires    -\nsigned in  no\n",
        "",
    );
    home.run("context use asia").is(
        1,
        "",
        "error: there is no context `asia`\nhint: `charter context ls` lists them\n",
    );
    home.run("context rm us").done();
    home.run("context ls -o name").is(0, "eu\n", "");
    home.run("--context asia whoami").fails(1, "there is no context `asia`");
}

#[test]
fn a_server_never_listens_where_other_machines_reach_it() {
    let home = Home::new();
    home.run("serve --listen 0.0.0.0:7400").fails(2, "can be reached from other machines");
    assert!(!home.path(".local").exists(), "nothing was created");
}

#[test]
fn without_a_terminal_nothing_is_asked() {
    let home = Home { server: Some("http://127.0.0.1:1".to_owned()), ..Home::new() };
    home.run("login").fails(2, "`USERNAME` is missing");
    home.run("login ada").fails(2, "a password is needed");
    home.run("role rm ops").is(
        2,
        "",
        "error: this would delete role ops and end its grants\nhint: add `--yes` to do it without being asked\n",
    );
}

#[test]
fn a_reader_that_had_enough_is_no_error() {
    let home = Home::new();
    let mut shell = std::process::Command::new("sh");
    shell.arg("-c").arg(format!(
        "set -o pipefail 2>/dev/null; '{}' completions bash | head -n 1",
        env!("CARGO_BIN_EXE_charter")
    ));
    let ran = finish(shell.env("HOME", home.folder.path()), "");
    assert_eq!(ran.stderr, "");
}

#[test]
fn an_answer_of_a_server_without_its_database_is_told_once() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = [0; 4096];
        assert!(std::io::Read::read(&mut stream, &mut request).unwrap() > 0);
        let body = "{\"items\":[]}";
        let head =
            "HTTP/1.1 200 OK\r\nConnection: close\r\nPolicy-Stale: 9\r\nContent-Type: application/json";
        let answer = format!("{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        std::io::Write::write_all(&mut stream, answer.as_bytes()).unwrap();
    });
    let home = Home { server: Some(url), ..Home::new() };
    let ran = home.run("servers -o json -q");
    ran.is(0, "[]\n", "The server can't reach its database: this was so 9 seconds ago.\n");
    server.join().unwrap();
}

#[test]
fn variables_set_to_nothing_count_as_unset() {
    let home = Home::new();
    let empty = ["CHARTER_DATA", "CHARTER_DATABASE_URL", "CHARTER_NATS_URL", "CHARTER_NATS_CREDENTIALS"];
    let ran = home.run_in(&empty.map(|name| (name, "")), "doctor");
    ran.fails(1, "there is no data folder `").fails(1, "share/charter`");
    home.run_in(&[("CHARTER_TOKEN_FILE", "")], "version").done();
}

#[test]
fn a_missing_data_folder_is_named() {
    let home = Home::new();
    for verb in ["doctor", "verify"] {
        home.run(&format!("{verb} --data nowhere")).is(
            1,
            "",
            "error: there is no data folder `nowhere`\nhint: name it with `--data`, or set `CHARTER_DATA`\n",
        );
    }
}
