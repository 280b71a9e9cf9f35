//! What happened: ids, value types, and one registry of event types, their versions and upcasting.
//!
//! Layer 0. Owns every shape that is serialised for ever. Must not know how events come about, where they are kept,
//! or what follows from them: no async, no I/O, no clock, no randomness.

pub mod access;
pub mod areas;
pub mod envelope;
pub mod identity;
pub mod ids;
pub mod json;
pub mod key;
pub mod names;
pub mod people;
pub mod registry;
mod text;
pub mod time;

pub use access::{Affects, ChildTypes, Content, Effect, Reach, RoleScope, Scope, Subject};
pub use areas::{
    catalog::*, credential::*, grant::*, group::*, installation::*, object::*, operations::*, role::*,
    user::*,
};
pub use envelope::{CommandMeta, EventMeta, Hash, Head, Offset, StoredEvent};
pub use identity::{Identity, InvalidIssuer, InvalidSubject, IssuedSubject, Issuer};
pub use ids::*;
pub use json::EventJson;
pub use key::{Pattern, PatternKind, PermissionKey};
pub use names::{ActionAlias, DisplayName, ExternalId, InvalidName, Namespace, ObjectType, Slug};
pub use people::{Actor, NameTag, Profile, ProfileField, Sealed, SealedProfile, UserKind, Via};
pub use registry::{DecodeError, EVENT_TYPES, Event, EventType};
pub use time::Timestamp;
