//! Users and groups, and who is in which.

use crate::{
    UserStatus,
    entries::Given,
    intern::Interner,
    ix::{GroupIx, ObjectIx, UserIx},
    pages::Paged,
    sorted::Sorted,
};
use charter_events::{DisplayName, ExternalId, NameTag, Offset, SealedProfile, Slug, Timestamp, UserKind};
use imbl::OrdMap;
use smallvec::SmallVec;

/// What every question about a user reads.
#[derive(Debug, Clone, Default)]
pub(crate) struct UserNode {
    pub(crate) active: bool,
    /// Sorted.
    pub(crate) groups: SmallVec<[GroupIx; 6]>,
}

/// What is only shown.
#[derive(Debug, Clone)]
pub(crate) struct UserFacts {
    pub(crate) kind: UserKind,
    pub(crate) status: UserStatus,
    pub(crate) profile: Option<SealedProfile>,
    pub(crate) has_password: bool,
    pub(crate) erase_at: Option<Timestamp>,
    /// While awaiting deletion: where the account stood before, and stands again when that is called off.
    pub(crate) before_deletion: Option<UserStatus>,
    pub(crate) changed_at: Offset,
    pub(crate) created_at: Timestamp,
    pub(crate) sessions_ended: Option<Offset>,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Users {
    pub(crate) ids: Interner,
    pub(crate) nodes: Paged<UserNode, 64>,
    pub(crate) facts: Paged<Option<UserFacts>, 64>,
    pub(crate) grants: Paged<Sorted<Given>, 64>,
    pub(crate) owned: Paged<Sorted<ObjectIx>, 64>,
    pub(crate) tags: OrdMap<NameTag, UserIx>,
}

impl Users {
    #[inline]
    pub(crate) fn node(&self, ix: UserIx) -> Option<&UserNode> {
        self.nodes.get(ix.at())
    }

    pub(crate) fn get(&self, ix: UserIx) -> Option<&UserFacts> {
        self.facts.get(ix.at())?.as_ref()
    }

    pub(crate) fn grants(&self, ix: UserIx) -> Option<&Sorted<Given>> {
        self.grants.get(ix.at())
    }

    /// Makes room for a user whose id has just been interned.
    pub(crate) fn push(&mut self, facts: UserFacts) {
        let node = UserNode { active: facts.status == UserStatus::Active, groups: SmallVec::new() };
        self.nodes.push(node);
        self.grants.push(Sorted::default());
        self.owned.push(Sorted::default());
        self.facts.push(Some(facts));
    }

    /// Takes the user's tags back from whoever else might want them.
    pub(crate) fn free_tags(&mut self, ix: UserIx) {
        let Some(Some(facts)) = self.facts.get(ix.at()) else { return };
        for tag in facts.profile.iter().flat_map(SealedProfile::tags) {
            self.tags.remove(&tag);
        }
    }

    /// The first of these tags that is somebody else's, or puts them all in.
    pub(crate) fn claim_tags(&mut self, ix: UserIx, profile: &SealedProfile) -> Result<(), NameTag> {
        if let Some(taken) = profile.tags().find(|tag| self.tags.get(tag).is_some_and(|other| *other != ix)) {
            return Err(taken);
        }
        for tag in profile.tags() {
            self.tags.insert(tag, ix);
        }
        Ok(())
    }
}

/// A standing group.
#[derive(Debug, Clone)]
pub(crate) struct GroupFacts {
    pub(crate) slug: Slug,
    pub(crate) name: DisplayName,
    pub(crate) external_id: Option<ExternalId>,
    pub(crate) changed_at: Offset,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Groups {
    pub(crate) ids: Interner,
    pub(crate) facts: Paged<Option<GroupFacts>, 64>,
    pub(crate) members: Paged<Sorted<UserIx>, 64>,
    pub(crate) grants: Paged<Sorted<Given>, 64>,
    pub(crate) slugs: OrdMap<Slug, GroupIx>,
}

impl Groups {
    pub(crate) fn get(&self, ix: GroupIx) -> Option<&GroupFacts> {
        self.facts.get(ix.at())?.as_ref()
    }

    pub(crate) fn members(&self, ix: GroupIx) -> Option<&Sorted<UserIx>> {
        self.members.get(ix.at())
    }

    pub(crate) fn grants(&self, ix: GroupIx) -> Option<&Sorted<Given>> {
        self.grants.get(ix.at())
    }

    /// Makes room for a group whose id has just been interned.
    pub(crate) fn push(&mut self, facts: Option<GroupFacts>) {
        self.facts.push(facts);
        self.members.push(Sorted::default());
        self.grants.push(Sorted::default());
    }
}
