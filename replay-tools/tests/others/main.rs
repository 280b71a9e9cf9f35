//! Logs in forms that others read, and tables built anew: every event of long random histories, and every example of
//! an event.
#![expect(clippy::unwrap_used, reason = "a test")]

mod cloudevents;
mod ocsf;
mod rebuilding;

use charter_events::{Actor, CommandId, CommandMeta, Event, LogId, UserId, Via};
use charter_replay_tools::export::{Format, export_as};
use charter_store::{Batch, Chain, LogStore, MemoryStore};
use charter_testkit::random::History;
use serde_json::Value;
use uuid::Uuid;

const LOG: LogId = LogId::from_u128(0x0199_0000_0000_7000_8000_0000_0000_0001);

/// A log of a random history of so many commands.
async fn random(seed: u64, commands: usize) -> MemoryStore {
    let store = MemoryStore::new(LOG);
    append(&store, &History::long(seed, commands), 0).await;
    store
}

/// Appends a history's commands, but for those that are there.
async fn append(store: &MemoryStore, history: &History, after: usize) {
    let mut append = store.append().await.unwrap();
    let mut chain = Chain::new(append.head());
    for (number, step) in history.steps.iter().enumerate().skip(after) {
        let meta = CommandMeta {
            command_id: CommandId::from_u128(number as u128 + 1),
            actor: if number % 2 == 0 { Actor::System } else { Actor::User(UserId::from_u128(7)) },
            via: Via::Api,
            request_id: Some(format!("request-{number}")),
            reason: (number % 3 == 0).then(|| "because \"it\" is\n馬".to_owned()),
        };
        let mut ids = Uuid::now_v7;
        let events: &[Event] = &step.events;
        if events.is_empty() {
            continue;
        }
        let events = chain.extend(&meta, events, step.at, &mut ids).unwrap();
        append.write(&Batch { events, ..Batch::default() }).await.unwrap();
    }
    append.commit().await.unwrap();
}

async fn exported(store: &MemoryStore, format: Format) -> Vec<Value> {
    let mut out = Vec::new();
    let mut last = 0;
    export_as(format, store, &mut out, |progress| last = progress.at.get()).await.unwrap();
    let text = String::from_utf8(out).unwrap();
    assert!(text.ends_with('\n'));
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(last, store.head().await.unwrap().offset.get());
    lines
}
