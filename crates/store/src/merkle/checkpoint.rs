//! Checkpoints (C2SP `tlog-checkpoint`): which log, how many events, and the root of the tree over them.

use super::note::{NoteError, SignedNote, Signer};
use base64::{Engine, engine::general_purpose::STANDARD};
use charter_events::{Hash, LogId, Offset};
use std::{fmt, str::FromStr};

/// The longest signed checkpoint that is read, in bytes.
pub const NOTE_BYTES_MAX: usize = 64 * 1024;

/// What a log calls itself in its checkpoints, and the name of the key that signs them.
pub fn origin(log_id: LogId) -> String {
    format!("charter/{log_id}")
}

/// How a log stood once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// Which log: [`origin`].
    pub origin: String,
    /// How many events it had: the offset of the last one.
    pub size: u64,
    /// The root of the tree over them.
    pub root: Hash,
}

impl Checkpoint {
    /// The checkpoint in a signed note. Whether the signature is good is not judged here.
    ///
    /// # Errors
    /// [`NoteError::Malformed`].
    pub fn of(note: &SignedNote) -> Result<Self, NoteError> {
        note.text().parse()
    }

    /// It, signed.
    pub fn sign(&self, signer: &Signer) -> SignedNote {
        signer.sign(self.to_string())
    }

    /// The offset of the last event in it; `None` for a size no log has.
    pub const fn head(&self) -> Option<Offset> {
        Offset::new(self.size)
    }
}

impl fmt::Display for Checkpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}\n{}\n{}", self.origin, self.size, STANDARD.encode(self.root.as_bytes()))
    }
}

impl FromStr for Checkpoint {
    type Err = NoteError;

    /// Reads the text of a note. Further lines, which other programs may add, are not looked at.
    fn from_str(text: &str) -> Result<Self, NoteError> {
        const WRONG: NoteError = NoteError::Malformed("a checkpoint is three lines: origin, size, root");
        let mut lines = text.strip_suffix('\n').ok_or(WRONG)?.split('\n');
        let (Some(origin), Some(size), Some(root)) = (lines.next(), lines.next(), lines.next()) else {
            return Err(WRONG);
        };
        let number: u64 = size.parse().map_err(|_| WRONG)?;
        let root = STANDARD.decode(root).ok().and_then(|root| root.try_into().ok()).ok_or(WRONG)?;
        if origin.is_empty() || number.to_string() != size || lines.any(str::is_empty) {
            return Err(WRONG);
        }
        Ok(Self { origin: origin.to_owned(), size: number, root: Hash::new(root) })
    }
}
