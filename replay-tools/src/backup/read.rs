//! Reading a backup from its first line to its last: that it is whole and unchanged, that its events are one chain, and
//! that this build can replay them.

use super::{
    BackupError, GoOn,
    format::{BACKUP, FirstLine, Reading, Row},
};
use crate::{Progress, secrets::Hex};
use charter_events::{Hash, Head, StoredEvent, Timestamp, UserId};
use charter_policy::Policy;
use charter_store::{PasswordHash, chain, chain::Verifier};
use std::io::BufRead;

/// What a backup holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Contents {
    /// The last event in it, and of which log.
    pub head: Head,
    /// When it was begun.
    pub made_at: Timestamp,
    /// How many password hashes are in it.
    pub passwords: u64,
    /// SHA-256 of the file.
    pub digest: Hash,
    /// Its length, in bytes.
    pub bytes: u64,
}

/// A backup that can be restored.
#[derive(Debug)]
pub struct Verified {
    /// What it holds.
    pub contents: Contents,
    /// The state folded from its events.
    pub policy: Policy,
}

/// Checks that a backup is whole, unchanged and one chain of events.
///
/// # Errors
/// [`BackupError::Line`], [`BackupError::Chain`] with the first bad line; [`BackupError::File`];
/// [`BackupError::Cancelled`].
pub fn check(input: &mut (dyn BufRead + Send), go_on: GoOn<'_>) -> Result<Contents, BackupError> {
    let mut file = Walk::begin(input)?;
    while let Some(entry) = file.next()? {
        file.tell(&entry, go_on)?;
    }
    file.contents()
}

/// The same, and folds the events: what is verified can be restored by this build.
///
/// # Errors
/// As [`check`]; [`BackupError::Replay`].
pub fn verify(input: &mut (dyn BufRead + Send), go_on: GoOn<'_>) -> Result<Verified, BackupError> {
    let mut file = Walk::begin(input)?;
    let mut policy = Policy::new();
    while let Some(entry) = file.next()? {
        if let Entry::Event(stored) = &entry {
            let failed = |why: String| BackupError::Replay { offset: stored.offset, why };
            let event = stored.decode().map_err(|e| failed(e.to_string()))?;
            policy.apply(&stored.meta(), &event).map_err(|e| failed(e.to_string()))?;
        }
        file.tell(&entry, go_on)?;
    }
    Ok(Verified { contents: file.contents()?, policy })
}

/// How many events are read between two looks at whether to go on.
const EVENTS_BETWEEN_LOOKS: u64 = 5_000;

/// One line after the first.
pub(super) enum Entry {
    /// An event, which continues the chain.
    Event(StoredEvent),
    /// The installation's keys.
    Installation { tag_key: Hex, signing_key: Option<Hex> },
    /// A password hash.
    Password { user: UserId, hash: PasswordHash },
}

/// A backup being read, line by line.
pub(super) struct Walk<'a> {
    lines: Reading<'a>,
    first: FirstLine,
    verifier: Verifier,
    has_keys: bool,
    passwords: u64,
    end: Option<(Hash, u64)>,
}

impl<'a> Walk<'a> {
    pub(super) fn begin(input: &'a mut (dyn BufRead + Send)) -> Result<Self, BackupError> {
        let mut lines = Reading::new(input);
        let first = lines.first(BACKUP)?;
        let verifier = Verifier::from_start(first.log_id);
        Ok(Self { lines, first, verifier, has_keys: false, passwords: 0, end: None })
    }

    /// The next line; `None` once the last one was checked.
    pub(super) fn next(&mut self) -> Result<Option<Entry>, BackupError> {
        if self.end.is_some() {
            return Ok(None);
        }
        if self.verifier.head().offset < self.first.head {
            let event = self.lines.event()?;
            self.verifier.next(&event).map_err(|fault| self.lines.broken(fault))?;
            return Ok(Some(Entry::Event(event)));
        }
        self.beside()
    }

    fn beside(&mut self) -> Result<Option<Entry>, BackupError> {
        let row: Row = self.lines.row()?;
        match row {
            Row::Installation { tag_key, signing_key } if !self.has_keys => {
                self.has_keys = true;
                self.require_head()?;
                Ok(Some(Entry::Installation { tag_key, signing_key }))
            }
            Row::Password { user, hash } if self.has_keys => {
                self.passwords = self.passwords.saturating_add(1);
                Ok(Some(Entry::Password { user, hash: PasswordHash::new(hash) }))
            }
            Row::End { rows, sha256 } if self.has_keys => {
                let whole = self.lines.end(rows, sha256)?;
                self.end = Some((whole.digest, whole.bytes));
                Ok(None)
            }
            Row::Installation { .. } | Row::Password { .. } | Row::UserKey { .. } | Row::End { .. } => {
                Err(self.lines.wrong("it does not belong there"))
            }
        }
    }

    /// The events end where the first line says, between two commands.
    fn require_head(&self) -> Result<(), BackupError> {
        if self.verifier.head().hash != self.first.head_hash || self.verifier.within_command() {
            return Err(self.lines.wrong("the events before it do not end where the first line says"));
        }
        Ok(())
    }

    /// Tells how far it is, now and then.
    pub(super) fn tell(&self, entry: &Entry, go_on: GoOn<'_>) -> Result<(), BackupError> {
        let Entry::Event(event) = entry else { return Ok(()) };
        let due = event.offset.get().is_multiple_of(EVENTS_BETWEEN_LOOKS) || event.offset == self.first.head;
        if due && !go_on(Progress { at: event.offset, end: self.first.head }) {
            return Err(BackupError::Cancelled);
        }
        Ok(())
    }

    /// Whether the next event begins a command.
    pub(super) const fn between_commands(&self) -> bool {
        !self.verifier.within_command()
    }

    /// The log the file is of, when nothing of it was written yet.
    pub(super) fn empty(&self) -> Head {
        chain::empty(self.first.log_id)
    }

    /// What was read, after the last line.
    pub(super) fn contents(&self) -> Result<Contents, BackupError> {
        let (digest, bytes) = self.end.ok_or(BackupError::Changed)?;
        Ok(Contents {
            head: self.verifier.head(),
            made_at: self.first.made_at,
            passwords: self.passwords,
            digest,
            bytes,
        })
    }
}
