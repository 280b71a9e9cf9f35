//! Stub.
use crate::SnapshotError;
impl crate::Policy {
    /// The format.
    pub const SNAPSHOT_FORMAT: u16 = 1;
    /// Stub.
    ///
    /// # Errors
    /// Stub.
    pub fn to_snapshot(&self) -> Result<Vec<u8>, SnapshotError> {
        Err(SnapshotError::Contradiction("stub"))
    }
    /// Stub.
    ///
    /// # Errors
    /// Stub.
    pub fn from_snapshot(_: &[u8]) -> Result<Self, SnapshotError> {
        Err(SnapshotError::Contradiction("stub"))
    }
}
