//! The one registry of event types. One line here makes an event exist: the enum, its type name, its version, its
//! decoder and its schema all come from that line, and every `match` on [`Event`] that lacks it stops compiling.
//!
//! A released version is frozen: it gains at most an optional member. Anything else is the next version, with the
//! old struct kept under `old` and a `From` to the next; reading upcasts.

use crate::areas::{
    catalog::*, credential::*, grant::*, group::*, installation::*, object::*, operations::*, role::*,
    user::*,
};

/// The largest payload, in bytes.
pub const PAYLOAD_BYTES_MAX: usize = 256 * 1024;

/// A payload that can't be read. Readers stop at it; none is ever skipped.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    /// The type is not in this build's registry.
    #[error("event type `{0}` is not known to this version")]
    UnknownType(String),
    /// The type is known, this version of it is not.
    #[error("version {schema} of event type `{type_name}` is not known to this version")]
    UnknownSchema {
        /// The event's type.
        type_name: String,
        /// The version asked for.
        schema: u16,
    },
    /// The payload is not what the version says.
    #[error("the payload of a `{type_name}` can't be read")]
    Payload {
        /// The event's type.
        type_name: &'static str,
        /// What is wrong with it.
        #[source]
        source: serde_json::Error,
    },
}

/// One event type as the registry lists it.
#[derive(Debug, Clone, Copy)]
pub struct EventType {
    /// `<area>.<past tense>`.
    pub name: &'static str,
    /// The version written today.
    pub schema: u16,
    /// Versions of the past, which are read as today's.
    pub upcast: &'static [u16],
    /// The name of the payload's struct, for documents.
    pub payload: &'static str,
}

macro_rules! registry {
    ($( $name:literal v $version:literal $variant:ident $(, upcast { $($old:literal => $old_type:ty),+ })? ;)+) => {
        /// Everything that can happen.
        #[derive(Debug, Clone, PartialEq, Eq)]
        #[expect(missing_docs, reason = "each variant is documented at its payload")]
        pub enum Event { $($variant($variant)),+ }

        /// Every event type, in the order of the registry.
        pub const EVENT_TYPES: &[EventType] = &[
            $(EventType {
                name: $name,
                schema: $version,
                upcast: &[$($($old),+)?],
                payload: stringify!($variant),
            }),+
        ];

        impl Event {
            /// The type's name, such as `grant.issued`.
            pub const fn type_name(&self) -> &'static str {
                match self { $(Self::$variant(_) => $name),+ }
            }

            /// The version this build writes.
            pub const fn schema(&self) -> u16 {
                match self { $(Self::$variant(_) => $version),+ }
            }

            /// The payload as JSON bytes: what is stored, hashed and published.
            ///
            /// # Errors
            /// Only what `serde_json` reports; no payload here can cause it.
            pub fn encode(&self) -> Result<Vec<u8>, serde_json::Error> {
                match self { $(Self::$variant(payload) => serde_json::to_vec(payload)),+ }
            }

            /// Reads a payload of any version ever released, as the current version.
            ///
            /// # Errors
            /// [`DecodeError`] when the type, its version or the payload is not known.
            pub fn decode(type_name: &str, schema: u16, payload: &[u8]) -> Result<Self, DecodeError> {
                match type_name {
                    $($name => match schema {
                        $version => serde_json::from_slice::<$variant>(payload).map(Self::$variant),
                        $($($old => serde_json::from_slice::<$old_type>(payload)
                            .map(|old| Self::$variant(old.into())),)+)?
                        _ => return Err(DecodeError::UnknownSchema { type_name: type_name.to_owned(), schema }),
                    }
                    .map_err(|source| DecodeError::Payload { type_name: $name, source }),)+
                    _ => Err(DecodeError::UnknownType(type_name.chars().take(128).collect())),
                }
            }
        }

        $(impl From<$variant> for Event {
            fn from(payload: $variant) -> Self {
                Self::$variant(payload)
            }
        })+

        /// The JSON Schema of every version of every payload: type name, version, schema.
        #[cfg(feature = "schema")]
        pub fn schemas() -> Vec<(&'static str, u16, schemars::Schema)> {
            vec![
                $($($(($name, $old, schemars::schema_for!($old_type)),)+)?
                ($name, $version, schemars::schema_for!($variant)),)+
            ]
        }
    };
}

registry! {
    "installation.created" v 1 InstallationCreated;
    "catalog.permissions_registered" v 1 PermissionsRegistered;
    "catalog.permissions_deprecated" v 1 PermissionsDeprecated;
    "catalog.permissions_removed" v 1 PermissionsRemoved;
    "catalog.object_types_registered" v 1 ObjectTypesRegistered;
    "catalog.object_types_removed" v 1 ObjectTypesRemoved;
    "role.created" v 1 RoleCreated;
    "role.renamed" v 1 RoleRenamed;
    "role.permissions_changed" v 1 RolePermissionsChanged;
    "role.deleted" v 1 RoleDeleted;
    "group.created" v 1 GroupCreated;
    "group.renamed" v 1 GroupRenamed;
    "group.external_id_changed" v 1 GroupExternalIdChanged;
    "group.member_added" v 1 GroupMemberAdded;
    "group.member_removed" v 1 GroupMemberRemoved;
    "group.deleted" v 1 GroupDeleted;
    "grant.issued" v 1 GrantIssued;
    "grant.revoked" v 1 GrantRevoked;
    "grant.ended" v 1 GrantEnded;
    "grant.expired" v 1 GrantExpired;
    "grant.keys_removed" v 1 GrantKeysRemoved;
    "object.created" v 1 ObjectCreated;
    "object.renamed" v 1 ObjectRenamed;
    "object.moved" v 1 ObjectMoved;
    "object.transferred" v 1 ObjectTransferred;
    "object.inheritance_changed" v 1 ObjectInheritanceChanged;
    "object.deleted" v 1 ObjectDeleted;
    "user.invited" v 1 UserInvited;
    "user.registered" v 1 UserRegistered;
    "user.profile_changed" v 1 UserProfileChanged;
    "user.suspended" v 1 UserSuspended;
    "user.reactivated" v 1 UserReactivated;
    "user.deletion_scheduled" v 1 UserDeletionScheduled;
    "user.deletion_cancelled" v 1 UserDeletionCancelled;
    "user.erased" v 1 UserErased;
    "credential.password_changed" v 1 CredentialPasswordChanged;
    "credential.token_issued" v 1 CredentialTokenIssued;
    "credential.token_revoked" v 1 CredentialTokenRevoked;
    "credential.session_ended" v 1 CredentialSessionEnded;
    "credential.sessions_ended" v 1 CredentialSessionsEnded;
    "operations.projection_rebuilt" v 1 ProjectionRebuilt;
    "operations.projection_skipped" v 1 ProjectionSkipped;
    "operations.backup_taken" v 1 BackupTaken;
    "operations.backup_restored" v 1 BackupRestored;
}

#[cfg(test)]
pub mod upcasting;
