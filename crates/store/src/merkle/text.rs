//! A proof as a text that stands alone (C2SP `tlog-proof`): the event's record, its place, the way to the root, and a
//! signed checkpoint with that root. Whoever has it and the log's verifier key needs nothing else.

use super::{
    checkpoint::{Checkpoint, NOTE_BYTES_MAX},
    note::{NoteError, SignedNote, VerifierKey},
    proof::{ProofError, check_inclusion},
};
use base64::{Engine, engine::general_purpose::STANDARD};
use charter_events::Hash;
use sha2::{Digest, Sha256};
use std::{fmt, str::FromStr};

/// The longest that is read, in bytes.
pub const PROOF_BYTES_MAX: usize = NOTE_BYTES_MAX + 64 * 1024;

const FIRST_LINE: &str = "c2sp.org/tlog-proof@v1";
/// A tree of 2⁶³ leaves has no longer way.
const PATH_MAX: usize = 63;
const WRONG: NoteError =
    NoteError::Malformed("a proof is `c2sp.org/tlog-proof@v1`, extra, index, hashes, checkpoint");

/// Why a proof proves nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UnprovenError {
    /// Its checkpoint is none, or not signed by the log's key.
    #[error("the checkpoint does not count: {0}")]
    Note(#[from] NoteError),
    /// The record is not in the tree that was signed.
    #[error(transparent)]
    Proof(#[from] ProofError),
}

/// That an event is in a log, as a text that stands alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InclusionText {
    /// The event's canonical record; SHA-256(0x00 ‖ record) is the leaf.
    pub record: Vec<u8>,
    /// The leaf's place, from 0: the event's offset less one.
    pub index: u64,
    /// The hashes from the leaf to the root.
    pub path: Vec<Hash>,
    /// The checkpoint.
    pub note: SignedNote,
}

impl InclusionText {
    /// Checks all of it: the signature, and that the record is in the tree signed. Returns the checkpoint.
    ///
    /// # Errors
    /// [`UnprovenError`].
    pub fn check(&self, key: &VerifierKey) -> Result<Checkpoint, UnprovenError> {
        self.note.check(key)?;
        let checkpoint = Checkpoint::of(&self.note)?;
        if checkpoint.origin != key.name() {
            return Err(NoteError::NotSigned.into());
        }
        let mut sha = Sha256::new();
        sha.update([0]);
        sha.update(&self.record);
        let leaf = Hash::new(sha.finalize().into());
        check_inclusion(&leaf, self.index, checkpoint.size, &self.path, &checkpoint.root)?;
        Ok(checkpoint)
    }
}

impl fmt::Display for InclusionText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{FIRST_LINE}\nextra {}\nindex {}", STANDARD.encode(&self.record), self.index)?;
        for hash in &self.path {
            writeln!(f, "{}", STANDARD.encode(hash.as_bytes()))?;
        }
        write!(f, "\n{}", self.note)
    }
}

impl FromStr for InclusionText {
    type Err = NoteError;

    fn from_str(text: &str) -> Result<Self, NoteError> {
        if text.len() > PROOF_BYTES_MAX {
            return Err(NoteError::Malformed("it is too long"));
        }
        let (head, note) = text.split_once("\n\n").ok_or(WRONG)?;
        let mut lines = head.split('\n');
        if lines.next() != Some(FIRST_LINE) {
            return Err(WRONG);
        }
        let mut after = |word: &str| lines.next().and_then(|line| line.strip_prefix(word)).ok_or(WRONG);
        let record = STANDARD.decode(after("extra ")?).map_err(|_| WRONG)?;
        let number = after("index ")?;
        let index: u64 = number.parse().map_err(|_| WRONG)?;
        let hash = |line| STANDARD.decode(line).ok().and_then(|bytes| bytes.try_into().ok()).map(Hash::new);
        let path = lines.map(|line| hash(line).ok_or(WRONG)).collect::<Result<Vec<_>, _>>()?;
        if number != index.to_string() || path.len() > PATH_MAX {
            return Err(WRONG);
        }
        Ok(Self { record, index, path, note: note.parse()? })
    }
}
