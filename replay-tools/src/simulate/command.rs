//! One command as a line of JSON, and what its names mean at a state.

use charter_commands::{
    AddMember, CancelDeletion, ChangeRole, Command, CreateGroup, CreateObject, CreateRole, DeleteGroup,
    DeleteObject, DeleteRole, IssueGrant, MoveObject, ReactivateUser, RemoveMember, RenameGroup,
    RenameObject, RevokeGrant, ScheduleDeletion, SetInheritance, SuspendUser, TransferObject,
};
use charter_events::{
    Affects, ChildTypes, Content, DisplayName, Effect, ExternalId, GrantId, GroupId, ObjectId, ObjectType,
    Pattern, PermissionKey, RoleId, RoleScope, Scope, Slug, Subject, Timestamp, UserId,
};
use charter_policy::{Caller, Policy};
use serde::Deserialize;

/// A command and who gives it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct SimulatedLine {
    /// The id of the user who gives it, for whom all guards are asked; the system when absent, for whom none is.
    #[serde(default, rename = "as")]
    pub caller: Option<UserId>,
    /// What is asked for.
    #[serde(flatten)]
    pub command: SimulatedCommand,
}

/// A command: `command` is its name, the other members are those of the API's bodies. Roles and groups are named by id
/// or slug, objects by `<type>:<id or external id>`, users by id.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "command", deny_unknown_fields)]
#[expect(missing_docs, reason = "each member is documented at its command")]
pub enum SimulatedCommand {
    /// [`IssueGrant`]: of a role or of literal keys; `subject` is `user:<id>` or `group:<id or slug>`, `scope` an
    /// object or `global`.
    #[serde(rename = "grant.issue")]
    IssueGrant {
        subject: String,
        scope: String,
        #[serde(default)]
        role: Option<String>,
        #[serde(default)]
        permissions: Option<Vec<PermissionKey>>,
        #[serde(default)]
        effect: Effect,
        #[serde(default)]
        not_before: Option<Timestamp>,
        #[serde(default)]
        expires_at: Option<Timestamp>,
        #[serde(default)]
        affects: Affects,
        #[serde(default)]
        child_types: ChildTypes,
    },
    /// [`RevokeGrant`].
    #[serde(rename = "grant.revoke")]
    RevokeGrant { grant: GrantId },
    /// [`CreateRole`].
    #[serde(rename = "role.create")]
    CreateRole { slug: Slug, name: DisplayName, scope: RoleScope, permissions: Vec<Pattern> },
    /// [`ChangeRole`].
    #[serde(rename = "role.change")]
    ChangeRole {
        role: String,
        #[serde(default)]
        name: Option<DisplayName>,
        #[serde(default)]
        add: Vec<Pattern>,
        #[serde(default)]
        remove: Vec<Pattern>,
    },
    /// [`DeleteRole`].
    #[serde(rename = "role.delete")]
    DeleteRole { role: String },
    /// [`CreateGroup`].
    #[serde(rename = "group.create")]
    CreateGroup { slug: Slug, name: DisplayName },
    /// [`RenameGroup`].
    #[serde(rename = "group.rename")]
    RenameGroup { group: String, name: DisplayName },
    /// [`DeleteGroup`].
    #[serde(rename = "group.delete")]
    DeleteGroup { group: String },
    /// [`AddMember`].
    #[serde(rename = "group.add_member")]
    AddMember { group: String, user: UserId },
    /// [`RemoveMember`].
    #[serde(rename = "group.remove_member")]
    RemoveMember { group: String, user: UserId },
    /// [`CreateObject`]; `parent` is a folder, or at the top when absent.
    #[serde(rename = "object.create")]
    CreateObject {
        #[serde(rename = "type")]
        object_type: ObjectType,
        name: DisplayName,
        #[serde(default)]
        external_id: Option<ExternalId>,
        #[serde(default)]
        parent: Option<String>,
    },
    /// [`RenameObject`].
    #[serde(rename = "object.rename")]
    RenameObject { object: String, name: DisplayName },
    /// [`MoveObject`]; `parent` is a folder, or at the top when absent.
    #[serde(rename = "object.move")]
    MoveObject {
        object: String,
        #[serde(default)]
        parent: Option<String>,
    },
    /// [`TransferObject`].
    #[serde(rename = "object.transfer")]
    TransferObject { object: String, owner: UserId },
    /// [`SetInheritance`].
    #[serde(rename = "object.set_inheritance")]
    SetInheritance { object: String, inherits: bool },
    /// [`DeleteObject`].
    #[serde(rename = "object.delete")]
    DeleteObject { object: String },
    /// [`SuspendUser`].
    #[serde(rename = "user.suspend")]
    SuspendUser { user: UserId },
    /// [`ReactivateUser`].
    #[serde(rename = "user.reactivate")]
    ReactivateUser { user: UserId },
    /// [`ScheduleDeletion`].
    #[serde(rename = "user.schedule_deletion")]
    ScheduleDeletion { user: UserId, erase_at: Timestamp },
    /// [`CancelDeletion`].
    #[serde(rename = "user.cancel_deletion")]
    CancelDeletion { user: UserId },
}

