//! README.md's quickstart, run as printed against a real server: every `console` block, command by command, output
//! included. `UPDATE_README=1` writes what came into the README instead of comparing.

use crate::support::{Home, Server, finish, masked};
use std::{fs, process::Command};

const README: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md");
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// A line of the README, and whether it is a command, its expected output, or neither.
enum Line<'a> {
    Text(&'a str),
    Command(&'a str),
    Output,
}

fn lines(readme: &str) -> Vec<Line<'_>> {
    let mut inside = false;
    let mut found = Vec::new();
    for line in readme.lines() {
        match (inside, line) {
            (false, "```console") | (true, "```") => {
                inside = !inside;
                found.push(Line::Text(line));
            }
            (true, line) => found.push(line.strip_prefix("$ ").map_or(Line::Output, Line::Command)),
            (false, line) => found.push(Line::Text(line)),
        }
    }
    found
}

/// Runs one line as somebody at a shell would, both outputs together as a terminal shows them.
fn typed(home: &Home, code: &str, line: &str) -> String {
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_charter"));
    let path = format!("{}:{}", program.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let mut shell = Command::new("bash");
    let prepared = home.command();
    for (name, value) in prepared.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    shell
        .args(["-c", &format!("exec 2>&1\n{line}")])
        .env("PATH", path)
        .env("CHARTER_SETUP_CODE", code)
        .current_dir(ROOT);
    let ran = finish(&mut shell, "");
    assert_eq!(ran.code, 0, "`{line}` exits with {}:\n{}", ran.code, ran.stdout);
    ran.stdout.replace(home.server.as_deref().unwrap(), "http://127.0.0.1:7400")
}

fn squeezed(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn the_quickstart_works_as_printed() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path());
    let home = Home::at(&server);
    let code = server.code.clone().unwrap();
    let readme = fs::read_to_string(README).unwrap();
    let mut came = String::new();
    let mut commands = 0;
    for line in lines(&readme) {
        match line {
            Line::Text(text) => came.push_str(&format!("{text}\n")),
            Line::Output => {}
            Line::Command(command) => {
                commands += 1;
                came.push_str(&format!("$ {command}\n{}", masked(&typed(&home, &code, command))));
            }
        }
    }
    assert!(commands > 15, "the quickstart has only {commands} commands");
    if std::env::var_os("UPDATE_README").is_some() {
        fs::write(README, came).unwrap();
        return;
    }
    for (number, (expected, got)) in (1..).zip(readme.lines().zip(came.lines())) {
        // How wide a column of times or ids is differs from run to run.
        assert_eq!(squeezed(expected), squeezed(got), "README.md, line {number}");
    }
    assert_eq!(readme.lines().count(), came.lines().count());
}

#[test]
fn the_documents_name_every_variable_the_program_reads() {
    // Every option of the server is in the one page, the ones that are needed first in the other.
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/configuration.md");
    let told = [README, page].map(|path| fs::read_to_string(path).unwrap()).concat();
    let help = Home::new();
    for verb in ["", "serve", "setup", "migrate", "doctor", "follow"] {
        let text = help
            .run_with(&[verb, "--help"].into_iter().filter(|a| !a.is_empty()).collect::<Vec<_>>(), "")
            .stdout;
        for part in text.split("[env: ").skip(1) {
            let name: String = part.chars().take_while(|c| c.is_ascii_uppercase() || *c == '_').collect();
            assert!(told.contains(&name), "{name} of `charter {verb} --help`");
        }
    }
}
