//! A server that is killed at any moment: every acknowledged event is there afterwards, and the chain verifies.
//!
//! What this proves is that nothing is acknowledged before it was handed to the operating system; that it was also
//! synced is for a test with a delayed or failing fsync to prove, since the page cache outlives a killed process.

use crate::common::{scan, server};
use charter_events::Offset;
use charter_store::{
    LogStore,
    conformance::{Writing, batch_of},
};
use std::{
    io::{BufRead, BufReader, Write},
    process::{Command, Stdio},
    time::Duration,
};

const ROUNDS: u32 = 24;
const CHILD_DIR: &str = "CHARTER_TEST_CHILD_DIR";

/// The child: appends until it is killed, and prints the last offset of each commit once it was acknowledged. Without
/// the variable that the test below sets, it does nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn child_that_appends_until_killed() {
    let Ok(dir) = std::env::var(CHILD_DIR) else { return };
    let store = server(dir.as_ref()).await;
    let mut size = 0;
    loop {
        size = size % 40 + 1;
        let mut append = store.append().await.unwrap();
        let events = Writing::new(append.head()).command(size);
        append.write(&batch_of(events)).await.unwrap();
        let head = append.commit().await.unwrap();
        let mut out = std::io::stdout().lock();
        writeln!(out, "acknowledged {}", head.offset).unwrap();
        out.flush().unwrap();
    }
}

/// Kills the child after so long, and says the last offset it acknowledged.
fn run_and_kill(dir: &std::path::Path, after: Duration) -> u64 {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "kill::child_that_appends_until_killed", "--nocapture"])
        .env(CHILD_DIR, dir)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let (heard, first) = std::sync::mpsc::channel();
    let reading = std::thread::spawn(move || {
        let mut last = 0;
        for line in lines.map_while(Result::ok) {
            // The harness may print its own words on the first line.
            let Some((_, offset)) = line.split_once("acknowledged ") else { continue };
            last = offset.parse().unwrap();
            let _ = heard.send(());
        }
        last
    });
    first.recv().unwrap();
    std::thread::sleep(after);
    child.kill().unwrap();
    child.wait().unwrap();
    reading.join().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_acknowledged_event_survives_a_kill_at_any_moment() {
    let dir = tempfile::tempdir().unwrap();
    let mut before = 0;
    for round in 0..ROUNDS {
        let path = dir.path().to_owned();
        let after = Duration::from_micros(u64::from(round * round) * 997 % 90_000);
        let acknowledged = tokio::task::spawn_blocking(move || run_and_kill(&path, after)).await.unwrap();
        assert!(acknowledged > before, "round {round}: {acknowledged} after {before}");
        let store = server(dir.path()).await;
        let scanned = scan(&*store).await.unwrap();
        assert!(scanned.head.offset.get() >= acknowledged, "round {round}: {acknowledged} was acknowledged");
        assert_eq!(store.read(Offset::new(acknowledged - 1).unwrap(), 1).await.unwrap().len(), 1);
        store.close().await;
        before = scanned.head.offset.get();
    }
}
