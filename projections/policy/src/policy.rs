//! The state itself. Everything it knows came from events; everything it answers comes from the one walk.

use crate::{
    entries::Entries,
    state::{
        catalog::Catalog,
        credentials::Credentials,
        grants::Grants,
        objects::Objects,
        roles::Roles,
        users::{Groups, Users},
    },
};
use charter_events::{DisplayName, Offset, Slug, Timestamp};
use std::{collections::BTreeSet, sync::Arc};

/// The state of an installation at one policy version.
///
/// A clone costs a few dozen reference counts and never sees later events.
#[derive(Debug, Clone, Default)]
pub struct Policy {
    pub(crate) version: Offset,
    pub(crate) recorded_at: Timestamp,
    pub(crate) installation: Option<DisplayName>,
    pub(crate) catalog: Catalog,
    pub(crate) roles: Roles,
    pub(crate) users: Users,
    pub(crate) groups: Groups,
    pub(crate) objects: Objects,
    pub(crate) grants: Grants,
    /// The entries of the global scope.
    pub(crate) global: Entries,
    /// Those of them that give a role with a wildcard: asked first, and few.
    pub(crate) administrators: Entries,
    pub(crate) credentials: Credentials,
    /// Events that projections go on without.
    pub(crate) skipped: Arc<BTreeSet<(Slug, Offset)>>,
}

impl Policy {
    /// The state of an empty log.
    pub fn new() -> Self {
        Self::default()
    }

    /// The offset of the last event.
    pub const fn version(&self) -> Offset {
        self.version
    }

    /// When the last event was recorded; [`Timestamp::MIN`] when there is none.
    pub fn recorded_at(&self) -> Timestamp {
        if self.version == Offset::ZERO { Timestamp::MIN } else { self.recorded_at }
    }

    /// Whether somebody decided that a projection goes on without an event it could not take.
    pub fn is_skipped(&self, projection: &str, offset: Offset) -> bool {
        self.skipped.iter().any(|(name, skipped)| name.as_str() == projection && *skipped == offset)
    }

    /// How the installation is shown; `None` before its first event.
    pub const fn installation(&self) -> Option<&DisplayName> {
        self.installation.as_ref()
    }
}
