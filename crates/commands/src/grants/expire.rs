//! Records the end of grants that have passed it. A record only: they had not counted since. System only.

use crate::command::Decide;

/// Records the end of grants that have passed it. A record only: they had not counted since. System only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpireGrants {}

impl Decide for ExpireGrants {}
