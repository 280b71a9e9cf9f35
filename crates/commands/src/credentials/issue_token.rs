//! Issues an API token.
//!
//! Refused: for another's, `forbidden` without `core.user.edit`, and `not_held`, `outlives_holder` unless the
//! caller holds whatever that user has and will have until the token ends; for one's own, `outlives_holder` when it
//! would last longer than what its user holds, and `token_too_narrow` for more than the token in use reaches;
//! `not_found`; `invalid_state`; `invalid_time`; `unknown_permission`; `empty`; `limit_exceeded`; `name_taken`.

use crate::{
    Context, Decided, Guard,
    command::Decide,
    holding::{content, grants_of_him_and_his_groups, lacks, require_all_of_his_held},
    may::{require_global, token_too_narrow},
    refusal::{Code, Refusal},
    users::{existing, invalid_state},
};
use charter_events::{CredentialTokenIssued, DisplayName, Effect, Pattern, Timestamp, TokenId, UserId};
use charter_policy::{Caller, Policy, Span};

/// Issues an API token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssueToken {
    /// The token.
    pub token: TokenId,
    /// Whom it speaks for.
    pub user: UserId,
    /// What its owner calls it.
    pub name: DisplayName,
    /// It works until just before this moment; without end when absent.
    pub expires_at: Option<Timestamp>,
    /// A ceiling on what may be asked with it; none: no ceiling.
    pub mask: Option<Vec<Pattern>>,
}

impl Decide for IssueToken {
    fn decide(&self, policy: &Policy, ctx: &mut Context<'_>) -> Result<Decided, Refusal> {
        let own = ctx.caller.user() == Some(self.user);
        if !own {
            require_global(policy, ctx, "core.user.edit")?;
        }
        let user = existing(policy, self.user)?;
        if !user.is_active() {
            return Err(invalid_state(&user));
        }
        let mask = self.valid_mask(policy, ctx)?;
        if own {
            self.require_within_ceiling(ctx, mask.as_deref())?;
            ctx.guard(Guard::OwnCredentialLasts, || self.require_lasting(policy, ctx, mask.as_deref()))?;
        } else {
            let span = Span::Until(self.expires_at);
            ctx.guard(Guard::HoldToReset, || require_all_of_his_held(policy, ctx, user.id, span))?;
        }
        self.require_room(policy, ctx)?;
        let issued = CredentialTokenIssued {
            token: self.token,
            user: user.id,
            name: self.name.clone(),
            expires_at: self.expires_at,
            mask,
        };
        Ok(Decided::created(self.token.as_uuid(), vec![issued.into()]))
    }
}

impl IssueToken {
    fn valid_mask(&self, policy: &Policy, ctx: &Context<'_>) -> Result<Option<Vec<Pattern>>, Refusal> {
        if self.expires_at.is_some_and(|end| end <= ctx.now) {
            return Err(Refusal::of(Code::InvalidTime, "expires_at", "the end has passed already"));
        }
        let Some(mask) = &self.mask else { return Ok(None) };
        if mask.is_empty() {
            return Err(Refusal::of(Code::Empty, "mask", "a mask names what the token reaches"));
        }
        if mask.len() > ctx.limits.mask_items {
            return Err(Refusal::limit("mask", "items in a mask", ctx.limits.mask_items));
        }
        let known = |item: &&Pattern| item.is_wildcard() || policy.permission(item.as_str()).is_some();
        if let Some(item) = mask.iter().find(|item| !known(item)) {
            let detail = format!("permission `{item}` is not in the catalog");
            return Err(Refusal::of(Code::UnknownPermission, "mask", detail));
        }
        let mut mask = mask.clone();
        mask.sort();
        mask.dedup();
        Ok(Some(mask))
    }

    /// A masked token makes no token that reaches further.
    fn require_within_ceiling(&self, ctx: &Context<'_>, mask: Option<&[Pattern]>) -> Result<(), Refusal> {
        let Some(ceiling) = ctx.caller.ceiling() else { return Ok(()) };
        ctx.guard(Guard::CredentialWithinCeiling, || {
            let all = [Pattern::all()];
            let wanted = mask.unwrap_or(&all);
            match wanted.iter().find(|item| !ceiling.iter().any(|held| held.covers(item))) {
                Some(item) => Err(token_too_narrow(item.as_str())),
                None => Ok(()),
            }
        })
    }

    /// Nothing lasting comes from something temporary: a token must not be there still when what it was made with is
    /// gone. What its user is denied, or holds not yet, is no reason: the token will say so itself.
    fn require_lasting(
        &self,
        policy: &Policy,
        ctx: &Context<'_>,
        mask: Option<&[Pattern]>,
    ) -> Result<(), Refusal> {
        let reaches =
            |item: &Pattern| mask.is_none_or(|mask| mask.iter().any(|m| m.covers(item) || item.covers(m)));
        let (himself, span) = (Caller::of(self.user), Span::Until(self.expires_at));
        for grant in grants_of_him_and_his_groups(policy, self.user) {
            if grant.effect == Effect::Deny || !grant.is_live(ctx.now) {
                continue;
            }
            // Each item by itself and for the user without his token: one that is lacking today must not hide that
            // another ends tomorrow.
            for item in content(policy, &grant).iter().filter(|item| reaches(item)) {
                let item = std::slice::from_ref(item);
                match policy.require_held(&himself, item, grant.scope, grant.reach, span, ctx.now) {
                    Err(lacking) if lacking.outlives => return Err(lacks(&lacking)),
                    _ => {}
                }
            }
        }
        Ok(())
    }

    fn require_room(&self, policy: &Policy, ctx: &Context<'_>) -> Result<(), Refusal> {
        if policy.token(self.token).is_some() {
            return Err(Refusal::of(Code::NameTaken, "token", "the id is another token's"));
        }
        let maximum = ctx.limits.user_tokens;
        let works = |end: Option<Timestamp>| end.is_none_or(|end| end > ctx.now);
        if policy.tokens_of(self.user).filter(|token| works(token.expires_at)).take(maximum).count()
            >= maximum
        {
            return Err(Refusal::limit("user", "tokens of one user", maximum));
        }
        Ok(())
    }
}
