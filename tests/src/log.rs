//! The log read back over HTTP, checked, and folded.

use crate::Caller;
use anyhow::{Context, ensure};
use charter_events::{EventJson, LogId, StoredEvent};
use charter_policy::Policy;
use charter_store::chain::Verifier;
use std::{
    collections::BTreeMap,
    fmt::Write,
    time::{Duration, Instant},
};

/// The most events the API answers at once.
const PAGE_EVENTS: u64 = 500;
/// How long a server may take to reach a version.
const REACH_SECONDS_MAX: u64 = 30;

/// A whole log.
pub struct Log {
    /// Which.
    pub id: LogId,
    /// Every event, with the line it came in.
    pub events: Vec<(StoredEvent, String)>,
}

impl Log {
    /// Reads all of it from a server, at least up to a version, and checks that offsets are dense, hashes are right
    /// and commands whole.
    ///
    /// # Errors
    /// When the server refuses, or the log is not as it must be; naming the offset.
    pub async fn read(caller: &Caller, at_least: u64) -> anyhow::Result<Self> {
        let head = caller.get_at_least("/api/v1/log", at_least).await?.expect(200)?;
        let id: LogId = head.text("log_id").context("no log id")?.parse()?;
        let mut verifier = Verifier::from_start(id);
        let mut events = Vec::new();
        loop {
            let after = verifier.head().offset.get();
            let text = caller.text(&format!("/api/v1/events?after={after}&limit={PAGE_EVENTS}")).await?;
            if text.is_empty() {
                break;
            }
            for line in text.lines() {
                let event = serde_json::from_str::<EventJson<'_>>(line)?.into_event();
                verifier.next(&event)?;
                events.push((event, line.to_owned()));
            }
        }
        ensure!(!verifier.within_command(), "the log ends within a command");
        ensure!(
            Some(verifier.head().offset.get()) >= head.body.get("head").and_then(|n| n.as_u64()),
            "cut short"
        );
        Ok(Self { id, events })
    }

    /// Its last offset.
    pub fn head(&self) -> u64 {
        self.events.len() as u64
    }

    /// Every acknowledged command is there once, its last event where the answer said, and of those whose name begins
    /// so there is no other.
    ///
    /// # Errors
    /// Naming the first command for which it is not so.
    pub fn holds_once(&self, acknowledged: &BTreeMap<String, u64>, prefix: &str) -> anyhow::Result<()> {
        let counted = self.commands_by_reason();
        for (name, version) in acknowledged {
            let count = counted.get(name.as_str()).copied().unwrap_or(0);
            ensure!(count == 1, "`{name}` was acknowledged at {version} and is in the log {count} times");
            let place = usize::try_from(*version)?.checked_sub(1).and_then(|place| self.events.get(place));
            let (event, _) = place.with_context(|| format!("`{name}`: there is no offset {version}"))?;
            ensure!(
                event.command.reason.as_ref() == Some(name),
                "`{name}` was answered {version}, which is another's"
            );
            ensure!(
                event.command_index + 1 == event.command_size,
                "`{name}` was answered {version}, not its end"
            );
        }
        let others =
            counted.keys().filter(|name| name.starts_with(prefix) && !acknowledged.contains_key(**name));
        let others: Vec<_> = others.collect();
        ensure!(others.is_empty(), "in the log, but not acknowledged: {others:?}");
        Ok(())
    }

    /// How many commands gave each reason.
    fn commands_by_reason(&self) -> BTreeMap<&str, usize> {
        let mut counted = BTreeMap::new();
        for (event, _) in self.events.iter().filter(|(event, _)| event.command_index == 0) {
            if let Some(reason) = &event.command.reason {
                *counted.entry(reason.as_str()).or_default() += 1;
            }
        }
        counted
    }

    /// The digest of the state that all of it folds to, in hexadecimal digits.
    ///
    /// # Errors
    /// When an event can't be read or contradicts those before it.
    pub fn state_digest(&self) -> anyhow::Result<String> {
        let mut policy = Policy::new();
        for (event, _) in &self.events {
            policy.apply(&event.meta(), &event.decode()?)?;
        }
        Ok(hex(&policy.digest()))
    }
}

/// The digest of the state a server answers from, once it has reached the log's end.
///
/// # Errors
/// When it does not get there in time, or refuses.
pub async fn state_of(caller: &Caller, head: u64) -> anyhow::Result<String> {
    let deadline = Instant::now() + Duration::from_secs(REACH_SECONDS_MAX);
    loop {
        let answer = caller.get("/api/v1/log?digest=true").await?.expect(200)?;
        if answer.version == Some(head) {
            return Ok(answer.text("state_digest").context("no digest in the answer")?.to_owned());
        }
        ensure!(Instant::now() < deadline, "not at {head}: {answer:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
