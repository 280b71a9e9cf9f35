//! What grant events mean.

use super::{Fold, Folded};
use crate::{
    FoldError, Policy,
    entries::Terms,
    ix::{ContentIx, GrantIx, KeyIx, ObjectIx, SubjectIx, What, Who},
    state::grants::{End, Grant, GrantFacts},
};
use charter_events::{
    Content, Effect, GrantId, GrantIssued, GrantKeysRemoved, Pattern, Reach, Scope, SeededRole, Subject,
    Timestamp,
};

impl Fold<'_> {
    pub(super) fn grant_issued(&mut self, e: &GrantIssued) -> Folded {
        let subject = match e.subject {
            Subject::User(user) => SubjectIx::user(self.user(user)?),
            Subject::Group(group) => SubjectIx::group(self.group(group)?),
        };
        let scope = match e.scope {
            Scope::Global => ObjectIx::NONE,
            Scope::Object(object) => self.object(object)?,
        };
        self.terms_fit(e, scope)?;
        let content = self.content(e)?;
        let reach = Reach { affects: e.affects, child_types: e.child_types };
        let timed = e.not_before.is_some() || e.expires_at.is_some();
        let grant = Grant {
            subject,
            content,
            scope,
            terms: Terms::new(e.effect, reach, timed),
            not_before: e.not_before.unwrap_or(Timestamp::MIN),
            expires_at: End::new(e.expires_at),
        };
        let policy = &mut *self.policy;
        let issued_by = policy.grants.actor(&self.meta.actor).ok_or(FoldError::Full("actor"))?;
        let Some(ix) = policy.grants.ids.insert(e.grant.as_uuid()) else {
            return Err(self.taken("grant", &e.grant));
        };
        policy.grants.hot.push(grant);
        policy.grants.facts.push(GrantFacts {
            issued_at: self.meta.recorded_at,
            changed_at: self.meta.offset,
            issued_by,
        });
        policy.link(GrantIx(ix), &grant);
        policy.note_owner_grant(GrantIx(ix), &grant);
        Ok(())
    }

    fn terms_fit(&self, e: &GrantIssued, scope: ObjectIx) -> Folded {
        let reach = Reach { affects: e.affects, child_types: e.child_types };
        let on_folder = self.policy.objects.node(scope).is_some_and(|node| node.is_folder);
        if !reach.is_valid() || (!on_folder && reach != Reach::ALL) {
            return Err(self.contradiction(&e.grant, "the reach is not valid there"));
        }
        if matches!((e.not_before, e.expires_at), (Some(begin), Some(end)) if begin >= end) {
            return Err(self.contradiction(&e.grant, "it ends before it begins"));
        }
        if e.effect == Effect::Deny && matches!(e.content, Content::Role(_)) {
            return Err(self.contradiction(&e.grant, "a deny carries literal keys only"));
        }
        Ok(())
    }

    fn content(&mut self, e: &GrantIssued) -> Result<ContentIx, FoldError> {
        match &e.content {
            Content::Role(role) => {
                let ix = self.role(*role)?;
                if !self.policy.roles.get(ix).is_some_and(|facts| facts.scope.allows(e.scope)) {
                    return Err(self.contradiction(&e.grant, "the role's scope does not allow it there"));
                }
                Ok(ContentIx::new(What::Role(ix)))
            }
            Content::Keys(keys) => {
                let keys = keys.iter().map(|key| self.registered_key(key)).collect::<Result<Vec<_>, _>>()?;
                self.keys_content(&e.grant, keys)
            }
        }
    }

    fn keys_content(&mut self, grant: &GrantId, mut keys: Vec<KeyIx>) -> Result<ContentIx, FoldError> {
        keys.sort_unstable();
        keys.dedup();
        match keys.as_slice() {
            [] => Err(self.contradiction(grant, "it gives nothing")),
            [key] => Ok(ContentIx::new(What::Key(*key))),
            keys => {
                let set = self.policy.catalog.key_set(keys).ok_or(FoldError::Full("key set"))?;
                Ok(ContentIx::new(What::Keys(set)))
            }
        }
    }

    fn standing(&self, id: GrantId) -> Result<(GrantIx, Grant), FoldError> {
        let ix = self.policy.grants.ids.get(id.as_uuid()).map(GrantIx);
        ix.and_then(|ix| Some((ix, *self.policy.grants.get(ix)?))).ok_or_else(|| self.missing("grant", &id))
    }

    pub(super) fn grant_gone(&mut self, id: GrantId) -> Folded {
        let (ix, grant) = self.standing(id)?;
        let policy = &mut *self.policy;
        policy.unlink(ix, &grant);
        if let Some(hot) = policy.grants.hot.get_mut(ix.at()) {
            hot.terms = hot.terms.fallen();
        }
        if let Some(facts) = policy.objects.get_mut(grant.scope)
            && facts.owner_grant == ix
        {
            facts.owner_grant = GrantIx::NONE;
        }
        Ok(())
    }

    pub(super) fn grant_expired(&mut self, id: GrantId) -> Folded {
        let (_, grant) = self.standing(id)?;
        if grant.expires_at.is_after(self.meta.recorded_at) {
            return Err(self.contradiction(&id, "its end has not passed"));
        }
        self.grant_gone(id)
    }

    pub(super) fn grant_keys_removed(&mut self, e: &GrantKeysRemoved) -> Folded {
        let (ix, grant) = self.standing(e.grant)?;
        let mut keys = self.policy.keys_of(grant.content);
        for key in &e.keys {
            let gone = self.policy.catalog.key(key.as_str());
            let place = gone.and_then(|gone| keys.iter().position(|held| *held == gone));
            let Some(place) = place else {
                return Err(self.contradiction(&e.grant, "it lacks what is removed"));
            };
            keys.swap_remove(place);
        }
        let content = self.keys_content(&e.grant, keys)?;
        let policy = &mut *self.policy;
        policy.unlink(ix, &grant);
        let changed = Grant { content, ..grant };
        policy.link(ix, &changed);
        if let Some(hot) = policy.grants.hot.get_mut(ix.at()) {
            *hot = changed;
        }
        if let Some(facts) = policy.grants.facts.get_mut(ix.at()) {
            facts.changed_at = self.meta.offset;
        }
        Ok(())
    }
}

