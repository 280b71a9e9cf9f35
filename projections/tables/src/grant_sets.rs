//! `grant_sets`: what is given to whom, one row a standing grant, the grants of a subject beside each other.

use crate::{
    grants::{Gives, ROLE_ID, SCOPE_ID, SUBJECT_ID, SUBJECT_KIND, TERMS, Terms},
    projection::{Poison, Projection, Recorded},
    rows::{
        Changes, Column,
        Kind::{Int, Text, Uuid},
        Row, Spec, TableSpec, Value,
    },
    words::{self, missing},
};
use charter_events::{
    Actor, Event, GrantId, GrantIssued, GrantKeysRemoved, Offset, PermissionKey, Timestamp,
};
use charter_policy::Policy;

/// What is given to whom.
#[derive(Debug, Clone, Copy)]
pub struct GrantSets;

/// The tables of [`GrantSets`].
pub static GRANT_SETS: Spec = Spec {
    name: "grant_sets",
    about: "What is given to whom.",
    version: 1,
    tables: &[TableSpec {
        name: "grants",
        about: "A standing grant: neither revoked nor ended nor recorded as expired.",
        columns: COLUMNS,
        key: 3,
        indexes: &[&["grant_id"], &["role_id"], &["scope_id"], &["expires_at"], &["position"]],
    }],
};

const COLUMNS: &[Column] = &[
    SUBJECT_KIND,
    SUBJECT_ID,
    Column::new("grant_id", Uuid, "Its id."),
    SCOPE_ID,
    ROLE_ID,
    Column::maybe(
        "permissions",
        Text,
        "The keys it gives, as a JSON list in byte order; empty where it gives a role.",
    ),
    TERMS[0],
    TERMS[1],
    TERMS[2],
    TERMS[3],
    TERMS[4],
    Column::new("issued_at", Int, "When it was issued."),
    Column::new("issued_by_kind", Text, "By whom: `user`, `service`, `module` or `system`."),
    Column::maybe("issued_by_id", Uuid, "The user who issued it."),
    Column::maybe("issued_by_module", Text, "The module that issued it."),
    Column::new("changed_at", Int, "Offset of the last event that changed it."),
    Column::new("position", Int, "Its place in the order of issuing, from 0; never used again."),
];

/// By whom and when, and its place.
struct Origin<'a> {
    issued_at: Timestamp,
    issued_by: &'a Actor,
    changed_at: Offset,
    position: u64,
}

impl Projection for GrantSets {
    fn spec(&self) -> &'static Spec {
        &GRANT_SETS
    }

    fn on(&self, before: &Policy, recorded: Recorded<'_>, out: &mut Changes) -> Result<(), Poison> {
        match recorded.event {
            Event::GrantIssued(e) => {
                issued(before, recorded, e, out);
                Ok(())
            }
            Event::GrantRevoked(e) => gone(before, e.grant, out),
            Event::GrantEnded(e) => gone(before, e.grant, out),
            Event::GrantExpired(e) => gone(before, e.grant, out),
            Event::GrantKeysRemoved(e) => keys_removed(before, recorded, e, out),
            // Whatever ends or changes a grant besides says so in an event of the grant's own.
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

fn issued(before: &Policy, recorded: Recorded<'_>, e: &GrantIssued, out: &mut Changes) {
    let stored = recorded.stored;
    let origin = Origin {
        issued_at: stored.recorded_at,
        issued_by: &stored.command.actor,
        changed_at: stored.offset,
        position: before.grant_count() as u64,
    };
    out.put(0, 3, row(&Terms::issued(e), &origin));
}

fn keys_removed(
    before: &Policy,
    recorded: Recorded<'_>,
    e: &GrantKeysRemoved,
    out: &mut Changes,
) -> Result<(), Poison> {
    let view = before.grant(e.grant).ok_or_else(|| missing("grant", e.grant))?;
    let origin = Origin {
        issued_at: view.issued_at,
        issued_by: view.issued_by,
        changed_at: recorded.stored.offset,
        position: view.position.get(),
    };
    out.put(0, 3, row(&Terms::standing(before, e.grant)?.without(&e.keys), &origin));
    Ok(())
}

fn gone(before: &Policy, id: GrantId, out: &mut Changes) -> Result<(), Poison> {
    let view = before.grant(id).ok_or_else(|| missing("grant", id))?;
    let (kind, subject) = words::subject(view.subject);
    out.delete(0, vec![Value::text(kind), Value::Uuid(subject), Value::Uuid(id.as_uuid())]);
    Ok(())
}

fn row(terms: &Terms, origin: &Origin<'_>) -> Row {
    let (kind, subject) = words::subject(terms.subject);
    let (role, keys) = match &terms.gives {
        Gives::Role(role) => (Value::Uuid(role.as_uuid()), Value::Null),
        Gives::Keys(keys) => {
            let keys: Vec<_> = keys.iter().map(PermissionKey::as_str).collect();
            (Value::Null, Value::text(serde_json::Value::from(keys).to_string()))
        }
    };
    let mut row = vec![
        Value::text(kind),
        Value::Uuid(subject),
        Value::Uuid(terms.id.as_uuid()),
        Value::Uuid(words::scope(terms.scope)),
        role,
        keys,
    ];
    row.extend(terms.values());
    row.push(words::moment(origin.issued_at));
    row.extend(words::actor(origin.issued_by));
    row.push(words::offset(origin.changed_at));
    row.push(words::count(origin.position));
    row
}
