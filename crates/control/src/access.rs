//! The port use cases ask through, as they see it from async code. It answers from the published policy; there is no
//! second evaluation anywhere.

use crate::control::Control;
use async_trait::async_trait;
use charter_events::{PermissionKey, Scope};
use charter_policy::{
    AccessControl as _, AccessError, AllowedObjects, Caller, Decision, EffectiveEntry, Page,
};

/// May they? Each method answers at one policy version.
#[async_trait]
pub trait AccessControl: Send + Sync {
    /// One decision.
    async fn is_allowed(
        &self,
        actor: &Caller,
        permission: &PermissionKey,
        scope: Scope,
    ) -> Result<Decision, AccessError>;

    /// The same permission at many scopes, at one version.
    async fn is_allowed_batch(
        &self,
        actor: &Caller,
        permission: &PermissionKey,
        scopes: &[Scope],
    ) -> Result<Vec<Decision>, AccessError>;

    /// Everything the actor can do at a scope, with the grants behind each entry.
    async fn effective(&self, actor: &Caller, scope: Scope) -> Result<Vec<EffectiveEntry>, AccessError>;

    /// The objects of a type the actor holds a permission on, paged.
    async fn allowed_objects(
        &self,
        actor: &Caller,
        permission: &PermissionKey,
        object_type: &str,
        page: Page,
    ) -> Result<AllowedObjects, AccessError>;

    /// Refuses instead of returning false, so that a forgotten `else` can't let anyone in.
    async fn require(
        &self,
        actor: &Caller,
        permission: &PermissionKey,
        scope: Scope,
    ) -> Result<(), AccessError>;
}

#[async_trait]
impl AccessControl for Control {
    async fn is_allowed(
        &self,
        actor: &Caller,
        permission: &PermissionKey,
        scope: Scope,
    ) -> Result<Decision, AccessError> {
        self.policy().at(self.now()).is_allowed(actor, permission, scope)
    }

    async fn is_allowed_batch(
        &self,
        actor: &Caller,
        permission: &PermissionKey,
        scopes: &[Scope],
    ) -> Result<Vec<Decision>, AccessError> {
        self.policy().at(self.now()).is_allowed_batch(actor, permission, scopes)
    }

    async fn effective(&self, actor: &Caller, scope: Scope) -> Result<Vec<EffectiveEntry>, AccessError> {
        self.policy().at(self.now()).effective(actor, scope)
    }

    async fn allowed_objects(
        &self,
        actor: &Caller,
        permission: &PermissionKey,
        object_type: &str,
        page: Page,
    ) -> Result<AllowedObjects, AccessError> {
        self.policy().at(self.now()).allowed_objects(actor, permission, object_type, page)
    }

    async fn require(
        &self,
        actor: &Caller,
        permission: &PermissionKey,
        scope: Scope,
    ) -> Result<(), AccessError> {
        self.policy().at(self.now()).require(actor, permission, scope)
    }
}
