//! The keys of an installation's users, in a file of their own. Whoever has it opens every name in the log, whoever has
//! lost it opens none; a person is forgotten when the file, and every copy of it, was replaced by one without his key.

use super::{
    BackupError,
    format::{FirstLine, KEYS, Lines, Reading, Row},
};
use crate::secrets::Hex;
use charter_events::{Hash, Head, LogId, Offset, Timestamp, UserId};
use charter_store::{MOVED_ROWS_MAX, Store, UserKey};
use std::{
    collections::BTreeMap,
    io::{BufRead, Write},
};

const WARNING: &str = "keys to every name in the log: keep secret, and keep no older copy";
/// The most keys a file may hold.
const KEYS_MAX: usize = 10_000_000;

/// A file of keys that was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeysWritten {
    /// How many.
    pub keys: u64,
    /// SHA-256 of the file.
    pub digest: Hash,
}

/// A file of keys that was read.
#[derive(Debug)]
pub struct UserKeys {
    /// Of which log.
    pub log_id: LogId,
    /// Where that log ended when they were written.
    pub head: Offset,
    /// The hash of its last event then.
    pub head_hash: Hash,
    /// When that was.
    pub made_at: Timestamp,
    /// The keys.
    pub keys: BTreeMap<UserId, UserKey>,
}

/// Writes the keys of all users there are now.
///
/// # Errors
/// [`BackupError::Store`], [`BackupError::File`].
pub async fn write_keys(
    store: &dyn Store,
    made_at: Timestamp,
    out: &mut (dyn Write + Send),
) -> Result<KeysWritten, BackupError> {
    let Head { log_id, offset, hash, .. } = store.head().await?;
    let mut lines = Lines::new(out);
    lines.line(&FirstLine {
        format: KEYS.to_owned(),
        warning: WARNING.to_owned(),
        log_id,
        head: offset,
        head_hash: hash,
        made_at,
    })?;
    let (mut after, mut keys) = (None, 0_u64);
    loop {
        let page = store.user_keys_after(after, MOVED_ROWS_MAX).await?;
        let Some((last, _)) = page.last() else { break };
        after = Some(*last);
        for (user, key) in &page {
            lines.row(&Row::UserKey { user: *user, key: Hex::new(key.expose()) })?;
            keys = keys.saturating_add(1);
        }
    }
    Ok(KeysWritten { keys, digest: lines.end()?.digest })
}

/// Reads a file of keys, to its last line.
///
/// # Errors
/// [`BackupError::Line`] with the first bad line; [`BackupError::File`].
pub fn read_keys(input: &mut (dyn BufRead + Send)) -> Result<UserKeys, BackupError> {
    let mut lines = Reading::new(input);
    let first = lines.first(KEYS)?;
    let mut keys = BTreeMap::new();
    loop {
        let row: Row = lines.row()?;
        match row {
            Row::UserKey { user, key } if keys.len() < KEYS_MAX => {
                keys.insert(user, UserKey::new(key.bytes()));
            }
            Row::UserKey { .. } => return Err(lines.wrong(format!("more than {KEYS_MAX} keys"))),
            Row::End { rows, sha256 } => {
                lines.end(rows, sha256)?;
                let FirstLine { log_id, head, head_hash, made_at, .. } = first;
                return Ok(UserKeys { log_id, head, head_hash, made_at, keys });
            }
            Row::Installation { .. } | Row::Password { .. } => {
                return Err(lines.wrong("it does not belong there"));
            }
        }
    }
}

/// Reads only the first line of a file of keys.
pub(super) fn read_first(input: &mut (dyn BufRead + Send)) -> Result<FirstLine, BackupError> {
    Reading::new(input).first(KEYS)
}
