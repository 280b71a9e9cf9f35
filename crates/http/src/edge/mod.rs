//! The edge: what happens to every request before a handler and to every answer after it.

mod around;
mod client;
mod commands;
pub(crate) mod cookies;
mod crowd;
mod cursor;
mod gate;
mod opening;
mod params;
mod rates;
mod server;
mod stalling;
mod stopping;
mod tls;
mod trace;

pub(crate) use around::{around, method_not_allowed, no_route};
pub(crate) use commands::Commands;
pub(crate) use cursor::{Cursor, CursorOf};
pub(crate) use gate::{PROBES, gate};
pub(crate) use params::{OTHERS, Params};
pub(crate) use rates::{Left, Rates};
pub use server::{CONNECTIONS_MAX, Listening, serve, serve_over};
pub(crate) use stopping::Stopping;
pub use tls::{Tls, TlsError};

use sha2::{Digest, Sha256};

/// SHA-256 over parts, each with its length before it, so that no two lists of parts give the same bytes.
pub(crate) fn digest(parts: &[&[u8]]) -> [u8; 32] {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}
