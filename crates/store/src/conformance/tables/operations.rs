//! Long work, as all servers see it.

use super::super::samples::moment;
use crate::{OPERATIONS_KEPT, Operation, OperationState, Store, StoreError, TABLE_TEXT_BYTES_MAX};
use std::sync::Arc;
use uuid::Uuid;

fn operation(number: u32) -> Operation {
    Operation {
        id: Uuid::from_u128(u128::from(number)),
        kind: "projection.rebuild".into(),
        target: "directory".into(),
        state: OperationState::Running,
        detail: "building 'x' 馬".into(),
        done: 0,
        total: 1_000,
        asked_by: number.is_multiple_of(2).then(|| Uuid::from_u128(77)),
        started_at: moment(i64::from(number)),
        updated_at: moment(i64::from(number)),
    }
}

pub(super) async fn told(store: Arc<dyn Store>) {
    assert_eq!(store.operations().await.unwrap(), []);
    let (first, second) = (operation(1), operation(2));
    store.put_operation(&second).await.unwrap();
    store.put_operation(&first).await.unwrap();
    assert_eq!(store.operations().await.unwrap(), [second.clone(), first.clone()], "newest first");
    let on = Operation { done: 500, total: 0, detail: String::new(), updated_at: moment(9), ..first };
    store.put_operation(&on).await.unwrap();
    assert_eq!(store.operations().await.unwrap(), [second.clone(), on.clone()]);
    let most = Operation { done: i64::MAX as u64, total: i64::MAX as u64, ..second };
    store.put_operation(&most).await.unwrap();
    assert_eq!(store.operations().await.unwrap(), [most, on]);
}

pub(super) async fn begun(store: Arc<dyn Store>) {
    use OperationState::{Cancelled, Done, Running};
    let ids: Vec<_> = (1..=4).map(|number| operation(number).id).collect();
    assert!(store.begin_operation(&operation(1), &[]).await.unwrap());
    assert!(!store.begin_operation(&operation(2), &[]).await.unwrap());
    assert!(!store.begin_operation(&operation(2), &ids[2..]).await.unwrap());
    assert_eq!(store.operations().await.unwrap(), [operation(1)], "nothing else is kept");
    assert!(store.begin_operation(&operation(2), &ids[..1]).await.unwrap());
    assert!(!store.begin_operation(&operation(3), &ids[..1]).await.unwrap());
    store.move_operation(ids[0], Running, Done, moment(5)).await.unwrap();
    store.move_operation(ids[1], Running, Cancelled, moment(5)).await.unwrap();
    assert!(store.begin_operation(&operation(3), &[]).await.unwrap(), "what does not run excludes nothing");
    let long = Operation { detail: "x".repeat(TABLE_TEXT_BYTES_MAX + 1), ..operation(4) };
    let error = store.begin_operation(&long, &ids).await.unwrap_err();
    assert!(matches!(error, StoreError::Refused(_)), "{error}");
}

pub(super) async fn one_is_begun(store: Arc<dyn Store>) {
    for round in 0..10 {
        let begin = |number: u32| {
            let store = Arc::clone(&store);
            tokio::spawn(async move { store.begin_operation(&operation(number), &[]).await.unwrap() })
        };
        let begun: Vec<_> = (1..=4).map(|number| begin(round * 4 + number)).collect();
        let mut kept = 0;
        for one in begun {
            kept += u32::from(one.await.unwrap());
        }
        assert_eq!(kept, 1);
        let running = store.operations().await.unwrap();
        let running: Vec<_> = running.iter().filter(|one| one.state == OperationState::Running).collect();
        assert_eq!(running.len(), 1);
        let (from, to) = (OperationState::Running, OperationState::Done);
        store.move_operation(running[0].id, from, to, moment(100)).await.unwrap();
    }
}

pub(super) async fn moved_once(store: Arc<dyn Store>) {
    use OperationState::{Cancelled, Done, Failed, Running};
    store.put_operation(&operation(1)).await.unwrap();
    store.put_operation(&operation(2)).await.unwrap();
    let id = operation(1).id;
    for (from, to, moves) in [
        (Cancelled, Running, false),
        (Running, Cancelled, true),
        (Running, Cancelled, false),
        (Cancelled, Running, true),
        (Running, Failed, true),
        (Failed, Done, true),
    ] {
        assert_eq!(
            store.move_operation(id, from, to, moment(50)).await.unwrap(),
            moves,
            "{from:?} to {to:?}"
        );
    }
    let kept = Operation { state: Done, updated_at: moment(50), ..operation(1) };
    assert_eq!(store.operations().await.unwrap(), [operation(2), kept]);
    let stranger = Uuid::from_u128(99);
    assert!(!store.move_operation(stranger, Running, Done, moment(1)).await.unwrap());
}

pub(super) async fn progress_undoes_nothing(store: Arc<dyn Store>) {
    use OperationState::{Cancelled, Done, Running};
    store.put_operation(&operation(1)).await.unwrap();
    store.move_operation(operation(1).id, Running, Cancelled, moment(5)).await.unwrap();
    let cancelled = store.operations().await.unwrap();
    store.put_operation(&Operation { done: 700, ..operation(1) }).await.unwrap();
    assert_eq!(store.operations().await.unwrap(), cancelled, "it was cancelled");
    let done = Operation { state: Done, done: 1_000, ..operation(1) };
    store.put_operation(&done).await.unwrap();
    assert_eq!(store.operations().await.unwrap(), [done], "an end replaces an end");
}

pub(super) async fn kept(store: Arc<dyn Store>) {
    use OperationState::{Cancelled, Done, Failed};
    store.put_operation(&operation(1)).await.unwrap();
    let count = u32::try_from(OPERATIONS_KEPT).unwrap();
    for number in 2..count + 7 {
        let state = [Done, Failed, Cancelled][number as usize % 3];
        store.put_operation(&Operation { state, ..operation(number) }).await.unwrap();
    }
    let all = store.operations().await.unwrap();
    let numbers: Vec<_> = all.iter().map(|kept| kept.id.as_u128()).collect();
    let expected: Vec<_> = (7..u128::from(count) + 7).rev().chain([1]).collect();
    assert_eq!(numbers, expected, "the newest that ended, and what runs");
}

pub(super) async fn refused(store: Arc<dyn Store>) {
    let long = "x".repeat(TABLE_TEXT_BYTES_MAX + 1);
    for operation in [
        Operation { detail: long.clone(), ..operation(1) },
        Operation { target: long, ..operation(1) },
        Operation { detail: "a\0".into(), ..operation(1) },
    ] {
        let error = store.put_operation(&operation).await.unwrap_err();
        assert!(matches!(error, StoreError::Refused(_)), "{error}");
    }
    store
        .put_operation(&Operation { detail: "x".repeat(TABLE_TEXT_BYTES_MAX), ..operation(1) })
        .await
        .unwrap();
}
