//! Dense indexes: what the inside of a policy calls things by. Given in order of creation and never used again, so a
//! deleted thing leaves a tombstone and every position handed out stays valid for the life of a log.

macro_rules! dense {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        #[derive(serde::Serialize, serde::Deserialize)]
        pub(crate) struct $name(pub(crate) u32);

        impl $name {
            /// The index into an array.
            pub(crate) const fn at(self) -> usize {
                self.0 as usize
            }
        }
    )+};
}

/// Kinds of which there may be none, without a word more.
macro_rules! optional {
    ($($name:ident),+) => {$(
        impl $name {
            /// No such thing.
            pub(crate) const NONE: Self = Self(u32::MAX);

            /// `None` for [`Self::NONE`].
            pub(crate) const fn some(self) -> Option<Self> {
                if self.0 == u32::MAX { None } else { Some(self) }
            }
        }
    )+};
}

dense! {
    /// A user.
    UserIx,
    /// A group.
    GroupIx,
    /// A role.
    RoleIx,
    /// An object.
    ObjectIx,
    /// A permission key, registered or not.
    KeyIx,
    /// A set of keys that some grant gives.
    KeySetIx,
    /// An object type.
    TypeIx,
    /// A grant.
    GrantIx,
    /// Somebody who is recorded as having acted.
    ActorIx,
}

optional!(UserIx, ObjectIx, GrantIx);

const GROUP: u32 = 1 << 31;

/// A user or a group in one word. Users order before groups, as the walk asks for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct SubjectIx(pub(crate) u32);

/// A subject taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Who {
    User(UserIx),
    Group(GroupIx),
}

impl SubjectIx {
    pub(crate) const fn user(user: UserIx) -> Self {
        Self(user.0)
    }

    pub(crate) const fn group(group: GroupIx) -> Self {
        Self(group.0 | GROUP)
    }

    pub(crate) const fn is_group(self) -> bool {
        self.0 & GROUP != 0
    }

    pub(crate) const fn who(self) -> Who {
        if self.is_group() { Who::Group(GroupIx(self.0 & !GROUP)) } else { Who::User(UserIx(self.0)) }
    }
}

const KIND_SHIFT: u32 = 30;
const INDEX: u32 = (1 << KIND_SHIFT) - 1;

/// What a grant gives, in one word: a role, one key, or an interned set of keys.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, serde::Serialize, serde::Deserialize,
)]
pub(crate) struct ContentIx(pub(crate) u32);

/// A content taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    Role(RoleIx),
    Key(KeyIx),
    Keys(KeySetIx),
}

impl ContentIx {
    pub(crate) const fn new(what: What) -> Self {
        match what {
            What::Role(role) => Self(role.0 & INDEX),
            What::Key(key) => Self((key.0 & INDEX) | 1 << KIND_SHIFT),
            What::Keys(set) => Self((set.0 & INDEX) | 2 << KIND_SHIFT),
        }
    }

    pub(crate) const fn what(self) -> What {
        let index = self.0 & INDEX;
        match self.0 >> KIND_SHIFT {
            0 => What::Role(RoleIx(index)),
            1 => What::Key(KeyIx(index)),
            _ => What::Keys(KeySetIx(index)),
        }
    }
}

/// The most things of one kind: what fits beside the tags above.
pub(crate) const THINGS_MAX: usize = 1 << KIND_SHIFT;
