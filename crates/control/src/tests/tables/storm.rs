//! Everything at once: commands at full rate while tables are rebuilt, stopped, gone on with, switched, rolled back,
//! and their server ended, at random moments. Whoever reads them never sees a mixture, nor older ones than before.

use super::{
    rebuild::{make, with_groups},
    tiny::{Quirk, arc, digests, keeping, listed, read, slugs, state, tiny, until},
};
use crate::{AfterBuild, Config, Control, tests::fleet::started};
use charter_events::{Event, Offset};
use charter_policy::Caller;
use charter_store::{Listed, MemoryStore, OperationState};
use charter_tables::{Projection, Value};
use charter_testkit::Rng;
use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

/// Reads until told to stop; gives every page, in the order they were read.
async fn reader(
    store: MemoryStore,
    projection: &'static dyn Projection,
    stop: Arc<AtomicBool>,
) -> Vec<Listed> {
    let store = arc(&store);
    let mut pages = Vec::new();
    while !stop.load(Ordering::SeqCst) {
        pages.extend(listed(store.as_ref(), projection).await);
        tokio::time::sleep(std::time::Duration::from_micros(300)).await;
    }
    pages
}

/// The slugs there were at each version, read from the log alone.
async fn by_version(store: &MemoryStore) -> BTreeMap<Offset, usize> {
    let mut groups = 0;
    let mut count = BTreeMap::from([(Offset::ZERO, 0)]);
    for event in arc(store).read(Offset::ZERO, 10_000).await.unwrap() {
        match event.decode().unwrap() {
            Event::GroupCreated(_) => groups += 1,
            Event::GroupDeleted(_) => groups -= 1,
            _ => {}
        }
        count.insert(event.offset, groups);
    }
    count
}

async fn anything(control: &Control, admin: &Caller, rng: &mut Rng) {
    let newest = control.operations().await.unwrap().into_iter().next();
    // Most of it is refused: what matters is that it does no harm.
    match rng.below(7) {
        0 => drop(control.rebuild("groups", AfterBuild::Switch, admin).await),
        1 => drop(control.rebuild("groups", AfterBuild::Hold, admin).await),
        2 => drop(control.rebuild("groups", AfterBuild::SwitchThoughItDiffers, admin).await),
        3 => drop(control.switch("groups", admin).await),
        4 => drop(control.roll_back("groups", admin).await),
        5 => {
            if let Some(newest) = newest {
                drop(control.cancel_operation(newest.id).await);
            }
        }
        _ => {
            if let Some(newest) = newest {
                drop(control.resume_operation(newest.id).await);
            }
        }
    }
}

async fn storm(seed: u64) {
    let (store, admin) = with_groups(30).await;
    let groups = tiny("groups", 1, Quirk::None);
    let config = || Config { tables_batch_events_max: 4, ..keeping(&[groups]) };
    let mut control = started(store.clone(), config()).await;
    slugs(&control, groups).await;
    let stop = Arc::new(AtomicBool::new(false));
    let reading = tokio::spawn(reader(store.clone(), groups, Arc::clone(&stop)));
    let mut rng = Rng::new(seed);
    let mut made = 0;
    for _ in 0..60 {
        for _ in 0..rng.below(8) {
            make(&control, &admin, &format!("more-{made}")).await;
            made += 1;
        }
        anything(&control, &admin, &mut rng).await;
        if rng.below(3) == 0 {
            calm(&control, groups).await;
        }
        if rng.below(12) == 0 {
            // Dropped wherever it is: its runner is gone at once, as after a kill.
            control.inner.stop.cancel();
            control.inner.tasks.close();
            control.inner.tasks.wait().await;
            control.shutdown().await;
            control = started(store.clone(), config()).await;
        }
    }
    calm(&control, groups).await;
    stop.store(true, Ordering::SeqCst);
    assert_eq!(slugs(&control, groups).await.len(), 30 + made);
    no_mixture(&reading.await.unwrap(), &by_version(&store).await);
    // Brought to one event, every generation has the same rows.
    done_all(&control, &admin, groups).await;
}

/// Waits until no operation runs.
async fn calm(control: &Control, projection: &'static dyn Projection) {
    until("it is calm", || async { state(control, projection).await.operation.is_none() }).await;
}

fn no_mixture(pages: &[Listed], count: &BTreeMap<Offset, usize>) {
    let mut last = Offset::ZERO;
    let mut generations = Vec::new();
    for page in pages {
        let at = page.checkpoint.offset;
        assert!(at >= last, "readers went back from {last} to {at}");
        assert_eq!(page.rows.len(), count[&at], "a mixture at {at} in generation {}", page.generation);
        let made_at = |row: &Vec<Value>| matches!(row[2], Value::Int(made) if made <= at.get().cast_signed());
        assert!(page.rows.iter().all(made_at));
        last = at;
        generations.push(page.generation);
    }
    generations.dedup();
    assert!(pages.len() > 20 && generations.len() > 1, "{} pages, {generations:?}", pages.len());
}

async fn done_all(control: &Control, admin: &Caller, projection: &'static dyn Projection) {
    let operation = control.rebuild("groups", AfterBuild::Switch, admin).await.unwrap();
    super::tiny::done(control, operation.id).await;
    let rolled = control.roll_back("groups", admin).await.unwrap();
    super::tiny::done(control, rolled.id).await;
    assert!(read(control, projection).await.is_some());
    let states = digests(control, projection).await;
    assert!(states.len() >= 2);
    let furthest = states.iter().map(|(at, _)| *at).max().unwrap();
    // The one rolled back from stands where it was left: everything after it is no group.
    let same = states.iter().filter(|(at, _)| at.get() + 3 > furthest.get());
    let digests: Vec<_> = same.map(|(_, digest)| *digest).collect();
    assert!(digests.len() >= 2 && digests.windows(2).all(|pair| pair[0] == pair[1]), "{states:?}");
    let failed = control.operations().await.unwrap();
    let failed: Vec<_> = failed.iter().filter(|one| one.state == OperationState::Failed).collect();
    assert!(failed.is_empty(), "{failed:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_is_asked_at_whatever_moment_readers_see_one_version_after_another() {
    for seed in 1..=8 {
        storm(seed).await;
    }
}
