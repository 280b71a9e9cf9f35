//! Brings core's catalog to this build's revision.
//!
//! Refused: `system_only`.

use crate::{Context, Decided, command::Decide, core_catalog, may::require_system, refusal::Refusal};
use charter_events::{Event, Namespace, PermissionsDeprecated};
use charter_policy::Policy;

/// Brings core's catalog to this build's revision; an older build changes nothing. System only, at start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpsertCoreCatalog {}

impl Decide for UpsertCoreCatalog {
    fn decide(&self, policy: &Policy, ctx: &mut Context<'_>) -> Result<Decided, Refusal> {
        require_system(ctx)?;
        let core = Namespace::core();
        if policy.catalog_revision(&core).is_some_and(|logged| logged >= core_catalog::REVISION) {
            return Ok(Decided::nothing());
        }
        let wanted = core_catalog::permissions()?;
        let gone = policy.permissions().filter(|known| {
            known.namespace == core.as_str()
                && !known.deprecated
                && wanted.binary_search_by(|permission| permission.key.cmp(known.key)).is_err()
        });
        let keys: Vec<_> = gone.map(|known| known.key.clone()).collect();
        let mut events: Vec<Event> = super::create::core_events()?.into();
        if !keys.is_empty() {
            events.push(PermissionsDeprecated { namespace: core, keys }.into());
        }
        Ok(Decided::events(events))
    }
}
