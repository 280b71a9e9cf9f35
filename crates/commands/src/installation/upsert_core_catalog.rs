//! Brings core's catalog to this build's revision; an older build changes nothing. System only.

use crate::command::Decide;

/// Brings core's catalog to this build's revision; an older build changes nothing. System only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpsertCoreCatalog {}

impl Decide for UpsertCoreCatalog {}
