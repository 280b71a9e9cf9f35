//! What is known, area by area: hot arrays the walk reads, apart from cold facts that are only shown. Each
//! area owns its own indexes; the fold keeps them together. Must not know events.

pub(crate) mod catalog;
pub(crate) mod credentials;
pub(crate) mod grants;
pub(crate) mod keys;
pub(crate) mod objects;
pub(crate) mod roles;
pub(crate) mod users;
