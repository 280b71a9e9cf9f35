//! Objects: anything a grant can be scoped to. A folder is an object of core type `folder`.

use super::payload;
use crate::{
    ids::{ObjectId, UserId},
    names::{DisplayName, ExternalId, ObjectType},
};

payload! {
    /// An object was created. Its owner's grant stands beside it.
    ObjectCreated {
        /// Its id.
        object: ObjectId,
        /// Its type.
        object_type: ObjectType,
        /// Its id in somebody else's system, unique within its type; the id itself when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        external_id: Option<ExternalId>,
        /// How it is shown.
        name: DisplayName,
        /// The folder it lies in; none at the top.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent: Option<ObjectId>,
        /// Who owns it; nobody only where facts were imported.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        owner: Option<UserId>,
        /// Whether what stands above counts for it.
        inherits: bool,
    }
}

payload! {
    /// An object is shown, or known elsewhere, under another name.
    ObjectRenamed {
        /// The object.
        object: ObjectId,
        /// How it is shown now.
        name: DisplayName,
        /// Its id in somebody else's system now; the id itself when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        external_id: Option<ExternalId>,
    }
}

payload! {
    /// An object lies in another folder.
    ObjectMoved {
        /// The object.
        object: ObjectId,
        /// The folder it lies in now; none at the top.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent: Option<ObjectId>,
    }
}

payload! {
    /// An object has another owner. The old owner grant ended and the new one began beside it.
    ObjectTransferred {
        /// The object.
        object: ObjectId,
        /// Who owns it now.
        owner: UserId,
    }
}

payload! {
    /// Whether what stands above counts for an object changed.
    ObjectInheritanceChanged {
        /// The object.
        object: ObjectId,
        /// Whether it counts now.
        inherits: bool,
    }
}

payload! {
    /// An object is gone. Its grants ended beside it, each as an event of its own.
    ObjectDeleted {
        /// The object.
        object: ObjectId,
    }
}
