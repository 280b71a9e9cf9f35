//! SCIM 2.0 (RFC 7643, RFC 7644): users and groups as an identity provider keeps them in step.
//!
//! Owns the form alone: what a resource looks like, filters, patches, faults. Everything is read from the same policy
//! and done by the same use cases and commands as on the native routes, with every guard, as the user whose token the
//! provider has. Persons only: services, and accounts that await deletion, are not there for a provider.

mod answer;
mod asked;
pub(crate) mod discovery;
mod facts;
mod fault;
mod filter;
mod group;
pub(crate) mod groups;
pub(crate) mod list;
mod members;
mod patch;
mod shown;
mod user;
pub(crate) mod users;
mod wish;

pub(crate) use fault::told;

/// The root of these routes.
const ROOT: &str = "/scim/v2";

/// Whether a path is one of these routes, or would be.
pub(crate) fn is_path(path: &str) -> bool {
    path.strip_prefix(ROOT).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// An entity tag of these routes as `If-Match` is held to it: the version of the account or group itself. Any other
/// text stays as it is.
pub(crate) fn version_of(tag: &str) -> String {
    answer::comparable(tag)
}
