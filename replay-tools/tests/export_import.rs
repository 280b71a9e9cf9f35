//! Exporting a log and importing it again gives the same log; anything else is refused, at its line.
#![expect(clippy::unwrap_used, reason = "a test")]

use charter_events::{Event, InstallationCreated, LogId, Offset, StoredEvent};
use charter_replay_tools::{
    ToolError,
    export::export,
    import::{check, import, load},
    verify::verify,
};
use charter_store::{
    LogStore, MemoryStore,
    conformance::{Writing, batch_of, group_renamed, meta},
};
use std::io::Cursor;

/// A log of commands of one to three events, with every kind of text.
async fn log() -> MemoryStore {
    let store = MemoryStore::default();
    let mut append = store.append().await.unwrap();
    let mut writing = Writing::new(append.head());
    for number in 0..40_u128 {
        let mut meta = meta(number + 1);
        meta.reason = (number % 2 == 0).then(|| "because \"it\" is\n\u{2028} 馬".to_owned());
        meta.request_id = (number % 3 == 0).then(|| format!("r-{number}"));
        let events: Vec<Event> = (0..=number % 3).map(|n| group_renamed(n + 1, "Größe 馬 \\ \" x")).collect();
        append.write(&batch_of(writing.with(&meta, &events))).await.unwrap();
    }
    append.commit().await.unwrap();
    store
}

async fn exported(store: &MemoryStore) -> String {
    let mut out = Vec::new();
    export(store, &mut out, |_| ()).await.unwrap();
    String::from_utf8(out).unwrap()
}

async fn events(store: &MemoryStore) -> Vec<StoredEvent> {
    store.read(Offset::ZERO, 10_000).await.unwrap()
}

async fn import_text(store: &MemoryStore, text: &str) -> Result<u64, ToolError> {
    let checked = check(&mut text.as_bytes(), |_| ())?;
    import(store, (&mut Cursor::new(text), checked), |_| ()).await.map(|head| head.offset.get())
}

fn empty() -> MemoryStore {
    MemoryStore::new(LogId::from_u128(77))
}

#[tokio::test]
async fn an_imported_log_is_the_exported_one_event_for_event() {
    let store = log().await;
    let text = exported(&store).await;
    assert_eq!(text.lines().count(), events(&store).await.len() + 1);
    let copy = empty();
    import_text(&copy, &text).await.unwrap();
    assert_eq!(events(&copy).await, events(&store).await);
    assert_eq!(copy.head().await.unwrap(), store.head().await.unwrap());
    assert_eq!(exported(&copy).await, text);
}

#[tokio::test]
async fn an_import_made_again_goes_on_where_the_store_ends() {
    let store = log().await;
    let text = exported(&store).await;
    let copy = empty();
    let whole = import_text(&copy, &text).await.unwrap();
    assert_eq!(import_text(&copy, &text).await.unwrap(), whole, "nothing more to do");
    let part = empty();
    part.adopt(store.head().await.unwrap().log_id).await.unwrap();
    let mut append = part.append().await.unwrap();
    let all = events(&store).await;
    let end = all.iter().position(|e| e.offset.get() > 20 && e.ends_command()).unwrap();
    append.write(&batch_of(all[..=end].to_vec())).await.unwrap();
    append.commit().await.unwrap();
    assert_eq!(import_text(&part, &text).await.unwrap(), whole);
    assert_eq!(events(&part).await, all);
}

#[tokio::test]
async fn a_file_that_was_cut_changed_or_shuffled_is_refused_at_its_line() {
    let text = exported(&log().await).await;
    let lines: Vec<&str> = text.lines().collect();
    let with = |change: &dyn Fn(&mut Vec<String>)| {
        let mut lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
        change(&mut lines);
        lines.join("\n") + "\n"
    };
    let cases: [(&str, String, u64); 8] = [
        ("cut at the end", with(&|l| drop(l.pop())), lines.len() as u64 - 1),
        ("cut within the last line", text[..text.len() - 40].to_owned(), lines.len() as u64),
        ("a line gone", with(&|l| drop(l.remove(5))), 6),
        ("two swapped", with(&|l| l.swap(5, 6)), 6),
        ("a payload changed", with(&|l| l[5] = l[5].replace("Größe", "grösse")), 6),
        ("a space in a payload", with(&|l| l[5] = l[5].replace("\"payload\":{", "\"payload\":{ ")), 6),
        ("an unknown member", with(&|l| l[5] = l[5].replacen('{', "{\"more\":1,", 1)), 6),
        ("no first line", with(&|l| drop(l.remove(0))), 1),
    ];
    for (what, text, expected) in cases {
        let copy = empty();
        match import_text(&copy, &text).await.unwrap_err() {
            ToolError::Line { line, .. } | ToolError::Chain { line, .. } => {
                assert_eq!(line, expected, "{what}")
            }
            other => panic!("{what}: {other}"),
        }
        assert_eq!(copy.head().await.unwrap(), empty().head().await.unwrap(), "{what}: something was kept");
        let read = load(&mut text.as_bytes(), |_| ()).await.unwrap_err();
        assert!(
            matches!(read, ToolError::Line { line, .. } | ToolError::Chain { line, .. } if line == expected)
        );
    }
}

