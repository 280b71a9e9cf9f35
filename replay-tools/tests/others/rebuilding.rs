//! Tables built anew beside the live ones, which are right, wrong, behind, of another version, or go on meanwhile.

use super::{LOG, append, random};
use charter_events::{
    Actor, CommandId, CommandMeta, Event, GroupCreated, Hash, Offset, ProjectionSkipped, Timestamp, Via,
};
use charter_policy::Policy;
use charter_replay_tools::{
    ToolError,
    rebuild::{Compared, Rebuilt, rebuild},
};
use charter_store::{Batch, Chain, Checkpoint, LogStore, MemoryStore, TableStore, Target};
use charter_tables::{Changes, PROJECTIONS, Poison, Projection, Recorded, Spec, Value, projection};
use charter_testkit::{history::parsed, ids, random::History};
use uuid::Uuid;

const NOW: Timestamp = Timestamp::MIN;

fn fresh() -> MemoryStore {
    MemoryStore::new(LOG)
}

/// Has the live store read what the log says.
async fn make_live(store: &MemoryStore, projection: &'static dyn Projection) -> Rebuilt {
    let made = rebuild(store, store, projection, NOW, |_| ()).await.unwrap();
    assert_eq!(made.compared, Compared::NothingRead);
    made
}

async fn target(store: &MemoryStore, projection: &'static dyn Projection) -> (Target, Checkpoint) {
    let all = store.generations().await.unwrap();
    let spec = projection.spec();
    let active = all.into_iter().find(|one| one.active && one.projection == spec.name).unwrap();
    (Target { spec, number: active.number }, active.checkpoint)
}

#[tokio::test]
async fn tables_built_anew_equal_the_live_ones_row_by_row() {
    let store = random(11, 1_000).await;
    for projection in PROJECTIONS {
        let made = make_live(&store, *projection).await;
        let rebuilt = rebuild(&store, &fresh(), *projection, NOW, |_| ()).await.unwrap();
        assert_eq!(rebuilt.compared, Compared::Equal, "{}", rebuilt.projection);
        assert_eq!((rebuilt.digest, rebuilt.rows), (made.digest, made.rows));
        assert_eq!(rebuilt.up_to, store.head().await.unwrap().offset);
        assert!(rebuilt.rows > 0, "{}", rebuilt.projection);
    }
}

#[tokio::test]
async fn a_row_that_was_changed_by_hand_is_named() {
    let store = random(12, 500).await;
    let projection = projection("directory").unwrap();
    make_live(&store, projection).await;
    let (target, at) = target(&store, projection).await;
    let (place, table) = target.spec.table("users").unwrap();
    let rows = store.scan_rows(target, place, None, 3).await.unwrap();
    let column = table.column("status").unwrap();
    let mut changes = Changes::default();
    let mut changed = rows[0].clone();
    changed[column] = Value::text("somebody else's");
    changes.put(place, table.key, changed);
    changes.delete(place, rows[1][..table.key].to_vec());
    store.change_rows(target, at, at, &changes).await.unwrap();
    let rebuilt = rebuild(&store, &fresh(), projection, NOW, |_| ()).await.unwrap();
    let Compared::Differs { rows, more } = rebuilt.compared else { panic!("{:?}", rebuilt.compared) };
    assert_eq!((rows.len(), more), (2, 0));
    assert_eq!((rows[0].table, rows[0].columns.as_slice()), ("users", &["status"][..]));
    assert_eq!((rows[1].in_live, rows[1].in_rebuilt), (false, true));
}

#[tokio::test]
async fn live_tables_that_are_behind_are_compared_where_they_are() {
    let (long, short) = (
        History::long(13, 800),
        History { steps: History::long(13, 800).steps[..400].to_vec(), ..History::long(13, 800) },
    );
    let store = fresh();
    append(&store, &short, 0).await;
    let projection = projection("grant_sets").unwrap();
    let made = make_live(&store, projection).await;
    append(&store, &long, 400).await;
    let rebuilt = rebuild(&store, &fresh(), projection, NOW, |_| ()).await.unwrap();
    assert_eq!(rebuilt.compared, Compared::Equal);
    assert_eq!(rebuilt.up_to, made.up_to);
    assert!(rebuilt.up_to < store.head().await.unwrap().offset);
}

#[tokio::test]
async fn live_tables_of_another_history_are_told_apart() {
    let store = random(14, 200).await;
    let projection = projection("directory").unwrap();
    make_live(&store, projection).await;
    let (target, at) = target(&store, projection).await;
    let other = Checkpoint { hash: Hash::new([9; 32]), ..at };
    store.change_rows(target, at, other, &Changes::default()).await.unwrap();
    let error = rebuild(&store, &fresh(), projection, NOW, |_| ()).await.unwrap_err();
    assert!(matches!(error, ToolError::OtherLog(_)), "{error}");
    let beyond = Checkpoint { offset: Offset::new(at.offset.get() + 5).unwrap(), ..at };
    store.change_rows(target, other, beyond, &Changes::default()).await.unwrap();
    let error = rebuild(&store, &fresh(), projection, NOW, |_| ()).await.unwrap_err();
    assert!(matches!(error, ToolError::OtherLog(_)), "{error}");
}

/// A command of one event; its offset.
async fn happens(store: &MemoryStore, event: impl Into<Event>) -> Offset {
    let mut append = store.append().await.unwrap();
    let head = append.head();
    let command = CommandMeta {
        command_id: CommandId::new(Uuid::now_v7()),
        actor: Actor::System,
        via: Via::Api,
        request_id: None,
        reason: None,
    };
    let mut ids = Uuid::now_v7;
    let events = Chain::new(head).extend(&command, &[event.into()], head.recorded_at, &mut ids).unwrap();
    append.write(&Batch { events, ..Batch::default() }).await.unwrap();
    append.commit().await.unwrap().offset
}

/// The directory, but that it can't take one group.
struct Choosy;

impl Projection for Choosy {
    fn spec(&self) -> &'static Spec {
        projection("directory").unwrap().spec()
    }

    fn on(&self, before: &Policy, recorded: Recorded<'_>, out: &mut Changes) -> Result<(), Poison> {
        match recorded.event {
            Event::GroupCreated(made) if made.slug.as_str() == "poison" => {
                Err(Poison { why: "no such group".to_owned() })
            }
            _ => projection("directory").unwrap().on(before, recorded, out),
        }
    }
}

/// What somebody decided that a projection goes on without is left out, though that stands in the log only later.
#[tokio::test]
async fn events_that_were_skipped_are_left_out_also_where_they_could_be_taken() {
    let store = random(15, 300).await;
    let skip = |name: &str, skipped| ProjectionSkipped { projection: parsed(name), skipped };
    let rows = async |projection: &'static dyn Projection| {
        rebuild(&store, &fresh(), projection, NOW, |_| ()).await.map(|built| built.rows)
    };
    let directory = projection("directory").unwrap();
    let before = rows(directory).await.unwrap();
    let slug = parsed("poison");
    let group = GroupCreated { group: ids::group("poison"), slug, name: ids::shown("Poison") };
    let at = happens(&store, group).await;
    assert_eq!(rows(directory).await.unwrap(), before + 1);
    // Others' decisions are none for this one.
    happens(&store, skip("grant_sets", at)).await;
    let error = rows(&Choosy).await.unwrap_err();
    assert!(matches!(error, ToolError::Fold { offset, .. } if offset == at), "{error}");
    happens(&store, skip("directory", at)).await;
    assert_eq!(rows(&Choosy).await.unwrap(), before);
    assert_eq!(rows(directory).await.unwrap(), before);
}
