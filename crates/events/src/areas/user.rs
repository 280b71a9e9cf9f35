//! Users and their lifecycle.

use super::payload;
use crate::{
    ids::UserId,
    people::{ProfileField, SealedProfile, UserKind},
    time::Timestamp,
};

payload! {
    /// A user was invited: grants may wait, but the account is inactive until accepted.
    UserInvited {
        /// The user.
        user: UserId,
        /// Person or service.
        kind: UserKind,
        /// The names known so far.
        profile: SealedProfile,
    }
}

payload! {
    /// A user's account became active: created directly, or an invitation accepted.
    UserRegistered {
        /// The user.
        user: UserId,
        /// Person or service.
        kind: UserKind,
        /// All names.
        profile: SealedProfile,
    }
}

payload! {
    /// A user's names, address or kind changed.
    UserProfileChanged {
        /// The user.
        user: UserId,
        /// Person or service, from now on.
        kind: UserKind,
        /// All names as they are now, changed or not.
        profile: SealedProfile,
        /// Which of them changed, sorted.
        changed: Vec<ProfileField>,
    }
}

payload! {
    /// A user's account stopped at once; nothing is lost.
    UserSuspended {
        /// The user.
        user: UserId,
    }
}

payload! {
    /// A suspended account works again.
    UserReactivated {
        /// The user.
        user: UserId,
    }
}

payload! {
    /// A user's account stopped and will be erased.
    UserDeletionScheduled {
        /// The user.
        user: UserId,
        /// When the account may be erased.
        erase_at: Timestamp,
    }
}

payload! {
    /// A scheduled deletion was called off; the account stands where it stood before.
    UserDeletionCancelled {
        /// The user.
        user: UserId,
    }
}

payload! {
    /// A user is gone for good, and the key of his personal data with him. Each grant, membership and token that ended
    /// stands beside it as an event of its own.
    UserErased {
        /// The user.
        user: UserId,
    }
}
