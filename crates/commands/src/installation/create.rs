//! Lays the first events of a log: the installation, core's catalog, the folder type and the four seeded roles. System only.

use crate::command::Decide;
use charter_events::DisplayName;

/// Lays the first events of a log: the installation, core's catalog, the folder type and the four seeded roles. System only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreateInstallation {
    /// How the installation is shown.
    pub name: DisplayName,
}

impl Decide for CreateInstallation {}
