//! A proof that an event is in the log, and when there is none.

use super::{checkpoint, events, log_of, saved, signer};

use async_trait::async_trait;
use charter_events::{Hash, Head, Offset, StoredEvent, Timestamp};
use charter_replay_tools::{
    EvidenceError, ToolError,
    prove::{By, prove},
};
use charter_store::{
    Answer, Append, IdempotencyKey, LogStore, MemoryStore, StoreError, What,
    merkle::{InclusionText, VerifierKey},
};

fn offset(number: usize) -> Offset {
    Offset::new(number as u64).unwrap()
}

#[tokio::test]
async fn every_event_is_proven_by_a_checkpoint_saved_before_or_a_new_one() {
    let store = log_of(600).await;
    let all = events(&store).await;
    let signer = signer(&store).await;
    let key: VerifierKey = signer.verifier_key().to_string().parse().unwrap();
    for size in [1, 255, 256, 257, 599] {
        let note = saved(&store, &checkpoint(&all, size)).await;
        for at in [1, 2, 200, 256, 257, 599].into_iter().filter(|at| *at <= size) {
            let text = prove(&store, offset(at), By::Known(&note), |_| ()).await.unwrap().to_string();
            let proof: InclusionText = text.parse().unwrap();
            assert_eq!(proof.check(&key).unwrap(), checkpoint(&all, size), "{at} of {size}");
            assert_eq!(proof.index, at as u64 - 1);
        }
    }
    let proof = prove(&store, offset(77), By::New(&signer), |_| ()).await.unwrap();
    assert_eq!(proof.check(&key).unwrap(), checkpoint(&all, all.len()));
}

#[tokio::test]
async fn nothing_is_proven_of_what_the_checkpoint_does_not_have() {
    let store = log_of(300).await;
    let all = events(&store).await;
    let note = saved(&store, &checkpoint(&all, 100)).await;
    for at in [0, 101] {
        let error = prove(&store, offset(at), By::Known(&note), |_| ()).await.unwrap_err();
        assert!(matches!(error, EvidenceError::Unproven(_)), "{at}: {error}");
    }
    let mut other = checkpoint(&all, 100);
    other.root = all[0].hash;
    let error = prove(&store, offset(5), By::Known(&saved(&store, &other).await), |_| ()).await.unwrap_err();
    assert!(matches!(error, EvidenceError::Rewritten { size: 100, .. }), "{error}");
    other.size = 10_000;
    let error = prove(&store, offset(5), By::Known(&saved(&store, &other).await), |_| ()).await.unwrap_err();
    assert!(matches!(error, EvidenceError::Cut { size: 10_000, .. }), "{error}");
}

/// A log whose hashes stand as they were, with another event beneath one of them.
struct Beneath(MemoryStore, u64);

#[async_trait]
impl LogStore for Beneath {
    async fn head(&self) -> Result<Head, StoreError> {
        self.0.head().await
    }

    async fn read(&self, after: Offset, limit: usize) -> Result<Vec<StoredEvent>, StoreError> {
        let mut page = self.0.read(after, limit).await?;
        let changed = page.iter_mut().filter(|event| event.offset.get() == self.1);
        changed.for_each(|event| event.payload.insert(0, b' '));
        Ok(page)
    }

    async fn hashes(&self, after: Offset, limit: usize) -> Result<Vec<Hash>, StoreError> {
        self.0.hashes(after, limit).await
    }

    async fn append(&self) -> Result<Box<dyn Append>, StoreError> {
        self.0.append().await
    }

    async fn kept_answer(&self, key: &IdempotencyKey) -> Result<Option<Answer>, StoreError> {
        self.0.kept_answer(key).await
    }

    async fn forget_answers_before(&self, moment: Timestamp) -> Result<usize, StoreError> {
        self.0.forget_answers_before(moment).await
    }
}

#[tokio::test]
async fn nothing_new_is_signed_over_a_changed_event_wherever_the_proof_is_of() {
    let store = log_of(300).await;
    let signer = signer(&store).await;
    let changed = Beneath(store, 77);
    for at in [1, 76, 77, 78, 300] {
        let error = prove(&changed, offset(at), By::New(&signer), |_| ()).await.unwrap_err();
        let EvidenceError::Tool(ToolError::Store(StoreError::Damaged(fault))) = error else {
            panic!("{at}: {error}")
        };
        assert_eq!((fault.offset.get(), fault.what), (77, What::HashMismatch));
    }
}
