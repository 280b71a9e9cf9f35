//! Events a projection can't take: it stops there, visibly, the others go on; and it goes on without the event when
//! somebody says why.

use super::{
    rebuild::{make, with_groups},
    tiny::{Quirk, because, done, ended, keeping, nobody, read, server, slugs, state, tiny, until},
};
use crate::{AfterBuild, Config, Control, ProjectionStatus, tests::fleet::started};
use charter_events::Offset;
use charter_policy::Caller;
use charter_store::{MemoryStore, OperationState};
use charter_tables::Projection;

/// Where the group was made that a projection can't take.
fn bad(control: &Control, admin: &Caller) -> impl Future<Output = Offset> {
    let (control, admin) = (control.clone(), admin.clone());
    async move { make(&control, &admin, "bad").await }
}

async fn stops(quirk: Quirk, says: &str) {
    let (store, admin) = with_groups(10).await;
    let (good, poor) = (tiny("good", 1, Quirk::None), tiny("poor", 1, quirk));
    let control = server(&store, &[good, poor]).await;
    slugs(&control, poor).await;
    let at = bad(&control, &admin).await;
    let last = make(&control, &admin, "after").await;
    until("it stops", || async { state(&control, poor).await.status == ProjectionStatus::Stopped }).await;
    let stopped = state(&control, poor).await.generations.remove(0);
    let fault = stopped.fault.clone().unwrap();
    assert_eq!((fault.offset, stopped.offset.plus(1)), (at, Some(at)));
    assert!(fault.why.contains(says), "{}", fault.why);
    // Nothing else is the worse for it.
    assert_eq!(slugs(&control, good).await.len(), 12);
    assert!(control.readiness().is_ready());
    until("it is told", || async {
        control.degraded() == [format!("projection `poor` stopped at offset {at}")]
    })
    .await;
    // It stays so after a restart.
    control.shutdown().await;
    let control = server(&store, &[good, poor]).await;
    assert_eq!(slugs(&control, good).await.len(), 12);
    assert_eq!(state(&control, poor).await.status, ProjectionStatus::Stopped);
    refusals(&control, &admin, at, last).await;
    goes_on(&control, &admin, poor, at).await;
}

async fn refusals(control: &Control, admin: &Caller, at: Offset, last: Offset) {
    let skip = |offset: u64, caller: &Caller, why: &str| {
        let (control, caller, meta) = (control.clone(), caller.clone(), because(why));
        async move { control.skip_event("poor", offset, &caller, meta).await }
    };
    let before = control.head();
    for (offset, why, code) in [
        (0, "why", "unknown_offset"),
        (last.get() + 1_000, "why", "unknown_offset"),
        (u64::MAX, "why", "unknown_offset"),
        (at.get() - 1, "why", "not_stopped_there"),
        (at.get(), "  ", "reason_required"),
    ] {
        assert_eq!(skip(offset, admin, why).await.unwrap_err().code(), code, "{offset}");
    }
    assert_eq!(skip(at.get(), &nobody(), "why").await.unwrap_err().code(), "forbidden");
    let unknown = control.skip_event("nothing", at.get(), admin, because("why")).await;
    assert_eq!(unknown.unwrap_err().code(), "not_found");
    assert_eq!(control.head(), before);
}

async fn goes_on(control: &Control, admin: &Caller, poor: &'static dyn Projection, at: Offset) {
    control.skip_event("poor", at.get(), admin, because("it is broken")).await.unwrap();
    let seen = slugs(control, poor).await;
    assert_eq!(seen.len(), 11);
    assert!(seen.contains(&"after".to_owned()) && !seen.contains(&"bad".to_owned()));
    let recorded = control.store().read(Offset::ZERO, 10_000).await.unwrap();
    let skipped: Vec<_> =
        recorded.iter().filter(|event| event.type_name == "operations.projection_skipped").collect();
    assert_eq!(skipped.len(), 1);
    assert_eq!(skipped[0].command.reason.as_deref(), Some("it is broken"));
    // What is built anew leaves it out too, and is the same.
    done(control, control.rebuild("poor", AfterBuild::Switch, admin).await.unwrap().id).await;
    assert_eq!((slugs(control, poor).await, read(control, poor).await), (seen, Some(2)));
    until("nothing is wrong any more", || async { control.degraded().is_empty() }).await;
}

#[tokio::test]
async fn a_projection_that_refuses_an_event_stops_there_and_goes_on_without_it() {
    stops(Quirk::Refuses("bad"), "no `bad` here").await;
}

#[tokio::test]
async fn a_projection_that_panics_at_an_event_stops_there_and_goes_on_without_it() {
    stops(Quirk::Panics("bad"), "the projection panicked: no `bad` here").await;
}

#[tokio::test]
async fn a_projection_whose_row_no_database_takes_stops_there_and_goes_on_without_it() {
    stops(Quirk::EmptiesKey("bad"), "slug").await;
}

async fn found_in_an_old_log(store: MemoryStore, admin: Caller, quirk: Quirk, batch: usize) {
    let (good, poor) = (tiny("good", 1, Quirk::None), tiny("poor", 1, quirk));
    let config = Config { tables_batch_events_max: batch, ..keeping(&[good, poor]) };
    let control = started(store, config).await;
    assert_eq!(slugs(&control, good).await.len(), 40);
    let stopped = || async { state(&control, poor).await.status == ProjectionStatus::Stopped };
    until("it stops", stopped).await;
    let stopped = state(&control, poor).await;
    let generation = &stopped.generations[0];
    let fault = generation.fault.clone().unwrap();
    assert_eq!(generation.offset.plus(1), Some(fault.offset), "all before it is there");
    let events = control.store().read(generation.offset, 1).await.unwrap();
    let text = String::from_utf8(events[0].payload.clone()).unwrap();
    assert!(text.contains("\"g023\""), "{text}");
    // Nothing is read yet; whoever builds it was stopped, and goes on by himself once it is left out.
    let builder = control.operations().await.unwrap();
    let builder = builder.iter().find(|one| one.target.starts_with("poor/")).unwrap();
    let builder = ended(&control, builder.id).await;
    assert_eq!(builder.state, OperationState::Cancelled, "{builder:?}");
    assert_eq!(read(&control, poor).await, None);
    control.skip_event("poor", fault.offset.get(), &admin, because("broken")).await.unwrap();
    assert_eq!(slugs(&control, poor).await.len(), 39);
    done(&control, builder.id).await;
}

#[tokio::test]
async fn one_row_among_many_that_no_database_takes_is_found_whatever_the_batches() {
    for batch in [1, 3, 16, 5_000] {
        let (store, admin) = with_groups(40).await;
        found_in_an_old_log(store, admin, Quirk::EmptiesKey("g023"), batch).await;
    }
}

#[tokio::test]
async fn one_event_among_many_that_a_projection_refuses_is_found_whatever_the_batches() {
    for batch in [1, 16, 5_000] {
        let (store, admin) = with_groups(40).await;
        found_in_an_old_log(store, admin, Quirk::Panics("g023"), batch).await;
    }
}
