//! An identity provider of somebody else's making, and a browser that finds its way there and back.

use crate::{Installation, Server, eventually};
use anyhow::{Context, bail, ensure};
use charter_services::free_port;
use reqwest::{Method, StatusCode, Url, header};
use std::{
    collections::HashMap,
    path::Path,
    process::{Child, Command, Stdio},
};

/// How many seconds a provider may take to be there.
const READY_SECONDS_MAX: u64 = 60;
/// How many pages a sign-in may have.
const PAGES_MAX: usize = 30;
/// What this installation proves itself with at the provider.
pub const CLIENT_SECRET: &str = "a client's secret/of+this test";

/// npm's `oidc-provider` on loopback, in which everybody is who he says he is; ended when dropped.
pub struct Provider {
    child: Option<Child>,
    port: u16,
    redirect: String,
}

impl Provider {
    /// Starts one for an installation that is called so.
    ///
    /// # Errors
    /// When there is no Node.js, or it was not installed; with how it is.
    pub async fn start(public_url: &str) -> anyhow::Result<Self> {
        let redirect = format!("{public_url}/api/v1/session/oidc/callback");
        let mut provider = Self { child: None, port: free_port()?, redirect };
        provider.start_again().await?;
        Ok(provider)
    }

    /// Starts it again, where it was and knowing nobody.
    ///
    /// # Errors
    /// As [`Provider::start`].
    pub async fn start_again(&mut self) -> anyhow::Result<()> {
        let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("tools");
        let is_there = tools.join("node_modules/oidc-provider/package.json").is_file();
        ensure!(is_there, "npm's `oidc-provider` is missing: install it with `make need-provider`");
        let child = Command::new("node")
            .arg(tools.join("oidc_provider.mjs"))
            .args([&self.port.to_string(), &self.redirect])
            .env("CLIENT_SECRET", CLIENT_SECRET)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .context("`node` can't be started: Node.js is needed")?;
        self.child = Some(child);
        let (http, at) = (crate::caller::client(), format!("{}/jwks", self.issuer()));
        eventually("the provider is there", READY_SECONDS_MAX, async || http.get(&at).send().await.is_ok())
            .await
    }

    /// Ends it.
    ///
    /// # Errors
    /// When the process can't be ended.
    pub fn stop(&mut self) -> anyhow::Result<()> {
        if let Some(mut child) = self.child.take() {
            child.kill()?;
            child.wait()?;
        }
        Ok(())
    }

    /// What it calls itself.
    pub fn issuer(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The installation with what a server needs to sign people in here.
    ///
    /// # Errors
    /// When there is no room for the file with the secret.
    pub fn known_to(&self, installation: Installation, public_url: &str) -> anyhow::Result<Installation> {
        let file = installation.secret_file("client-secret", CLIENT_SECRET)?;
        Ok(installation
            .with("CHARTER_PUBLIC_URL", public_url)
            .with("CHARTER_OIDC_ISSUER", self.issuer())
            .with("CHARTER_OIDC_CLIENT_ID", "charter")
            .with("CHARTER_OIDC_CLIENT_SECRET_FILE", file.display().to_string())
            .with("CHARTER_OIDC_NAME", "Example")
            .with("CHARTER_OIDC_SCOPES", "openid email"))
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        // A process that ended already can't be ended: nothing is left to do then.
        let _ = self.stop();
    }
}

/// A server people sign in at by a provider.
///
/// # Errors
/// When either does not start.
pub async fn server_and_provider(
    installation: Installation,
) -> anyhow::Result<(Installation, Server, Provider)> {
    let port = free_port()?;
    let url = format!("http://127.0.0.1:{port}");
    let provider = Provider::start(&url).await?;
    let installation = provider.known_to(installation, &url)?;
    let server = Server::start_nth(&installation, 0, port).await?;
    Ok((installation, server, provider))
}

/// A person's browser: it keeps cookies and fills forms in, and follows one page after the other.
pub struct Browser {
    http: reqwest::Client,
    cookies: HashMap<String, String>,
    /// What he is called at the provider.
    login: String,
}

/// What a browser was answered.
#[derive(Debug)]
pub struct Page {
    /// The status.
    pub status: u16,
    /// Where it goes on.
    pub location: Option<String>,
    /// All headers.
    pub headers: header::HeaderMap,
    /// The text.
    pub text: String,
}

impl Page {
    /// The stable code of a problem.
    pub fn code(&self) -> String {
        let body: serde_json::Value = serde_json::from_str(&self.text).unwrap_or_default();
        body.get("code").and_then(|code| code.as_str()).unwrap_or_default().to_owned()
    }
}

impl Browser {
    /// A new one, of somebody with this name at the provider.
    ///
    /// # Errors
    /// When there is no TLS on this machine.
    pub fn of(login: &str) -> anyhow::Result<Self> {
        drop(crate::caller::client());
        let http = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build()?;
        Ok(Self { http, cookies: HashMap::new(), login: login.to_owned() })
    }

