//! Shows an object, or knows it elsewhere, under another name.

use crate::command::Decide;
use charter_events::{DisplayName, ExternalId, ObjectId};

/// Shows an object, or knows it elsewhere, under another name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenameObject {
    /// The object.
    pub object: ObjectId,
    /// How it is shown from now on.
    pub name: Option<DisplayName>,
    /// Its external id from now on; `Some(None)` takes it away.
    pub external_id: Option<Option<ExternalId>>,
}

impl Decide for RenameObject {}
