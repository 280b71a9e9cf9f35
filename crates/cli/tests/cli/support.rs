//! What the tests of the program share: a home of its own for each test, a server process, and what a run printed.

use std::{
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};
use tempfile::TempDir;

/// How long a server may take to say that it listens.
const START_SECONDS_MAX: u64 = 60;
/// A password long enough for every rule.
pub(crate) const PASSWORD: &str = "correct horse battery staple";

/// What a run of the program printed, and how it ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    /// Asserts exit code and both outputs, ids and times masked.
    #[track_caller]
    pub(crate) fn is(&self, code: i32, stdout: &str, stderr: &str) -> &Self {
        let got = (self.code, masked(&self.stdout), masked(&self.stderr));
        assert_eq!((got.0, got.1.as_str(), got.2.as_str()), (code, stdout, stderr), "{}", self.shown());
        self
    }

    /// Asserts that it was done, whatever it printed.
    #[track_caller]
    pub(crate) fn done(self) -> Self {
        assert_eq!(self.code, 0, "{}", self.shown());
        self
    }

    /// Asserts exit code and that stderr says something.
    #[track_caller]
    pub(crate) fn fails(&self, code: i32, says: &str) -> &Self {
        assert_eq!(self.code, code, "{}", self.shown());
        assert!(self.stderr.contains(says), "{}", self.shown());
        self
    }

    /// Stdout as JSON.
    #[track_caller]
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {}", self.shown()))
    }

    fn shown(&self) -> String {
        format!("exit {}\n--- stdout\n{}--- stderr\n{}", self.code, self.stdout, self.stderr)
    }
}

/// A text with every UUID as `<id>` and every moment as `<time>`, as wide as they were where columns follow.
pub(crate) fn masked(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let found = id_at(rest).map(|n| ("<id>", n)).or_else(|| time_at(rest).map(|n| ("<time>", n)));
        let (head, tail) = rest.split_at(found.map_or(c.len_utf8(), |(_, taken)| taken));
        match found {
            Some((mask, taken)) if tail.starts_with("  ") => out.push_str(&format!("{mask:taken$}")),
            Some((mask, _)) => out.push_str(mask),
            None => out.push_str(head),
        }
        rest = tail;
    }
    out
}

fn id_at(text: &str) -> Option<usize> {
    let candidate = text.get(..36)?;
    let fits = |(at, c): (usize, char)| {
        if matches!(at, 8 | 13 | 18 | 23) { c == '-' } else { c.is_ascii_hexdigit() }
    };
    candidate.char_indices().all(fits).then_some(36)
}

fn time_at(text: &str) -> Option<usize> {
    let candidate = text.get(..20)?;
    let fits = |(at, c): (usize, char)| match at {
        4 | 7 => c == '-',
        10 => c == 'T',
        13 | 16 => c == ':',
        19 => c == 'Z' || c == '.',
        _ => c.is_ascii_digit(),
    };
    candidate.char_indices().all(fits).then(|| text.find('Z').map_or(20, |at| at + 1))
}

/// A home of its own: context file and data folder in a temporary folder.
pub(crate) struct Home {
    pub(crate) folder: TempDir,
    pub(crate) server: Option<String>,
}

impl Home {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), server: None }
    }

    /// The same, asking a server.
    pub(crate) fn at(server: &Server) -> Self {
        Self { server: Some(server.url.clone()), ..Self::new() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file and returns its path as text.
    pub(crate) fn file(&self, name: &str, text: &str) -> String {
        std::fs::write(self.path(name), text).unwrap();
        self.path(name).display().to_string()
    }

    /// The program with this home and nothing else of this machine's configuration.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_charter"));
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("CHARTER_") || name.to_string_lossy().starts_with("XDG_") {
                command.env_remove(name);
            }
        }
        command.env("HOME", self.folder.path()).env("NO_COLOR", "1").current_dir(self.folder.path());
        if let Some(server) = &self.server {
            command.env("CHARTER_SERVER", server);
        }
        command
    }

    /// Runs the program with arguments separated by spaces.
    pub(crate) fn run(&self, args: &str) -> Ran {
        self.run_with(&args.split_whitespace().collect::<Vec<_>>(), "")
    }

    /// Runs the program with variables set.
    pub(crate) fn run_in(&self, variables: &[(&str, &str)], args: &str) -> Ran {
        finish(self.command().envs(variables.iter().copied()).args(args.split_whitespace()), "")
    }

    /// Runs the program and hands it stdin.
    pub(crate) fn run_with(&self, args: &[&str], stdin: &str) -> Ran {
        finish(self.command().args(args), stdin)
    }
}

/// Runs a command to its end.
pub(crate) fn finish(command: &mut Command, stdin: &str) -> Ran {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // The program may end without reading what it is handed.
    drop(child.stdin.take().unwrap().write_all(stdin.as_bytes()));
    let output = child.wait_with_output().unwrap();
    Ran {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// A server process on a free loopback port; killed when dropped.
pub(crate) struct Server {
    child: Child,
    pub(crate) url: String,
    pub(crate) code: Option<String>,
    pub(crate) banner: String,
}

impl Server {
    /// Starts a server on a data folder and waits until it says where it listens.
    pub(crate) fn start(data: &Path) -> Self {
        Self::start_with(data, &[])
    }

    /// The same, with variables set.
    pub(crate) fn start_with(data: &Path, variables: &[(&str, &str)]) -> Self {
        let home = Home::new();
        let mut child = home
            .command()
            .args(["serve", "--listen", "127.0.0.1:0", "--log", "warn", "--data"])
            .arg(data)
            .envs(variables.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut banner = String::new();
        let deadline = Instant::now() + Duration::from_secs(START_SECONDS_MAX);
        let url = loop {
            assert!(Instant::now() < deadline, "the server does not listen: {banner}");
            let line = lines.next().unwrap_or_else(|| panic!("the server ended: {banner}")).unwrap();
            banner.push_str(&line);
            banner.push('\n');
            if let Some(url) = line.trim().strip_prefix("listening on") {
                break url.trim().to_owned();
            }
        };
        let code =
            banner.lines().find_map(|l| l.trim().strip_prefix("setup code:")).map(|c| c.trim().to_owned());
        Self { child, url, code, banner }
    }

    /// A home whose user is the first administrator of this server.
    pub(crate) fn set_up(&self) -> Home {
        let home = Home::at(self);
        let code = self.code.as_deref().unwrap();
        home.run_with(&["setup", "--code", code, "--username", "ada", "--password-stdin"], PASSWORD).done();
        home
    }

    /// Asks it to end and waits; the exit code.
    pub(crate) fn stop(mut self, signal: &str) -> i32 {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
        self.child.wait().unwrap().code().unwrap_or(-1)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
