//! The parts of a grant: to whom, what, where, with which effect, and how far down it reaches.

use crate::{
    ids::{GroupId, ObjectId, RoleId, UserId},
    key::PermissionKey,
};
use serde::{Deserialize, Serialize};

/// Anything a grant can be given to. Agents, modules and runtimes are never subjects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", content = "id", rename_all = "snake_case")]
pub enum Subject {
    /// One user.
    User(UserId),
    /// Every member of a group.
    Group(GroupId),
}

/// Where a grant applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", content = "id", rename_all = "snake_case")]
pub enum Scope {
    /// The whole platform.
    Global,
    /// One object, and from a folder whatever the grant's reach says.
    Object(ObjectId),
}

/// What a grant gives: the content of a role, or literal keys of its own. Never both, never neither.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Content {
    /// Whatever the role holds, now and later.
    Role(RoleId),
    /// These keys: at least one, sorted, each once.
    Keys(Vec<PermissionKey>),
}

/// Whether a matching grant lets in or keeps out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Lets in.
    #[default]
    Allow,
    /// Keeps out; literal keys only.
    Deny,
}

/// How far below its folder a grant reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Affects {
    /// The folder and everything below.
    #[default]
    All,
    /// The folder alone.
    SelfOnly,
    /// Everything below, not the folder.
    ChildrenOnly,
    /// The folder and what lies directly in it.
    SelfAndDirectChildren,
    /// What lies directly in the folder.
    DirectChildrenOnly,
}

/// Which kinds of things below the folder a grant reaches. The folder itself is never asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ChildTypes {
    /// Folders and other objects.
    #[default]
    All,
    /// Objects that are no folders.
    Objects,
    /// Folders.
    Containers,
}

/// A grant's reach: both terms together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Reach {
    /// How far down.
    pub affects: Affects,
    /// Which kinds.
    pub child_types: ChildTypes,
}

impl Reach {
    /// Everything, the default and the only reach of a grant that is not on a folder.
    pub const ALL: Self = Self { affects: Affects::All, child_types: ChildTypes::All };

    /// Whether a grant reaches something `distance` levels below its scope (0 = the scope itself).
    pub const fn reaches(self, distance: usize, is_folder: bool) -> bool {
        let by_distance = match (self.affects, distance) {
            (Affects::All | Affects::SelfOnly | Affects::SelfAndDirectChildren, 0) => return true,
            (Affects::ChildrenOnly | Affects::DirectChildrenOnly, 0) => return false,
            (Affects::All | Affects::ChildrenOnly, _) => true,
            (Affects::SelfAndDirectChildren | Affects::DirectChildrenOnly, 1) => true,
            (Affects::SelfAndDirectChildren | Affects::DirectChildrenOnly | Affects::SelfOnly, _) => false,
        };
        by_distance
            && match self.child_types {
                ChildTypes::All => true,
                ChildTypes::Objects => !is_folder,
                ChildTypes::Containers => is_folder,
            }
    }

    /// Whether the terms make sense together: with `self_only` no child type may be named.
    pub const fn is_valid(self) -> bool {
        !matches!(self.affects, Affects::SelfOnly) || matches!(self.child_types, ChildTypes::All)
    }
}

/// Where an instance of a role may be assigned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RoleScope {
    /// Platform-wide only.
    Global,
    /// On objects only.
    Object,
    /// Either.
    Both,
}

impl RoleScope {
    /// Whether a role of this scope may be granted there.
    pub const fn allows(self, scope: Scope) -> bool {
        matches!(
            (self, scope),
            (Self::Both, _) | (Self::Global, Scope::Global) | (Self::Object, Scope::Object(_))
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reach_is_the_table_of_the_decision_model() {
        use Affects::*;
        // rows: d = 0, 1, 2; `f` where the child type must fit
        let table = [
            (All, ["yes", "fit", "fit"]),
            (SelfOnly, ["yes", "no", "no"]),
            (ChildrenOnly, ["no", "fit", "fit"]),
            (SelfAndDirectChildren, ["yes", "fit", "no"]),
            (DirectChildrenOnly, ["no", "fit", "no"]),
        ];
        for (affects, row) in table {
            for (distance, cell) in row.into_iter().enumerate() {
                for (child_types, folder_fits, object_fits) in [
                    (ChildTypes::All, true, true),
                    (ChildTypes::Objects, false, true),
                    (ChildTypes::Containers, true, false),
                ] {
                    for (is_folder, fits) in [(true, folder_fits), (false, object_fits)] {
                        let expected = cell == "yes" || (cell == "fit" && fits);
                        let reach = Reach { affects, child_types };
                        assert_eq!(
                            reach.reaches(distance, is_folder),
                            expected,
                            "{reach:?} at {distance}, folder {is_folder}"
                        );
                    }
                }
            }
        }
    }
}