#[tokio::test]
async fn a_file_cut_anywhere_is_said_to_be_cut() {
    let text = exported(&log().await).await;
    let lines: Vec<&str> = text.lines().collect();
    // After the first line, within a command of two events, after it, and within the last command.
    for kept in [1, 3, 4, lines.len() - 1] {
        let cut = lines[..kept].join("\n") + "\n";
        let expected = format!(
            "line {kept}: the file was cut here: it ends at offset {}, not at {} as it says",
            kept - 1,
            lines.len() - 1
        );
        assert_eq!(check(&mut cut.as_bytes(), |_| ()).unwrap_err().to_string(), expected);
        assert_eq!(load(&mut cut.as_bytes(), |_| ()).await.unwrap_err().to_string(), expected);
    }
    let within = check(&mut &text.as_bytes()[..text.len() - 40], |_| ()).unwrap_err();
    assert_eq!(within.to_string(), format!("line {}: the file was cut within this line", lines.len()));
}

#[tokio::test]
async fn a_file_that_changes_after_it_was_checked_is_refused_and_the_store_keeps_its_own_id() {
    let text = exported(&log().await).await;
    let checked = check(&mut text.as_bytes(), |_| ()).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let cut = lines[..lines.len() - 3].join("\n") + "\n";
    for changed in [text.replacen("Größe", "grösse", 1), cut, String::new()] {
        let store = empty();
        let done = import(&store, (&mut Cursor::new(&changed), checked), |_| ()).await;
        assert!(matches!(done.unwrap_err(), ToolError::Line { .. } | ToolError::Chain { .. }));
        assert_eq!(store.head().await.unwrap(), empty().head().await.unwrap());
    }
}

#[tokio::test]
async fn a_store_that_holds_something_else_is_left_alone() {
    let text = exported(&log().await).await;
    let other = empty();
    charter_store::conformance::append_one(&other, 1).await;
    assert!(matches!(import_text(&other, &text).await.unwrap_err(), ToolError::OtherLog(_)));
    let forked = MemoryStore::default();
    charter_store::conformance::append_one(&forked, 1).await;
    assert!(matches!(import_text(&forked, &text).await.unwrap_err(), ToolError::OtherLog(_)));
    assert_eq!(events(&forked).await.len(), 1);
}

#[tokio::test]
async fn a_whole_file_that_ends_before_the_store_does_is_told_from_a_cut_one() {
    let store = log().await;
    let (text, head) = (exported(&store).await, store.head().await.unwrap().offset.get());
    charter_store::conformance::append_one(&store, 1).await;
    let refused = import_text(&store, &text).await.unwrap_err();
    let expected = format!("the store ends at offset {}, beyond this file, which ends at {head}", head + 1);
    assert!(matches!(&refused, ToolError::OtherLog(why) if *why == expected), "{refused}");
    let cut = text.lines().take(10).map(|line| format!("{line}\n")).collect::<String>();
    assert!(matches!(import_text(&store, &cut).await.unwrap_err(), ToolError::Line { .. }));
}

#[tokio::test]
async fn verify_folds_what_it_checks_and_names_what_can_not_be_replayed() {
    let store = MemoryStore::default();
    let head = store.head().await.unwrap();
    let mut writing = Writing::new(head);
    let created = InstallationCreated { name: "Here".parse().unwrap() };
    let mut append = store.append().await.unwrap();
    append.write(&batch_of(writing.with(&meta(1), &[created.into()]))).await.unwrap();
    append.commit().await.unwrap();
    let sound = verify(&store, |_| ()).await.unwrap();
    assert_eq!(sound.scanned.events, 1);
    // Of a group that was never created: whole, and still no history.
    let mut append = store.append().await.unwrap();
    append.write(&batch_of(writing.with(&meta(2), &[group_renamed(9, "x")]))).await.unwrap();
    append.commit().await.unwrap();
    let error = verify(&store, |_| ()).await.unwrap_err();
    assert!(matches!(error, ToolError::Fold { offset, .. } if offset.get() == 2), "{error}");
}
