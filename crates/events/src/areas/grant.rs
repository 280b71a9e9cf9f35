//! Grants: the assignment of access to a subject.

use super::{is_default, payload};
use crate::{
    access::{Affects, ChildTypes, Content, Effect, Scope, Subject},
    ids::{GrantId, GroupId, ObjectId, RoleId, UserId},
    key::PermissionKey,
    names::Namespace,
    time::Timestamp,
};
use serde::{Deserialize, Serialize};

payload! {
    /// A grant was issued. A grant never changes afterwards, but for keys that leave the catalog.
    GrantIssued {
        /// Its id.
        grant: GrantId,
        /// To whom.
        subject: Subject,
        /// What.
        content: Content,
        /// Where.
        scope: Scope,
        /// Allow or deny.
        effect: Effect,
        /// Live from this moment on; from the beginning when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        not_before: Option<Timestamp>,
        /// Live until just before this moment; without end when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expires_at: Option<Timestamp>,
        /// How far below a folder it reaches.
        #[serde(default, skip_serializing_if = "is_default")]
        affects: Affects,
        /// Which kinds of things below a folder it reaches.
        #[serde(default, skip_serializing_if = "is_default")]
        child_types: ChildTypes,
    }
}

payload! {
    /// A grant was taken back by somebody.
    GrantRevoked {
        /// The grant.
        grant: GrantId,
    }
}

/// What went, and took a grant with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", content = "id", rename_all = "snake_case")]
pub enum EndedBy {
    /// Its role was deleted.
    Role(RoleId),
    /// The group it was given to was deleted.
    Group(GroupId),
    /// The object it was on was deleted.
    Object(ObjectId),
    /// The user it was given to was erased.
    User(UserId),
    /// The object it was on was transferred: the old owner's grant, or a deny on the new owner.
    Transfer(ObjectId),
    /// The last of its keys left the catalog with this namespace's document or module.
    Namespace(Namespace),
}

payload! {
    /// A grant ended because something it stood on went.
    GrantEnded {
        /// The grant.
        grant: GrantId,
        /// What went.
        by: EndedBy,
    }
}

payload! {
    /// A grant's end has passed. A record only: it had not counted since its end.
    GrantExpired {
        /// The grant.
        grant: GrantId,
    }
}

payload! {
    /// Keys left the catalog and thereby an allow grant of literal keys; some are left.
    GrantKeysRemoved {
        /// The grant.
        grant: GrantId,
        /// The keys it lost, sorted.
        keys: Vec<PermissionKey>,
    }
}
