//! Removes keys from the catalog; they are stripped from roles and allow grants, denies keep them.

use crate::command::Decide;
use charter_events::{Namespace, PermissionKey};

/// Removes keys from the catalog; they are stripped from roles and allow grants, denies keep them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemovePermissions {
    /// Whose.
    pub namespace: Namespace,
    /// The keys.
    pub keys: Vec<PermissionKey>,
}

impl Decide for RemovePermissions {}
