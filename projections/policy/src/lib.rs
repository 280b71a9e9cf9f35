//! The state of an installation, folded from its events, and the questions asked of it.
//!
//! [`Policy`] is *the* state: the writer decides against it, every reader answers from it, replay folds it to any past
//! offset. It is persistent (copy on write): a clone costs next to nothing and never sees later events. Inside, every
//! user, group, role, object, key, type and grant has a dense index that is never used again; ids are looked up once
//! per question.
//!
//! Pure and synchronous. Must not know where events come from, how commands are decided, or how answers travel.

mod access_control;
mod administrators;
mod allowed;
mod ancestry;
mod answers;
mod caller;
mod check;
mod diff;
mod digest;
mod entries;
mod error;
mod facts;
mod fold;
mod holding;
mod intern;
mod ix;
mod pages;
mod policy;
mod snapshot;
mod sorted;
mod state;
mod views;
mod walk;
mod who_can;

pub use access_control::{AccessControl, AccessError, At};
pub use answers::{
    AllowedObjects, Because, Decision, EffectiveEntry, EffectiveState, Holder, LACKING_ITEMS_MAX, Lacking,
    Page, Position, Span, SubjectKind, Verdict, WhoCan,
};
pub use caller::Caller;
pub use diff::{Diff, DiffBound, DiffBounds, DiffChange, DiffFilter, DiffPlace, DiffRow};
pub use error::{FoldError, SnapshotError};
pub use policy::Policy;
pub use views::{
    ContentView, GrantView, GroupView, ObjectTypeView, ObjectView, PermissionView, RoleView, TokenView,
    UserStatus, UserView,
};
