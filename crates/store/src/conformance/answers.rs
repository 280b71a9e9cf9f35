//! Answers to repeated requests.

use super::samples::{answer, batch_of, moment, with_answer};
use crate::{Answer, Batch, IDEMPOTENCY_KEY_BYTES_MAX, IdempotencyKey, Store, StoreError};
use charter_events::{Hash, Offset};
use std::sync::Arc;

async fn keep(store: &dyn Store, key: &str) -> Answer {
    let mut append = store.append().await.unwrap();
    let batch = with_answer(&*append, key);
    append.write(&batch).await.unwrap();
    append.commit().await.unwrap();
    batch.answers[0].clone()
}

async fn find(store: &dyn Store, key: &IdempotencyKey) -> Option<Answer> {
    let outside = store.kept_answer(key).await.unwrap();
    let mut append = store.append().await.unwrap();
    assert_eq!(append.answer(key).await.unwrap(), outside, "the same inside an append and outside");
    outside
}

pub(super) async fn found_again(store: Arc<dyn Store>) {
    let longest = "k".repeat(IDEMPOTENCY_KEY_BYTES_MAX);
    for key in ["plain", "Plain", "plain ", "", "'\" 馬 \0", &longest] {
        let mut kept = keep(&*store, key).await;
        assert_eq!(find(&*store, &kept.key).await.as_ref(), Some(&kept), "{key:?}");
        kept.key.caller.push('x');
        assert_eq!(find(&*store, &kept.key).await, None, "{key:?} of another caller");
    }
    let mut bare = answer("bare", store.head().await.unwrap());
    (bare.created, bare.secret) = (None, false);
    let mut append = store.append().await.unwrap();
    append.write(&Batch { answers: vec![bare.clone()], ..Batch::default() }).await.unwrap();
    let before = append.head();
    assert_eq!(append.commit().await.unwrap(), before, "an answer alone moves no head");
    assert_eq!(find(&*store, &bare.key).await, Some(bare));
}

/// A caller and a key are two texts, not one: wherever the one ends and the other begins.
pub(super) async fn by_both(store: Arc<dyn Store>) {
    let texts = ["", "a", "ab", "b", ":", "a:", "\0", "a\0", "\0b"];
    let head = store.head().await.unwrap();
    let both = texts.iter().flat_map(|caller| texts.iter().map(move |key| (*caller, *key)));
    let answers: Vec<Answer> = both
        .enumerate()
        .map(|(number, (caller, key))| Answer {
            key: IdempotencyKey { caller: caller.into(), key: key.into() },
            request_hash: Hash::new([u8::try_from(number).unwrap(); 32]),
            ..answer("", head)
        })
        .collect();
    let mut append = store.append().await.unwrap();
    append.write(&Batch { answers: answers.clone(), ..Batch::default() }).await.unwrap();
    append.commit().await.unwrap();
    for answer in answers {
        assert_eq!(find(&*store, &answer.key).await, Some(answer));
    }
}

pub(super) async fn rolled_back(store: Arc<dyn Store>) {
    let mut append = store.append().await.unwrap();
    let batch = with_answer(&*append, "key");
    append.write(&batch).await.unwrap();
    append.rollback().await.unwrap();
    assert_eq!(find(&*store, &batch.answers[0].key).await, None);
}

pub(super) async fn one_each(store: Arc<dyn Store>) {
    let kept = keep(&*store, "key").await;
    let mut append = store.append().await.unwrap();
    let batch = with_answer(&*append, "key");
    let error = append.write(&batch).await.unwrap_err();
    assert!(matches!(error, StoreError::Refused(_)), "{error}");
    drop(append);
    let mut append = store.append().await.unwrap();
    let mut batch = with_answer(&*append, "other");
    batch.answers[0].last = Offset::MAX;
    let error = append.write(&batch).await.unwrap_err();
    assert!(matches!(error, StoreError::Refused(_)), "an answer beyond the log: {error}");
    drop(append);
    let mut append = store.append().await.unwrap();
    let mut batch = with_answer(&*append, "long");
    batch.answers[0].key.key = "k".repeat(IDEMPOTENCY_KEY_BYTES_MAX + 1);
    let error = append.write(&batch).await.unwrap_err();
    assert!(matches!(error, StoreError::Refused(_)), "too long a key: {error}");
    drop(append);
    assert_eq!(find(&*store, &kept.key).await, Some(kept));
    assert_eq!(store.head().await.unwrap().offset.get(), 1);
}

pub(super) async fn forgotten(store: Arc<dyn Store>) {
    let head = store.head().await.unwrap();
    let answers: Vec<_> = (0..10).map(|n| Answer { at: moment(n), ..answer(&n.to_string(), head) }).collect();
    let mut append = store.append().await.unwrap();
    append.write(&Batch { answers: answers.clone(), ..batch_of(Vec::new()) }).await.unwrap();
    append.commit().await.unwrap();
    assert_eq!(store.forget_answers_before(moment(4)).await.unwrap(), 4);
    assert_eq!(store.forget_answers_before(moment(4)).await.unwrap(), 0);
    for (number, answer) in answers.into_iter().enumerate() {
        assert_eq!(find(&*store, &answer.key).await.is_some(), number >= 4, "{number}");
    }
}
