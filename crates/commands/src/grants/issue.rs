//! Issues a grant, allow or deny.
//!
//! Refused, in the order asked: `invalid_reach`, `invalid_time`, `deny_needs_keys`, `empty`, `limit_exceeded` for
//! what is wrong whatever the state; `not_found` for an object that may not be known, `forbidden` without
//! `core.grant.manage` over the reach; `not_found` or `role_scope` for the role, `owner_grant` for the role
//! `owner`; `unknown_permission`, `deprecated_permission`, `type_mismatch` for keys; `not_held`, `outlives_holder`
//! for content the caller does not hold over the reach until the grant's end; `owner_denied`; `not_found` or
//! `invalid_state` for the subject; `already_granted`; `limit_exceeded`.

use super::{
    fitting::{require_keys_fit, require_role_fits},
    require_manage_over,
};
use crate::{
    Context, Decided, Guard,
    command::Decide,
    holding::{items, require_administrator, require_held},
    refusal::{Code, Refusal},
};
use charter_events::{
    Affects, ChildTypes, Content, Effect, GrantId, GrantIssued, Pattern, PermissionKey, Reach, Scope,
    Subject, Timestamp,
};
use charter_policy::{ContentView, GrantView, ObjectView, Policy, Span, UserStatus};

/// Issues a grant, allow or deny.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssueGrant {
    /// To whom.
    pub subject: Subject,
    /// A role, or literal keys in any order.
    pub content: Content,
    /// Where.
    pub scope: Scope,
    /// Allow or deny.
    pub effect: Effect,
    /// Live from this moment on; at once when absent.
    pub not_before: Option<Timestamp>,
    /// Live until just before this moment; without end when absent.
    pub expires_at: Option<Timestamp>,
    /// How far below a folder it reaches.
    pub affects: Affects,
    /// Which kinds of things below a folder it reaches.
    pub child_types: ChildTypes,
}

impl Decide for IssueGrant {
    fn decide(&self, policy: &Policy, ctx: &mut Context<'_>) -> Result<Decided, Refusal> {
        self.require_sound(ctx)?;
        let (reach, span) = (self.reach(), Span::Until(self.expires_at));
        let object = require_manage_over(policy, ctx, self.scope, reach, span)?;
        self.require_reach_fits(object.as_ref())?;
        let (content, asked) = self.valid_content(policy, ctx, object.as_ref())?;
        ctx.guard(Guard::HoldToIssue, || require_held(policy, ctx, &asked, self.scope, reach, span))?;
        self.require_owner_not_denied(policy, ctx, object.as_ref())?;
        self.require_subject(policy)?;
        self.require_new(policy, ctx, &content)?;
        let grant = GrantId::new(ctx.ids.next());
        let issued = GrantIssued {
            grant,
            subject: self.subject,
            content,
            scope: self.scope,
            effect: self.effect,
            not_before: self.not_before,
            expires_at: self.expires_at,
            affects: self.affects,
            child_types: self.child_types,
        };
        Ok(Decided::created(grant.as_uuid(), vec![issued.into()]))
    }
}

impl IssueGrant {
    const fn reach(&self) -> Reach {
        Reach { affects: self.affects, child_types: self.child_types }
    }

    /// What is wrong whatever the state: nothing is told by answering it first.
    fn require_sound(&self, ctx: &Context<'_>) -> Result<(), Refusal> {
        let reach = self.reach();
        if !reach.is_valid() {
            let detail = "with `self_only` the child types must be `all`";
            return Err(Refusal::of(Code::InvalidReach, "child_types", detail));
        }
        if self.scope == Scope::Global && reach != Reach::ALL {
            return Err(Refusal::of(
                Code::InvalidReach,
                "affects",
                "a global grant has no reach below a folder",
            ));
        }
        ctx.guard(Guard::GrantTime, || self.require_times(ctx.now))?;
        match (&self.content, self.effect) {
            (Content::Role(_), Effect::Deny) => ctx.guard(Guard::DenyNamesKeys, || {
                Err(Refusal::of(Code::DenyNeedsKeys, "role", "a deny names literal keys, never a role"))
            }),
            (Content::Role(_), Effect::Allow) => Ok(()),
            (Content::Keys(keys), _) if keys.is_empty() => {
                Err(Refusal::of(Code::Empty, "keys", "a grant names a role, or at least one key"))
            }
            (Content::Keys(keys), _) if keys.len() > ctx.limits.inline_keys => {
                Err(Refusal::limit("keys", "literal keys in a grant", ctx.limits.inline_keys))
            }
            (Content::Keys(_), _) => Ok(()),
        }
    }

