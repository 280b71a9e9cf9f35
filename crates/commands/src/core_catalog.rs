//! The control plane's own catalog: its permissions, its one object type, and the roles every installation begins
//! with.
//!
//! Declared here and nowhere else; brought into the log when an installation is created, and at start when this
//! build's revision is above the logged one.

use crate::refusal::{Code, Refusal};
use charter_events::{
    AliasDefinition, ObjectType, ObjectTypeDefinition, Pattern, PermissionDefinition, PermissionKey,
    RoleScope, SeededRole,
};
use std::str::FromStr;

/// Raise by one whenever anything below changes: an older build never overwrites a newer one's catalog.
pub const REVISION: u32 = 1;

/// Where a key can be granted inline, besides globally.
#[derive(Clone, Copy)]
enum On {
    /// Nowhere else.
    Platform,
    /// On objects of every type.
    Any,
    /// On folders.
    Folder,
}

#[rustfmt::skip]
const PERMISSIONS: &[(&str, On, &str)] = &[
    ("core.agent.enroll", On::Platform, "Enroll agents"),
    ("core.agent.read", On::Platform, "See agents"),
    ("core.agent.revoke", On::Platform, "Revoke agents' credentials"),
    ("core.audit.read", On::Any, "Read the recorded history"),
    ("core.backup.create", On::Platform, "Take backups"),
    ("core.decision.read", On::Any, "Ask what others may do"),
    ("core.escalation.approve", On::Any, "Approve escalations"),
    ("core.escalation.configure", On::Any, "Say who may escalate to what"),
    ("core.escalation.read", On::Any, "See escalations"),
    ("core.escalation.revoke", On::Any, "End escalations before their time"),
    ("core.folder.create", On::Folder, "Create folders"),
    ("core.folder.manage", On::Folder, "Rename and delete folders"),
    ("core.folder.read", On::Folder, "See folders"),
    ("core.grant.manage", On::Any, "Give and take access, as far as one's own goes"),
    ("core.grant.read", On::Any, "See who has which access"),
    ("core.group.create", On::Platform, "Create groups"),
    ("core.group.delete", On::Platform, "Delete groups"),
    ("core.group.edit", On::Platform, "Rename groups"),
    ("core.group.manage", On::Platform, "Add and remove members of groups"),
    ("core.group.read", On::Platform, "See groups and their members"),
    ("core.module.install", On::Platform, "Install modules and register their permissions"),
    ("core.module.read", On::Platform, "See modules"),
    ("core.module.uninstall", On::Platform, "Uninstall modules and remove their permissions"),
    ("core.object.move", On::Any, "Move objects to other folders"),
    ("core.object.transfer", On::Any, "Give objects to other owners"),
    ("core.permission.read", On::Platform, "See the catalog of permissions"),
    ("core.projection.read", On::Platform, "See the state of projections"),
    ("core.projection.rebuild", On::Platform, "Rebuild projections"),
    ("core.role.create", On::Platform, "Create roles"),
    ("core.role.delete", On::Platform, "Delete roles"),
    ("core.role.edit", On::Platform, "Rename roles and change what they hold"),
    ("core.role.read", On::Platform, "See roles"),
    ("core.user.create", On::Platform, "Create and invite users"),
    ("core.user.delete", On::Platform, "Delete and restore users"),
    ("core.user.edit", On::Platform, "Edit users and reset their credentials"),
    ("core.user.read", On::Platform, "See users"),
    ("core.user.suspend", On::Platform, "Suspend and reactivate users"),
];

/// What the operator does beyond reading.
const OPERATING: &[&str] = &[
    "core.folder.create",
    "core.folder.manage",
    "core.object.move",
    "core.object.transfer",
    "core.projection.rebuild",
];

/// A seeded role as it begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeededDefinition {
    /// Which one.
    pub seeded: SeededRole,
    /// Its slug.
    pub slug: &'static str,
    /// How it is shown.
    pub name: &'static str,
    /// Where it may be assigned.
    pub scope: RoleScope,
    /// What it holds, sorted.
    pub permissions: Vec<Pattern>,
}

