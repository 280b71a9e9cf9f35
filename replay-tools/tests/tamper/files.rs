//! An exported log that was changed: the first bad offset, each time.

use super::{events, exported, log_of};
use charter_replay_tools::{
    EvidenceError, ToolError,
    verify::verify,
    verify_file::{Between, verify_file},
};
use charter_store::{Fault, What};

const EVENTS: usize = 1_000;

fn lines(file: &[u8]) -> Vec<&[u8]> {
    file.split_inclusive(|byte| *byte == b'\n').collect()
}

fn verified(mut file: &[u8]) -> Result<u64, EvidenceError> {
    verify_file(&mut file, &[], |_| ()).map(|sound| sound.scanned.events)
}

fn fault(file: &[u8]) -> Fault {
    match verified(file) {
        Err(EvidenceError::Tool(ToolError::Chain { fault, .. })) => fault,
        other => unreachable!("{other:?}"),
    }
}

#[tokio::test]
async fn a_file_and_the_store_it_came_from_are_told_alike() {
    let store = log_of(EVENTS).await;
    let file = exported(&store).await;
    let here = verify(&store, |_| ()).await.unwrap();
    let there = verify_file(&mut file.as_slice(), &[], |_| ()).unwrap();
    assert_eq!((here.scanned, here.root, here.digest), (there.scanned, there.root, there.digest));
    assert_eq!(here.recorded_at, there.recorded_at);
}

#[tokio::test]
async fn each_byte_of_an_export_of_1000_events_that_is_flipped_is_told_at_its_offset() {
    let file = exported(&log_of(EVENTS).await).await;
    let lines = lines(&file);
    let mut between = Between::first(lines[0]).unwrap();
    let mut flipped = 0;
    for (offset, line) in (1_u64..).zip(&lines[1..]) {
        let mut bytes = line.to_vec();
        for at in 0..bytes.len() {
            bytes[at] ^= 1 << (at % 8);
            // A line that is split in two is tried as the reader finds it: up to its first line break.
            let end = bytes.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |end| end + 1);
            let found = between.clone().line(&bytes[..end]).unwrap_err();
            assert_eq!(found.offset.get(), offset, "byte {at}: {found}");
            bytes[at] = line[at];
            flipped += 1;
        }
        between.line(line).unwrap();
    }
    between.end().unwrap();
    assert!(flipped > 400 * EVENTS, "only {flipped} bytes were flipped");
}

#[tokio::test]
async fn each_bit_of_a_line_that_is_flipped_is_told_also_where_it_means_the_same() {
    let file = exported(&log_of(20).await).await;
    let lines = lines(&file);
    let mut between = Between::first(lines[0]).unwrap();
    for line in &lines[1..] {
        for at in 0..line.len() {
            for bit in 0..8 {
                let mut bytes = line.to_vec();
                bytes[at] ^= 1 << bit;
                let end = bytes.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |end| end + 1);
                assert!(between.clone().line(&bytes[..end]).is_err(), "byte {at}, bit {bit}");
            }
        }
        between.line(line).unwrap();
    }
}

#[tokio::test]
async fn each_byte_of_the_first_line_that_is_flipped_is_told() {
    let file = exported(&log_of(60).await).await;
    let length = lines(&file)[0].len();
    let head = lines(&file).len() as u64 - 1;
    let said = |line: &[u8]| serde_json::from_slice::<serde_json::Value>(line).ok();
    let sound = said(lines(&file)[0]).unwrap();
    for at in 0..length {
        let mut bytes = file.clone();
        bytes[at] ^= 1 << (at % 8);
        let Fault { offset, what } = fault(&bytes);
        if offset.get() == 0 {
            assert!(matches!(what, What::Unreadable(_)), "byte {at}: {what}");
            continue;
        }
        // It is a whole first line still, of another log.
        let found = said(lines(&bytes)[0]).unwrap();
        let expected = match found["head"].as_u64().unwrap() {
            _ if found["log_id"] != sound["log_id"] => 1,
            more if more > head => head + 1,
            fewer if fewer < head => fewer + 1,
            _ => head,
        };
        assert_eq!(offset.get(), expected, "byte {at}: {what}");
    }
}

