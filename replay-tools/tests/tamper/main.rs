//! Whatever is changed in a log, it is told where; what only a checkpoint kept elsewhere can tell, that tells.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]

mod checkpoints;
mod files;
mod proofs;

use charter_events::{Actor, CommandMeta, LogId, Offset, StoredEvent, UserId, Via};
use charter_replay_tools::export::export;
use charter_store::{
    Batch, Chain, Key32, LogStore, MemoryStore, SecretStore,
    conformance::Counter,
    merkle::{Checkpoint, SignedNote, Signer, Tree, origin},
};
use charter_testkit::random::History;

const LOG: LogId = LogId::from_u128(0x7A3F);

/// A log of at least so many events that can be replayed, whose envelopes hold everything an envelope can.
async fn log_of(events: usize) -> MemoryStore {
    let store = MemoryStore::new(LOG);
    let mut append = store.append().await.unwrap();
    let (mut chain, mut ids) = (Chain::new(append.head()), Counter::after(1 << 40));
    for (number, step) in (0_u128..).zip(History::long(11, events).steps) {
        let user = UserId::from_u128(number);
        let actors =
            [Actor::User(user), Actor::System, Actor::Service(user), Actor::Module("game".parse().unwrap())];
        let meta = CommandMeta {
            command_id: charter_events::CommandId::from_u128((number << 64) | 0xC0),
            actor: actors[(number % 4) as usize].clone(),
            via: [Via::Api, Via::System, Via::Cli, Via::Module, Via::Import][(number % 5) as usize],
            request_id: (number % 2 == 0).then(|| format!("request-{number}")),
            reason: (number % 3 == 0).then(|| format!("because \"{number}\" is 馬")),
        };
        let made = chain.extend(&meta, &step.events, step.at, &mut || ids.next_id()).unwrap();
        append.write(&Batch { events: made, ..Batch::default() }).await.unwrap();
        if chain.head().offset.get() >= events as u64 {
            break;
        }
    }
    append.commit().await.unwrap();
    store
}

async fn exported(store: &MemoryStore) -> Vec<u8> {
    let mut out = Vec::new();
    export(store, &mut out, |_| ()).await.unwrap();
    out
}

async fn events(store: &MemoryStore) -> Vec<StoredEvent> {
    store.read(Offset::ZERO, 10_000).await.unwrap()
}

async fn signer(store: &MemoryStore) -> Signer {
    let secrets = store.installation_secrets().await.unwrap();
    let key: Key32 = secrets.signing_key.unwrap();
    Signer::new(&origin(store.head().await.unwrap().log_id), &key)
}

/// The checkpoint as it was when the log had so many events.
fn checkpoint(events: &[StoredEvent], size: usize) -> Checkpoint {
    let mut tree = Tree::default();
    events[..size].iter().for_each(|event| tree.push(event.hash));
    Checkpoint { origin: origin(LOG), size: size as u64, root: tree.root() }
}

/// It, signed by the installation, and read again from what was saved.
async fn saved(store: &MemoryStore, checkpoint: &Checkpoint) -> SignedNote {
    checkpoint.sign(&signer(store).await).to_string().parse().unwrap()
}
