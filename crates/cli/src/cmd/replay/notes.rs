//! Signed checkpoints in files, as the command line names them.

use crate::exit::{Doing, Failure, Outcome, chain};
use charter_store::merkle::{Checkpoint, NOTE_BYTES_MAX, NoteError, SignedNote, VerifierKey};
use std::{
    fs::File,
    io::Read,
    path::{Path, PathBuf},
};

/// What stands in the files.
pub(super) struct Notes {
    files: Vec<(PathBuf, SignedNote)>,
    /// The checkpoints in them, in the order of the files.
    pub(super) checkpoints: Vec<Checkpoint>,
}

impl Notes {
    /// Reads each file.
    pub(super) fn read(paths: &[PathBuf]) -> Outcome<Self> {
        let mut new = Self { files: Vec::new(), checkpoints: Vec::new() };
        for path in paths {
            let wrong = |error: NoteError| wrong(path, &error);
            let note: SignedNote = text(path, NOTE_BYTES_MAX)?.parse().map_err(wrong)?;
            new.checkpoints.push(Checkpoint::of(&note).map_err(wrong)?);
            new.files.push((path.clone(), note));
        }
        Ok(new)
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// The only one, or the first.
    pub(super) fn first(&self) -> Option<&SignedNote> {
        self.files.first().map(|(_, note)| note)
    }

    /// Checks that each is signed by the key, whose name is that of the log.
    pub(super) fn check(&self, key: &VerifierKey) -> Outcome<()> {
        for ((path, note), checkpoint) in self.files.iter().zip(&self.checkpoints) {
            note.check(key).map_err(|error| wrong(path, &error))?;
            if checkpoint.origin != key.name() {
                return Err(wrong(path, &NoteError::NotSigned));
            }
        }
        Ok(())
    }
}

fn wrong(path: &Path, error: &NoteError) -> Failure {
    Failure::error(format!("the checkpoint in `{}` does not count: {}", path.display(), chain(error)))
}

/// The text in a file, which is no longer than said.
pub(super) fn text(path: &Path, bytes_max: usize) -> Outcome<String> {
    let mut text = String::new();
    let longest = u64::try_from(bytes_max).unwrap_or(u64::MAX).saturating_add(1);
    let file = File::open(path).doing(format_args!("read `{}`", path.display()))?;
    file.take(longest).read_to_string(&mut text).doing(format_args!("read `{}`", path.display()))?;
    Ok(text)
}
