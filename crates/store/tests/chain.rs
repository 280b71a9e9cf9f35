//! The canonical record and the chain. The golden hashes were computed from the documented layout by other code, so
//! that a slip in the layout can't hide in both.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]

use charter_events::{
    Actor, CommandId, CommandMeta, EventId, Hash, Head, LogId, Offset, StoredEvent, Timestamp, UserId, Via,
    registry::PAYLOAD_BYTES_MAX,
};
use charter_store::{
    COMMAND_EVENTS_MAX, Chain, ChainError, Fault, What,
    chain::{Verifier, empty, hash, verify, write_record},
    conformance::{Counter, Writing, group_renamed, meta, moment},
};

const LOG: LogId = LogId::from_u128(1);

fn first() -> StoredEvent {
    StoredEvent {
        offset: Offset::new(1).unwrap(),
        event_id: EventId::from_u128(2),
        command: CommandMeta {
            command_id: CommandId::from_u128(3),
            actor: Actor::User(UserId::from_u128(4)),
            via: Via::Api,
            request_id: Some("req-1".into()),
            reason: Some("weilé".into()),
        },
        command_index: 0,
        command_size: 2,
        type_name: "group.renamed".into(),
        schema: 1,
        recorded_at: Timestamp::from_micros(1_772_366_400_000_000).unwrap(),
        payload: br#"{"a":1}"#.to_vec(),
        prev_hash: Hash::ZERO,
        hash: Hash::ZERO,
    }
}

/// What stands in one field of a record is never read as part of its neighbour.
#[test]
fn no_two_events_that_differ_have_a_record_in_common() {
    let texts = ["", "\0", "a", "aa", "\0\0\0\u{1}a", "\u{1}\0\0\0\0"];
    let optional: Vec<Option<String>> =
        [None].into_iter().chain(texts.map(|text| Some(text.to_owned()))).collect();
    let modules = ["a", "aa", "a-a"].map(|name| Actor::Module(name.parse().unwrap()));
    let users = [0, 1, 1 << 120]
        .map(|id| [Actor::User(UserId::from_u128(id)), Actor::Service(UserId::from_u128(id))]);
    let actors: Vec<Actor> = users.into_iter().flatten().chain(modules).chain([Actor::System]).collect();
    let mut seen = std::collections::HashSet::new();
    let mut count = 0;
    for actor in &actors {
        for type_name in texts {
            for request_id in &optional {
                for reason in &optional {
                    for payload in texts {
                        let mut event = first();
                        (event.type_name, event.payload) = (type_name.into(), payload.as_bytes().to_vec());
                        event.command.actor = actor.clone();
                        (event.command.request_id, event.command.reason) =
                            (request_id.clone(), reason.clone());
                        let mut record = Vec::new();
                        write_record(LOG, &event, &mut record);
                        assert!(seen.insert(record), "{event:?}");
                        count += 1;
                    }
                }
            }
        }
    }
    assert_eq!(count, actors.len() * 6 * 7 * 7 * 6);
}

#[test]
fn the_record_and_its_hash_are_as_documented() {
    let mut record = Vec::new();
    write_record(LOG, &first(), &mut record);
    assert_eq!(
        hex::encode(&record),
        concat!(
            "01000000000000000000000000000000010000000000000001000000000000000000000000000000020000000000000000",
            "00000000000000030000000000000002",
            "0000000d67726f75702e72656e616d6564",
            "000100064bf535af10000101000000100000000000000000000000000000000401",
            "01000000057265712d31",
            "01ab1a22a93ef623ad2f5efe182e8eb399bd55633d9fd5a1fd23242620c0a0cc64",
            "015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862",
            "0000000000000000000000000000000000000000000000000000000000000000",
        )
    );
    let h1 = hash(LOG, &first());
    assert_eq!(h1.to_string(), "7191e605046dbc8341169c13a8e5f1fd7a52105578419454beac884a306364dc");
    let bare = StoredEvent {
        offset: Offset::new(2).unwrap(),
        event_id: EventId::from_u128(5),
        command: CommandMeta {
            actor: Actor::System,
            via: Via::System,
            request_id: None,
            reason: None,
            ..first().command
        },
        command_index: 1,
        type_name: "role.deleted".into(),
        schema: 7,
        recorded_at: Timestamp::from_micros(-1).unwrap(),
        payload: Vec::new(),
        prev_hash: h1,
        ..first()
    };
    assert_eq!(
        hash(LOG, &bare).to_string(),
        "8d6c088fd432e95e0452841308f4cf2a32c65e0050ddcffcfb9df0cd89512141"
    );
    let edge = StoredEvent {
        offset: Offset::MAX,
        command: CommandMeta {
            actor: Actor::Module("mod".parse().unwrap()),
            via: Via::Module,
            request_id: Some(String::new()),
            reason: Some(String::new()),
            ..first().command
        },
        type_name: String::new(),
        schema: u16::MAX,
        recorded_at: Timestamp::MAX,
        payload: b"x".to_vec(),
        ..bare
    };
    assert_eq!(
        hash(LOG, &edge).to_string(),
        "a0974e4858f8f50877a3156731dcee6ac60a0ac28f6e5640ce9750afc9609bbc"
    );
}

