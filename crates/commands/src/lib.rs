//! What may happen: commands, their guards, and the events they become.
//!
//! Layer 2, pure and sync. Owns every rule on who may change what. Must not know where events are kept, how a request
//! came in, or what time it is: the moment, the ids and the limits are handed in. Nothing here writes; a command is
//! judged against one [`Policy`](charter_policy::Policy) and becomes events or a [`Refusal`].

pub mod catalog;
mod command;
mod context;
pub mod core_catalog;
pub mod credentials;
mod decide;
pub mod grants;
pub mod groups;
mod guard;
pub mod history;
mod holding;
pub mod installation;
mod last_administrator;
mod limits;
mod may;
pub mod objects;
pub mod operations;
mod refusal;
mod reserved;
pub mod roles;
mod several;
pub mod users;

pub use catalog::*;
pub use command::Command;
pub use context::{Context, Decided, Ids};
pub use credentials::*;
pub use decide::decide;
pub use grants::*;
pub use groups::*;
pub use guard::Guard;
#[cfg(feature = "mutants")]
pub use guard::Guards;
pub use history::*;
pub use installation::*;
pub use limits::Limits;
pub use objects::*;
pub use operations::*;
pub use refusal::{Class, Code, REFUSALS, Refusal};
pub use roles::*;
pub use several::{MADE_GROUP, SEVERAL_COMMANDS_MAX, Several};
pub use users::*;
