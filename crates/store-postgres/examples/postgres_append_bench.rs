//! Prints what appending costs, beside plain inserts of the same number of rows and bytes in the same run, on a server
//! of its own that has every commit on the disk.
//! `cargo run --release -p charter-store-postgres --example postgres_append_bench [events] [repeats]`
#![expect(clippy::print_stdout, clippy::unwrap_used, clippy::indexing_slicing, reason = "a measuring tool")]

use charter_services::{Database, Postgres};
use charter_store::{
    LogStore,
    conformance::{Writing, batch_of},
};
use charter_store_postgres::{Access, PostgresStore, migrate};
use sqlx::{Connection, PgConnection, raw_sql};
use std::time::Instant;

const BATCHES: [usize; 3] = [1, 10, 128];

fn main() {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse::<usize>().unwrap());
    let events = arguments.next().unwrap_or(20_000);
    let repeats = arguments.next().unwrap_or(5);
    let server = Postgres::start_durable().unwrap();
    let database = server.database("bench").unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        migrate(&database.owner_url.parse().unwrap(), Some(&database.server_role)).await.unwrap();
        println!("{events} events at most, medians of {repeats} [lowest to highest]");
        for batch in BATCHES {
            let count = (if batch == 1 { events / 10 } else { events }) / batch * batch;
            let (mut plain, mut store) = (Vec::new(), Vec::new());
            for _ in 0..repeats {
                plain.push(plain_inserts(&database, count, batch).await);
                store.push(appends(&database, count, batch).await);
            }
            let ratio = median(&mut store) / median(&mut plain);
            println!(
                "{batch:>4} a commit: store {}   plain inserts {}   ratio {ratio:.2}",
                show(&store),
                show(&plain)
            );
        }
    });
}

/// Sorts them too.
fn median(rates: &mut [f64]) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}

fn show(sorted: &[f64]) -> String {
    format!("{:>8.0}/s [{:.0} to {:.0}]", sorted[sorted.len() / 2], sorted[0], sorted[sorted.len() - 1])
}

fn rate(count: usize, since: Instant) -> f64 {
    count as f64 / since.elapsed().as_secs_f64()
}

async fn appends(database: &Database, events: usize, batch: usize) -> f64 {
    let folder = tempfile::tempdir().unwrap();
    let url = database.server_url.parse().unwrap();
    let store = PostgresStore::open(&url, folder.path(), Access::Server).await.unwrap();
    drop(store.append().await.unwrap());
    let start = Instant::now();
    for _ in 0..events / batch {
        let mut append = store.append().await.unwrap();
        let mut writing = Writing::new(append.head());
        let made: Vec<_> = (0..batch).flat_map(|_| writing.command(1)).collect();
        append.write(&batch_of(made)).await.unwrap();
        append.commit().await.unwrap();
    }
    let rate = rate(events, start);
    store.close().await;
    rate
}

/// The limit: the same bytes, the same number of rows, one statement a row, nothing else.
async fn plain_inserts(database: &Database, events: usize, batch: usize) -> f64 {
    let mut connection = PgConnection::connect(&database.owner_url).await.unwrap();
    let make = "DROP TABLE IF EXISTS public.rows; \
                CREATE TABLE public.rows (id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY, body bytea NOT NULL)";
    raw_sql(make).execute(&mut connection).await.unwrap();
    let body = vec![7_u8; 300];
    let start = Instant::now();
    for _ in 0..events / batch {
        let mut transaction = connection.begin().await.unwrap();
        for _ in 0..batch {
            let insert = sqlx::query("INSERT INTO public.rows (body) VALUES ($1)").bind(body.as_slice());
            insert.execute(&mut *transaction).await.unwrap();
        }
        transaction.commit().await.unwrap();
    }
    rate(events, start)
}
