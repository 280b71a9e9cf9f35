//! Groups: flat collections of users, which exist to be granted to.

use super::payload;
use crate::{
    ids::{GroupId, UserId},
    names::{DisplayName, ExternalId, Slug},
};

payload! {
    /// A group was created.
    GroupCreated {
        /// Its id.
        group: GroupId,
        /// Its unique name for look-ups; it never changes.
        slug: Slug,
        /// How it is shown.
        name: DisplayName,
    }
}

payload! {
    /// A group is shown under another name.
    GroupRenamed {
        /// The group.
        group: GroupId,
        /// How it is shown now.
        name: DisplayName,
    }
}

payload! {
    /// A group has another id in somebody else's system, or none any more.
    GroupExternalIdChanged {
        /// The group.
        group: GroupId,
        /// Its id there; none when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        external_id: Option<ExternalId>,
    }
}

payload! {
    /// A user joined a group.
    GroupMemberAdded {
        /// The group.
        group: GroupId,
        /// Who joined.
        user: UserId,
    }
}

payload! {
    /// A user is no longer in a group: removed, left, or gone with the group or the account.
    GroupMemberRemoved {
        /// The group.
        group: GroupId,
        /// Who is out.
        user: UserId,
    }
}

payload! {
    /// A group is gone. Its memberships and grants ended beside it, each as an event of its own.
    GroupDeleted {
        /// The group.
        group: GroupId,
    }
}
