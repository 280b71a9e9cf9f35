//! Roles, and which keys each holds.

use super::catalog::Catalog;
use crate::{
    intern::Interner,
    ix::{GrantIx, KeyIx, RoleIx},
    pages::Paged,
    sorted::Sorted,
};
use charter_events::{DisplayName, Offset, Pattern, PermissionKey, RoleScope, SeededRole, Slug};
use imbl::OrdMap;
use std::sync::Arc;

/// A standing role.
#[derive(Debug, Clone)]
pub(crate) struct RoleFacts {
    pub(crate) slug: Slug,
    pub(crate) name: DisplayName,
    pub(crate) scope: RoleScope,
    /// In byte order.
    pub(crate) permissions: Arc<[Pattern]>,
    pub(crate) seeded: Option<SeededRole>,
    pub(crate) changed_at: Offset,
}

impl RoleFacts {
    /// Whether it holds a wildcard: whoever is granted it globally is no longer stopped by denies on what it matches.
    pub(crate) fn has_wildcard(&self) -> bool {
        self.permissions.iter().any(Pattern::is_wildcard)
    }

    /// Whether it holds `*`, which is first in byte order.
    pub(crate) fn holds_everything(&self) -> bool {
        self.permissions.first().is_some_and(|pattern| pattern.as_str() == "*")
    }
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Roles {
    pub(crate) ids: Interner,
    pub(crate) facts: Paged<Option<RoleFacts>, 64>,
    pub(crate) grants: Paged<Sorted<GrantIx>, 64>,
    pub(crate) slugs: OrdMap<Slug, RoleIx>,
    pub(crate) seeded: OrdMap<SeededRole, RoleIx>,
    /// Which roles hold each wildcard: asked when a key is named for the first time.
    wildcards: OrdMap<Pattern, Sorted<RoleIx>>,
}

impl Roles {
    pub(crate) fn get(&self, ix: RoleIx) -> Option<&RoleFacts> {
        self.facts.get(ix.at())?.as_ref()
    }

    pub(crate) fn get_mut(&mut self, ix: RoleIx) -> Option<&mut RoleFacts> {
        self.facts.get_mut(ix.at())?.as_mut()
    }

    pub(crate) fn grants(&self, ix: RoleIx) -> Option<&Sorted<GrantIx>> {
        self.grants.get(ix.at())
    }

    /// Keeps the rows of the catalog and the wildcards' index with a role's content: called with what came or went,
    /// after the role's list has changed.
    pub(crate) fn content_changed(&mut self, ix: RoleIx, changed: &[Pattern], catalog: &mut Catalog) {
        let content: Arc<[Pattern]> =
            self.get(ix).map_or_else(|| Arc::from([]), |role| Arc::clone(&role.permissions));
        for pattern in changed {
            if !pattern.is_wildcard() {
                if let Some(key) = catalog.key(pattern.as_str()) {
                    refresh(catalog, key, ix, &content);
                }
                continue;
            }
            self.index_wildcard(pattern, ix, content.contains(pattern));
            for number in 0..catalog.facts.len() {
                let key = KeyIx(number as u32);
                if catalog.key_text(key).is_some_and(|text| pattern.matches(text)) {
                    refresh(catalog, key, ix, &content);
                }
            }
        }
    }

    fn index_wildcard(&mut self, pattern: &Pattern, ix: RoleIx, is_in: bool) {
        let roles = self.wildcards.entry(pattern.clone()).or_default();
        if is_in {
            roles.insert(ix);
        } else {
            roles.remove(&ix);
            if roles.is_empty() {
                self.wildcards.remove(pattern);
            }
        }
    }

    /// Fills the row of a key that has just been named for the first time: no role can hold it but by a wildcard.
    pub(crate) fn key_interned(&self, ix: KeyIx, key: &PermissionKey, catalog: &mut Catalog) {
        let Some(row) = catalog.rows.get_mut(ix.at()) else { return };
        for (pattern, roles) in &self.wildcards {
            if pattern.matches(key) {
                for role in roles.iter() {
                    row.roles.set(role, true);
                    row.wildcard_roles.set(role, true);
                }
            }
        }
    }
}

fn refresh(catalog: &mut Catalog, key: KeyIx, role: RoleIx, content: &[Pattern]) {
    let Some(text) = catalog.key_text(key).cloned() else { return };
    let wildcard = content.iter().any(|pattern| pattern.is_wildcard() && pattern.matches(&text));
    let literal = content.binary_search_by(|pattern| pattern.as_str().cmp(text.as_str())).is_ok();
    if let Some(row) = catalog.rows.get_mut(key.at()) {
        row.wildcard_roles.set(role, wildcard);
        row.roles.set(role, wildcard || literal);
    }
}
