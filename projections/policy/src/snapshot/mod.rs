//! Snapshots: a policy as bytes, so that a start need not fold the whole log.
//!
//! The only module that knows bincode. It is unmaintained (RUSTSEC-2025-0141), so it is pinned, stands behind a format
//! tag, and is used for data that is rebuilt from the log whenever it can't be read: a snapshot is never the only copy
//! of anything. Only facts are written, in order of their dense indexes; every index is made anew by loading, through
//! the same code the fold uses.

mod read;
mod records;
mod write;

use crate::{Policy, SnapshotError};
use records::Body;

const TAG_BYTES: usize = 2;

fn config() -> impl bincode::config::Config {
    bincode::config::standard()
}

fn codec(error: &dyn std::fmt::Display) -> SnapshotError {
    SnapshotError::Codec(error.to_string())
}

impl Policy {
    /// The format of the bytes below. It changes with every change to a record: another format is not read, but
    /// folded anew.
    pub const SNAPSHOT_FORMAT: u16 = 4;

    /// The policy as bytes.
    ///
    /// # Errors
    /// [`SnapshotError::Codec`] when a fact can't be encoded.
    pub fn to_snapshot(&self) -> Result<Vec<u8>, SnapshotError> {
        let mut bytes = Self::SNAPSHOT_FORMAT.to_le_bytes().to_vec();
        bincode::serde::encode_into_std_write(Body::of(self), &mut bytes, config())
            .map_err(|error| codec(&error))?;
        Ok(bytes)
    }

    /// The policy from bytes. Dense indexes, and so positions, are what they were.
    ///
    /// # Errors
    /// [`SnapshotError`]; fold the log instead.
    pub fn from_snapshot(bytes: &[u8]) -> Result<Self, SnapshotError> {
        let Some((tag, body)) = bytes.split_first_chunk::<TAG_BYTES>() else {
            return Err(SnapshotError::Codec("it is cut off".to_owned()));
        };
        let found = u16::from_le_bytes(*tag);
        if found != Self::SNAPSHOT_FORMAT {
            return Err(SnapshotError::Format { found, expected: Self::SNAPSHOT_FORMAT });
        }
        let (body, read): (Body, usize) =
            bincode::serde::decode_from_slice(body, config()).map_err(|error| codec(&error))?;
        if read + TAG_BYTES != bytes.len() {
            return Err(SnapshotError::Codec("something follows its end".to_owned()));
        }
        body.into_policy()
    }
}
