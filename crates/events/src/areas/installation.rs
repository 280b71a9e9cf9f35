//! The installation itself.

use super::payload;
use crate::names::DisplayName;

payload! {
    /// The first event of every log. The seeded roles and core's catalog follow it in the same command.
    InstallationCreated {
        /// How the installation is shown.
        name: DisplayName,
    }
}
