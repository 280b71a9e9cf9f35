//! Identifiers: one newtype over a UUID for each kind of thing, so that two kinds can't be mixed up.
//!
//! Ids are UUIDv7, given by the server. This module never makes one up: an id comes from a generator handed in
//! from outside, or from text.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(transparent)]
        pub struct $name(Uuid);

        impl $name {
            /// The id with these bits.
            pub const fn new(id: Uuid) -> Self {
                Self(id)
            }

            /// The bits of the id.
            pub const fn as_uuid(self) -> Uuid {
                self.0
            }

            /// The id with this number as its bits: for tests and examples.
            pub const fn from_u128(number: u128) -> Self {
                Self(Uuid::from_u128(number))
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }

        impl std::str::FromStr for $name {
            type Err = uuid::Error;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Uuid::try_parse(text).map(Self)
            }
        }

        impl From<Uuid> for $name {
            fn from(id: Uuid) -> Self {
                Self(id)
            }
        }
    )+};
}

ids! {
    /// A log, and thereby an installation.
    LogId,
    /// One event.
    EventId,
    /// One command, and thereby the events it became.
    CommandId,
    /// A user: a person or a service.
    UserId,
    /// A group of users.
    GroupId,
    /// A role.
    RoleId,
    /// A grant.
    GrantId,
    /// An object, folders included.
    ObjectId,
    /// An API token (not its secret).
    TokenId,
    /// A session (not its secret).
    SessionId,
}
