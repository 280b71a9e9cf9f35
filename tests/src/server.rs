//! A server process: started on an installation, held up, ended in every way.

use crate::{Caller, Installation, caller::client, eventually};
use anyhow::{Context, bail, ensure};
use charter_services::signal;
use serde_json::json;
use std::{
    io::{BufRead, BufReader},
    process::{Child, Stdio},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

/// How long a server may take to be ready before a test fails.
const READY_SECONDS_MAX: u64 = 60;
/// What the first administrator is called in tests.
pub const ADMIN: &str = "ada";
/// The first administrator's password.
pub const PASSWORD: &str = "correct horse battery staple";

/// A server process; killed when dropped.
pub struct Server {
    child: Child,
    /// Where it listens, as `http://127.0.0.1:PORT`.
    pub url: String,
    /// The setup code it printed, when it still waits for its first administrator.
    pub setup_code: Option<String>,
    output: Arc<Mutex<String>>,
}

impl Server {
    /// Starts a server on an installation and waits until it is ready.
    ///
    /// # Errors
    /// When it ends or is not ready in time; with everything it printed.
    pub async fn start(installation: &Installation) -> anyhow::Result<Self> {
        Self::start_nth(installation, 0, 0).await
    }

    /// One of several servers, each with a number, a data folder and a port of its own; port 0: any free one.
    ///
    /// # Errors
    /// As [`Server::start`].
    pub async fn start_nth(installation: &Installation, number: usize, port: u16) -> anyhow::Result<Self> {
        let mut server = Self::spawn(installation, number, port)?;
        server.until_it("/readyz").await?;
        Ok(server)
    }

    /// Starts a server that need not become ready, and waits until it answers at all.
    ///
    /// # Errors
    /// When it ends or does not answer in time; with everything it printed.
    pub async fn start_unready(installation: &Installation) -> anyhow::Result<Self> {
        let mut server = Self::spawn(installation, 0, 0)?;
        server.until_it("/healthz").await?;
        Ok(server)
    }

    /// Waits until it answers a probe with yes.
    async fn until_it(&mut self, probe: &str) -> anyhow::Result<()> {
        let deadline = Instant::now() + Duration::from_secs(READY_SECONDS_MAX);
        let http = client();
        while self.url.is_empty() || !says_yes(&http, &self.url, probe).await {
            if let Some(status) = self.child.try_wait()? {
                bail!("the server ended with {status}:\n{}", self.printed());
            }
            ensure!(Instant::now() < deadline, "the server does not answer {probe}:\n{}", self.printed());
            tokio::time::sleep(Duration::from_millis(5)).await;
            self.read_banner();
        }
        Ok(())
    }

    fn spawn(installation: &Installation, number: usize, port: u16) -> anyhow::Result<Self> {
        let mut child = installation
            .command_of(number)?
            .args(["serve", "--listen", &format!("127.0.0.1:{port}")])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let output = Arc::new(Mutex::new(String::new()));
        let pipes: [Option<Box<dyn std::io::Read + Send>>; 2] = [
            child.stdout.take().map(|pipe| Box::new(pipe) as _),
            child.stderr.take().map(|pipe| Box::new(pipe) as _),
        ];
        for pipe in pipes.into_iter().flatten() {
            let output = Arc::clone(&output);
            std::thread::spawn(move || {
                for line in BufReader::new(pipe).lines().map_while(Result::ok) {
                    let mut output = output.lock().unwrap_or_else(PoisonError::into_inner);
                    output.push_str(&line);
                    output.push('\n');
                }
            });
        }
        Ok(Self { child, url: String::new(), setup_code: None, output })
    }

    fn read_banner(&mut self) {
        let printed = self.printed();
        let after = |marker: &str| {
            let rest = printed.split_once(marker)?.1;
            rest.split_whitespace().next().map(str::to_owned)
        };
        if let Some(address) = after("http://127.0.0.1:") {
            self.url =
                format!("http://127.0.0.1:{}", address.trim_end_matches(|c: char| !c.is_ascii_digit()));
        }
        self.setup_code = after("setup code:");
    }

    /// Everything it printed so far, on either stream.
    pub fn printed(&self) -> String {
        self.output.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Ends it as a crash would: SIGKILL, no chance to finish anything.
    ///
    /// # Errors
    /// When the process can't be ended.
    pub fn kill(mut self) -> anyhow::Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// Asks it to end (SIGTERM) and waits for it.
    ///
    /// # Errors
    /// When it does not end by itself, or not cleanly.
    pub fn stop(mut self) -> anyhow::Result<()> {
        signal(self.pid(), "TERM")?;
        let status = self.child.wait()?;
        ensure!(status.success(), "the server ended with {status}:\n{}", self.printed());
        Ok(())
    }

    /// Holds the process up wherever it is.
    ///
    /// # Errors
    /// When it ended already.
    pub fn pause(&self) -> anyhow::Result<()> {
        signal(self.pid(), "STOP")
    }

    /// Lets it go on.
    ///
    /// # Errors
    /// When it ended already.
    pub fn resume(&self) -> anyhow::Result<()> {
        signal(self.pid(), "CONT")
    }

    /// Waits until it says of itself that it is ready, or that it is not.
    ///
    /// # Errors
    /// When it does not within so many seconds; with everything it printed.
    pub async fn until_ready(&self, ready: bool, seconds_max: u64) -> anyhow::Result<()> {
        let http = client();
        let what = if ready { "the server is ready" } else { "the server is not ready" };
        eventually(what, seconds_max, async || says_yes(&http, &self.url, "/readyz").await == ready)
            .await
            .with_context(|| self.printed())
    }

    /// Creates the first administrator and signs him in.
    ///
    /// # Errors
    /// When the server refuses.
    pub async fn set_up(&self) -> anyhow::Result<Caller> {
        let code = self.setup_code.clone().with_context(|| format!("no setup code:\n{}", self.printed()))?;
        let nobody = Caller::new(&self.url, None);
        let body = json!({"code": code, "username": ADMIN, "password": PASSWORD});
        nobody.post("/api/v1/setup", &body).await?.expect(201).with_context(|| self.printed())?;
        self.sign_in(ADMIN, PASSWORD).await
    }

    /// Signs somebody in.
    ///
    /// # Errors
    /// When the server refuses.
    pub async fn sign_in(&self, username: &str, password: &str) -> anyhow::Result<Caller> {
        let nobody = Caller::new(&self.url, None);
        let body = json!({"username": username, "password": password});
        let answer =
            nobody.post("/api/v1/session", &body).await?.expect(201).with_context(|| self.printed())?;
        let secret = answer.text("secret").context("no secret in the answer")?;
        Ok(Caller::new(&self.url, Some(secret.to_owned())))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // A process that ended already can't be killed: nothing is left to do then.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

async fn says_yes(http: &reqwest::Client, url: &str, probe: &str) -> bool {
    http.get(format!("{url}{probe}")).send().await.is_ok_and(|answer| answer.status().is_success())
}