impl Policy {
    /// The literal keys of a content; none of a role's.
    pub(crate) fn keys_of(&self, content: ContentIx) -> Vec<KeyIx> {
        match content.what() {
            What::Role(_) => Vec::new(),
            What::Key(key) => vec![key],
            What::Keys(set) => self.catalog.sets.get(set.at()).map_or_else(Vec::new, |keys| keys.to_vec()),
        }
    }

    /// A content as patterns, in byte order.
    pub(crate) fn patterns_of(&self, content: ContentIx) -> Vec<Pattern> {
        if let What::Role(role) = content.what() {
            return self.roles.get(role).map_or_else(Vec::new, |facts| facts.permissions.to_vec());
        }
        let texts = self.keys_of(content).into_iter().filter_map(|key| self.catalog.key_text(key).cloned());
        let mut patterns: Vec<Pattern> = texts.map(Pattern::from).collect();
        patterns.sort_unstable();
        patterns
    }

    /// Whether a grant is of the seeded owner role, on an object, to a user.
    fn is_of_owner_role(&self, grant: &Grant) -> bool {
        let What::Role(role) = grant.content.what() else { return false };
        self.roles.seeded.get(&SeededRole::Owner) == Some(&role)
    }

    /// Remembers a grant as its object's owner grant when that is what it is.
    fn note_owner_grant(&mut self, ix: GrantIx, grant: &Grant) {
        let Who::User(user) = grant.subject.who() else { return };
        if self.is_of_owner_role(grant)
            && let Some(facts) = self.objects.get_mut(grant.scope)
            && facts.owner == user
        {
            facts.owner_grant = ix;
        }
    }

    /// Finds the owner grant of an object after its owner changed: it may have been issued just before.
    pub(crate) fn find_owner_grant(&mut self, object: ObjectIx) {
        let Some(owner) = self.objects.get(object).and_then(|facts| facts.owner.some()) else { return };
        let Some(node) = self.objects.node(object) else { return };
        let found = node
            .entries
            .addressed_to(SubjectIx::user(owner))
            .map(|entry| entry.grant)
            .find(|ix| self.grants.get(*ix).is_some_and(|grant| self.is_of_owner_role(grant)));
        if let Some(facts) = self.objects.get_mut(object) {
            facts.owner_grant = found.unwrap_or(GrantIx::NONE);
        }
    }
}
