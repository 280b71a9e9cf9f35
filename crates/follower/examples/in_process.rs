//! A service that decides in its own process.
//!
//! ```text
//! CHARTER_SERVER=http://127.0.0.1:7400 CHARTER_TOKEN=cht_… cargo run -p charter-follower --example in_process
//! ```
//!
//! `CHARTER_TOKEN` is a token whose user holds `core.audit.read`. With `CHARTER_NATS_URL` the log is followed on NATS,
//! else over HTTP; with `CHARTER_FOLDER` the state is kept there, and the next start reads only what is new.
//!
//! It answers lines such as `<user's id> core.user.read` or `<user's id> minecraft.server.restart <object's id>`, and
//! `status`. A line may end with `@<version>`: then the answer is at that version or a later one. It ends with its
//! input. While the server does not confirm its state the answer is an error, and never a yes.
#![expect(clippy::print_stdout, reason = "that is what it is for")]

use anyhow::Context;
use charter_bus_nats::NatsConfig;
use charter_events::{Offset, Scope};
use charter_follower::{Follower, FollowerConfig, Token};
use std::{env, io::BufRead, time::Duration};
use tokio::sync::mpsc;

/// How long a question waits for the version it asks for.
const VERSION_WAIT: Duration = Duration::from_secs(5);

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let server = env::var("CHARTER_SERVER").unwrap_or_else(|_| "http://127.0.0.1:7400".to_owned());
    let token = env::var("CHARTER_TOKEN").context("CHARTER_TOKEN holds no API token")?;
    let mut config = FollowerConfig::new(server, Token::new(token));
    config.folder = env::var_os("CHARTER_FOLDER").map(Into::into);
    if let Ok(url) = env::var("CHARTER_NATS_URL") {
        config.nats = Some(NatsConfig::new(url.parse()?, "charter-example"));
    }
    let follower = Follower::start(config).await?;
    println!("ready at version {}", follower.version());

    let mut lines = lines();
    while let Some(line) = lines.recv().await {
        match answer(&follower, &line).await {
            Ok(text) => println!("{text}"),
            Err(error) => println!("error: {error:#}"),
        }
    }
    follower.shutdown().await;
    Ok(())
}

/// The lines of the input, read on a thread of their own: reading waits.
fn lines() -> mpsc::Receiver<String> {
    let (send, lines) = mpsc::channel(1);
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if send.blocking_send(line).is_err() {
                break;
            }
        }
    });
    lines
}

async fn answer(follower: &Follower, line: &str) -> anyhow::Result<String> {
    let status = follower.status();
    if line.trim() == "status" {
        let wrong = status.stopped.map(|stopped| stopped.to_string()).or(status.trouble);
        let wrong = wrong.unwrap_or_else(|| "all is well".to_owned());
        return Ok(format!(
            "version {} over {}, {} gaps, {} s old: {wrong}",
            status.version,
            status.source.as_str(),
            status.gaps,
            status.age.as_secs()
        ));
    }
    let (question, version) = line.split_once('@').unwrap_or((line, "0"));
    let version = version.trim().parse().ok().and_then(Offset::new).context("after `@` stands a version")?;
    let mut words = question.split_whitespace();
    let user = words.next().context("a line begins with a user's id")?.parse()?;
    let permission = words.next().context("after the user stands a permission")?.parse()?;
    let scope = words.next().map(str::parse).transpose()?.map_or(Scope::Global, Scope::Object);
    follower.at_least(version, VERSION_WAIT).await?;
    // One policy for the whole question: nothing changes while it is answered. An error is no yes.
    let policy = follower.fresh_policy()?;
    let decision = policy.check(user, &permission, scope, follower.now());
    let word = if decision.allowed() { "yes" } else { "no" };
    Ok(format!("{word} ({}) at version {}", decision.because.as_str(), decision.version))
}
