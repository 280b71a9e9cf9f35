//! The payloads, one file an area. Every payload refuses unknown members: a reader that does not know a member must
//! stop, because a skipped revocation grants access.

pub mod catalog;
pub mod credential;
pub mod grant;
pub mod group;
pub mod installation;
pub mod object;
pub mod operations;
pub mod role;
pub mod user;

/// A payload: the derives every one of them has.
macro_rules! payload {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_attr:meta])* $field:ident: $type:ty),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(deny_unknown_fields)]
        pub struct $name { $($(#[$field_attr])* pub $field: $type),* }
    };
}
pub(crate) use payload;

pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