    /// A cookie it keeps.
    pub fn cookie(&self, name: &str) -> Option<&str> {
        self.cookies.get(name).map(String::as_str)
    }

    /// Has it keep this cookie.
    pub fn keep(&mut self, name: &str, value: &str) {
        self.cookies.insert(name.to_owned(), value.to_owned());
    }

    /// Opens an address, and goes no further.
    ///
    /// # Errors
    /// When nobody answers.
    pub async fn open(&mut self, url: &str) -> anyhow::Result<Page> {
        self.send(Method::GET, url, &[], None).await
    }

    /// The same, with headers.
    ///
    /// # Errors
    /// When nobody answers.
    pub async fn open_with(&mut self, url: &str, headers: &[(&str, &str)]) -> anyhow::Result<Page> {
        self.send(Method::GET, url, headers, None).await
    }

    /// Sends JSON as a page of the installation does.
    ///
    /// # Errors
    /// When nobody answers.
    pub async fn send_json(&mut self, url: &str, body: &serde_json::Value) -> anyhow::Result<Page> {
        let origin = Url::parse(url)?.origin().ascii_serialization();
        let headers =
            [("origin", origin.as_str()), ("x-charter-request", "1"), ("content-type", "application/json")];
        self.send(Method::POST, url, &headers, Some(body.to_string())).await
    }

    /// Follows pages and fills their forms in, until one leads to an address with this in it, which is not opened, or
    /// has no form.
    ///
    /// # Errors
    /// When it gets nowhere.
    pub async fn follow(&mut self, url: &str, until: &str) -> anyhow::Result<Page> {
        let mut at = Url::parse(url)?;
        let mut page = self.open(at.as_str()).await?;
        for _ in 0..PAGES_MAX {
            if let Some(location) = page.location.clone() {
                if location.contains(until) {
                    return Ok(page);
                }
                at = at.join(&location)?;
                page = self.open(at.as_str()).await?;
            } else if let Some((action, fields)) = form(&page.text) {
                at = at.join(&action)?;
                let filled = self.filled(fields);
                let headers = [("content-type", "application/x-www-form-urlencoded")];
                page = self.send(Method::POST, at.as_str(), &headers, Some(filled)).await?;
            } else {
                return Ok(page);
            }
        }
        bail!("no end of pages at {at}: {page:?}")
    }

    fn filled(&self, fields: Vec<(String, String)>) -> String {
        let mut url = match Url::parse("http://form/") {
            Ok(url) => url,
            Err(_) => return String::new(),
        };
        for (name, value) in fields {
            let value = match name.as_str() {
                "login" => &self.login,
                "password" => "any",
                _ => &value,
            };
            url.query_pairs_mut().append_pair(&name, value);
        }
        url.query().unwrap_or_default().to_owned()
    }

    async fn send(
        &mut self,
        method: Method,
        url: &str,
        headers: &[(&str, &str)],
        body: Option<String>,
    ) -> anyhow::Result<Page> {
        let cookies: Vec<String> =
            self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let mut request = self.http.request(method, url);
        if !cookies.is_empty() {
            request = request.header(header::COOKIE, cookies.join("; "));
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let answer = request.body(body.unwrap_or_default()).send().await?;
        for line in answer.headers().get_all(header::SET_COOKIE) {
            self.set(line.to_str()?);
        }
        let goes_on = answer.status().is_redirection() && answer.status() != StatusCode::NOT_MODIFIED;
        let location = answer.headers().get(header::LOCATION).filter(|_| goes_on);
        let location = location.and_then(|value| value.to_str().ok()).map(str::to_owned);
        let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
        Ok(Page { status, location, headers, text: answer.text().await? })
    }

    fn set(&mut self, line: &str) {
        let Some((name, value)) = line.split(';').next().and_then(|pair| pair.split_once('=')) else {
            return;
        };
        let ended = line.contains("Max-Age=0") || value.is_empty();
        if ended {
            self.cookies.remove(name.trim());
        } else {
            self.cookies.insert(name.trim().to_owned(), value.to_owned());
        }
    }
}

/// The first form of a page: where it goes, and its fields.
fn form(page: &str) -> Option<(String, Vec<(String, String)>)> {
    let (_, rest) = page.split_once("<form")?;
    let (form, _) = rest.split_once("</form>")?;
    let (head, inside) = form.split_once('>')?;
    let action = attribute(head, "action")?;
    let inputs = inside.split("<input").skip(1).filter_map(|input| {
        let input = input.split('>').next()?;
        Some((attribute(input, "name")?, attribute(input, "value").unwrap_or_default()))
    });
    Some((action, inputs.collect()))
}

fn attribute(tag: &str, name: &str) -> Option<String> {
    let (_, rest) = tag.split_once(&format!("{name}=\""))?;
    rest.split_once('"').map(|(value, _)| value.replace("&amp;", "&"))
}
