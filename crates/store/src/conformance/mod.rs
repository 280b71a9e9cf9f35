//! The suite every store must pass. A case takes an empty store of its own and panics with what is wrong.
//!
//! [`run_all`] runs everything on whatever makes empty stores; [`CASES`] and [`TABLE_CASES`] list the cases for
//! whoever wants to run them one by one. Must not know any database.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "these are tests; they stand here, outside `cfg(test)`, because every store's crate runs them"
)]

mod answers;
mod cancelling;
mod locking;
mod log;
mod model;
mod moving;
mod polling;
mod samples;
mod secrets;
mod servers;
mod snapshots;
mod tables;

use crate::Store;
pub use samples::{Counter, Writing, append_one, batch_of, group_renamed, meta, moment, verified};
use std::{pin::Pin, sync::Arc, time::Duration};
pub use tables::TABLE_CASES;

/// A running case.
pub type Running = Pin<Box<dyn Future<Output = ()> + Send>>;

/// One case: what must hold, and the code that tries it on an empty store.
pub struct Case {
    /// What must hold, as a sentence.
    pub name: &'static str,
    /// Tries it.
    pub run: fn(Arc<dyn Store>) -> Running,
}

macro_rules! cases {
    ($list:ident: $($name:literal => $path:path),+ $(,)?) => {
        /// Every case here.
        pub const $list: &[Case] = &[$(Case { name: $name, run: |store| Box::pin($path(store)) }),+];
    };
}
use cases;

cases! {
    CASES:
    "an empty log has head 0 and no events" => log::empty,
    "an empty log takes another id, one with events keeps its own" => log::adopting,
    "what was appended is read back equal, in pages of any size" => log::paging,
    "a scan finds the log whole while it grows" => log::scanned_while_it_grows,
    "hashes are read alone as they stand in the events" => log::hashes,
    "every member of an event survives, whatever text and length" => log::every_member,
    "a rolled back append leaves no hole" => log::rollback_leaves_no_hole,
    "a dropped append is rolled back" => log::dropped_append,
    "an append may write several batches, and its head follows" => log::several_writes,
    "an append that wrote nothing commits nothing" => log::nothing_written,
    "a batch that does not continue the head is refused" => log::refuses_another_head,
    "a batch with a broken chain is refused" => log::refuses_broken_chain,
    "what is over its limit is refused" => log::refuses_over_limit,
    "half a command is not committed" => log::refuses_half_a_command,
    "after a failed write an append can only be rolled back" => log::failed_write_is_final,
    "an append reads what was there when it began" => log::reads_since,
    "a large command is kept whole" => log::large_command,
    "a page ends after its bytes" => log::page_ends_after_bytes,
    "a second append of a store waits for the first" => locking::second_waits,
    "nothing is visible before the commit" => locking::invisible_before_commit,
    "appends that wait are served after a drop, a rollback and a commit" => locking::served_after_any_end,
    "a future cancelled at any point leaves no open transaction" => cancelling::at_every_point,
    "10,000 aborted appends leave the store usable" => cancelling::many_aborted,
    "64 writers and 4 polling readers: no reader misses an event" => polling::writers_and_readers,
    "an answer is found again by its key, and by nothing else" => answers::found_again,
    "an answer of a rolled back append is not kept" => answers::rolled_back,
    "an answer is found by its caller and its key, whatever they end in" => answers::by_both,
    "an idempotency key gets one answer" => answers::one_each,
    "old answers are forgotten" => answers::forgotten,
    "the installation's keys differ and stay" => secrets::installation,
    "a user's key is kept, never replaced, and destroyed for good" => secrets::user_key,
    "a password is set, replaced and removed" => secrets::password,
    "sessions and tokens live and go" => secrets::credentials,
    "each kind of credential is kept as what it is" => secrets::kinds,
    "ended sessions are forgotten" => secrets::forgotten,
    "the setup code is set, replaced and cleared" => secrets::setup_code,
    "changes of secrets are made all or none" => secrets::all_or_none,
    "secrets change with the append they are part of" => secrets::with_append,
    "secrets are not shown by Debug" => secrets::never_shown,
    "what stands beside the log is read in pages" => moving::in_pages,
    "the installation's keys are replaced while nothing depends on them" => moving::keys_replaced,
    "the newest snapshot that fits is loaded, two are kept" => snapshots::newest,
    "a snapshot that does not fit is ignored" => snapshots::ignored,
    "a lease is told of, as it was given" => servers::told,
    "a lease that has ended or run out is not told of" => servers::ended,
    "a lease over its limits is refused" => servers::refused,
    "a task is led by one server at a time, and free when the lead is dropped" => servers::lead,
    "a poll tells the head, and a clock, where there is one, that does not go back" => servers::polling,
    "an announced head wakes who listens, and nothing else does" => servers::wakes,
    "1,000 random operations agree with a naive model" => model::random_operations,
}

/// No case takes as long on any machine; a deadlock does.
const HANGING_AFTER: Duration = Duration::from_secs(300);

/// Runs every case, each on a store of its own.
///
/// # Panics
/// When a case fails; what it was is printed first.
pub async fn run_all<F: Future<Output = Arc<dyn Store>>>(make: impl Fn() -> F) {
    for case in CASES.iter().chain(TABLE_CASES) {
        let store = make().await;
        let running = tokio::time::timeout(HANGING_AFTER, tokio::spawn((case.run)(store)));
        match running.await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => panic!("conformance: {}: {error}", case.name),
            Err(_) => panic!("conformance: {}: it hangs", case.name),
        }
    }
}