#[tokio::test]
async fn each_line_deleted_and_each_two_swapped_are_told_at_the_first_of_them() {
    let file = exported(&log_of(EVENTS).await).await;
    let lines = lines(&file);
    let mut between = Between::first(lines[0]).unwrap();
    for offset in 1..lines.len() {
        let expected = offset as u64;
        // What stands there when the line is gone, or comes later.
        match lines.get(offset + 1) {
            Some(next) => {
                let found = between.clone().line(next).unwrap_err();
                assert_eq!((found.offset.get(), found.what), (expected, What::Missing));
            }
            None => assert_eq!(between.end().unwrap_err().offset.get(), expected),
        }
        let far = (offset * 7 + 500) % (lines.len() - 1) + 1;
        if far > offset {
            assert_eq!(between.clone().line(lines[far]).unwrap_err().offset.get(), expected);
        }
        if let Some(before) = lines.get(offset - 1).filter(|_| offset > 1) {
            let twice = between.clone().line(before).unwrap_err();
            assert_eq!(twice.offset.get(), expected, "a line that stands twice: {twice}");
        }
        between.line(lines[offset]).unwrap();
    }
    // The same, as whole files, now and then.
    for offset in [1, 2, 500, lines.len() - 2] {
        let mut swapped = lines.clone();
        swapped.swap(offset, offset + 1);
        assert_eq!(fault(&swapped.concat()).offset.get(), offset as u64);
        let mut shorter = lines.clone();
        shorter.remove(offset);
        assert_eq!(fault(&shorter.concat()).offset.get(), offset as u64);
    }
}

#[tokio::test]
async fn a_file_that_is_cut_anywhere_is_told_at_the_first_event_that_is_not_whole() {
    let file = exported(&log_of(300).await).await;
    let ends: Vec<usize> = lines(&file)
        .iter()
        .scan(0, |end, line| {
            *end += line.len();
            Some(*end)
        })
        .collect();
    for cut in (0..file.len()).step_by(4_001).chain(ends.iter().rev().skip(1).copied()) {
        let whole = ends.iter().filter(|end| **end <= cut).count() as u64;
        // Without a whole first line nothing is known of the log.
        assert_eq!(fault(&file[..cut]).offset.get(), whole, "cut at byte {cut}");
    }
    let longer = [file.as_slice(), lines(&file).last().unwrap()].concat();
    let Fault { offset, what } = fault(&longer);
    assert_eq!((offset.get(), what), (lines(&file).len() as u64, What::BeyondHead));
}

#[tokio::test]
async fn each_member_of_the_envelope_that_is_changed_is_told_at_its_offset() {
    let store = log_of(40).await;
    let file = exported(&store).await;
    let lines = lines(&file);
    let members = [
        "offset",
        "event_id",
        "command_id",
        "command_index",
        "command_size",
        "type",
        "schema",
        "recorded_at",
        "actor",
        "via",
        "request_id",
        "reason",
        "payload",
        "prev_hash",
        "hash",
    ];
    let all = events(&store).await;
    let mut between = Between::first(lines[0]).unwrap();
    let mut tried = std::collections::BTreeMap::new();
    for at in 1..lines.len() - 1 {
        let read = |line: &[u8]| serde_json::from_slice::<serde_json::Value>(line).unwrap();
        let (own, next) = (read(lines[at]), read(lines[at + 1]));
        for member in members {
            // The next event's own value: well formed, and wrong here. All are of the first schema: one is made up.
            if own.get(member) == next.get(member) && member != "schema" {
                continue;
            }
            *tried.entry(member).or_insert(0) += 1;
            let mut changed = all[at - 1].clone();
            let other = &all[at];
            match member {
                "offset" => changed.offset = other.offset,
                "event_id" => changed.event_id = other.event_id,
                "command_id" => changed.command.command_id = other.command.command_id,
                "command_index" => changed.command_index = other.command_index,
                "command_size" => changed.command_size = other.command_size,
                "type" => changed.type_name.clone_from(&other.type_name),
                "schema" => changed.schema += 1,
                "recorded_at" => changed.recorded_at = other.recorded_at,
                "actor" => changed.command.actor = other.command.actor.clone(),
                "via" => changed.command.via = other.command.via,
                "request_id" => changed.command.request_id.clone_from(&other.command.request_id),
                "reason" => changed.command.reason.clone_from(&other.command.reason),
                "payload" => changed.payload.clone_from(&other.payload),
                "prev_hash" => changed.prev_hash = other.prev_hash,
                _ => changed.hash = other.hash,
            }
            let json = charter_events::EventJson::new(&changed).unwrap();
            let line = serde_json::to_string(&json).unwrap() + "\n";
            let found = between.clone().line(line.as_bytes()).unwrap_err();
            assert_eq!(found.offset.get(), at as u64, "{member}: {found}");
        }
        between.line(lines[at]).unwrap();
    }
    let untried: Vec<_> = members.into_iter().filter(|member| !tried.contains_key(member)).collect();
    assert!(untried.is_empty(), "never changed: {untried:?}");
}
