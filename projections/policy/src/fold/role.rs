//! What role events mean.

use super::{Fold, Folded};
use crate::{ix::RoleIx, sorted::Sorted, state::roles::RoleFacts};
use charter_events::{Pattern, RoleCreated, RoleDeleted, RolePermissionsChanged, RoleRenamed};
use std::sync::Arc;

impl Fold<'_> {
    pub(super) fn role_created(&mut self, e: &RoleCreated) -> Folded {
        let policy = &mut *self.policy;
        if policy.roles.slugs.contains_key(&e.slug) {
            return Err(self.taken("role", &e.slug));
        }
        if let Some(seeded) = e.seeded
            && policy.roles.seeded.contains_key(&seeded)
        {
            return Err(self.contradiction(&e.role, "the seeded role is there already"));
        }
        self.content_is_registered(&e.permissions)?;
        let mut permissions = e.permissions.clone();
        permissions.sort_unstable();
        permissions.dedup();
        let policy = &mut *self.policy;
        let Some(ix) = policy.roles.ids.insert(e.role.as_uuid()) else {
            return Err(self.taken("role", &e.role));
        };
        let ix = RoleIx(ix);
        policy.roles.facts.push(Some(RoleFacts {
            slug: e.slug.clone(),
            name: e.name.clone(),
            scope: e.scope,
            permissions: permissions.into(),
            seeded: e.seeded,
            changed_at: self.meta.offset,
        }));
        policy.roles.grants.push(Sorted::default());
        policy.roles.slugs.insert(e.slug.clone(), ix);
        if let Some(seeded) = e.seeded {
            policy.roles.seeded.insert(seeded, ix);
        }
        policy.roles.content_changed(ix, &e.permissions, &mut policy.catalog);
        Ok(())
    }

    pub(super) fn role_renamed(&mut self, e: &RoleRenamed) -> Folded {
        let ix = self.role(e.role)?;
        if let Some(facts) = self.policy.roles.get_mut(ix) {
            facts.name = e.name.clone();
            facts.changed_at = self.meta.offset;
        }
        Ok(())
    }

    pub(super) fn role_permissions_changed(&mut self, e: &RolePermissionsChanged) -> Folded {
        let ix = self.role(e.role)?;
        self.content_is_registered(&e.added)?;
        let facts = self.policy.roles.get(ix);
        let before = facts.map_or_else(|| Arc::from([]), |facts| Arc::clone(&facts.permissions));
        let had_wildcard = before.iter().any(Pattern::is_wildcard);
        if e.added.iter().any(|pattern| before.contains(pattern)) {
            return Err(self.contradiction(&e.role, "it held what is added"));
        }
        if !e.removed.iter().all(|pattern| before.contains(pattern)) {
            return Err(self.contradiction(&e.role, "it did not hold what is removed"));
        }
        let kept = before.iter().filter(|pattern| !e.removed.contains(pattern));
        let mut permissions: Vec<Pattern> = kept.chain(&e.added).cloned().collect();
        permissions.sort_unstable();
        permissions.dedup();
        let has_wildcard = permissions.iter().any(Pattern::is_wildcard);
        let policy = &mut *self.policy;
        if let Some(facts) = policy.roles.get_mut(ix) {
            facts.permissions = permissions.into();
            facts.changed_at = self.meta.offset;
        }
        let changed: Vec<Pattern> = e.added.iter().chain(&e.removed).cloned().collect();
        policy.roles.content_changed(ix, &changed, &mut policy.catalog);
        if had_wildcard != has_wildcard {
            policy.wildcard_came_or_went(ix, has_wildcard);
        }
        Ok(())
    }

    pub(super) fn role_deleted(&mut self, e: &RoleDeleted) -> Folded {
        let ix = self.role(e.role)?;
        let policy = &mut *self.policy;
        if policy.roles.grants(ix).is_some_and(|grants| !grants.is_empty()) {
            return Err(self.contradiction(&e.role, "there are grants of it"));
        }
        let Some(facts) = policy.roles.facts.get_mut(ix.at()).and_then(Option::take) else {
            return Err(self.missing("role", &e.role));
        };
        policy.roles.slugs.remove(&facts.slug);
        if let Some(seeded) = facts.seeded {
            policy.roles.seeded.remove(&seeded);
        }
        policy.roles.content_changed(ix, &facts.permissions, &mut policy.catalog);
        Ok(())
    }

    fn content_is_registered(&self, content: &[Pattern]) -> Folded {
        for key in content.iter().filter_map(Pattern::as_key) {
            self.registered_key(&key)?;
        }
        Ok(())
    }
}
