//! Who is asking. The acting subject is a field of every command and query, never ambient.

use crate::Policy;
use charter_events::{Actor, Namespace, Pattern, PermissionKey, UserId, UserKind};
use std::sync::Arc;

/// Who is asking.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Caller {
    /// A user, perhaps through a token whose mask is a ceiling on what he may ask and on what he holds.
    User {
        /// Who.
        id: UserId,
        /// The token's mask; none: no ceiling.
        ceiling: Option<Arc<[Pattern]>>,
    },
    /// A module on its own initiative: trusted like installed software, not permission-checked.
    Module(Namespace),
    /// The control plane itself, or whoever has the host: not permission-checked.
    System,
}

impl Caller {
    /// A user without a ceiling.
    pub const fn of(id: UserId) -> Self {
        Self::User { id, ceiling: None }
    }

    /// How the caller is recorded in an envelope.
    pub fn attribution(&self, policy: &Policy) -> Actor {
        match self {
            Self::User { id, .. } => match policy.user(*id).map(|user| user.kind) {
                Some(UserKind::Service) => Actor::Service(*id),
                Some(UserKind::Person) | None => Actor::User(*id),
            },
            Self::Module(namespace) => Actor::Module(namespace.clone()),
            Self::System => Actor::System,
        }
    }

    /// The user, when it is one.
    pub const fn user(&self) -> Option<UserId> {
        match self {
            Self::User { id, .. } => Some(*id),
            Self::Module(_) | Self::System => None,
        }
    }

    /// The ceiling, when there is one.
    pub fn ceiling(&self) -> Option<&[Pattern]> {
        match self {
            Self::User { ceiling, .. } => ceiling.as_deref(),
            Self::Module(_) | Self::System => None,
        }
    }

    /// Whether the ceiling leaves room for a key; without one there is room for all.
    pub fn reaches(&self, key: &PermissionKey) -> bool {
        self.ceiling().is_none_or(|masks| masks.iter().any(|mask| mask.matches(key)))
    }
}