type Change = fn(&mut StoredEvent);

/// Every member but the hash, changed as little as it can be.
const CHANGES: &[(&str, Change)] = &[
    ("offset", |e| e.offset = Offset::new(e.offset.get() + 1).unwrap()),
    ("event id", |e| e.event_id = EventId::from_u128(e.event_id.as_uuid().as_u128() ^ 1)),
    ("command id", |e| e.command.command_id = CommandId::from_u128(0)),
    ("command index", |e| e.command_index ^= 1),
    ("command size", |e| e.command_size += 1),
    ("type", |e| e.type_name.push('d')),
    ("schema", |e| e.schema ^= 1),
    ("time", |e| e.recorded_at = e.recorded_at.saturating_add_micros(1)),
    ("actor's kind", |e| e.command.actor = Actor::Service(UserId::from_u128(4))),
    ("actor's id", |e| e.command.actor = Actor::User(UserId::from_u128(5))),
    ("way", |e| e.command.via = Via::Cli),
    ("request id", |e| e.command.request_id = Some("req-2".into())),
    ("request id gone", |e| e.command.request_id = None),
    ("request id empty", |e| e.command.request_id = Some(String::new())),
    ("reason", |e| e.command.reason = Some("weil".into())),
    ("reason gone", |e| e.command.reason = None),
    ("payload", |e| e.payload[0] ^= 1),
    ("prev hash", |e| e.prev_hash = Hash::new([1; 32])),
    ("text moved from type to request id", |e| {
        e.type_name.truncate(12);
        e.command.request_id = Some("dreq-1".into());
    }),
];

#[test]
fn every_member_and_the_log_are_covered_by_the_hash() {
    let sound = hash(LOG, &first());
    assert_ne!(hash(LogId::from_u128(2), &first()), sound, "log id");
    for (what, change) in CHANGES {
        let mut event = first();
        change(&mut event);
        assert_ne!(hash(LOG, &event), sound, "{what}");
    }
}

