//! Creates an object or a folder; the caller becomes its owner.
//!
//! Refused: `unknown_object_type`; `forbidden` without the type's create key on the parent, or globally at the top;
//! `not_found` for a parent that is not there or may not be known; `not_a_folder`; `limit_exceeded`; `not_held` for
//! an external id without the create key held globally; `reserved_name`; `name_taken`.

use super::{owner_grant, require_depth, require_external_id, require_may_create_in};
use crate::{
    Context, Decided,
    command::Decide,
    refusal::{Code, Refusal},
};
use charter_events::{DisplayName, Event, ExternalId, ObjectCreated, ObjectId, ObjectType};
use charter_policy::Policy;

/// Creates an object or a folder; the caller becomes its owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreateObject {
    /// Its type.
    pub object_type: ObjectType,
    /// Its id in somebody else's system; its own id when absent.
    pub external_id: Option<ExternalId>,
    /// How it is shown.
    pub name: DisplayName,
    /// The folder it lies in; none at the top.
    pub parent: Option<ObjectId>,
}

impl Decide for CreateObject {
    fn decide(&self, policy: &Policy, ctx: &mut Context<'_>) -> Result<Decided, Refusal> {
        let known = policy.object_type(self.object_type.as_str()).ok_or_else(|| {
            let detail = format!("object type `{}` is not in the catalog", self.object_type);
            Refusal::of(Code::UnknownObjectType, "object_type", detail)
        })?;
        require_may_create_in(policy, ctx, known.definition, self.parent)?;
        require_depth(policy, ctx, self.parent, 1)?;
        if self.external_id.is_some() {
            require_external_id(policy, ctx, &known, self.external_id.as_ref())?;
        }
        let object = ObjectId::new(ctx.ids.next());
        let owner = ctx.caller.user();
        let created = ObjectCreated {
            object,
            object_type: self.object_type.clone(),
            external_id: self.external_id.clone(),
            name: self.name.clone(),
            parent: self.parent,
            owner,
            inherits: true,
        };
        let mut events: Vec<Event> = vec![created.into()];
        if let Some(owner) = owner {
            events.push(owner_grant(policy, ctx, object, owner)?.into());
        }
        Ok(Decided::created(object.as_uuid(), events))
    }
}
