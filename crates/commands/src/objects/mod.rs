//! Objects and folders. One file a command.

mod create;
mod crossing;
mod delete;
mod relocate;
mod rename;
mod set_inheritance;
mod transfer;

pub use create::CreateObject;
pub use delete::DeleteObject;
pub use relocate::MoveObject;
pub use rename::RenameObject;
pub use set_inheritance::SetInheritance;
pub use transfer::TransferObject;

use crate::{
    Context, Guard,
    holding::require_held,
    may::{require, require_on_object},
    refusal::{Code, Refusal},
    reserved::require_not_an_id,
};
use charter_events::{
    Affects, ChildTypes, Content, Effect, ExternalId, GrantId, GrantIssued, ObjectId, ObjectTypeDefinition,
    Pattern, Reach, Scope, SeededRole, Subject, UserId,
};
use charter_policy::{Caller, ObjectTypeView, Policy, Span};

/// Requires that an object of a type may be created in a folder the caller may know, or at the top.
fn require_may_create_in(
    policy: &Policy,
    ctx: &Context<'_>,
    definition: &ObjectTypeDefinition,
    parent: Option<ObjectId>,
) -> Result<(), Refusal> {
    let Some(parent) = parent else {
        return require(policy, ctx, &definition.create, Scope::Global);
    };
    let folder = policy.object(parent).ok_or_else(|| Refusal::not_found("parent"))?;
    require_on_object(policy, ctx, "parent", &folder, &definition.create)?;
    if !folder.is_folder {
        return Err(Refusal::of(Code::NotAFolder, "parent", "only a folder contains objects"));
    }
    Ok(())
}

/// Requires room below a folder for something so many levels high; an object by itself is one level.
fn require_depth(
    policy: &Policy,
    ctx: &Context<'_>,
    parent: Option<ObjectId>,
    levels: usize,
) -> Result<(), Refusal> {
    ctx.guard(Guard::Depth, || {
        let above = parent.map_or(0, |folder| policy.ancestors(folder).count() + 1);
        let maximum = ctx.limits.folder_depth_levels;
        if above.saturating_add(levels) > maximum {
            return Err(Refusal::limit("parent", "levels of folders", maximum));
        }
        Ok(())
    })
}

/// Requires that an external id may be given: gateways trust these names, so only who may create such objects
/// anywhere, or the type's own module, gives them; and that it is free.
fn require_external_id(
    policy: &Policy,
    ctx: &Context<'_>,
    known: &ObjectTypeView<'_>,
    external_id: Option<&ExternalId>,
) -> Result<(), Refusal> {
    ctx.guard(Guard::ExternalIdNeedsCreate, || match ctx.caller {
        Caller::Module(namespace) if namespace != known.namespace => {
            let detail = "only the type's own module gives its objects external ids";
            Err(Refusal::of(Code::ForeignNamespace, "external_id", detail))
        }
        _ => {
            let create = [Pattern::from(known.definition.create.clone())];
            // The name stays: it takes a holding that does.
            require_held(policy, ctx, &create, Scope::Global, Reach::ALL, Span::Until(None))
                .map_err(|refusal| Refusal { field: Some("external_id".to_owned()), ..refusal })
        }
    })?;
    let Some(external_id) = external_id else { return Ok(()) };
    require_not_an_id(ctx, "external_id", external_id.as_str())?;
    ctx.guard(Guard::NamesUnique, || {
        let taken = policy.object_by_external_id(known.definition.name.as_str(), external_id.as_str());
        if taken.is_some() {
            let detail = format!("an object of this type is known as `{external_id}` already");
            return Err(Refusal::of(Code::NameTaken, "external_id", detail));
        }
        Ok(())
    })
}

/// The owner's grant.
fn owner_grant(
    policy: &Policy,
    ctx: &mut Context<'_>,
    object: ObjectId,
    owner: UserId,
) -> Result<GrantIssued, Refusal> {
    let role = policy
        .seeded_role(SeededRole::Owner)
        .ok_or_else(|| Refusal::new(Code::InvalidState, "there is no owner role yet"))?;
    Ok(GrantIssued {
        grant: GrantId::new(ctx.ids.next()),
        subject: Subject::User(owner),
        content: Content::Role(role),
        scope: Scope::Object(object),
        effect: Effect::Allow,
        not_before: None,
        expires_at: None,
        affects: Affects::All,
        child_types: ChildTypes::All,
    })
}