    fn require_times(&self, now: Timestamp) -> Result<(), Refusal> {
        let Some(end) = self.expires_at else { return Ok(()) };
        if end <= now {
            return Err(Refusal::of(Code::InvalidTime, "expires_at", "the end has passed already"));
        }
        if self.not_before.is_some_and(|begin| begin >= end) {
            return Err(Refusal::of(Code::InvalidTime, "not_before", "the grant would end before it begins"));
        }
        Ok(())
    }

    fn require_reach_fits(&self, object: Option<&ObjectView<'_>>) -> Result<(), Refusal> {
        match object {
            Some(object) if !object.is_folder && self.reach() != Reach::ALL => {
                Err(Refusal::of(Code::InvalidReach, "affects", "only a folder's grant reaches further down"))
            }
            _ => Ok(()),
        }
    }

    /// The content as it is recorded, and as items to hold.
    fn valid_content(
        &self,
        policy: &Policy,
        ctx: &Context<'_>,
        object: Option<&ObjectView<'_>>,
    ) -> Result<(Content, Vec<Pattern>), Refusal> {
        match &self.content {
            Content::Role(id) => {
                let role = policy.role(*id).ok_or_else(|| Refusal::not_found("role"))?;
                require_role_fits(ctx, &role, self.scope)?;
                Ok((self.content.clone(), role.permissions.to_vec()))
            }
            Content::Keys(keys) => {
                let mut keys: Vec<PermissionKey> = keys.clone();
                keys.sort();
                keys.dedup();
                require_keys_fit(policy, ctx, &keys, object, self.effect)?;
                let asked = items(&keys);
                Ok((Content::Keys(keys), asked))
            }
        }
    }

    /// Access to an object is at the discretion of its owner: only an administrator keeps him out.
    fn require_owner_not_denied(
        &self,
        policy: &Policy,
        ctx: &Context<'_>,
        object: Option<&ObjectView<'_>>,
    ) -> Result<(), Refusal> {
        let owner = object.and_then(|object| object.owner).map(Subject::User);
        if self.effect != Effect::Deny || owner != Some(self.subject) {
            return Ok(());
        }
        ctx.guard(Guard::OwnerDenied, || {
            require_administrator(policy, ctx, Span::Now).map_err(|_| {
                let detail = "only an administrator denies something to the owner of the very object";
                Refusal::of(Code::OwnerDenied, "subject", detail)
            })
        })
    }

    /// Asked last: who may not grant this here learns nothing about users and groups.
    fn require_subject(&self, policy: &Policy) -> Result<(), Refusal> {
        match self.subject {
            Subject::Group(group) => {
                policy.group(group).map(|_| ()).ok_or_else(|| Refusal::not_found("subject"))
            }
            Subject::User(user) => match policy.user(user) {
                None => Err(Refusal::not_found("subject")),
                Some(user) if user.status == UserStatus::Erased => {
                    Err(Refusal::of(Code::InvalidState, "subject", "the account is erased"))
                }
                Some(_) => Ok(()),
            },
        }
    }

    fn require_new(&self, policy: &Policy, ctx: &Context<'_>, content: &Content) -> Result<(), Refusal> {
        ctx.guard(Guard::GrantedOnce, || {
            let mut standing = policy.grants_at_for(self.scope, self.subject);
            match standing.find(|grant| self.says_the_same(grant, content)) {
                Some(grant) => {
                    let detail = format!("grant `{}` says the same already", grant.id);
                    Err(Refusal::new(Code::AlreadyGranted, detail))
                }
                None => Ok(()),
            }
        })?;
        ctx.guard(Guard::GrantsPerSubject, || {
            let maximum = ctx.limits.subject_scope_grants;
            if policy.grants_at_for(self.scope, self.subject).take(maximum).count() >= maximum {
                return Err(Refusal::limit("subject", "grants of one subject at one scope", maximum));
            }
            Ok(())
        })?;
        let maximum = ctx.limits.object_grants;
        if self.scope != Scope::Global && policy.grant_count_at(self.scope) >= maximum {
            return Err(Refusal::limit("scope", "grants on one object", maximum));
        }
        Ok(())
    }

    /// Whether a standing grant says what this command would say with such a content.
    pub(crate) fn says_the_same(&self, grant: &GrantView<'_>, content: &Content) -> bool {
        grant.effect == self.effect
            && grant.not_before == self.not_before
            && grant.expires_at == self.expires_at
            && grant.reach == self.reach()
            && match (&grant.content, content) {
                (ContentView::Role(standing), Content::Role(asked)) => standing == asked,
                (ContentView::Keys(standing), Content::Keys(asked)) => standing.iter().copied().eq(asked),
                _ => false,
            }
    }
}
