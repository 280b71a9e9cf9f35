//! `charter follow`: what it shows, that it goes on where it was, and how it ends.

use crate::support::{Home, Server};
use serde_json::Value;
use std::{
    io::{BufRead, BufReader, Lines, Read},
    process::{Child, ChildStdout, Command, Stdio},
};

/// A running `charter follow`; killed when dropped.
struct Following {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Following {
    fn start(home: &Home, args: &str) -> Self {
        let mut command = home.command();
        command.args(["follow", "-o", "jsonl"]).args(args.split_whitespace());
        let child =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap();
        Self::of(child)
    }

    fn of(mut child: Child) -> Self {
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// The exit code after an interruption; none when it does not end long before a request would.
    fn interrupted_soon(&mut self) -> Option<i32> {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
        for _ in 0..1_500 {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        None
    }

    /// The next line that has this member.
    fn next(&mut self, member: &str) -> Value {
        loop {
            let line = self.lines.next().unwrap().unwrap();
            let value: Value = serde_json::from_str(&line).unwrap();
            if !value[member].is_null() {
                return value[member].clone();
            }
        }
    }

    fn stop(mut self, signal: &str) -> Option<i32> {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
        self.child.wait().unwrap().code()
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[test]
fn it_shows_what_happens_and_goes_on_where_it_was() {
    let data = Home::new();
    let server = Server::start(&data.path("data"));
    let home = server.set_up();
    let folder = home.path("state").display().to_string();
    let mut following = Following::start(&home, &format!("--folder {folder}"));
    let status = following.next("status");
    assert_eq!((status["source"].as_str(), &status["stopped"]), (Some("http"), &Value::Null));
    home.run("user create bob").done();
    assert_eq!(following.next("type"), "user.registered");
    assert_eq!(following.stop("-INT"), Some(0));
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1, "a snapshot is kept");
    let mut following = Following::start(&home, &format!("--folder {folder}"));
    following.next("status");
    assert_eq!(following.stop("-TERM"), Some(0));
}

#[test]
fn a_decision_is_printed_whenever_it_changes() {
    let data = Home::new();
    let server = Server::start(&data.path("data"));
    let home = server.set_up();
    home.run("user create bob").done();
    let mut following = Following::start(&home, "--check bob core.user.read");
    assert_eq!(following.next("decision")["allowed"], false);
    home.run("grant allow user:bob --permission core.user.read").done();
    let decision = following.next("decision");
    assert_eq!((&decision["allowed"], decision["because"].as_str()), (&Value::Bool(true), Some("grant")));
    home.run("user suspend bob").done();
    assert_eq!(following.next("decision")["because"], "inactive_subject");
    assert_eq!(following.stop("-INT"), Some(0));
}

#[test]
fn a_decision_is_unknown_while_nobody_confirms_the_state() {
    let data = Home::new();
    let server = Server::start(&data.path("data"));
    let home = server.set_up();
    let mut following = Following::start(&home, "--check me core.user.read");
    assert_eq!(following.next("decision")["allowed"], true);
    assert!(following.next("status")["age_seconds"].as_f64().unwrap() < 60.0);
    drop(server);
    let decision = following.next("decision");
    assert!(decision["allowed"].is_null());
    assert!(decision["because"].as_str().unwrap().contains("has not confirmed"), "{decision}");
    assert_eq!(following.stop("-INT"), Some(0));
}

#[test]
fn it_can_be_interrupted_before_the_server_has_answered() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let (home, token) = (Home::new(), format!("cht_{}", "A".repeat(43)));
    let mut command = home.command();
    command.env("CHARTER_SERVER", format!("http://{}", silent.local_addr().unwrap()));
    let child = command.arg("follow").env("CHARTER_TOKEN", token).stdout(Stdio::piped()).spawn().unwrap();
    let mut following = Following::of(child);
    // It has asked; then it waits.
    let (mut asking, _) = silent.accept().unwrap();
    assert!(asking.read(&mut [0; 4]).unwrap() > 0);
    assert_eq!(following.interrupted_soon(), Some(0));
}

#[test]
fn what_keeps_it_from_following_is_said_in_one_line() {
    let data = Home::new();
    let server = Server::start(&data.path("data"));
    let home = server.set_up();
    Home::at(&server).run("follow").fails(4, "nobody is signed in");
    let unknown = format!("cht_{}", "A".repeat(43));
    home.run_in(&[("CHARTER_TOKEN", &unknown)], "follow").fails(4, "does not take the token");
    let nobody = [("CHARTER_SERVER", "http://127.0.0.1:1"), ("CHARTER_TOKEN", unknown.as_str())];
    home.run_in(&nobody, "follow").fails(1, "`http://127.0.0.1:1` can't be reached");
    home.run_in(&[("CHARTER_NATS_URL", "https://u:hush@h")], "follow")
        .fails(2, "not the address of a NATS server");
    home.run("follow --check bob").fails(2, "--check");
    home.run("follow --check me core.user.read s1").fails(2, "`s1` is no object");
}
