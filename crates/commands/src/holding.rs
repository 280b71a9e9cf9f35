//! Holding: nobody hands out, takes over or takes from others what he does not hold, over the whole reach and for as
//! long as it lasts. What holding means is the policy's; here stands who must hold what.

use crate::{
    Context,
    refusal::{Code, Refusal},
};
use charter_events::{Effect, Pattern, PermissionKey, Reach, Scope, Subject, UserId};
use charter_policy::{ContentView, GrantView, Lacking, Policy, Span};

/// Requires the caller to hold content over a reach and a span.
pub(crate) fn require_held(
    policy: &Policy,
    ctx: &Context<'_>,
    content: &[Pattern],
    scope: Scope,
    reach: Reach,
    span: Span,
) -> Result<(), Refusal> {
    policy.require_held(ctx.caller, content, scope, reach, span, ctx.now).map_err(|lacking| lacks(&lacking))
}

/// Requires the caller to hold what a grant gives or denies, over that grant's own reach.
pub(crate) fn require_content_held(
    policy: &Policy,
    ctx: &Context<'_>,
    grant: &GrantView<'_>,
    span: Span,
) -> Result<(), Refusal> {
    require_held(policy, ctx, &content(policy, grant), grant.scope, grant.reach, span)
}

/// Requires the caller to hold the content of every grant of a group that has not ended, over its reach: allows for
/// the span named, denies without end, for lifting one widens access.
pub(crate) fn require_group_content_held(
    policy: &Policy,
    ctx: &Context<'_>,
    group: charter_events::GroupId,
    allows: Span,
) -> Result<(), Refusal> {
    for grant in policy.grants_of(Subject::Group(group)).filter(|grant| !grant.has_ended(ctx.now)) {
        let span = match grant.effect {
            Effect::Allow => allows,
            Effect::Deny => Span::Until(None),
        };
        require_content_held(policy, ctx, &grant, span)?;
    }
    Ok(())
}

/// Requires the caller to hold the content of every allow grant of a user and of his groups that has not ended:
/// whoever can become him must already be as much.
pub(crate) fn require_all_of_his_held(
    policy: &Policy,
    ctx: &Context<'_>,
    user: UserId,
    span: Span,
) -> Result<(), Refusal> {
    for grant in grants_of_him_and_his_groups(policy, user) {
        if grant.effect == Effect::Allow && !grant.has_ended(ctx.now) {
            require_content_held(policy, ctx, &grant, span)?;
        }
    }
    Ok(())
}

/// Requires an administrator, now or without end.
pub(crate) fn require_administrator(policy: &Policy, ctx: &Context<'_>, span: Span) -> Result<(), Refusal> {
    require_held(policy, ctx, &[Pattern::all()], Scope::Global, Reach::ALL, span)
}

/// Every standing grant of a user and of his groups.
pub(crate) fn grants_of_him_and_his_groups(
    policy: &Policy,
    user: UserId,
) -> impl Iterator<Item = GrantView<'_>> {
    let own = policy.grants_of(Subject::User(user));
    own.chain(policy.groups_of(user).flat_map(|group| policy.grants_of(Subject::Group(group))))
}

/// What a grant gives or denies, as items to hold.
pub(crate) fn content(policy: &Policy, grant: &GrantView<'_>) -> Vec<Pattern> {
    match &grant.content {
        ContentView::Role(role) => {
            policy.role(*role).map(|role| role.permissions.to_vec()).unwrap_or_default()
        }
        ContentView::Keys(keys) => keys.iter().map(|key| Pattern::from((*key).clone())).collect(),
    }
}

/// Keys as items to hold.
pub(crate) fn items<'a>(keys: impl IntoIterator<Item = &'a PermissionKey>) -> Vec<Pattern> {
    keys.into_iter().map(|key| Pattern::from(key.clone())).collect()
}

pub(crate) fn lacks(lacking: &Lacking) -> Refusal {
    let (code, detail) = if lacking.outlives {
        (Code::OutlivesHolder, "you hold this now, but not for as long as it would last")
    } else {
        (Code::NotHeld, "you don't hold this yourself")
    };
    let mut refusal = Refusal::new(code, detail);
    refusal.missing = lacking.items.iter().map(ToString::to_string).collect();
    refusal.more = lacking.more;
    refusal
}
