//! What several areas share: lists, references, problems, secrets, and the two ways a member can be absent.

use charter_events::{GroupId, ObjectId, ObjectType, Offset, RoleId, UserId};
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

/// One page of a list. Each page is judged at the newest version, which the header `Policy-Version` names.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct List<T> {
    /// The rows of this page.
    pub items: Vec<T>,
    /// Hand this back as `cursor` for the next page; absent on the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// Why a request was not answered (RFC 9457).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({
    "type": "about:blank", "title": "Forbidden", "status": 403, "code": "not_held",
    "detail": "you can only grant what you hold", "missing": ["minecraft.server.restart"]
}))]
pub struct ProblemBody {
    /// Always `about:blank`: `code` says what is wrong.
    #[serde(rename = "type")]
    pub kind: String,
    /// The status in words.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// What is wrong, stable, for programs.
    pub code: String,
    /// What is wrong, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The member, parameter or header that is wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// What the caller would need, in byte order: the first 20.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// Whether there is more than is listed.
    #[serde(default, skip_serializing_if = "is_false")]
    pub more: bool,
    /// For `owns_objects`: the ids of those the caller may read, the first 20.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub objects: Vec<String>,
    /// For `not_undoable`: the events that stand in the way, the first 20.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<super::EventReason>,
}

pub(crate) fn is_false(value: &bool) -> bool {
    !*value
}

/// A user, named.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UserRef {
    /// His id.
    #[schema(value_type = Uuid)]
    pub id: UserId,
    /// His username; absent once he is erased.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub username: Option<String>,
    /// How he is shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
}

/// A group, named.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GroupRef {
    /// Its id.
    #[schema(value_type = Uuid)]
    pub id: GroupId,
    /// Its unique name.
    pub slug: String,
    /// How it is shown.
    pub name: String,
}

/// A role, named.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RoleRef {
    /// Its id.
    #[schema(value_type = Uuid)]
    pub id: RoleId,
    /// Its unique name.
    pub slug: String,
    /// How it is shown.
    pub name: String,
}

/// An object, named.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ObjectRef {
    /// Its id.
    #[schema(value_type = Uuid)]
    pub id: ObjectId,
    /// Its type.
    #[serde(rename = "type")]
    #[schema(value_type = String, example = "server")]
    pub object_type: ObjectType,
    /// Its id in somebody else's system: the id itself unless it was given another.
    pub external_id: String,
    /// How it is shown.
    pub name: String,
}

/// To whom a grant is given: exactly one of the two members is there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SubjectRef {
    /// The user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<UserRef>,
    /// The group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<GroupRef>,
}

/// A place in the scope walk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum ScopeRef {
    /// The whole platform.
    Global,
    /// One object.
    Object {
        /// Which.
        object: ObjectRef,
    },
    /// An object the caller may not know.
    Hidden,
}

/// The answer to a change that leaves nothing to show.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Done {
    /// The offset of the change's last event: ask with `Policy-Version-Min` to see it everywhere.
    #[schema(value_type = u64)]
    pub policy_version: Offset,
}

/// Text that is never logged and never printed.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(transparent)]
#[schema(value_type = String, format = Password)]
pub struct Secret(String);

impl Secret {
    /// Takes the text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text, for whoever must have it.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// The text itself.
    pub fn into_inner(mut self) -> String {
        std::mem::take(&mut self.0)
    }
}

impl Drop for Secret {
    fn drop(&mut self) {
        zeroize::Zeroize::zeroize(&mut self.0);
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// In a merge patch: a member that may be absent (keep), null (clear) or a value (set).
pub(crate) fn clearable<'de, T, D>(deserializer: D) -> Result<Option<Option<T>>, D::Error>
where
    T: Deserialize<'de>,
    D: Deserializer<'de>,
{
    Option::<T>::deserialize(deserializer).map(Some)
}

/// In a merge patch: a member that may be absent (keep) or a value (set); null is refused, since it can't be cleared.
pub(crate) fn required<'de, T, D>(deserializer: D) -> Result<Option<T>, D::Error>
where
    T: Deserialize<'de>,
    D: Deserializer<'de>,
{
    T::deserialize(deserializer).map(Some)
}

/// How a server is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Health {
    /// `ok` or `ready`.
    pub status: String,
    /// For people: what is wrong though questions and commands are answered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub degraded: Vec<String>,
}