#[test]
fn events_continue_the_head_with_consecutive_offsets_and_linked_hashes() {
    let mut chain = Chain::new(empty(LOG));
    let mut ids = Counter::default();
    let events = [group_renamed(1, "a"), group_renamed(2, "b"), group_renamed(3, "c")];
    let stored = chain.extend(&meta(1), &events, moment(0), &mut || ids.next_id()).unwrap();
    assert_eq!(stored.iter().map(|e| e.offset.get()).collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(
        stored.iter().map(|e| (e.command_index, e.command_size)).collect::<Vec<_>>(),
        [(0, 3), (1, 3), (2, 3)]
    );
    assert_eq!(stored[0].prev_hash, Hash::ZERO);
    assert_eq!(stored[1].prev_hash, stored[0].hash);
    assert_eq!(chain.head().hash, stored[2].hash);
    assert_eq!(stored[1].decode().unwrap(), events[1]);
}

#[test]
fn recorded_time_never_goes_back() {
    let mut writing = Chain::new(empty(LOG));
    let mut ids = Counter::default();
    let mut record = |now| {
        let event = writing.extend(&meta(1), &[group_renamed(1, "a")], now, &mut || ids.next_id()).unwrap();
        event[0].recorded_at
    };
    assert_eq!(record(moment(10)), moment(10));
    assert_eq!(record(moment(-3600)), moment(10), "the clock went back an hour");
    assert_eq!(record(moment(86_400)), moment(86_400), "the clock went forward a day");
    assert_eq!(record(moment(11)), moment(86_400));
}

#[test]
fn offsets_end_with_an_error_and_never_wrap() {
    let head = Head { offset: Offset::new(Offset::MAX.get() - 2).unwrap(), ..empty(LOG) };
    let mut chain = Chain::new(head);
    let mut extend = |count| {
        let events = vec![group_renamed(1, "a"); count];
        let mut ids = Counter::default();
        chain.extend(&meta(1), &events, moment(0), &mut || ids.next_id()).map(|stored| stored.len())
    };
    assert!(matches!(extend(3), Err(ChainError::OffsetsExhausted)));
    assert_eq!(extend(2).unwrap(), 2, "the failed attempt moved nothing");
    assert!(matches!(extend(1), Err(ChainError::OffsetsExhausted)));
    assert!(verify(&Head { offset: Offset::MAX, ..head }, &first()).is_err());
}

#[test]
fn what_no_envelope_holds_is_refused() {
    let extend = |meta: &CommandMeta, count| {
        let mut ids = Counter::default();
        let events = vec![group_renamed(1, "a"); count];
        Chain::new(empty(LOG)).extend(meta, &events, moment(0), &mut || ids.next_id()).map(drop)
    };
    assert!(matches!(extend(&meta(1), 0), Err(ChainError::CommandSize(0))));
    assert!(matches!(extend(&meta(1), COMMAND_EVENTS_MAX + 1), Err(ChainError::CommandSize(_))));
    let reason = CommandMeta { reason: Some("r".repeat(1025)), ..meta(1) };
    assert!(matches!(extend(&reason, 1), Err(ChainError::TooLong { what: "a reason", .. })));
    let request = CommandMeta { request_id: Some("r".repeat(129)), ..meta(1) };
    assert!(matches!(extend(&request, 1), Err(ChainError::TooLong { what: "a request id", .. })));
    let keys = (0..40_000).map(|n| format!("m.r{n}.read").parse().unwrap()).collect();
    let large = charter_events::PermissionsRemoved { namespace: "m".parse().unwrap(), keys };
    let mut ids = Counter::default();
    let result = Chain::new(empty(LOG)).extend(&meta(1), &[large.into()], moment(0), &mut || ids.next_id());
    let Err(ChainError::TooLong { what: "a payload", bytes, limit }) = result else { panic!("{result:?}") };
    assert!(bytes > limit && limit == PAYLOAD_BYTES_MAX);
}

fn log() -> Vec<StoredEvent> {
    let mut writing = Writing::new(empty(LOG));
    [2, 1, 3].into_iter().flat_map(|size| writing.command(size)).collect()
}

fn first_fault(events: &[StoredEvent]) -> Option<Fault> {
    let mut verifier = Verifier::from_start(LOG);
    events.iter().find_map(|event| verifier.next(event).err())
}

/// Gives the event its right hash again, and everything after it too.
fn rehash_from(events: &mut [StoredEvent], index: usize) {
    for at in index..events.len() {
        if at > 0 {
            events[at].prev_hash = events[at - 1].hash;
        }
        events[at].hash = hash(LOG, &events[at]);
    }
}

#[test]
fn a_sound_chain_has_no_fault() {
    assert_eq!(first_fault(&log()), None);
}

#[test]
fn each_kind_of_fault_is_told_at_its_offset() {
    type Damage = fn(&mut Vec<StoredEvent>);
    let cases: [(&str, Damage, u64, What); 12] = [
        ("payload", |log| log[2].payload.push(b' '), 3, What::HashMismatch),
        ("hash", |log| log[2].hash = Hash::ZERO, 3, What::HashMismatch),
        ("prev hash", |log| log[2].prev_hash = Hash::ZERO, 3, What::BrokenLink),
        ("one deleted", |log| drop(log.remove(2)), 3, What::Missing),
        ("head cut", |log| drop(log.remove(0)), 1, What::Missing),
        ("two swapped", |log| log.swap(2, 3), 3, What::Missing),
        (
            "one twice",
            |log| log.insert(3, log[2].clone()),
            4,
            What::Unordered { found: Offset::new(3).unwrap() },
        ),
        (
            "one changed and hashed again",
            |log| {
                log[2].payload.push(b' ');
                log[2].hash = hash(LOG, &log[2]);
            },
            4,
            What::BrokenLink,
        ),
        (
            "time back, hashed again to the end",
            |log| {
                log[3].recorded_at = Timestamp::MIN;
                rehash_from(log, 3);
            },
            4,
            What::TimeGoesBack,
        ),
        (
            "command index, hashed again to the end",
            |log| {
                log[4].command_index = 2;
                rehash_from(log, 4);
            },
            5,
            What::CommandIndex,
        ),
        (
            "command size, hashed again to the end",
            |log| {
                log[4].command_size = 2;
                rehash_from(log, 4);
            },
            5,
            What::CommandIndex,
        ),
        (
            "a command that begins within another",
            |log| {
                log[1].command.command_id = CommandId::from_u128(99);
                rehash_from(log, 1);
            },
            2,
            What::CommandIndex,
        ),
    ];
    for (name, damage, offset, what) in cases {
        let mut events = log();
        damage(&mut events);
        assert_eq!(first_fault(&events), Some(Fault::new(Offset::new(offset).unwrap(), what)), "{name}");
    }
}

#[test]
fn another_log_does_not_verify() {
    let mut verifier = Verifier::from_start(LogId::from_u128(2));
    assert_eq!(verifier.next(&log()[0]).unwrap_err().what, What::HashMismatch);
}
