//! Records that a projection was rebuilt, a backup taken or restored. Who may ask for it was judged when it was asked
//! for; what is recorded is that it was done.
//!
//! Refused: `system_only`.

use crate::{Context, Decided, command::Decide, may::require_system, refusal::Refusal};
use charter_events::{BackupRestored, BackupTaken, ProjectionRebuilt};
use charter_policy::Policy;

/// Records that a projection was rebuilt and is read. System only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordRebuild {
    /// What is recorded.
    pub rebuilt: ProjectionRebuilt,
}

/// Records that a backup was taken. System only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordBackup {
    /// What is recorded.
    pub taken: BackupTaken,
}

/// Records that a backup was restored. System only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordRestore {
    /// What is recorded.
    pub restored: BackupRestored,
}

impl Decide for RecordRebuild {
    fn decide(&self, _: &Policy, ctx: &mut Context<'_>) -> Result<Decided, Refusal> {
        require_system(ctx)?;
        Ok(Decided::one(self.rebuilt.clone()))
    }
}

impl Decide for RecordBackup {
    fn decide(&self, _: &Policy, ctx: &mut Context<'_>) -> Result<Decided, Refusal> {
        require_system(ctx)?;
        Ok(Decided::one(self.taken.clone()))
    }
}

impl Decide for RecordRestore {
    fn decide(&self, _: &Policy, ctx: &mut Context<'_>) -> Result<Decided, Refusal> {
        require_system(ctx)?;
        Ok(Decided::one(self.restored.clone()))
    }
}
