//! The one entrance: judges a command, then asks of its events what holds for every command.

use crate::{
    Command, Context, Decided, Guard,
    last_administrator::require_one_remains,
    refusal::{Code, Refusal},
};
use charter_events::Event;
use charter_policy::Policy;

/// Judges a command against a policy at a moment.
///
/// The same policy, command, context and ids give the same answer. Nothing is written; on a refusal there are no
/// events. An accepted command without events was carried out already.
///
/// # Errors
/// [`Refusal`], with a stable code; each command's file names its own.
pub fn decide(policy: &Policy, command: &Command, ctx: &mut Context<'_>) -> Result<Decided, Refusal> {
    require_active_caller(policy, ctx)?;
    let decided = command.decide(policy, ctx)?;
    require_within_limits(&decided.events, ctx)?;
    require_one_remains(policy, &decided.events, ctx)?;
    Ok(decided)
}

/// A credential outlives a suspension by the time of one look-up; the account itself is asked here.
fn require_active_caller(policy: &Policy, ctx: &Context<'_>) -> Result<(), Refusal> {
    ctx.guard(Guard::ActiveCaller, || match ctx.caller.user() {
        Some(id) if !policy.user(id).is_some_and(|user| user.is_active()) => {
            Err(Refusal::new(Code::InactiveCaller, "your account is not active"))
        }
        _ => Ok(()),
    })
}

fn require_within_limits(events: &[Event], ctx: &Context<'_>) -> Result<(), Refusal> {
    require_consequences(ctx, events.len())?;
    for event in events.iter().filter(|event| may_be_large(event)) {
        let bytes = event.encode().map_or(usize::MAX, |payload| payload.len());
        if bytes > ctx.limits.payload_bytes {
            let what = format!("bytes in one `{}`, not {bytes}", event.type_name());
            return Err(Refusal::new(
                Code::LimitExceeded,
                format!("at most {} {what}", ctx.limits.payload_bytes),
            ));
        }
    }
    Ok(())
}

/// Refuses before the events are made, where a command can tell how many there will be.
pub(crate) fn require_consequences(ctx: &Context<'_>, events: usize) -> Result<(), Refusal> {
    if events <= ctx.limits.command_events {
        return Ok(());
    }
    Err(Refusal::new(
        Code::TooManyConsequences,
        format!("{events} consequences, and at most {} in one command", ctx.limits.command_events),
    ))
}

/// Events of bounded small members can't reach the maximum; encoding them only to measure would cost a cascade
/// dearly.
const fn may_be_large(event: &Event) -> bool {
    matches!(
        event,
        Event::RoleCreated(_)
            | Event::RolePermissionsChanged(_)
            | Event::GrantIssued(_)
            | Event::GrantKeysRemoved(_)
            | Event::PermissionsRegistered(_)
            | Event::PermissionsDeprecated(_)
            | Event::PermissionsRemoved(_)
            | Event::ObjectTypesRegistered(_)
            | Event::ObjectTypesRemoved(_)
            | Event::CredentialTokenIssued(_)
            | Event::UserInvited(_)
            | Event::UserRegistered(_)
            | Event::UserProfileChanged(_)
    )
}
