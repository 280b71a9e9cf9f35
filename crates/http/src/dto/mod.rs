//! What goes over the wire: one struct for each request and response body, written and read by server and client
//! alike. Shapes only: nothing here knows where the data comes from.
//!
//! Requests refuse unknown members. Responses may gain members, so readers must ignore what they don't know.

mod access;
mod audit;
mod catalog;
mod changes;
mod common;
mod grants;
mod groups;
mod invitations;
mod objects;
mod oidc;
mod projections;
mod questions;
mod roles;
mod schema;
mod scim;
mod servers;
mod session;
mod undo;
mod users;

pub use access::*;
pub use audit::*;
pub use catalog::*;
pub use changes::*;
pub use common::*;
pub use grants::*;
pub use groups::*;
pub use invitations::*;
pub use objects::*;
pub use oidc::*;
pub use projections::*;
pub use questions::*;
pub use roles::*;
pub use schema::*;
pub use scim::*;
pub use servers::*;
pub use session::*;
pub use undo::*;
pub use users::*;
