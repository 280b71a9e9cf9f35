//! Roles: named, reusable sets of permissions.

use super::payload;
use crate::{
    access::RoleScope,
    ids::RoleId,
    key::Pattern,
    names::{DisplayName, Slug},
};
use serde::{Deserialize, Serialize};

/// The roles every installation begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SeededRole {
    /// `*`, global; protected: neither edited nor deleted.
    Administrator,
    /// `*`, on objects; protected, and given by creating or receiving an object only.
    Owner,
    /// Reading; editable.
    Viewer,
    /// Daily work; editable.
    Operator,
}

impl SeededRole {
    /// Whether the role can neither be edited, renamed nor deleted.
    pub const fn is_protected(self) -> bool {
        matches!(self, Self::Administrator | Self::Owner)
    }
}

payload! {
    /// A role was created.
    RoleCreated {
        /// Its id.
        role: RoleId,
        /// Its unique name for look-ups; it never changes.
        slug: Slug,
        /// How it is shown.
        name: DisplayName,
        /// Where it may be assigned; it never changes.
        scope: RoleScope,
        /// What it holds: sorted, each once.
        permissions: Vec<Pattern>,
        /// Which seeded role it is, if any.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seeded: Option<SeededRole>,
    }
}

payload! {
    /// A role is shown under another name.
    RoleRenamed {
        /// The role.
        role: RoleId,
        /// How it is shown now.
        name: DisplayName,
    }
}

payload! {
    /// A role's content changed.
    RolePermissionsChanged {
        /// The role.
        role: RoleId,
        /// What it gained: sorted, none of it held before.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        added: Vec<Pattern>,
        /// What it lost: sorted, all of it held before.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        removed: Vec<Pattern>,
    }
}

payload! {
    /// A role is gone. Its grants ended beside it, each as an event of its own.
    RoleDeleted {
        /// The role.
        role: RoleId,
    }
}
