//! The version a log had, by offset and by time.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

use charter_events::{Actor, CommandId, CommandMeta, Event, GroupCreated, Head, Offset, Timestamp, Via};
use charter_store::{
    Append, Batch, Chain, LogStore, MemoryStore,
    past::{AsOf, InvalidAsOf, NoVersion, version},
};
use uuid::Uuid;

fn group(number: u128) -> Event {
    let slug = format!("g{number}");
    let name = slug.parse().unwrap();
    GroupCreated { group: Uuid::from_u128(number).into(), slug: slug.parse().unwrap(), name }.into()
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_micros(second * 1_000_000).unwrap()
}

/// Commands of so many events, each with the second it was recorded in.
async fn log(commands: &[(usize, i64)]) -> (MemoryStore, Head) {
    let store = MemoryStore::default();
    let mut append: Box<dyn Append> = store.append().await.unwrap();
    let mut chain = Chain::new(append.head());
    let mut ids = 0_u128;
    for (events, second) in commands {
        let mut id = || {
            ids += 1;
            Uuid::from_u128(ids)
        };
        let meta = CommandMeta {
            command_id: CommandId::new(id()),
            actor: Actor::System,
            via: Via::System,
            request_id: None,
            reason: None,
        };
        let payloads: Vec<Event> = (0..*events).map(|number| group(number as u128)).collect();
        let events = chain.extend(&meta, &payloads, at(*second), &mut id).unwrap();
        append.write(&Batch { events, ..Batch::default() }).await.unwrap();
    }
    let head = append.commit().await.unwrap();
    (store, head)
}

/// Offset and second of judging, or the kind of refusal.
async fn found(store: &MemoryStore, end: &Head, asked: AsOf, now: i64) -> Result<(u64, i64), &'static str> {
    match version(store, end, asked, at(now)).await {
        Ok(version) => {
            let kept = &store.read(Offset::ZERO, 100).await.unwrap()[version.head.offset.get() as usize - 1];
            assert_eq!((version.head.hash, version.head.recorded_at), (kept.hash, kept.recorded_at));
            assert!(kept.ends_command());
            Ok((version.head.offset.get(), version.now.as_micros() / 1_000_000))
        }
        Err(NoVersion::BeyondHead { head, .. }) => {
            assert_eq!(head, end.offset);
            Err("beyond")
        }
        Err(NoVersion::BeforeFirstEvent { .. }) => Err("before"),
        Err(NoVersion::Store(_)) => Err("store"),
    }
}

#[tokio::test]
async fn an_offset_inside_a_command_means_the_last_complete_one() {
    // Offsets 1 to 3, 4, 5 to 6.
    let (store, end) = log(&[(3, 10), (1, 20), (2, 30)]).await;
    for (offset, expected) in [
        (0, Err("before")),
        (1, Err("before")),
        (2, Err("before")),
        (3, Ok((3, 10))),
        (4, Ok((4, 20))),
        (5, Ok((4, 20))),
        (6, Ok((6, 30))),
        (7, Err("beyond")),
        (u64::MAX >> 1, Err("beyond")),
    ] {
        let asked = AsOf::Offset(Offset::new(offset).unwrap());
        assert_eq!(found(&store, &end, asked, 100).await, expected, "{offset}");
    }
}

#[tokio::test]
async fn a_time_means_the_last_event_recorded_at_it_or_before() {
    let (store, end) = log(&[(2, 10), (1, 20), (1, 20), (1, 20), (3, 31)]).await;
    for (second, expected) in [
        (9, Err("before")),
        (10, Ok((2, 10))),
        (19, Ok((2, 19))),
        (20, Ok((5, 20))),
        (30, Ok((5, 30))),
        (31, Ok((8, 31))),
        (40, Ok((8, 40))),
        (41, Err("beyond")),
    ] {
        assert_eq!(found(&store, &end, AsOf::Time(at(second)), 40).await, expected, "{second}");
    }
    let behind = found(&store, &end, AsOf::Time(at(31)), 5).await;
    assert_eq!(behind, Ok((8, 31)), "a clock that is behind the log hides nothing of it");
}

#[tokio::test]
async fn every_moment_of_a_long_log_is_found_as_by_looking_at_each_event() {
    let commands: Vec<(usize, i64)> = (0..200).map(|n| (1 + n % 3, n as i64 / 4 * 7)).collect();
    let (store, end) = log(&commands).await;
    let mut events = Vec::new();
    while events.len() < end.offset.get() as usize {
        events.extend(store.read(Offset::new(events.len() as u64).unwrap(), 1_000).await.unwrap());
    }
    for second in -1..360 {
        let expected = events.iter().filter(|event| event.recorded_at <= at(second)).count() as u64;
        let got = version(&store, &end, AsOf::Time(at(second)), at(1_000)).await;
        assert_eq!(got.ok().map_or(0, |version| version.head.offset.get()), expected, "{second}");
    }
}

#[tokio::test]
async fn an_empty_log_has_no_version() {
    let store = MemoryStore::default();
    let end = store.head().await.unwrap();
    for (asked, expected) in [
        (AsOf::Offset(Offset::ZERO), "before"),
        (AsOf::Offset(Offset::new(1).unwrap()), "beyond"),
        (AsOf::Time(at(5)), "before"),
    ] {
        assert_eq!(found(&store, &end, asked, 10).await, Err(expected));
    }
}

#[test]
fn a_version_is_named_by_an_offset_or_a_time_and_nothing_else() {
    assert_eq!("57".parse(), Ok(AsOf::Offset(Offset::new(57).unwrap())));
    assert_eq!("99999999999999999999".parse(), Ok(AsOf::Offset(Offset::MAX)));
    assert_eq!("1970-01-01T02:00:10+02:00".parse(), Ok(AsOf::Time(at(10))));
    for text in ["", "-1", "+1", "1.5", "yesterday", "2026-03-01", "0x10", "١"] {
        assert_eq!(text.parse::<AsOf>(), Err(InvalidAsOf), "{text}");
    }
}
