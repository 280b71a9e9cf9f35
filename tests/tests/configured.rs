//! How a server is configured: flags over variables over one file, in which nothing is passed over; and that it is in
//! reach of other machines only as it was told.
#![expect(clippy::unwrap_used, reason = "a test")]

use charter_tests::{Database, Installation};
use serde_json::Value;
use std::{
    io::{BufRead, BufReader},
    path::PathBuf,
    process::{Child, Command, Output, Stdio},
    time::{Duration, Instant},
};

const SECRET: &str = "hunter2-and-more";

struct Configured {
    installation: Installation,
    file: PathBuf,
}

impl Configured {
    fn with(text: &str) -> Self {
        let installation = Installation::new(Database::Sqlite).unwrap();
        let file = installation.data(0).join("charter.toml");
        std::fs::write(&file, text).unwrap();
        private(&file);
        Self { installation, file }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.installation.command().unwrap();
        command.args(arguments).arg("--config").arg(&self.file);
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }
}

fn private(file: &PathBuf) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o600)).unwrap();
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Every option, as the program itself lists them.
fn shown(mut command: Command) -> Vec<Value> {
    let output = command.args(["-o", "json"]).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn row<'a>(rows: &'a [Value], key: &str) -> &'a Value {
    rows.iter().find(|row| row["key"] == key).unwrap()
}

#[test]
fn a_key_that_is_empty_or_mistyped_keeps_a_server_from_starting_whichever_it_is() {
    let keys = shown(Configured::with("").command(&["config", "show"]));
    assert!(keys.len() > 15);
    for key in keys.iter().map(|row| row["key"].as_str().unwrap()) {
        for text in [format!("\n{key} = \"\""), format!("\n{key}x = \"1\""), format!("\n{key} = null")] {
            let configured = Configured::with(&text);
            let refused = configured.run(&["serve"]);
            let told = stderr(&refused);
            assert_eq!(refused.status.code(), Some(2), "{text}: {told}");
            assert!(told.contains("charter.toml:2: "), "{text}: {told}");
            assert_eq!(configured.run(&["config", "check"]).status.code(), Some(2), "{text}");
        }
    }
}

#[test]
fn a_variable_that_is_empty_is_refused_or_as_if_it_were_not_there() {
    let configured = Configured::with("");
    let without = shown(configured.command(&["config", "show"]));
    for key in without.iter().map(|row| row["key"].as_str().unwrap()) {
        let mut command = configured.command(&["config", "show", "-o", "json"]);
        let output = command.env(format!("CHARTER_{}", key.to_uppercase()), "").output().unwrap();
        if output.status.success() {
            let rows: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
            let told = row(&rows, key)["value"].clone();
            // The folder is given to every program here; empty it is the one of the home folder.
            assert!(told.is_null() || told == row(&without, key)["value"], "{key}: {told}");
        } else {
            assert_eq!(output.status.code(), Some(2), "{key}: {}", stderr(&output));
        }
    }
}

#[test]
fn a_mistyped_variable_keeps_a_server_from_starting() {
    for (name, meant) in [
        ("CHARTER_LISTN", "CHARTER_LISTEN"),
        ("CHARTER_DATABASE_ULR", "CHARTER_DATABASE_URL"),
        ("CHARTER_TLS_CERTIFICATES", "CHARTER_TLS_CERTIFICATE"),
    ] {
        let configured = Configured::with("");
        let mut command = configured.command(&["serve"]);
        let refused = command.env(name, SECRET).output().unwrap();
        let told = stderr(&refused);
        assert_eq!(refused.status.code(), Some(2), "{told}");
        assert!(told.contains(name) && told.contains(meant) && !told.contains(SECRET), "{told}");
    }
}

#[test]
fn a_variable_goes_before_the_file_and_where_each_value_comes_from_is_shown() {
    let text =
        format!("log = \"debug\"\nstale_decisions = 7\ndatabase_url = \"postgres://a:{SECRET}@b/c\"\n");
    let configured = Configured::with(&text);
    let mut command = configured.command(&["config", "show"]);
    command.env("CHARTER_STALE_DECISIONS", "9");
    let rows = shown(command);
    for (key, value, from) in [
        ("log", "debug", "line 1"),
        ("stale_decisions", "9", "CHARTER_STALE_DECISIONS"),
        ("database_url", "***", "line 3"),
        ("log_format", "text", "default"),
    ] {
        let row = row(&rows, key);
        assert_eq!((row["value"].as_str(), row["from"].as_str()), (Some(value), Some(from)));
    }
    let checked = configured.run(&["config", "check"]);
    assert!(checked.status.success(), "{}", stderr(&checked));
    assert!(!stderr(&checked).contains(SECRET));
}

