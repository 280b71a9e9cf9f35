//! The same on a file: what is answered is in it, and a start finds it again.

use super::{
    house::{StandingClock, code, group, keyed, meta, quiet, request},
    identity::{PASSWORD, names, secret},
};
use crate::{Control, Started};
use charter_events::UserId;
use charter_policy::Caller;
use charter_store::Store;
use charter_store_sqlite::{Access, SqliteStore};
use std::{path::Path, sync::Arc};
use tokio::task::JoinSet;

async fn start(folder: &Path) -> (Arc<SqliteStore>, Started) {
    let store = SqliteStore::open(folder, Access::Server).await.unwrap();
    let log: Arc<dyn Store> = store.clone();
    let started = Control::start(log, quiet(StandingClock::new())).await.unwrap();
    (store, started)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_keeps_what_64_callers_were_answered_and_a_restart_gives_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let (store, Started { control, setup_code, .. }) = start(folder.path()).await;
    let receipt = control.setup(&setup_code.unwrap(), names("root"), secret(PASSWORD), meta()).await.unwrap();
    let root = Caller::of(UserId::new(receipt.created.unwrap()));
    let session = control.sign_in("root", secret(PASSWORD)).await.unwrap().secret;
    let mut callers = JoinSet::new();
    for number in 0..64 {
        let (control, root) = (control.clone(), root.clone());
        callers.spawn(async move {
            for round in 0..5 {
                let slug = format!("g{number}-{round}");
                let receipt = control.submit(request(root.clone(), group(&slug))).await.unwrap();
                assert!(control.policy().version() >= receipt.last);
            }
        });
    }
    callers.join_all().await;
    let answered = control.submit(keyed(&root, "k", 1, group("keyed"))).await.unwrap();
    assert_eq!(control.verify_log().await.unwrap(), control.head());
    let (digest, head) = (control.policy().digest(), control.head());
    control.shutdown().await;
    store.close().await;

    let (_store, Started { control, setup_code, from_snapshot }) = start(folder.path()).await;
    assert!(setup_code.is_none());
    assert_eq!(from_snapshot, Some(head.offset));
    assert_eq!((control.policy().digest(), control.head()), (digest, head));
    assert_eq!(control.policy().groups().count(), 321);
    assert_eq!(control.authenticate(session.expose()).await.unwrap().user, root.user().unwrap());
    assert_eq!(control.profile(root.user().unwrap()).await.unwrap(), names("root"));
    let again = control.submit(keyed(&root, "k", 1, group("keyed"))).await.unwrap();
    assert!(again.repeated && again.command_id == answered.command_id);
    assert_eq!(code(control.submit(request(root, group("keyed"))).await), "name_taken");
    control.shutdown().await;
}
