//! Prints what appending, reading and verifying cost, beside plain inserts of the same rows in the same run.
//! `cargo run --release -p charter-store-sqlite --example append_bench [events] [repeats]`
#![expect(clippy::print_stdout, clippy::unwrap_used, clippy::indexing_slicing, reason = "a measuring tool")]

use charter_events::{Offset, StoredEvent};
use charter_store::{
    LogStore, READ_EVENTS_MAX,
    conformance::{Writing, batch_of},
    verify,
};
use charter_store_sqlite::{Access, SqliteStore};
use sqlx::{
    ConnectOptions, Connection,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous},
};
use std::{path::Path, time::Instant};

const BATCHES: [usize; 4] = [1, 10, 100, 1_000];

fn main() {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse::<usize>().unwrap());
    let events = arguments.next().unwrap_or(50_000);
    let repeats = arguments.next().unwrap_or(5);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        println!("{events} events at most, medians of {repeats} [lowest to highest]");
        for batch in BATCHES {
            let count = if batch == 1 { events / 10 } else { events };
            let plain = repeat(repeats, || plain_inserts(count, batch)).await;
            let appends = repeat(repeats, || appends(count, batch)).await;
            println!(
                "{batch:>5} a commit: store {}   plain inserts {}   ratio {:.2}",
                show(&appends),
                show(&plain),
                median(&appends) / median(&plain)
            );
        }
        let dir = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(dir.path(), Access::Server).await.unwrap();
        append_all(&store, events, 1_000).await;
        let reading = repeat(repeats, || read_all(&store, events, false)).await;
        println!("reading        {}", show(&reading));
        let decoding = repeat(repeats, || read_all(&store, events, true)).await;
        println!("and decoding   {}", show(&decoding));
        let scanning = repeat(repeats, || scan(&store, events)).await;
        println!("verifying      {}", show(&scanning));
        store.close().await;
    });
}

async fn repeat<F: Future<Output = f64>>(repeats: usize, run: impl Fn() -> F) -> Vec<f64> {
    let mut rates = Vec::new();
    for _ in 0..repeats {
        rates.push(run().await);
    }
    rates.sort_by(f64::total_cmp);
    rates
}

fn median(rates: &[f64]) -> f64 {
    rates[rates.len() / 2]
}

fn show(rates: &[f64]) -> String {
    format!("{:>9.0}/s [{:.0} to {:.0}]", median(rates), rates[0], rates[rates.len() - 1])
}

fn rate(count: usize, since: Instant) -> f64 {
    count as f64 / since.elapsed().as_secs_f64()
}

async fn appends(events: usize, batch: usize) -> f64 {
    let dir = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(dir.path(), Access::Server).await.unwrap();
    let start = Instant::now();
    append_all(&store, events, batch).await;
    let rate = rate(events, start);
    store.close().await;
    rate
}

async fn append_all(store: &SqliteStore, events: usize, batch: usize) {
    for _ in 0..events / batch {
        let mut append = store.append().await.unwrap();
        let mut writing = Writing::new(append.head());
        let made: Vec<_> = (0..batch).flat_map(|_| writing.command(1)).collect();
        append.write(&batch_of(made)).await.unwrap();
        append.commit().await.unwrap();
    }
}

/// The limit: the same bytes, the same number of rows, one statement a row, nothing else.
async fn plain_inserts(events: usize, batch: usize) -> f64 {
    let dir = tempfile::tempdir().unwrap();
    let mut connection = open(&dir.path().join("plain.db")).await;
    sqlx::raw_sql("CREATE TABLE rows (id INTEGER PRIMARY KEY, body BLOB NOT NULL) STRICT")
        .execute(&mut connection)
        .await
        .unwrap();
    let body = vec![7_u8; 300];
    let start = Instant::now();
    for _ in 0..events / batch {
        let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await.unwrap();
        for _ in 0..batch {
            let insert = sqlx::query("INSERT INTO rows (body) VALUES (?)").bind(body.as_slice());
            insert.execute(&mut *transaction).await.unwrap();
        }
        transaction.commit().await.unwrap();
    }
    rate(events, start)
}

async fn open(path: &Path) -> sqlx::SqliteConnection {
    SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .connect()
        .await
        .unwrap()
}

async fn read_all(store: &SqliteStore, events: usize, decode: bool) -> f64 {
    let start = Instant::now();
    let mut after = Offset::ZERO;
    let mut count = 0;
    loop {
        let page = store.read(after, READ_EVENTS_MAX).await.unwrap();
        let Some(last) = page.last() else { break };
        after = last.offset;
        count += page.len();
        if decode {
            page.iter().map(StoredEvent::decode).for_each(|event| drop(event.unwrap()));
        }
    }
    assert_eq!(count, events);
    rate(count, start)
}

async fn scan(store: &SqliteStore, events: usize) -> f64 {
    let start = Instant::now();
    verify::scan(store, Offset::ZERO, |_| ()).await.unwrap();
    rate(events, start)
}