#[test]
fn what_can_not_be_used_together_is_told_with_its_line() {
    for (text, line, told) in [
        ("\nlisten = \"0.0.0.0:7400\"\n", 2, "plain text"),
        ("tls_certificate = \"/nowhere/c.pem\"\n", 1, "--tls-key"),
        ("tls_key = \"/nowhere/k.pem\"\ntls_certificate = \"/nowhere/c.pem\"\n", 2, "/nowhere/k.pem"),
        ("\n\ntrusted_proxy = [\"0.0.0.0/0\"]\n", 3, "everybody"),
        ("log = \"x=y=z\"\n", 1, "what to log"),
        ("database_url = \"mysql://a:hunter2@b/c\"\n", 1, "postgres"),
        ("nats_url = \"http://a:hunter2@b/c\"\n", 1, "nats"),
    ] {
        let checked = Configured::with(text).run(&["config", "check"]);
        let stderr = stderr(&checked);
        assert_eq!(checked.status.code(), Some(2), "{text}: {stderr}");
        let place = format!("charter.toml:{line}: ");
        assert!(stderr.lines().any(|told_line| told_line.contains(&place)), "{text}: {stderr}");
        assert!(stderr.to_lowercase().contains(told) && !stderr.contains("hunter2"), "{text}: {stderr}");
    }
}

#[test]
fn a_file_with_a_secret_that_others_may_read_keeps_a_server_from_starting() {
    use std::os::unix::fs::PermissionsExt;
    let configured = Configured::with(&format!("database_url = \"postgres://a:{SECRET}@b/c\"\n"));
    std::fs::set_permissions(&configured.file, std::fs::Permissions::from_mode(0o644)).unwrap();
    for verb in [&["serve"][..], &["config", "check"], &["config", "show"]] {
        let refused = configured.run(verb);
        let told = stderr(&refused);
        assert_eq!(refused.status.code(), Some(2), "{told}");
        assert!(told.contains("others may read it") && told.contains("chmod 600") && !told.contains(SECRET));
    }
}

/// A server that is started, and what it prints up to where it listens.
fn started(mut command: Command) -> (Child, String) {
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut told = String::new();
    for line in BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok) {
        told.push_str(&line);
        told.push('\n');
        if line.contains("listening on") {
            break;
        }
    }
    (child, told)
}

#[test]
fn other_machines_are_answered_in_plain_text_only_when_that_was_asked_for() {
    let configured = Configured::with("listen = \"0.0.0.0:0\"\n");
    let refused = configured.run(&["serve"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("--allow-plaintext"), "{}", stderr(&refused));

    let (mut child, told) = started(configured.command(&["serve", "--allow-plaintext"]));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(told.contains("listening on  http://0.0.0.0:"), "{told}");
}

#[test]
fn a_certificate_is_read_again_on_sighup_and_a_key_that_others_may_read_is_refused() {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let configured = Configured::with("");
    let folder = configured.installation.data(0);
    let (certificate, key) = (folder.join("certificate.pem"), folder.join("key.pem"));
    std::fs::write(&certificate, made.cert.pem()).unwrap();
    std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    let text = format!(
        "listen = \"127.0.0.1:0\"\ntls_certificate = {:?}\ntls_key = {:?}\n",
        certificate.display().to_string(),
        key.display().to_string()
    );
    std::fs::write(&configured.file, text).unwrap();
    let refused = configured.run(&["serve"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("private key, and others may read it"), "{}", stderr(&refused));

    private(&key);
    let (mut child, told) = started(configured.command(&["serve"]));
    assert!(told.contains("listening on  https://127.0.0.1:"), "{told}");
    charter_services::signal(child.id(), "HUP").unwrap();
    let mut log = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    let deadline = Instant::now() + Duration::from_secs(20);
    let read_again = log.any(|line| {
        assert!(Instant::now() < deadline, "{line}");
        line.contains("the certificate was read again")
    });
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(read_again);
}
