//! Roles and what they hold.

use super::{
    Noted, Rows,
    tables::{ROLE_PERMISSIONS, ROLES},
};
use crate::{
    rows::{Row, Value},
    words::{self, folded, missing, searched},
};
use charter_events::{
    Offset, Pattern, RoleCreated, RoleId, RolePermissionsChanged, RoleRenamed, RoleScope, SeededRole,
};

/// A row of `roles`.
struct Role<'a> {
    id: RoleId,
    slug: &'a str,
    name: &'a str,
    scope: RoleScope,
    seeded: Option<SeededRole>,
    changed_at: Offset,
    position: u64,
}

impl Role<'_> {
    fn row(&self) -> Row {
        vec![
            Value::Uuid(self.id.as_uuid()),
            Value::text(self.slug),
            Value::text(self.name),
            Value::text(folded(self.name)),
            searched([self.slug, self.name]),
            Value::text(words::role_scope(self.scope)),
            Value::maybe(self.seeded, |seeded| Value::text(words::seeded(seeded))),
            words::offset(self.changed_at),
            words::count(self.position),
        ]
    }
}

fn holding(role: RoleId, pattern: &Pattern) -> Row {
    vec![Value::Uuid(role.as_uuid()), Value::text(pattern.as_str())]
}

impl Rows<'_> {
    pub(super) fn role_created(&mut self, e: &RoleCreated) -> Noted {
        let role = Role {
            id: e.role,
            slug: e.slug.as_str(),
            name: e.name.as_str(),
            scope: e.scope,
            seeded: e.seeded,
            changed_at: self.recorded.stored.offset,
            position: self.before.role_count() as u64,
        };
        self.put(ROLES, role.row());
        e.permissions.iter().for_each(|pattern| self.put(ROLE_PERMISSIONS, holding(e.role, pattern)));
        Ok(())
    }

    /// The row as it was, under this name or its own.
    fn role_touched(&mut self, id: RoleId, name: Option<&str>) -> Noted {
        let view = self.before.role(id).ok_or_else(|| missing("role", id))?;
        let role = Role {
            id,
            slug: view.slug.as_str(),
            name: name.unwrap_or(view.name.as_str()),
            scope: view.scope,
            seeded: view.seeded,
            changed_at: self.recorded.stored.offset,
            position: view.position.get(),
        };
        let row = role.row();
        self.put(ROLES, row);
        Ok(())
    }

    pub(super) fn role_renamed(&mut self, e: &RoleRenamed) -> Noted {
        self.role_touched(e.role, Some(e.name.as_str()))
    }

    pub(super) fn role_permissions_changed(&mut self, e: &RolePermissionsChanged) -> Noted {
        self.role_touched(e.role, None)?;
        e.removed.iter().for_each(|pattern| self.delete(ROLE_PERMISSIONS, holding(e.role, pattern)));
        e.added.iter().for_each(|pattern| self.put(ROLE_PERMISSIONS, holding(e.role, pattern)));
        Ok(())
    }

    pub(super) fn role_deleted(&mut self, id: RoleId) -> Noted {
        let view = self.before.role(id).ok_or_else(|| missing("role", id))?;
        let held: Vec<_> = view.permissions.iter().map(|pattern| holding(id, pattern)).collect();
        held.into_iter().for_each(|key| self.delete(ROLE_PERMISSIONS, key));
        self.delete(ROLES, [Value::Uuid(id.as_uuid())]);
        Ok(())
    }
}
