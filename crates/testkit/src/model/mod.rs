//! The naive model: the decision model of the design, restated on plain lists in the simplest words there are.
//!
//! It is slow on purpose and shares nothing with the real fold but the events' value types: not even how a pattern
//! covers a key or how far a grant reaches. Where the two disagree, one of them is wrong.

mod diff;
mod fold;
mod holding;
mod mutation;
mod sheet;
mod walk;

pub use diff::Difference;
pub use holding::Lack;
pub use mutation::Mutation;
pub use sheet::{Columns, Keys, Sheet};
pub use walk::{Answer, Because, Place, State};

use charter_events::{
    Affects, ChildTypes, Content, Effect, GrantId, GroupId, ObjectId, ObjectType, Pattern, PermissionKey,
    RoleId, Scope, Subject, Timestamp, UserId,
};

/// A user, as far as decisions ask.
#[derive(Debug, Clone)]
pub struct User {
    /// Its id.
    pub id: UserId,
    /// Neither invited, suspended, awaiting deletion nor erased.
    pub active: bool,
    /// While awaiting deletion: whether he was active before, and is again when that is called off.
    pub active_before_deletion: bool,
}

/// A group.
#[derive(Debug, Clone)]
pub struct Group {
    /// Its id.
    pub id: GroupId,
    /// Who is in it.
    pub members: Vec<UserId>,
}

/// A role.
#[derive(Debug, Clone)]
pub struct Role {
    /// Its id.
    pub id: RoleId,
    /// What it holds.
    pub permissions: Vec<Pattern>,
}

/// An object.
#[derive(Debug, Clone)]
pub struct Object {
    /// Its id.
    pub id: ObjectId,
    /// Its type.
    pub object_type: ObjectType,
    /// The folder it lies in.
    pub parent: Option<ObjectId>,
    /// Whether what stands above counts.
    pub inherits: bool,
    /// Who owns it.
    pub owner: Option<UserId>,
}

/// A grant that stands: neither revoked nor ended.
#[derive(Debug, Clone)]
pub struct Grant {
    /// Its id.
    pub id: GrantId,
    /// To whom.
    pub subject: Subject,
    /// What.
    pub content: Content,
    /// Where.
    pub scope: Scope,
    /// Allow or deny.
    pub effect: Effect,
    /// Live from here on.
    pub not_before: Option<Timestamp>,
    /// Live until just before.
    pub expires_at: Option<Timestamp>,
    /// How far down.
    pub affects: Affects,
    /// Which kinds below.
    pub child_types: ChildTypes,
}

/// The whole state, as lists.
#[derive(Debug, Clone, Default)]
pub struct World {
    /// The catalog.
    pub keys: Vec<PermissionKey>,
    /// All users there ever were.
    pub users: Vec<User>,
    /// All groups.
    pub groups: Vec<Group>,
    /// All roles.
    pub roles: Vec<Role>,
    /// All objects.
    pub objects: Vec<Object>,
    /// All standing grants.
    pub grants: Vec<Grant>,
    /// Which rule is broken on purpose, if any.
    pub mutation: Option<Mutation>,
}

impl World {
    /// The world after these events.
    pub fn of<'a>(events: impl IntoIterator<Item = &'a charter_events::Event>) -> Self {
        Self::broken(None, events)
    }

    /// The same with one rule broken.
    pub fn broken<'a>(
        mutation: Option<Mutation>,
        events: impl IntoIterator<Item = &'a charter_events::Event>,
    ) -> Self {
        let mut world = Self { mutation, ..Self::default() };
        for event in events {
            world.apply(event);
        }
        world
    }

    pub(crate) fn breaks(&self, mutation: Mutation) -> bool {
        self.mutation == Some(mutation)
    }
}
