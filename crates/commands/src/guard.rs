//! The list of guards: each rule that keeps the permission system from being used to defeat itself, by name.
//!
//! A guard is asked through [`Context::guard`](crate::Context), so that a test can take out one after another and see
//! that some guard case then goes through. The switch exists under the feature `mutants` alone.

macro_rules! guards {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {
        /// One guard of the decision model's "Holding, and the guards".
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Guard { $($(#[$doc])* $name),+ }

        impl Guard {
            /// Every guard, in the order of the list.
            pub const ALL: &'static [Self] = &[$(Self::$name),+];
        }
    };
}

guards! {
    /// The key the command needs (api.md's table).
    CommandKey,
    /// The account of the caller is active.
    ActiveCaller,
    /// What only the control plane does.
    SystemOnly,
    /// What the caller may not know answers as what does not exist.
    MayKnow,
    /// `If-Match`.
    Unchanged,
    /// Issue a grant: hold its content over its reach.
    HoldToIssue,
    /// A deny addressed to the owner of the very object needs an administrator.
    OwnerDenied,
    /// Nobody is given the role `owner` otherwise than by creation and transfer.
    OwnerRoleNotGiven,
    /// The same grant only once.
    GrantedOnce,
    /// So many grants of one subject at one scope.
    GrantsPerSubject,
    /// A role's scope field.
    RoleScope,
    /// A permission fits the object's type.
    TypeFits,
    /// A deny names literal keys.
    DenyNamesKeys,
    /// A deprecated permission is not newly granted.
    NotDeprecated,
    /// A grant begins before it ends, and ends in the future.
    GrantTime,
    /// Revoke a grant: hold its content over its reach.
    HoldToRevoke,
    /// Lifting a deny needs a holding without end.
    LiftDenyWithoutEnd,
    /// The owner grant ends with a transfer or the object only.
    OwnerGrantStays,
    /// Create a role, add to it: hold globally what is added.
    HoldRoleGlobally,
    /// Add to a role: hold it over the reach of each of the role's grants, until that grant's end.
    HoldRoleAtGrants,
    /// Take from a role, delete it: hold globally its whole content.
    HoldToNarrowRole,
    /// Protected roles are neither edited nor deleted.
    ProtectedRole,
    /// Add a member: hold the content of each of the group's grants over its reach.
    HoldToAddMember,
    /// Remove a member: the same.
    HoldToRemoveMember,
    /// Leaving a group that has a deny is removing a member.
    LeaveWithDeny,
    /// Delete a group: hold the content of each of its grants over its reach.
    HoldToDeleteGroup,
    /// Move, open: `core.grant.manage` on the object.
    ManageToMove,
    /// Move, open: hold what begins to reach the object.
    HoldWhatBegins,
    /// Move: hold the keys of every deny that ceases to reach it.
    HoldWhatCeases,
    /// No object lies in itself.
    NoCycle,
    /// Folders nest so deep.
    Depth,
    /// Seal an object: hold `*` on it over everything below.
    HoldToSeal,
    /// Transfer an object: hold `*` on it over everything below, without end.
    HoldToTransfer,
    /// The new owner's account is active.
    NewOwnerActive,
    /// Denies on the object addressed to the new owner end.
    DeniesOnNewOwnerEnd,
    /// A folder that contains something stays.
    FolderEmpty,
    /// An external id needs the type's create key held globally.
    ExternalIdNeedsCreate,
    /// Change a user's names or address: hold the content of every allow grant of his and of his groups.
    HoldToRename,
    /// Reset, take away or issue another's credential: the same.
    HoldToReset,
    /// Link another to an identity at a provider, or unlink him: the same.
    HoldToLink,
    /// Link oneself to an identity, or unlink oneself: be an administrator without end.
    OwnIdentity,
    /// No link replaces the password of whoever is or will be an administrator.
    NoLinkToAdministrator,
    /// One's own lasting credential needs a holding that lasts.
    OwnCredentialLasts,
    /// A masked token gives out nothing beyond its mask.
    CredentialWithinCeiling,
    /// Suspend, delete, edit somebody who is or will be an administrator: be one.
    TouchAdministrator,
    /// Reactivate or restore one: be one without end.
    RestoreAdministrator,
    /// A deletion leaves time to be undone, unless an administrator for good says otherwise.
    GraceToRestore,
    /// A user who owns objects stays.
    OwnsNothing,
    /// No two users share a name; no two roles, groups or objects a name of their kind.
    NamesUnique,
    /// A name with a meaning of its own is not given.
    NotReserved,
    /// A namespace is its module's own, never core.
    OwnNamespace,
    /// Catalog changes need an administrator when not sent by the module itself.
    AdministratorForCatalog,
    /// A type belongs to who registered it and never changes what it means.
    TypesStay,
    /// Keys and aliases lie in the registering namespace.
    KeysInNamespace,
    /// A deny keeps a removed key, and binds again if the key returns.
    DenyKeepsKey,
    /// At least one lasting administrator remains.
    LastAdministrator,
    /// Once there has been an administrator, setup stays closed.
    SetupOnce,
}

/// A set of guards that are taken out.
#[cfg(feature = "mutants")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Guards(u64);

#[cfg(feature = "mutants")]
impl Guards {
    /// Every guard stands.
    pub const NONE: Self = Self(0);

    /// This one taken out, the others standing.
    pub const fn only(guard: Guard) -> Self {
        Self(1 << guard as u64)
    }

    /// Whether it is taken out.
    pub const fn contains(self, guard: Guard) -> bool {
        self.0 & (1 << guard as u64) != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_guard_has_a_bit_of_its_own() {
        assert!(Guard::ALL.len() <= 64, "the set of removed guards holds 64");
        for (place, guard) in Guard::ALL.iter().enumerate() {
            assert_eq!(*guard as usize, place);
        }
    }
}
