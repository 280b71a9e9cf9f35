//! The lines of a backup and of a file of keys, both ways, and the digest that ends each. Lines are JSON; the last one
//! has the SHA-256 of all bytes before it, so that a file that was cut or changed is known by reading it once.

use super::BackupError;
use crate::secrets::Hex;
use charter_events::{
    EventJson, Hash, LogId, Offset, StoredEvent, Timestamp, UserId, json::EVENT_JSON_BYTES_MAX,
};
use charter_store::Fault;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use sha2::{Digest, Sha256};
use std::io::{BufRead, Read, Write};
use zeroize::Zeroizing;

/// What the first line of a backup says the file is.
pub(super) const BACKUP: &str = "charter-backup.v1";
/// What the first line of a file of keys says the file is.
pub(super) const KEYS: &str = "charter-user-keys.v1";
/// The longest line, in bytes.
pub(super) const LINE_BYTES_MAX: usize = EVENT_JSON_BYTES_MAX;

/// The first line of either file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FirstLine {
    pub(super) format: String,
    pub(super) warning: String,
    pub(super) log_id: LogId,
    pub(super) head: Offset,
    pub(super) head_hash: Hash,
    pub(super) made_at: Timestamp,
}

/// A line after the events: what stands beside the log.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Row {
    /// The keys of the installation that outlive it: names are tagged with one, checkpoints signed with the other.
    Installation {
        tag_key: Hex,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signing_key: Option<Hex>,
    },
    /// A user's password hash.
    Password { user: UserId, hash: String },
    /// A user's key; in a file of keys only.
    UserKey { user: UserId, key: Hex },
    /// The last line.
    End { rows: u64, sha256: Hash },
}

/// Writes lines, and counts and digests them.
pub(super) struct Lines<'a> {
    out: &'a mut (dyn Write + Send),
    digest: Sha256,
    bytes: u64,
    rows: u64,
}

/// A file that was written whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Whole {
    /// SHA-256 of all of it.
    pub(super) digest: Hash,
    /// Its length.
    pub(super) bytes: u64,
}

impl<'a> Lines<'a> {
    pub(super) fn new(out: &'a mut (dyn Write + Send)) -> Self {
        Self { out, digest: Sha256::new(), bytes: 0, rows: 0 }
    }

    /// A line that is counted.
    pub(super) fn row(&mut self, line: &impl Serialize) -> Result<(), BackupError> {
        self.rows = self.rows.saturating_add(1);
        self.line(line)
    }

    /// A line that is not.
    pub(super) fn line(&mut self, line: &impl Serialize) -> Result<(), BackupError> {
        let mut text = Zeroizing::new(serde_json::to_vec(line).map_err(std::io::Error::from)?);
        text.push(b'\n');
        self.out.write_all(&text)?;
        self.digest.update(&*text);
        self.bytes = self.bytes.saturating_add(u64::try_from(text.len()).unwrap_or(u64::MAX));
        Ok(())
    }

    /// The last line.
    pub(super) fn end(mut self) -> Result<Whole, BackupError> {
        let sha256 = Hash::new(self.digest.clone().finalize().into());
        self.line(&Row::End { rows: self.rows, sha256 })?;
        self.out.flush()?;
        Ok(Whole { digest: Hash::new(self.digest.finalize().into()), bytes: self.bytes })
    }
}

/// Reads lines, and counts and digests them.
pub(super) struct Reading<'a> {
    input: &'a mut (dyn BufRead + Send),
    text: Zeroizing<Vec<u8>>,
    /// Of everything before the line at hand.
    digest: Sha256,
    line: u64,
    rows: u64,
    bytes: u64,
}

impl<'a> Reading<'a> {
    pub(super) fn new(input: &'a mut (dyn BufRead + Send)) -> Self {
        Self { input, text: Zeroizing::default(), digest: Sha256::new(), line: 0, rows: 0, bytes: 0 }
    }

    /// The first line of such a file.
    pub(super) fn first(&mut self, format: &str) -> Result<FirstLine, BackupError> {
        let known = |first: &FirstLine| first.format == format;
        let first = self.next::<FirstLine>().ok().filter(known);
        first.ok_or_else(|| self.wrong(format!("it is not the first line of a `{format}` file")))
    }

    /// The next line, of which there must be one more.
    pub(super) fn row<T: DeserializeOwned>(&mut self) -> Result<T, BackupError> {
        self.rows = self.rows.saturating_add(1);
        self.next()
    }

    /// The same, an event.
    pub(super) fn event(&mut self) -> Result<StoredEvent, BackupError> {
        self.rows = self.rows.saturating_add(1);
        self.read()?;
        let event: Result<EventJson<'_>, _> = serde_json::from_slice(&self.text);
        event.map(EventJson::into_event).map_err(|error| self.wrong(format!("it is no event: {error}")))
    }

    /// Checks the last line, which is at hand, and that nothing follows it.
    pub(super) fn end(&mut self, rows: u64, sha256: Hash) -> Result<Whole, BackupError> {
        // The last line itself is no row.
        self.rows = self.rows.saturating_sub(1);
        if self.rows != rows {
            return Err(self.wrong(format!("{} rows stand before it, not {rows}", self.rows)));
        }
        if Hash::new(self.digest.clone().finalize().into()) != sha256 {
            return Err(self.wrong("what stands before it was changed: its SHA-256 differs"));
        }
        // As it was written and not otherwise: it is in no digest but the file's.
        let mut written = serde_json::to_vec(&Row::End { rows, sha256 }).map_err(std::io::Error::from)?;
        written.push(b'\n');
        if *self.text != written {
            return Err(self.wrong("it was changed"));
        }
        let mut digest = self.digest.clone();
        digest.update(&*self.text);
        let bytes = self.bytes;
        if self.input.fill_buf()?.is_empty() {
            return Ok(Whole { digest: Hash::new(digest.finalize().into()), bytes });
        }
        self.line = self.line.saturating_add(1);
        Err(self.wrong("something follows the last line"))
    }

    pub(super) fn wrong(&self, why: impl Into<String>) -> BackupError {
        BackupError::Line { line: self.line.max(1), why: why.into() }
    }

    /// An error of a chain at the line at hand.
    pub(super) const fn broken(&self, fault: Fault) -> BackupError {
        BackupError::Chain { line: self.line, fault }
    }

    fn next<T: DeserializeOwned>(&mut self) -> Result<T, BackupError> {
        self.read()?;
        // What serde says may quote a secret.
        serde_json::from_slice(&self.text).map_err(|_| self.wrong("it is not what should stand there"))
    }

    fn read(&mut self) -> Result<(), BackupError> {
        self.digest.update(&*self.text);
        self.text.clear();
        self.line = self.line.saturating_add(1);
        let longest = u64::try_from(LINE_BYTES_MAX).unwrap_or(u64::MAX);
        let bytes = (&mut *self.input).take(longest).read_until(b'\n', &mut self.text)?;
        self.bytes = self.bytes.saturating_add(u64::try_from(bytes).unwrap_or(u64::MAX));
        if bytes >= LINE_BYTES_MAX {
            return Err(self.wrong(format!("it is longer than {LINE_BYTES_MAX} bytes")));
        }
        if bytes == 0 || self.text.last() != Some(&b'\n') {
            return Err(self.wrong("the file was cut: its last line is missing"));
        }
        Ok(())
    }
}
