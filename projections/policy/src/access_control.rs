//! The port through which use cases ask, and its implementation by a policy at a moment.

use crate::{AllowedObjects, Because, Caller, Decision, EffectiveEntry, Page, Policy, Verdict};
use charter_events::{PermissionKey, Scope, Timestamp, UserId};
use smallvec::SmallVec;

/// Why access is refused or can't be asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AccessError {
    /// The key is not in the catalog.
    #[error("permission `{0}` is not in the catalog")]
    UnknownPermission(PermissionKey),
    /// The walk says no.
    #[error("permission `{permission}` is needed")]
    Forbidden {
        /// What was needed.
        permission: PermissionKey,
        /// The walk.
        decision: Box<Decision>,
    },
    /// The token's mask does not match the key, whatever its user may.
    #[error("the token does not reach permission `{permission}`")]
    TokenTooNarrow {
        /// What was needed.
        permission: PermissionKey,
    },
    /// Whoever answers can't be sure of the state that counts now; a policy at a moment never says so.
    #[error("no decision: {0}")]
    Unavailable(String),
}

impl AccessError {
    /// The code clients see.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::UnknownPermission(_) => "unknown_permission",
            Self::Forbidden { .. } => "forbidden",
            Self::TokenTooNarrow { .. } => "token_too_narrow",
            Self::Unavailable(_) => "unavailable",
        }
    }
}

/// The questions a use case asks about its actor. Systems and modules are not permission-checked: the answer to them
/// is an administrator's, without grants.
pub trait AccessControl {
    /// One decision.
    ///
    /// # Errors
    /// [`AccessError::UnknownPermission`], [`AccessError::TokenTooNarrow`].
    fn is_allowed(
        &self,
        actor: &Caller,
        permission: &PermissionKey,
        scope: Scope,
    ) -> Result<Decision, AccessError>;

    /// One decision for each scope, all at one policy version.
    ///
    /// # Errors
    /// [`AccessError::UnknownPermission`], [`AccessError::TokenTooNarrow`].
    fn is_allowed_batch(
        &self,
        actor: &Caller,
        permission: &PermissionKey,
        scopes: &[Scope],
    ) -> Result<Vec<Decision>, AccessError>;

    /// Each catalog key as it stands for the actor at a scope, in byte order.
    ///
    /// # Errors
    /// None today.
    fn effective(&self, actor: &Caller, scope: Scope) -> Result<Vec<EffectiveEntry>, AccessError>;

    /// The objects of a type the actor may do something on.
    ///
    /// # Errors
    /// [`AccessError::UnknownPermission`], [`AccessError::TokenTooNarrow`].
    fn allowed_objects(
        &self,
        actor: &Caller,
        permission: &PermissionKey,
        of: &str,
        page: Page,
    ) -> Result<AllowedObjects, AccessError>;

    /// Refuses instead of answering no, so that a forgotten `else` can't leak access.
    ///
    /// # Errors
    /// Any [`AccessError`].
    fn require(&self, actor: &Caller, permission: &PermissionKey, scope: Scope) -> Result<(), AccessError>;
}

/// A policy at a moment.
#[derive(Debug, Clone, Copy)]
pub struct At<'a> {
    policy: &'a Policy,
    now: Timestamp,
}

impl Policy {
    /// The policy at a moment: what use cases ask.
    pub const fn at(&self, now: Timestamp) -> At<'_> {
        At { policy: self, now }
    }
}

impl<'a> At<'a> {
    /// The policy.
    pub const fn policy(&self) -> &'a Policy {
        self.policy
    }

    /// The moment.
    pub const fn now(&self) -> Timestamp {
        self.now
    }

    /// Whom to walk for: `None` when the caller is not permission-checked.
    fn asked(&self, actor: &Caller, permission: &PermissionKey) -> Result<Option<UserId>, AccessError> {
        if self.policy.permission(permission.as_str()).is_none() {
            return Err(AccessError::UnknownPermission(permission.clone()));
        }
        if !actor.reaches(permission) {
            return Err(AccessError::TokenTooNarrow { permission: permission.clone() });
        }
        Ok(actor.user())
    }

    fn trusted(&self) -> Decision {
        Decision {
            verdict: Verdict::Allow,
            because: Because::Administrator,
            scope: None,
            subject: None,
            grants: SmallVec::new(),
            version: self.policy.version(),
            at: self.now,
        }
    }
}

impl AccessControl for At<'_> {
    fn is_allowed(
        &self,
        actor: &Caller,
        permission: &PermissionKey,
        scope: Scope,
    ) -> Result<Decision, AccessError> {
        Ok(match self.asked(actor, permission)? {
            Some(user) => self.policy.check(user, permission, scope, self.now),
            None => self.trusted(),
        })
    }

    fn is_allowed_batch(
        &self,
        actor: &Caller,
        permission: &PermissionKey,
        scopes: &[Scope],
    ) -> Result<Vec<Decision>, AccessError> {
        let Some(user) = self.asked(actor, permission)? else {
            return Ok(scopes.iter().map(|_| self.trusted()).collect());
        };
        let questions: Vec<_> = scopes.iter().map(|scope| (permission.clone(), *scope)).collect();
        Ok(self.policy.check_batch(user, &questions, self.now))
    }

    fn effective(&self, actor: &Caller, scope: Scope) -> Result<Vec<EffectiveEntry>, AccessError> {
        let Some(user) = actor.user() else {
            return Ok(self.policy.effective_as(self.now, || self.trusted()));
        };
        let entries = self.policy.effective(user, scope, self.now);
        Ok(entries.into_iter().map(|entry| entry.as_called(actor)).collect())
    }

    fn allowed_objects(
        &self,
        actor: &Caller,
        permission: &PermissionKey,
        of: &str,
        page: Page,
    ) -> Result<AllowedObjects, AccessError> {
        Ok(match self.asked(actor, permission)? {
            Some(user) => self.policy.allowed_objects(user, permission, of, self.now, page),
            None => self.policy.all_objects(of, page),
        })
    }

    fn require(&self, actor: &Caller, permission: &PermissionKey, scope: Scope) -> Result<(), AccessError> {
        let decision = self.is_allowed(actor, permission, scope)?;
        if decision.allowed() {
            return Ok(());
        }
        Err(AccessError::Forbidden { permission: permission.clone(), decision: Box::new(decision) })
    }
}
