//! What the chain alone can't tell: a log that was cut together with its head, or written anew from some event on.

use super::{LOG, checkpoint, events, exported, log_of, saved};
use charter_events::{LogId, StoredEvent};
use charter_replay_tools::{EvidenceError, ToolError, verify, verify_file::verify_file};
use charter_store::{Batch, LogStore, MemoryStore, chain, merkle::Checkpoint};

/// A store with these events and a head that fits them: what somebody leaves who can write to the database.
async fn forged(events: &[StoredEvent]) -> MemoryStore {
    let store = MemoryStore::new(LOG);
    let mut append = store.append().await.unwrap();
    append.write(&Batch { events: events.to_vec(), ..Batch::default() }).await.unwrap();
    append.commit().await.unwrap();
    store
}

/// The same log but for one event, and everything after it hashed anew.
fn rewritten(events: &[StoredEvent], at: usize) -> Vec<StoredEvent> {
    let mut events = events.to_vec();
    events[at - 1].command.reason = Some("somebody else's".to_owned());
    let mut before = if at == 1 { charter_events::Hash::ZERO } else { events[at - 2].hash };
    for event in &mut events[at - 1..] {
        event.prev_hash = before;
        event.hash = chain::hash(LOG, event);
        before = event.hash;
    }
    events
}

async fn against(store: &MemoryStore, checkpoints: &[Checkpoint]) -> Result<u64, EvidenceError> {
    // The file says what the store says.
    let file = exported(store).await;
    let there = verify_file(&mut file.as_slice(), checkpoints, |_| ());
    let here = verify::verify_against(store, checkpoints, |_| ()).await;
    match (&here, &there) {
        (Ok(here), Ok(there)) => assert_eq!(here.root, there.root),
        (Err(here), Err(there)) => assert_eq!(here.to_string(), there.to_string()),
        (here, there) => unreachable!("{here:?} {there:?}"),
    }
    here.map(|sound| sound.scanned.events)
}

#[tokio::test]
async fn a_log_that_went_on_fits_every_checkpoint_it_ever_gave() {
    let store = log_of(700).await;
    let all = events(&store).await;
    let checkpoints: Vec<_> =
        [0, 1, 2, 255, 256, 257, 512, 699, all.len()].map(|size| checkpoint(&all, size)).to_vec();
    assert_eq!(against(&store, &checkpoints).await.unwrap(), all.len() as u64);
    let note = saved(&store, &checkpoints[5]).await;
    assert_eq!(Checkpoint::of(&note), Ok(checkpoints[5].clone()));
}

#[tokio::test]
async fn a_log_cut_anywhere_with_its_head_is_told_by_a_checkpoint_at_the_first_event_that_is_gone() {
    let store = log_of(500).await;
    let all = events(&store).await;
    let kept = [checkpoint(&all, all.len())];
    let ends = (1..all.len()).filter(|at| all[at - 1].ends_command()).collect::<Vec<_>>();
    for at in ends.iter().rev().step_by(9) {
        let cut = forged(&all[..*at]).await;
        assert_eq!(
            verify::verify(&cut, |_| ()).await.unwrap().scanned.events,
            *at as u64,
            "alone it is whole"
        );
        match against(&cut, &kept).await.unwrap_err() {
            EvidenceError::Cut { offset, size } => {
                assert_eq!((offset.get(), size), (*at as u64 + 1, all.len() as u64));
            }
            other => unreachable!("{other}"),
        }
    }
}

#[tokio::test]
async fn a_log_written_anew_from_an_event_on_is_told_between_the_checkpoint_that_fits_and_the_one_that_does_not()
 {
    let store = log_of(400).await;
    let all = events(&store).await;
    let sizes = [100, 200, 300, 400];
    let kept = sizes.map(|size| checkpoint(&all, size));
    for at in [1, 2, 99, 100, 101, 200, 201, 350, 400] {
        let forged = forged(&rewritten(&all, at)).await;
        let alone = verify::verify(&forged, |_| ()).await.unwrap();
        assert_eq!(alone.scanned.events, all.len() as u64, "alone it is whole");
        match against(&forged, &kept).await.unwrap_err() {
            EvidenceError::Rewritten { after, size } => {
                let first = *sizes.iter().find(|size| **size >= at).unwrap();
                assert_eq!((after.get(), size), (first as u64 - 100, first as u64), "at {at}");
            }
            other => unreachable!("{other}"),
        }
    }
    // With a checkpoint for each event, it is told exactly.
    let every: Vec<_> = (1..=all.len()).map(|size| checkpoint(&all, size)).collect();
    let error = against(&forged(&rewritten(&all, 123)).await, &every).await.unwrap_err();
    assert!(error.to_string().starts_with("the log was rewritten at offset 123 or later"), "{error}");
}

#[tokio::test]
async fn a_checkpoint_of_another_log_compares_with_nothing() {
    let store = log_of(30).await;
    let mut other = checkpoint(&events(&store).await, 30);
    other.origin = charter_store::merkle::origin(LogId::from_u128(1));
    let error = against(&store, &[other]).await.unwrap_err();
    assert!(matches!(error, EvidenceError::Tool(ToolError::OtherLog(_))), "{error}");
}

#[tokio::test]
async fn two_checkpoints_of_one_size_with_two_roots_are_told_as_two_histories_whatever_the_log_is() {
    let store = log_of(300).await;
    let all = events(&store).await;
    let other = checkpoint(&rewritten(&all, 150), 200);
    for kept in [
        vec![checkpoint(&all, 200), other.clone()],
        vec![other.clone(), checkpoint(&all, 200)],
        // Also where one of another size, or the log itself, would be complained of first.
        vec![checkpoint(&rewritten(&all, 20), 50), checkpoint(&all, 200), other.clone()],
    ] {
        let error = against(&store, &kept).await.unwrap_err();
        assert!(matches!(error, EvidenceError::TwoHistories { size: 200 }), "{error}");
    }
    let cut = forged(&all[..40]).await;
    let error = against(&cut, &[other, checkpoint(&all, 200)]).await.unwrap_err();
    assert!(matches!(error, EvidenceError::TwoHistories { size: 200 }), "{error}");
    let twice = [checkpoint(&all, 200), checkpoint(&all, 200)];
    assert_eq!(against(&store, &twice).await.unwrap(), all.len() as u64);
}
