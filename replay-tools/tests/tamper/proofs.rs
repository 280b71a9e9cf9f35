//! A proof that an event is in the log, and when there is none.

use super::{checkpoint, events, log_of, saved, signer};
use charter_events::Offset;
use charter_replay_tools::{
    EvidenceError,
    prove::{By, prove},
};
use charter_store::merkle::{InclusionText, VerifierKey};

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
