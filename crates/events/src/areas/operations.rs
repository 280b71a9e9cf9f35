//! What operators do: records of it. None of these changes who may do what.

use super::payload;
use crate::{
    envelope::{Hash, Offset},
    ids::UserId,
    names::Slug,
};

payload! {
    /// A projection was built anew from the first event on, compared, and is what is read from now on.
    ProjectionRebuilt {
        /// Which projection.
        projection: Slug,
        /// The version of its tables.
        version: u32,
        /// The generation that is read from now on.
        generation: u32,
        /// The last event in it when it was compared.
        up_to: Offset,
        /// The digest of its rows there, whatever their order.
        digest: Hash,
        /// Whether its rows were others than those that were read before, and whoever asked wanted it all the same.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        differed: bool,
        /// Who asked for it; none: it was due, because the tables' version changed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        asked_by: Option<UserId>,
    }
}

payload! {
    /// A projection goes on without an event it could not take. Why is the command's reason.
    ProjectionSkipped {
        /// Which projection.
        projection: Slug,
        /// The event it goes on without.
        skipped: Offset,
    }
}

payload! {
    /// A backup was taken.
    BackupTaken {
        /// The last event in it.
        head: Offset,
        /// That event's hash.
        hash: Hash,
        /// SHA-256 of the file.
        digest: Hash,
        /// Who asked for it; none: somebody on the host.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        asked_by: Option<UserId>,
    }
}

payload! {
    /// A backup was restored into an empty store: all before this event came out of it.
    BackupRestored {
        /// The last event in it.
        head: Offset,
        /// That event's hash.
        hash: Hash,
        /// SHA-256 of the file.
        digest: Hash,
    }
}