impl SimulatedLine {
    /// The command with its names looked up in a state.
    ///
    /// # Errors
    /// What is named and not there, or says two things at once.
    pub(super) fn resolved(&self, policy: &Policy) -> Result<(Caller, Command), String> {
        let caller = self.caller.map_or(Caller::System, Caller::of);
        Ok((caller, self.command.clone().resolved(&Names(policy))?))
    }
}

impl SimulatedCommand {
    fn resolved(self, names: &Names<'_>) -> Result<Command, String> {
        Ok(match self {
            Self::IssueGrant {
                subject,
                scope,
                role,
                permissions,
                effect,
                not_before,
                expires_at,
                affects,
                child_types,
            } => {
                let content = match (role, permissions) {
                    (Some(role), None) => Content::Role(names.role(&role)?),
                    (None, Some(keys)) => Content::Keys(keys),
                    _ => return Err("a grant names a `role` or `permissions`, and not both".to_owned()),
                };
                let (subject, scope) = (names.subject(&subject)?, names.scope(&scope)?);
                IssueGrant { subject, content, scope, effect, not_before, expires_at, affects, child_types }
                    .into()
            }
            Self::RevokeGrant { grant } => RevokeGrant { grant }.into(),
            Self::CreateRole { slug, name, scope, permissions } => {
                CreateRole { slug, name, scope, permissions }.into()
            }
            Self::ChangeRole { role, name, add, remove } => {
                ChangeRole { role: names.role(&role)?, name, add, remove }.into()
            }
            Self::DeleteRole { role } => DeleteRole { role: names.role(&role)? }.into(),
            Self::CreateGroup { slug, name } => CreateGroup { slug, name }.into(),
            Self::RenameGroup { group, name } => RenameGroup { group: names.group(&group)?, name }.into(),
            Self::DeleteGroup { group } => DeleteGroup { group: names.group(&group)? }.into(),
            Self::AddMember { group, user } => AddMember { group: names.group(&group)?, user }.into(),
            Self::RemoveMember { group, user } => RemoveMember { group: names.group(&group)?, user }.into(),
            Self::CreateObject { object_type, name, external_id, parent } => {
                CreateObject { object_type, external_id, name, parent: names.parent(parent)? }.into()
            }
            Self::RenameObject { object, name } => {
                RenameObject { object: names.object(&object)?, name: Some(name), external_id: None }.into()
            }
            Self::MoveObject { object, parent } => {
                MoveObject { object: names.object(&object)?, parent: names.parent(parent)? }.into()
            }
            Self::TransferObject { object, owner } => {
                TransferObject { object: names.object(&object)?, owner }.into()
            }
            Self::SetInheritance { object, inherits } => {
                SetInheritance { object: names.object(&object)?, inherits }.into()
            }
            Self::DeleteObject { object } => DeleteObject { object: names.object(&object)? }.into(),
            Self::SuspendUser { user } => SuspendUser { user }.into(),
            Self::ReactivateUser { user } => ReactivateUser { user }.into(),
            Self::ScheduleDeletion { user, erase_at } => ScheduleDeletion { user, erase_at }.into(),
            Self::CancelDeletion { user } => CancelDeletion { user }.into(),
        })
    }
}

/// Looks names up in a state.
struct Names<'p>(&'p Policy);

impl Names<'_> {
    fn role(&self, text: &str) -> Result<RoleId, String> {
        let by_id = text.parse().ok().filter(|id| self.0.role(*id).is_some());
        by_id.or_else(|| self.0.role_by_slug(text)).ok_or_else(|| format!("there is no role `{text}`"))
    }

    fn group(&self, text: &str) -> Result<GroupId, String> {
        let by_id = text.parse().ok().filter(|id| self.0.group(*id).is_some());
        by_id.or_else(|| self.0.group_by_slug(text)).ok_or_else(|| format!("there is no group `{text}`"))
    }

    fn object(&self, text: &str) -> Result<ObjectId, String> {
        let found = text.split_once(':').and_then(|(object_type, name)| {
            let is_of_type =
                |id: &ObjectId| self.0.object(*id).is_some_and(|o| o.object_type.as_str() == object_type);
            let by_id = name.parse().ok().filter(is_of_type);
            by_id.or_else(|| self.0.object_by_external_id(object_type, name))
        });
        found.ok_or_else(|| format!("there is no object `{text}`; it takes `<type>:<id or external id>`"))
    }

    fn parent(&self, text: Option<String>) -> Result<Option<ObjectId>, String> {
        text.map(|text| self.object(&text)).transpose()
    }

    fn scope(&self, text: &str) -> Result<Scope, String> {
        if text == "global" { Ok(Scope::Global) } else { self.object(text).map(Scope::Object) }
    }

    fn subject(&self, text: &str) -> Result<Subject, String> {
        match text.split_once(':') {
            Some(("user", id)) => {
                let id: Option<UserId> = id.parse().ok().filter(|id| self.0.user(*id).is_some());
                id.map(Subject::User).ok_or_else(|| format!("there is no user `{text}`: it takes his id"))
            }
            Some(("group", name)) => self.group(name).map(Subject::Group),
            _ => Err(format!("`{text}` is neither `user:<id>` nor `group:<id or slug>`")),
        }
    }
}
