//! The last administrator: whatever a command does, alone or by many events at once, at least one must remain whose
//! grant, membership and account have begun and have no known end, who is a person and has a way to sign in.
//!
//! Asked of the staged result, so no way of losing one can be forgotten here.

use crate::{
    Context, Guard,
    refusal::{Code, Refusal},
};
use charter_events::{Event, EventMeta, GrantId, Pattern, Scope};
use charter_policy::Policy;

/// Refuses events after which nobody could administer the installation. Where nobody could before, nothing is taken
/// away, and nothing is refused: that state is left by `recover-admin` only.
pub(crate) fn require_one_remains(
    policy: &Policy,
    events: &[Event],
    ctx: &Context<'_>,
) -> Result<(), Refusal> {
    if !events.iter().any(|event| may_take_one(policy, event))
        || policy.lasting_administrators(ctx.now).is_empty()
    {
        return Ok(());
    }
    let staged = staged(policy, events, ctx)?;
    ctx.guard(Guard::LastAdministrator, || {
        if staged.lasting_administrators(ctx.now).is_empty() {
            let detail = "nobody would be left who can administer the installation for good";
            return Err(Refusal::new(Code::LastAdministrator, detail));
        }
        Ok(())
    })
}

/// The policy as it would be.
fn staged(policy: &Policy, events: &[Event], ctx: &Context<'_>) -> Result<Policy, Refusal> {
    let mut staged = policy.clone();
    stage(&mut staged, events, ctx)?;
    Ok(staged)
}

/// Lets events happen to a policy that nobody else sees.
pub(crate) fn stage(staged: &mut Policy, events: &[Event], ctx: &Context<'_>) -> Result<(), Refusal> {
    let misfit = |why: String| Refusal::new(Code::InvalidState, why);
    let actor = ctx.caller.attribution(staged);
    for event in events {
        let offset = staged.version().plus(1).ok_or_else(|| misfit("the log is full".to_owned()))?;
        let meta = EventMeta { offset, recorded_at: ctx.now.max(staged.recorded_at()), actor: actor.clone() };
        staged.apply(&meta, event).map_err(|fault| misfit(fault.to_string()))?;
    }
    Ok(())
}

/// Whether an event can take an administrator away. Wide on purpose; what it lets by needs no staging.
fn may_take_one(policy: &Policy, event: &Event) -> bool {
    match event {
        Event::UserSuspended(_)
        | Event::UserDeletionScheduled(_)
        | Event::UserErased(_)
        | Event::UserProfileChanged(_)
        | Event::RoleDeleted(_)
        | Event::GroupMemberRemoved(_)
        | Event::GroupDeleted(_)
        | Event::CredentialPasswordChanged(_) => true,
        Event::RolePermissionsChanged(change) => change.removed.iter().any(Pattern::is_wildcard),
        Event::GrantRevoked(revoked) => is_global(policy, revoked.grant),
        Event::GrantEnded(ended) => is_global(policy, ended.grant),
        _ => false,
    }
}

fn is_global(policy: &Policy, grant: GrantId) -> bool {
    policy.grant(grant).is_some_and(|grant| grant.scope == Scope::Global)
}
