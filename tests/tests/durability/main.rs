//! A suite that only kills processes proves nothing about durability, since the page cache survives a kill. Here the
//! disk itself is slow, hangs, fails or is full, and callers go away at any moment: no answer is ahead of the disk, and
//! nothing that was acknowledged is lost.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "these are tests")]

mod aborted;
mod full;
mod shim;
mod syncs;
