//! Tiny projections with quirks, and short ways to say what a test wants of their runner.

use crate::{
    Config, Control, ProjectionState, RequestMeta,
    tests::{
        fleet::{BOUND, started},
        house::{StandingClock, quiet},
    },
};
use charter_events::{Event, Offset, Via};
use charter_policy::{Caller, Policy};
use charter_store::{Listed, MemoryStore, Operation, OperationState, Query, Store};
use charter_tables::{
    Changes, Column, Kind, Poison, Projection, Recorded, RowsDigest, Spec, TableSpec, Value,
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};
use uuid::Uuid;

/// How a tiny projection misbehaves at a group with a slug.
#[derive(Clone, Copy)]
pub(super) enum Quirk {
    None,
    Refuses(&'static str),
    Panics(&'static str),
    /// It makes a row that no database takes.
    EmptiesKey(&'static str),
    /// From the moment the switch is on it says something else.
    Wavers(&'static AtomicBool),
    /// It takes its time.
    Dawdles,
}

/// The groups there are: one row each, with the offset of the event it was made by.
pub(super) struct Tiny {
    spec: &'static Spec,
    quirk: Quirk,
}

fn leaked(text: String) -> &'static str {
    Box::leak(text.into_boxed_str())
}

const COLUMNS: &[Column] = &[
    Column::new("group_id", Kind::Uuid, "The group."),
    Column::new("slug", Kind::Text, "Its slug."),
    Column::new("made_at", Kind::Int, "The event it was made by."),
    Column::new("told", Kind::Int, "What a projection that wavers says."),
];

pub(super) fn tiny(name: &str, version: u32, quirk: Quirk) -> &'static dyn Projection {
    static UNIQUE: AtomicU64 = AtomicU64::new(0);
    let number = UNIQUE.fetch_add(1, Ordering::Relaxed);
    let table = TableSpec {
        name: leaked(format!("{name}_{number}_groups")),
        about: "The groups.",
        columns: COLUMNS,
        key: 1,
        indexes: &[&["slug"]],
    };
    let spec = Spec {
        name: leaked(name.to_owned()),
        about: "The groups there are.",
        version,
        tables: Box::leak(Box::new([table])),
    };
    Box::leak(Box::new(Tiny { spec: Box::leak(Box::new(spec)), quirk }))
}

impl Projection for Tiny {
    fn spec(&self) -> &'static Spec {
        self.spec
    }

    fn on(&self, _: &Policy, recorded: Recorded<'_>, out: &mut Changes) -> Result<(), Poison> {
        if matches!(self.quirk, Quirk::Dawdles) {
            std::thread::sleep(Duration::from_micros(500));
        }
        match recorded.event {
            Event::GroupCreated(made) => {
                let slug = made.slug.as_str();
                let mut told = 0;
                match self.quirk {
                    Quirk::Refuses(at) if at == slug => {
                        return Err(Poison { why: format!("no `{slug}` here") });
                    }
                    Quirk::Panics(at) if at == slug => panic!("no `{slug}` here"),
                    Quirk::Wavers(on) if on.load(Ordering::SeqCst) => told = 1,
                    _ => {}
                }
                let empty = matches!(self.quirk, Quirk::EmptiesKey(at) if at == slug);
                let shown = if empty { Value::Null } else { Value::text(slug) };
                let offset = i64::try_from(recorded.stored.offset.get()).unwrap();
                let id = Value::Uuid(made.group.as_uuid());
                out.put(0, 1, vec![id, shown, Value::Int(offset), Value::Int(told)]);
            }
            Event::GroupDeleted(gone) => out.delete(0, vec![Value::Uuid(gone.group.as_uuid())]),
            _ => {}
        }
        Ok(())
    }
}

/// A control plane that keeps these projections, and looks often.
pub(super) fn keeping(projections: &[&'static dyn Projection]) -> Config {
    Config {
        projections: projections.to_vec(),
        tables_look_every: Duration::from_millis(5),
        version_wait: BOUND,
        ..quiet(StandingClock::new())
    }
}

pub(super) async fn server(store: &MemoryStore, projections: &[&'static dyn Projection]) -> Control {
    started(store.clone(), keeping(projections)).await
}

/// Waits until something is so; asked again and again.
pub(super) async fn until<F: Future<Output = bool>>(what: &str, mut is_so: impl FnMut() -> F) {
    let waiting = async {
        while !is_so().await {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    assert!(tokio::time::timeout(BOUND, waiting).await.is_ok(), "{what}");
}

/// Waits until no work goes on: a first build is read a moment before it is done.
pub(super) async fn idle(control: &Control) {
    until("nothing goes on", || async {
        let all = control.operations().await.unwrap();
        all.iter().all(|one| one.state != OperationState::Running)
    })
    .await;
}

/// A page of a projection's only table, as it is read now.
pub(super) async fn listed(store: &dyn Store, projection: &'static dyn Projection) -> Option<Listed> {
    let query = Query {
        spec: projection.spec(),
        table: 0,
        filters: Vec::new(),
        order_by: Some("slug"),
        descending: false,
        after: None,
        limit: 10_000,
    };
    store.list_rows(&query).await.unwrap()
}

/// The slugs that are read, once they are as new as the log.
pub(super) async fn slugs(control: &Control, projection: &'static dyn Projection) -> Vec<String> {
    let (store, head) = (control.store(), control.head().offset);
    let mut found = Vec::new();
    let name = projection.spec().name;
    for _ in 0..10_000 {
        if let Some(page) =
            listed(store.as_ref(), projection).await.filter(|page| page.checkpoint.offset >= head)
        {
            found.extend(page.rows.iter().map(|row| match row.get(1) {
                Some(Value::Text(slug)) => slug.clone(),
                other => panic!("{other:?}"),
            }));
            return found;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    panic!("`{name}` never came to {head}: {:?}", control.projection(name).await);
}

/// How a projection stands.
pub(super) async fn state(control: &Control, projection: &'static dyn Projection) -> ProjectionState {
    control.projection(projection.spec().name).await.unwrap()
}

/// The generation that is read.
pub(super) async fn read(control: &Control, projection: &'static dyn Projection) -> Option<u32> {
    let generations = state(control, projection).await.generations;
    generations.iter().find(|one| one.active).map(|one| one.number)
}

/// Waits until an operation runs no longer.
pub(super) async fn ended(control: &Control, id: Uuid) -> Operation {
    let not_running = || async { control.operation(id).await.unwrap().state != OperationState::Running };
    until("the operation ends", not_running).await;
    control.operation(id).await.unwrap()
}

/// Waits until it ends well.
pub(super) async fn done(control: &Control, id: Uuid) -> Operation {
    let operation = ended(control, id).await;
    assert_eq!(operation.state, OperationState::Done, "{operation:?}");
    assert!(
        operation.done == operation.total && operation.done > 0,
        "its last progress is stale: {operation:?}"
    );
    operation
}

/// The digests of all generations of a projection.
pub(super) async fn digests(
    control: &Control,
    projection: &'static dyn Projection,
) -> Vec<(Offset, RowsDigest)> {
    let spec = projection.spec();
    let numbers = state(control, projection).await.generations.into_iter().map(|one| one.number);
    let targets: Vec<_> = numbers.map(|number| charter_store::Target { spec, number }).collect();
    let digests = control.store().digest_rows(&targets).await.unwrap();
    digests.into_iter().map(|(at, digest)| (at.offset, digest)).collect()
}

/// What comes with a request that says why.
pub(super) fn because(why: &str) -> RequestMeta {
    RequestMeta { reason: Some(why.to_owned()), ..RequestMeta::new(Via::Api) }
}

pub(super) fn nobody() -> Caller {
    Caller::of(charter_testkit::ids::user("nobody"))
}

pub(super) fn arc(store: &MemoryStore) -> Arc<dyn Store> {
    Arc::new(store.clone())
}
