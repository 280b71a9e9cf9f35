//! Shows an object, or knows it elsewhere, under another name.
//!
//! Refused: `forbidden` without the type's manage key; `not_found`; `stale`; `not_held` for an external id without
//! the create key held globally; `reserved_name`; `name_taken`.

use super::require_external_id;
use crate::{
    Context, Decided,
    command::Decide,
    may::{object_to_manage, require_unchanged},
    refusal::Refusal,
};
use charter_events::{DisplayName, ExternalId, ObjectId, ObjectRenamed};
use charter_policy::Policy;

/// Shows an object, or knows it elsewhere, under another name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenameObject {
    /// The object.
    pub object: ObjectId,
    /// How it is shown from now on.
    pub name: Option<DisplayName>,
    /// Its external id from now on; `Some(None)` takes it away.
    pub external_id: Option<Option<ExternalId>>,
}

impl Decide for RenameObject {
    fn decide(&self, policy: &Policy, ctx: &mut Context<'_>) -> Result<Decided, Refusal> {
        let object = object_to_manage(policy, ctx, self.object)?;
        require_unchanged(ctx, object.changed_at)?;
        let external_id = match &self.external_id {
            // Its own id is what an object without an external id is known by.
            Some(Some(own)) if own.as_str() == object.id.to_string() => None,
            Some(wanted) => wanted.clone(),
            None => object.external_id.cloned(),
        };
        if external_id.as_ref() != object.external_id {
            let known = policy
                .object_type(object.object_type.as_str())
                .ok_or_else(|| Refusal::not_found("object"))?;
            require_external_id(policy, ctx, &known, external_id.as_ref())?;
        }
        let name = self.name.clone().unwrap_or_else(|| object.name.clone());
        if name == *object.name && external_id.as_ref() == object.external_id {
            return Ok(Decided::nothing());
        }
        Ok(Decided::one(ObjectRenamed { object: object.id, name, external_id }))
    }
}
