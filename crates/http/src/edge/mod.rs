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
pub(crate) use params::{OTHERS, Params, whole};
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

#[cfg(test)]
mod tests {
    use super::digest;
    use std::collections::HashMap;

    #[test]
    fn no_two_lists_of_parts_have_a_digest_in_common() {
        let length = 1_u64.to_be_bytes();
        let parts: [&[u8]; 7] = [b"", b"\0", b"a", b"ab", b"b", &length, &[0, 0, 0, 0, 0, 0, 0, 1, b'a']];
        let mut lists: Vec<Vec<&[u8]>> = vec![Vec::new()];
        for _ in 0..4 {
            let longer: Vec<_> = lists
                .iter()
                .flat_map(|list| parts.iter().map(move |part| list.iter().copied().chain([*part]).collect()))
                .collect();
            lists.extend(longer);
            lists.sort();
            lists.dedup();
        }
        let mut seen = HashMap::new();
        for list in &lists {
            assert_eq!(seen.insert(digest(list), list), None, "{list:?}");
        }
        assert!(seen.len() > 2_000, "{}", seen.len());
    }
}
