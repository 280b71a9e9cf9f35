//! `charter events`: what happened, as the log has it.

use super::shapes::EVENT;
use crate::{
    app::App,
    client::Client,
    exit::{Doing, Exit, Failure, Outcome},
    output::Format,
};
use serde_json::Value;
use std::time::Duration;

/// The most events asked for at once.
const PAGE_EVENTS: usize = 500;
/// How often `tail` asks for more, in milliseconds.
const TAIL_EVERY_MS: u64 = 500;

/// What to do with events.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Verb {
    /// List them, oldest first
    Ls {
        /// Only those after this offset
        #[arg(long, default_value_t = 0, value_name = "OFFSET")]
        after: u64,
        /// The most events to print; a note says when there are more
        #[arg(long, default_value_t = 1000, value_name = "EVENTS")]
        limit: usize,
    },
    /// Print what is recorded from now on, until interrupted; one JSON value a line unless `-o table`
    Tail {
        /// Begin after this offset instead of now
        #[arg(long, value_name = "OFFSET")]
        after: Option<u64>,
    },
}

/// Does it.
pub(crate) async fn run(app: &App, verb: Verb) -> Outcome {
    let client = app.client()?;
    match verb {
        Verb::Ls { after, limit } => ls(app, &client, after, limit).await,
        Verb::Tail { after } => tail(app, &client, after).await,
    }
}

async fn ls(app: &App, client: &Client, mut after: u64, limit: usize) -> Outcome {
    let mut events = Vec::new();
    // One more than wanted tells whether there are more.
    while events.len() <= limit {
        let count = PAGE_EVENTS.min(limit + 1 - events.len());
        let page = page(client, after, count).await?;
        let Some(last) = page.last() else { break };
        after = offset_of(last)?;
        events.extend(page);
    }
    let more = events.len() > limit;
    events.truncate(limit);
    app.out.rows(&EVENT, &events)?;
    if more {
        app.out.note(&format!("There are more than these {limit}: `--limit` shows more, `--after` goes on."));
    }
    Ok(Exit::Done)
}

async fn tail(app: &App, client: &Client, after: Option<u64>) -> Outcome {
    let mut after = match after {
        Some(offset) => offset,
        None => client.get("/log", &[]).await?.body.get("head").and_then(Value::as_u64).unwrap_or(0),
    };
    loop {
        let page = page(client, after, PAGE_EVENTS).await?;
        if let Some(last) = page.last() {
            after = offset_of(last)?;
        }
        for event in &page {
            match app.out.format() {
                Format::Table => app.out.line(&EVENT.cells(event).join("  "))?,
                Format::Name => app.out.line(&EVENT.name_of(event))?,
                Format::Csv => return Err(crate::output::no_rows()),
                _ => app.out.line(&event.to_string())?,
            }
        }
        if page.len() < PAGE_EVENTS {
            tokio::select! {
                () = tokio::time::sleep(Duration::from_millis(TAIL_EVERY_MS)) => {}
                _ = tokio::signal::ctrl_c() => return Ok(Exit::Done),
            }
        }
    }
}

async fn page(client: &Client, after: u64, count: usize) -> Outcome<Vec<Value>> {
    let query = [("after", after.to_string()), ("limit", count.to_string())];
    let text = client.text("/events", &query).await?;
    text.lines()
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_str(line).doing("read an event"))
        .collect()
}

fn offset_of(event: &Value) -> Outcome<u64> {
    event.get("offset").and_then(Value::as_u64).ok_or_else(|| Failure::error("an event has no offset"))
}
