//! Entries of what operators do.

use super::entry::Entry;
use charter_events::{BackupRestored, BackupTaken, Hash, Offset, ProjectionRebuilt, ProjectionSkipped};

impl Entry<'_> {
    pub(super) fn projection_rebuilt(self, e: &ProjectionRebuilt) -> Self {
        self.projection(e.projection.as_str())
            .is("version", e.version)
            .is("generation", e.generation)
            .is("up_to", e.up_to.get())
            .is("digest", e.digest.to_string())
            .maybe_is("differed", e.differed.then_some(true))
            .asked_by(e.asked_by)
    }

    pub(super) fn projection_skipped(self, e: &ProjectionSkipped) -> Self {
        self.projection(e.projection.as_str()).is("skipped", e.skipped.get())
    }

    pub(super) fn backup_taken(self, e: &BackupTaken) -> Self {
        self.backup(e.head, e.hash, e.digest).asked_by(e.asked_by)
    }

    pub(super) fn backup_restored(self, e: &BackupRestored) -> Self {
        self.backup(e.head, e.hash, e.digest)
    }

    fn projection(self, name: &str) -> Self {
        self.is("projection", name).word(name)
    }

    fn backup(self, head: Offset, hash: Hash, digest: Hash) -> Self {
        self.is("head", head.get()).is("hash", hash.to_string()).is("digest", digest.to_string())
    }
}
