//! Lays the first events of a log: the installation, core's catalog, the folder type and the four seeded roles.
//!
//! Refused: `already_installed`; `system_only`.

use crate::{
    Context, Decided,
    command::Decide,
    core_catalog,
    may::require_system,
    refusal::{Code, Refusal},
};
use charter_events::{
    DisplayName, Event, InstallationCreated, Namespace, ObjectTypesRegistered, PermissionsRegistered,
    RoleCreated, RoleId,
};
use charter_policy::Policy;

/// Lays the first events of a log: the installation, core's catalog, the folder type and the four seeded roles.
/// System only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreateInstallation {
    /// How the installation is shown.
    pub name: DisplayName,
}

impl Decide for CreateInstallation {
    fn decide(&self, policy: &Policy, ctx: &mut Context<'_>) -> Result<Decided, Refusal> {
        require_system(ctx)?;
        if policy.installation().is_some() {
            return Err(Refusal::new(Code::AlreadyInstalled, "the installation exists already"));
        }
        let mut events: Vec<Event> = vec![InstallationCreated { name: self.name.clone() }.into()];
        events.extend(core_events()?);
        for role in core_catalog::seeded_roles()? {
            let created = RoleCreated {
                role: RoleId::new(ctx.ids.next()),
                slug: core_catalog::parsed(role.slug)?,
                name: core_catalog::parsed(role.name)?,
                scope: role.scope,
                permissions: role.permissions,
                seeded: Some(role.seeded),
            };
            events.push(created.into());
        }
        Ok(Decided::events(events))
    }
}

/// The folder type and core's keys, whole.
pub(super) fn core_events() -> Result<[Event; 2], Refusal> {
    let types =
        ObjectTypesRegistered { namespace: Namespace::core(), types: vec![core_catalog::folder_type()?] };
    let permissions = PermissionsRegistered {
        namespace: Namespace::core(),
        revision: Some(core_catalog::REVISION),
        permissions: core_catalog::permissions()?,
    };
    Ok([types.into(), permissions.into()])
}
