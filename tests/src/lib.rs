//! What the end-to-end tests share: a real server process on a free loopback port in a folder of its own, and a caller.
//!
//! Knows the product only as its users do: by its binary and its HTTP API.

use anyhow::{Context, bail, ensure};
use serde_json::{Value, json};
use std::{
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

/// How long a server may take to be ready before a test fails.
const READY_SECONDS_MAX: u64 = 60;
/// What the first administrator is called in tests.
pub const ADMIN: &str = "ada";
/// The first administrator's password.
pub const PASSWORD: &str = "correct horse battery staple";

/// The `charter` binary of this build.
///
/// # Errors
/// When it was not built, naming the command that builds it.
pub fn binary() -> anyhow::Result<PathBuf> {
    let test = std::env::current_exe()?;
    let profile = test.ancestors().nth(2).context("a test runs from the target folder")?;
    let path = profile.join("charter");
    ensure!(path.exists(), "`charter` is not built: run `cargo build -p charter-cli` first");
    Ok(path)
}

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
    /// Starts a server on a data folder and waits until it is ready.
    ///
    /// # Errors
    /// When it ends or is not ready in time; with everything it printed.
    pub async fn start(data: &Path) -> anyhow::Result<Self> {
        Self::start_with(data, &[]).await
    }

    /// The same, with further arguments.
    ///
    /// # Errors
    /// As [`Server::start`].
    pub async fn start_with(data: &Path, arguments: &[&str]) -> anyhow::Result<Self> {
        let mut server = Self::spawn(data, arguments)?;
        let deadline = Instant::now() + Duration::from_secs(READY_SECONDS_MAX);
        let http = client();
        while server.url.is_empty() || !is_ready(&http, &server.url).await {
            if let Some(status) = server.child.try_wait()? {
                bail!("the server ended with {status}:\n{}", server.printed());
            }
            ensure!(Instant::now() < deadline, "the server is not ready:\n{}", server.printed());
            tokio::time::sleep(Duration::from_millis(5)).await;
            server.read_banner();
        }
        Ok(server)
    }

    fn spawn(data: &Path, arguments: &[&str]) -> anyhow::Result<Self> {
        let mut child = command(data)?
            .args(["serve", "--listen", "127.0.0.1:0"])
            .args(arguments)
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
                    let mut output = output.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
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
        self.output.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Ends it as a power cut would: SIGKILL, no chance to finish anything.
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
        let status = Command::new("kill").args(["-TERM", &self.pid().to_string()]).status()?;
        ensure!(status.success(), "kill failed");
        let status = self.child.wait()?;
        ensure!(status.success(), "the server ended with {status}:\n{}", self.printed());
        Ok(())
    }

    /// Creates the first administrator and signs him in.
    ///
    /// # Errors
    /// When the server refuses.
    pub async fn set_up(&self) -> anyhow::Result<Caller> {
        let code = self.setup_code.clone().with_context(|| format!("no setup code:\n{}", self.printed()))?;
        let nobody = Caller::new(&self.url, None);
        let body = json!({"code": code, "username": ADMIN, "password": PASSWORD});
        nobody.post("/api/v1/setup", &body).await?.expect(201)?;
        self.sign_in(ADMIN, PASSWORD).await
    }

    /// Signs somebody in.
    ///
    /// # Errors
    /// When the server refuses.
    pub async fn sign_in(&self, username: &str, password: &str) -> anyhow::Result<Caller> {
        let nobody = Caller::new(&self.url, None);
        let body = json!({"username": username, "password": password});
        let answer = nobody.post("/api/v1/session", &body).await?.expect(201)?;
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

/// `charter` on a data folder, with nothing of this machine's own configuration.
///
/// # Errors
/// When the binary was not built.
pub fn command(data: &Path) -> anyhow::Result<Command> {
    let mut command = Command::new(binary()?);
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("CHARTER_")) {
        command.env_remove(name);
    }
    command.env("CHARTER_DATA", data).env("XDG_CONFIG_HOME", data.join("config")).env("NO_COLOR", "1");
    Ok(command)
}

fn client() -> reqwest::Client {
    // More than one test of a process may come here first.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    reqwest::Client::new()
}

async fn is_ready(http: &reqwest::Client, url: &str) -> bool {
    http.get(format!("{url}/readyz")).send().await.is_ok_and(|answer| answer.status().is_success())
}

/// Somebody who calls the API.
#[derive(Clone)]
pub struct Caller {
    http: reqwest::Client,
    url: String,
    secret: Option<String>,
}

/// What came back.
#[derive(Debug)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The header `Policy-Version`.
    pub version: Option<u64>,
    /// The header `ETag`.
    pub etag: Option<String>,
    /// The body as JSON; null when there was none, a string when it was something else.
    pub body: Value,
}

impl Answer {
    /// The answer, if it has this status.
    ///
    /// # Errors
    /// When it has another; with the whole answer.
    pub fn expect(self, status: u16) -> anyhow::Result<Self> {
        ensure!(self.status == status, "expected {status}, got {self:?}");
        Ok(self)
    }

    /// The problem's stable code.
    pub fn code(&self) -> &str {
        self.text("code").unwrap_or_default()
    }

    /// A member of the body that is a text.
    pub fn text(&self, member: &str) -> Option<&str> {
        self.body.get(member)?.as_str()
    }
}

impl Caller {
    /// A caller with a credential, or none.
    pub fn new(url: &str, secret: Option<String>) -> Self {
        Self { http: client(), url: url.to_owned(), secret }
    }

    /// A request with this caller's credential, to be completed.
    pub fn request(&self, method: reqwest::Method, path: &str) -> reqwest::RequestBuilder {
        let request = self.http.request(method, format!("{}{path}", self.url));
        match &self.secret {
            Some(secret) => request.bearer_auth(secret),
            None => request,
        }
    }

    /// Sends a request.
    ///
    /// # Errors
    /// When no whole answer comes back.
    pub async fn send(&self, request: reqwest::RequestBuilder) -> anyhow::Result<Answer> {
        let answer = request.send().await?;
        let header = |name: &str| answer.headers().get(name).and_then(|v| v.to_str().ok()).map(str::to_owned);
        let (status, version, etag) = (answer.status().as_u16(), header("policy-version"), header("etag"));
        let text = answer.text().await?;
        let body = match text.as_str() {
            "" => Value::Null,
            text => serde_json::from_str(text).unwrap_or_else(|_| text.into()),
        };
        Ok(Answer { status, version: version.and_then(|v| v.parse().ok()), etag, body })
    }

    /// GET.
    ///
    /// # Errors
    /// When no whole answer comes back.
    pub async fn get(&self, path: &str) -> anyhow::Result<Answer> {
        self.send(self.request(reqwest::Method::GET, path)).await
    }

    /// POST with a JSON body.
    ///
    /// # Errors
    /// When no whole answer comes back.
    pub async fn post(&self, path: &str, body: &Value) -> anyhow::Result<Answer> {
        self.send(self.request(reqwest::Method::POST, path).json(body)).await
    }

    /// PUT with a JSON body.
    ///
    /// # Errors
    /// When no whole answer comes back.
    pub async fn put(&self, path: &str, body: &Value) -> anyhow::Result<Answer> {
        self.send(self.request(reqwest::Method::PUT, path).json(body)).await
    }

    /// DELETE.
    ///
    /// # Errors
    /// When no whole answer comes back.
    pub async fn delete(&self, path: &str) -> anyhow::Result<Answer> {
        self.send(self.request(reqwest::Method::DELETE, path)).await
    }
}
