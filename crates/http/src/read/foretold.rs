//! Events that a change would lead to, as far as the caller may see them. He knows what he asks for; what befalls
//! others thereby he sees only where he may read it, or with the whole log.

use super::{BothSides, sees_grant};
use crate::{dto, problem::Problem};
use charter_events::{Event, GrantId, GroupId, Scope, StoredEvent, TokenId, UserId};
use std::collections::BTreeSet;

/// What stands for a user's names. Keyed tags are equal for equal names, also of somebody who was erased: whoever may
/// preview any name he likes could look for it in the log.
const SEALED: &str = "[sealed]";

/// The events that are shown.
pub(crate) struct SeenEvents {
    /// The first of them.
    pub(crate) shown: Vec<dto::PreviewEvent>,
    /// How many the caller may see.
    pub(crate) count: usize,
}

/// How much of an event the caller sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sees {
    All,
    AllButNames,
    Nothing,
}

impl Sees {
    const fn all_if(may: bool) -> Self {
        if may { Self::All } else { Self::Nothing }
    }
}

impl BothSides {
    /// The events the caller may see: the first of them, and how many they are.
    ///
    /// # Errors
    /// 500, when one can't be read: what was decided always can.
    pub(crate) fn events(&self, events: &[StoredEvent], events_max: usize) -> Result<SeenEvents, Problem> {
        let decoded: Vec<Event> =
            events.iter().map(StoredEvent::decode).collect::<Result<_, _>>().map_err(unreadable)?;
        let reader = Reader::new(self, &decoded);
        let mut seen = SeenEvents { shown: Vec::new(), count: 0 };
        for (stored, event) in events.iter().zip(&decoded) {
            let sees = reader.sees(event);
            if sees == Sees::Nothing {
                continue;
            }
            seen.count += 1;
            if seen.shown.len() < events_max {
                seen.shown.push(shown(stored, sees).map_err(unreadable)?);
            }
        }
        Ok(seen)
    }
}

fn unreadable(error: impl std::fmt::Display) -> Problem {
    tracing::error!(%error, "an event of a preview can't be read");
    Problem::internal()
}

fn shown(stored: &StoredEvent, sees: Sees) -> Result<dto::PreviewEvent, serde_json::Error> {
    let mut payload: serde_json::Value = serde_json::from_slice(&stored.payload)?;
    if sees == Sees::AllButNames
        && let Some(profile) = payload.get_mut("profile")
    {
        *profile = SEALED.into();
    }
    Ok(dto::PreviewEvent { type_name: stored.type_name.clone(), schema: stored.schema, payload })
}

/// Who reads, and what of the events is asked about once.
struct Reader<'s> {
    sides: &'s BothSides,
    reads_log: bool,
    reads_groups: bool,
    /// Groups that end with the change: their members leave though nobody named them.
    deleted: BTreeSet<GroupId>,
}

impl<'s> Reader<'s> {
    fn new(sides: &'s BothSides, events: &[Event]) -> Self {
        let deleted = events.iter().filter_map(|event| match event {
            Event::GroupDeleted(e) => Some(e.group),
            _ => None,
        });
        Self {
            sides,
            reads_log: sides.before.may_core("core.audit.read", Scope::Global),
            reads_groups: sides.before.may_core("core.group.read", Scope::Global),
            deleted: deleted.collect(),
        }
    }

    /// Without a wildcard: a new kind of event has to say who may see it here.
    fn sees(&self, event: &Event) -> Sees {
        match event {
            Event::UserInvited(_) | Event::UserRegistered(_) | Event::UserProfileChanged(_) => {
                Sees::AllButNames
            }
            Event::GrantRevoked(e) => self.grant(e.grant),
            Event::GrantEnded(e) => self.grant(e.grant),
            Event::GrantExpired(e) => self.grant(e.grant),
            Event::GrantKeysRemoved(e) => self.grant(e.grant),
            Event::GroupMemberRemoved(e) => self.member(e.group, e.user),
            Event::CredentialTokenRevoked(e) => self.token(e.token),
            // What the request itself asks for, of things it names.
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
            | Event::GroupDeleted(_)
            | Event::GrantIssued(_)
            | Event::ObjectCreated(_)
            | Event::ObjectRenamed(_)
            | Event::ObjectMoved(_)
            | Event::ObjectTransferred(_)
            | Event::ObjectInheritanceChanged(_)
            | Event::ObjectDeleted(_)
            | Event::UserSuspended(_)
            | Event::UserReactivated(_)
            | Event::UserDeletionScheduled(_)
            | Event::UserDeletionCancelled(_)
            | Event::UserErased(_)
            | Event::CredentialPasswordChanged(_)
            | Event::CredentialTokenIssued(_)
            | Event::CredentialSessionEnded(_)
            | Event::CredentialSessionsEnded(_)
            | Event::ProjectionRebuilt(_)
            | Event::ProjectionSkipped(_)
            | Event::BackupTaken(_)
            | Event::BackupRestored(_) => Sees::All,
        }
    }

    fn grant(&self, grant: GrantId) -> Sees {
        let before = &self.sides.before;
        let may = || before.policy.grant(grant).is_none_or(|view| sees_grant(before, &view));
        Sees::all_if(self.reads_log || may())
    }

    /// Who takes a member out names him; of a group that goes, only who may read groups sees who was in it.
    fn member(&self, group: GroupId, user: UserId) -> Sees {
        let himself = user == self.sides.before.user;
        Sees::all_if(self.reads_log || self.reads_groups || himself || !self.deleted.contains(&group))
    }

    fn token(&self, token: TokenId) -> Sees {
        let before = &self.sides.before;
        let own = before.policy.token(token).is_some_and(|view| view.user == before.user);
        Sees::all_if(self.reads_log || own)
    }
}
