//! What two projections say of a grant: its terms, in the same columns.

use crate::{
    projection::Poison,
    rows::{
        Column,
        Kind::{Int, Text, Uuid},
        Value,
    },
    words::{self, missing},
};
use charter_events::{
    Content, Effect, GrantId, GrantIssued, PermissionKey, Reach, RoleId, Scope, Subject, Timestamp,
};
use charter_policy::{ContentView, Policy};
use std::collections::BTreeSet;

/// A grant, as an event or the state before it tells it.
#[derive(Debug, Clone)]
pub(crate) struct Terms {
    pub(crate) id: GrantId,
    pub(crate) subject: Subject,
    pub(crate) scope: Scope,
    pub(crate) effect: Effect,
    pub(crate) gives: Gives,
    pub(crate) not_before: Option<Timestamp>,
    pub(crate) expires_at: Option<Timestamp>,
    pub(crate) reach: Reach,
}

/// What a grant gives.
#[derive(Debug, Clone)]
pub(crate) enum Gives {
    Role(RoleId),
    Keys(BTreeSet<PermissionKey>),
}

impl Terms {
    pub(crate) fn issued(e: &GrantIssued) -> Self {
        Self {
            id: e.grant,
            subject: e.subject,
            scope: e.scope,
            effect: e.effect,
            gives: match &e.content {
                Content::Role(role) => Gives::Role(*role),
                Content::Keys(keys) => Gives::Keys(keys.iter().cloned().collect()),
            },
            not_before: e.not_before,
            expires_at: e.expires_at,
            reach: Reach { affects: e.affects, child_types: e.child_types },
        }
    }

    /// A grant that stands.
    pub(crate) fn standing(before: &Policy, id: GrantId) -> Result<Self, Poison> {
        let view = before.grant(id).ok_or_else(|| missing("grant", id))?;
        Ok(Self {
            id,
            subject: view.subject,
            scope: view.scope,
            effect: view.effect,
            gives: match view.content {
                ContentView::Role(role) => Gives::Role(role),
                ContentView::Keys(keys) => Gives::Keys(keys.into_iter().cloned().collect()),
            },
            not_before: view.not_before,
            expires_at: view.expires_at,
            reach: view.reach,
        })
    }

    /// The same, without these keys.
    pub(crate) fn without(mut self, lost: &[PermissionKey]) -> Self {
        if let Gives::Keys(keys) = &mut self.gives {
            keys.retain(|key| !lost.contains(key));
        }
        self
    }

    /// The values of [`TERMS`].
    pub(crate) fn values(&self) -> [Value; 5] {
        [
            Value::text(words::effect(self.effect)),
            Value::maybe(self.not_before, words::moment),
            Value::maybe(self.expires_at, words::moment),
            Value::text(words::affects(self.reach.affects)),
            Value::text(words::child_types(self.reach.child_types)),
        ]
    }
}

/// The columns of a grant's terms.
pub(crate) const TERMS: [Column; 5] = [
    Column::new("effect", Text, "`allow` or `deny`."),
    Column::maybe("not_before", Int, "It counts from this moment on; from the beginning when empty."),
    Column::maybe("expires_at", Int, "It counts until just before this moment; without end when empty."),
    Column::new(
        "affects",
        Text,
        "How far below its folder it reaches: `all`, `self_only`, `children_only`, `self_and_direct_children` or \
         `direct_children_only`.",
    ),
    Column::new("child_types", Text, "What below the folder it reaches: `all`, `objects` or `containers`."),
];

/// The column of a scope.
pub(crate) const SCOPE_ID: Column = Column::new(
    "scope_id",
    Uuid,
    "The object it is on; 00000000-0000-0000-0000-000000000000: the whole platform.",
);
/// The column of a role given.
pub(crate) const ROLE_ID: Column =
    Column::maybe("role_id", Uuid, "The role it gives; empty where it gives keys.");
/// The column of a subject's kind.
pub(crate) const SUBJECT_KIND: Column = Column::new("subject_kind", Text, "`user` or `group`.");
/// The column of a subject's id.
pub(crate) const SUBJECT_ID: Column = Column::new("subject_id", Uuid, "To whom: a user or a group.");
