//! Writing a backup. The log is read up to where it ended when that began, what stands beside it after that: beside
//! running servers it may be newer than the log, never older.

use super::{
    BackupError, GoOn,
    format::{BACKUP, FirstLine, Lines, Row},
};
use crate::{Progress, secrets::Hex};
use charter_events::{EventJson, Hash, Head, Offset, Timestamp};
use charter_store::{Fault, MOVED_ROWS_MAX, Pages, Store, What, chain::Verifier};
use std::io::Write;

const WARNING: &str = "keys of the installation and password hashes: keep secret";

/// A backup that was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written {
    /// The last event in it, and of which log.
    pub head: Head,
    /// SHA-256 of the file.
    pub digest: Hash,
    /// Its length, in bytes.
    pub bytes: u64,
}

/// Writes a backup of all up to where the log ends now, checking its chain on the way: a damaged log is not backed up
/// as a sound one.
///
/// # Errors
/// [`BackupError::Store`] with the first bad offset, [`BackupError::File`], [`BackupError::Cancelled`].
pub async fn write(
    store: &dyn Store,
    made_at: Timestamp,
    out: &mut (dyn Write + Send),
    go_on: GoOn<'_>,
) -> Result<Written, BackupError> {
    let head = store.head().await?;
    let mut lines = Lines::new(out);
    lines.line(&FirstLine {
        format: BACKUP.to_owned(),
        warning: WARNING.to_owned(),
        log_id: head.log_id,
        head: head.offset,
        head_hash: head.hash,
        made_at,
    })?;
    events(store, &head, &mut lines, go_on).await?;
    let keys = store.installation_secrets().await?;
    let signing_key = keys.signing_key.as_ref().map(|key| Hex::new(key.expose()));
    lines.row(&Row::Installation { tag_key: Hex::new(keys.tag_key.expose()), signing_key })?;
    passwords(store, &mut lines).await?;
    let whole = lines.end()?;
    Ok(Written { head, digest: whole.digest, bytes: whole.bytes })
}

async fn events(
    store: &dyn Store,
    head: &Head,
    lines: &mut Lines<'_>,
    go_on: GoOn<'_>,
) -> Result<(), BackupError> {
    let mut verifier = Verifier::from_start(head.log_id);
    let mut pages = Pages::new(store, Offset::ZERO, head.offset);
    while verifier.head().offset < head.offset {
        let Some(page) = pages.next().await? else {
            let missing = verifier.head().offset.plus(1).unwrap_or(Offset::MAX);
            return Err(damaged(missing, What::Missing));
        };
        for event in &page {
            verifier.next(event).map_err(charter_store::StoreError::from)?;
            let unreadable = |e: serde_json::Error| damaged(event.offset, What::Unreadable(e.to_string()));
            lines.row(&EventJson::new(event).map_err(unreadable)?)?;
        }
        if !go_on(Progress { at: verifier.head().offset, end: head.offset }) {
            return Err(BackupError::Cancelled);
        }
    }
    if verifier.head().hash != head.hash {
        return Err(damaged(head.offset, What::HeadMismatch));
    }
    Ok(())
}

fn damaged(offset: Offset, what: What) -> BackupError {
    BackupError::Store(Fault::new(offset, what).into())
}

async fn passwords(store: &dyn Store, lines: &mut Lines<'_>) -> Result<(), BackupError> {
    let mut after = None;
    loop {
        let page = store.passwords_after(after, MOVED_ROWS_MAX).await?;
        let Some((last, _)) = page.last() else { return Ok(()) };
        after = Some(*last);
        for (user, hash) in page {
            lines.row(&Row::Password { user, hash: hash.expose().to_owned() })?;
        }
    }
}
