//! `access_index`: who can act where, and by what: the entries of a scope beside each other, one for a role given
//! there, or one for each key. Joined with `role_permissions` and `group_members` it says who holds a key at a scope.

use crate::{
    grants::{Gives, ROLE_ID, SCOPE_ID, SUBJECT_ID, SUBJECT_KIND, TERMS, Terms},
    projection::{Poison, Projection, Recorded},
    rows::{
        Changes, Column,
        Kind::{Text, Uuid},
        Row, Spec, TableSpec, Value,
    },
    words,
};
use charter_events::{Event, GrantId, GrantKeysRemoved};
use charter_policy::Policy;

/// Who can act where, and by what.
#[derive(Debug, Clone, Copy)]
pub struct AccessIndex;

/// The tables of [`AccessIndex`].
pub static ACCESS_INDEX: Spec = Spec {
    name: "access_index",
    about: "Who can act where, and by what.",
    version: 1,
    tables: &[TableSpec {
        name: "access_entries",
        about: "What a standing grant gives at its scope: a role, or one key.",
        columns: COLUMNS,
        key: 3,
        indexes: &[&["permission", "scope_id"], &["role_id", "scope_id"], &["subject_id"], &["grant_id"]],
    }],
};

const COLUMNS: &[Column] = &[
    SCOPE_ID,
    Column::new("grant_id", Uuid, "By which grant."),
    Column::new("gives", Text, "The key, or `role:` and the role's id."),
    Column::maybe("permission", Text, "The key it gives; empty where it gives a role."),
    ROLE_ID,
    SUBJECT_KIND,
    SUBJECT_ID,
    TERMS[0],
    TERMS[1],
    TERMS[2],
    TERMS[3],
    TERMS[4],
];

impl Projection for AccessIndex {
    fn spec(&self) -> &'static Spec {
        &ACCESS_INDEX
    }

    fn on(&self, before: &Policy, recorded: Recorded<'_>, out: &mut Changes) -> Result<(), Poison> {
        match recorded.event {
            Event::GrantIssued(e) => {
                rows(&Terms::issued(e)).into_iter().for_each(|row| out.put(0, 3, row));
                Ok(())
            }
            Event::GrantRevoked(e) => gone(before, e.grant, out),
            Event::GrantEnded(e) => gone(before, e.grant, out),
            Event::GrantExpired(e) => gone(before, e.grant, out),
            Event::GrantKeysRemoved(e) => keys_removed(before, e, out),
            // What a role holds and who is in a group is joined; nothing of it stands here.
            Event::InstallationCreated(_)
            | Event::PermissionsRegistered(_)
            | Event::PermissionsDeprecated(_)
            | Event::PermissionsRemoved(_)
            | Event::ObjectTypesRegistered(_)
            | Event::ObjectTypesRemoved(_)
            | Event::RoleCreated(_)
            | Event::RoleRenamed(_)
            | Event::RolePermissionsChanged(_)
            | Event::RoleDeleted(_)
            | Event::GroupCreated(_)
            | Event::GroupRenamed(_)
            | Event::GroupExternalIdChanged(_)
            | Event::GroupMemberAdded(_)
            | Event::GroupMemberRemoved(_)
            | Event::GroupDeleted(_)
            | Event::ObjectCreated(_)
            | Event::ObjectRenamed(_)
            | Event::ObjectMoved(_)
            | Event::ObjectTransferred(_)
            | Event::ObjectInheritanceChanged(_)
            | Event::ObjectDeleted(_)
            | Event::UserInvited(_)
            | Event::UserRegistered(_)
            | Event::UserProfileChanged(_)
            | Event::UserSuspended(_)
            | Event::UserReactivated(_)
            | Event::UserDeletionScheduled(_)
            | Event::UserDeletionCancelled(_)
            | Event::UserErased(_)
            | Event::CredentialPasswordChanged(_)
            | Event::CredentialTokenIssued(_)
            | Event::CredentialTokenRevoked(_)
            | Event::CredentialSessionEnded(_)
            | Event::CredentialSessionsEnded(_)
            | Event::ProjectionRebuilt(_)
            | Event::ProjectionSkipped(_)
            | Event::BackupTaken(_)
            | Event::BackupRestored(_) => Ok(()),
        }
    }
}

fn gone(before: &Policy, id: GrantId, out: &mut Changes) -> Result<(), Poison> {
    for row in rows(&Terms::standing(before, id)?) {
        out.delete(0, key(row));
    }
    Ok(())
}

fn keys_removed(before: &Policy, e: &GrantKeysRemoved, out: &mut Changes) -> Result<(), Poison> {
    let mut terms = Terms::standing(before, e.grant)?;
    if let Gives::Keys(held) = &mut terms.gives {
        held.retain(|key| e.keys.contains(key));
    }
    for row in rows(&terms) {
        out.delete(0, key(row));
    }
    Ok(())
}

fn key(mut row: Row) -> Row {
    row.truncate(3);
    row
}

fn rows(terms: &Terms) -> Vec<Row> {
    match &terms.gives {
        Gives::Role(role) => {
            let gives = Value::text(format!("role:{role}"));
            vec![row(terms, [gives, Value::Null, Value::Uuid(role.as_uuid())])]
        }
        Gives::Keys(keys) => {
            let key = |key: &charter_events::PermissionKey| Value::text(key.as_str());
            keys.iter().map(|held| row(terms, [key(held), key(held), Value::Null])).collect()
        }
    }
}

fn row(terms: &Terms, gives: [Value; 3]) -> Row {
    let (kind, subject) = words::subject(terms.subject);
    let mut row = vec![Value::Uuid(words::scope(terms.scope)), Value::Uuid(terms.id.as_uuid())];
    row.extend(gives);
    row.push(Value::text(kind));
    row.push(Value::Uuid(subject));
    row.extend(terms.values());
    row
}
