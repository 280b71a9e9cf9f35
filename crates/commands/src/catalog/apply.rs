//! Registers one namespace's keys, object types and aliases as a whole document. What is missing becomes deprecated; the same document again changes nothing.

use crate::command::Decide;
use charter_events::{Namespace, ObjectTypeDefinition, PermissionDefinition};

/// Registers one namespace's keys, object types and aliases as a whole document. What is missing becomes deprecated; the same document again changes nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApplyCatalog {
    /// Whose.
    pub namespace: Namespace,
    /// All its keys.
    pub permissions: Vec<PermissionDefinition>,
    /// Its object types.
    pub object_types: Vec<ObjectTypeDefinition>,
}

impl Decide for ApplyCatalog {}