/// Core's permissions, sorted by key.
///
/// # Errors
/// None while the table above is well-formed, which a test sees to.
pub fn permissions() -> Result<Vec<PermissionDefinition>, Refusal> {
    PERMISSIONS
        .iter()
        .map(|(key, on, description)| {
            let object_types = match on {
                On::Platform => Vec::new(),
                On::Any => vec![parsed(charter_events::names::ANY_TYPE)?],
                On::Folder => vec![ObjectType::folder()],
            };
            Ok(PermissionDefinition { key: parsed(key)?, description: parsed(description)?, object_types })
        })
        .collect()
}

/// Core's one object type.
///
/// # Errors
/// None while its keys are well-formed.
pub fn folder_type() -> Result<ObjectTypeDefinition, Refusal> {
    let key = |action: &str| parsed::<PermissionKey>(&format!("core.folder.{action}"));
    let alias = |alias: &str, action: &str| Ok(AliasDefinition { alias: parsed(alias)?, key: key(action)? });
    Ok(ObjectTypeDefinition {
        name: ObjectType::folder(),
        read: key("read")?,
        create: key("create")?,
        manage: key("manage")?,
        aliases: vec![alias("edit", "manage")?, alias("view", "read")?],
    })
}

/// The roles every installation begins with.
///
/// # Errors
/// None while the table above is well-formed.
pub fn seeded_roles() -> Result<Vec<SeededDefinition>, Refusal> {
    let reads = |key: &&str| key.ends_with(".read");
    let keys = || PERMISSIONS.iter().map(|(key, ..)| *key);
    let patterns =
        |wanted: &dyn Fn(&&str) -> bool| keys().filter(wanted).map(parsed).collect::<Result<Vec<_>, _>>();
    let viewer = patterns(&|key| reads(key))?;
    let operator = patterns(&|key| reads(key) || OPERATING.contains(key))?;
    let role =
        |seeded, slug, name, scope, permissions| SeededDefinition { seeded, slug, name, scope, permissions };
    let all = || vec![Pattern::all()];
    Ok(vec![
        role(SeededRole::Administrator, "administrator", "Administrator", RoleScope::Global, all()),
        role(SeededRole::Owner, "owner", "Owner", RoleScope::Object, all()),
        role(SeededRole::Viewer, "viewer", "Viewer", RoleScope::Both, viewer),
        role(SeededRole::Operator, "operator", "Operator", RoleScope::Both, operator),
    ])
}

pub(crate) fn parsed<T: FromStr<Err: std::fmt::Display>>(text: &str) -> Result<T, Refusal> {
    text.parse().map_err(|fault| Refusal::new(Code::InvalidState, format!("core's own catalog: {fault}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_core_s_and_stands_once_in_order() {
        let all = permissions().unwrap();
        assert!(all.is_sorted_by(|a, b| a.key < b.key));
        assert!(all.iter().all(|permission| permission.key.namespace() == "core"));
    }

    #[test]
    fn the_folder_type_names_registered_keys() {
        let keys: Vec<_> = permissions().unwrap().into_iter().map(|permission| permission.key).collect();
        let folder = folder_type().unwrap();
        for key in [&folder.read, &folder.create, &folder.manage] {
            assert!(keys.contains(key), "{key}");
        }
        assert!(folder.aliases.iter().all(|alias| keys.contains(&alias.key)));
    }

    #[test]
    fn the_viewer_reads_and_the_operator_adds_work() {
        let roles = seeded_roles().unwrap();
        let [administrator, owner, viewer, operator] = roles.as_slice() else { panic!("four roles") };
        assert_eq!((administrator.scope, owner.scope), (RoleScope::Global, RoleScope::Object));
        assert!(viewer.permissions.iter().all(|item| item.as_str().ends_with(".read")));
        assert!(viewer.permissions.iter().all(|item| operator.permissions.contains(item)));
        assert_eq!(operator.permissions.len(), viewer.permissions.len() + OPERATING.len());
        for role in &roles {
            assert!(role.permissions.is_sorted());
        }
    }
}
