//! Histories in a few words: each call appends the events one command would, with ids that follow from the names.
//!
//! It checks nothing: what it writes is what a test wants to have happened.

use crate::{
    clock::{START, at},
    grant::{GrantSpec, to_user},
    ids,
};
use charter_events::{
    Actor, EndedBy, Event, EventMeta, GrantEnded, GrantRevoked, GroupCreated, GroupMemberAdded,
    GroupMemberRemoved, InstallationCreated, ObjectCreated, ObjectDeleted, ObjectInheritanceChanged,
    ObjectMoved, ObjectTransferred, ObjectTypeDefinition, ObjectTypesRegistered, Offset,
    PermissionDefinition, PermissionKey, PermissionsRegistered, PermissionsRemoved, RoleCreated,
    RolePermissionsChanged, RoleScope, SeededRole, Timestamp, UserInvited, UserKind, UserReactivated,
    UserRegistered, UserSuspended,
};

/// Text as one of the value types.
///
/// # Panics
/// When the text is none.
pub fn parsed<T: std::str::FromStr<Err: std::fmt::Debug>>(text: &str) -> T {
    text.parse().expect("a test's name, key or pattern is valid")
}

/// Texts as value types, sorted, each once.
pub fn sorted<T: std::str::FromStr<Err: std::fmt::Debug> + Ord>(
    texts: impl IntoIterator<Item = impl AsRef<str>>,
) -> Vec<T> {
    let mut all: Vec<T> = texts.into_iter().map(|text| parsed(text.as_ref())).collect();
    all.sort();
    all.dedup();
    all
}

/// The id of the seeded role.
pub fn seeded(role: SeededRole) -> charter_events::RoleId {
    ids::role(seeded_slug(role))
}

const fn seeded_slug(role: SeededRole) -> &'static str {
    match role {
        SeededRole::Administrator => "administrator",
        SeededRole::Owner => "owner",
        SeededRole::Viewer => "viewer",
        SeededRole::Operator => "operator",
    }
}

/// What happened so far.
#[derive(Debug, Clone)]
pub struct History {
    events: Vec<(EventMeta, Event)>,
    now: Timestamp,
    actor: Actor,
}

impl Default for History {
    fn default() -> Self {
        Self::new()
    }
}

impl History {
    /// Nothing at all.
    pub fn empty() -> Self {
        Self { events: Vec::new(), now: at(START), actor: Actor::System }
    }

    /// An installation with the type `folder` and its protected roles `administrator` and `owner`, recorded at
    /// [`START`].
    pub fn new() -> Self {
        let all = ["*"];
        Self::empty()
            .event(InstallationCreated { name: ids::shown("Test") })
            .object_type("core", "folder")
            .seeded_role(SeededRole::Administrator, RoleScope::Global, all)
            .seeded_role(SeededRole::Owner, RoleScope::Object, all)
    }

    /// Appends any event.
    #[must_use]
    pub fn event(mut self, event: impl Into<Event>) -> Self {
        let number = self.events.len() as u64 + 1;
        let offset = Offset::new(number).expect("a test's history is short");
        let meta = EventMeta { offset, recorded_at: self.now, actor: self.actor.clone() };
        self.events.push((meta, event.into()));
        self
    }

    /// From here on, events are recorded at this moment.
    #[must_use]
    pub fn at(mut self, moment: &str) -> Self {
        self.now = at(moment);
        self
    }

    /// From here on, this user acts; at first the system does.
    #[must_use]
    pub fn by(mut self, user: &str) -> Self {
        self.actor = Actor::User(ids::user(user));
        self
    }

    /// The events.
    pub fn events(&self) -> &[(EventMeta, Event)] {
        &self.events
    }

    /// The events, taken.
    pub fn into_events(self) -> Vec<(EventMeta, Event)> {
        self.events
    }

    /// Registers keys, all in the namespace of the first, for the object types.
    #[must_use]
    pub fn keys(self, keys: &[&str], object_types: &[&str]) -> Self {
        let mut permissions: Vec<_> = keys.iter().map(|key| permission(key, object_types)).collect();
        permissions.sort_by(|a, b| a.key.cmp(&b.key));
        let namespace = parsed(permissions[0].key.namespace());
        self.event(PermissionsRegistered { namespace, revision: None, permissions })
    }

    /// Removes keys from the catalog. Strip roles and grants yourself.
    #[must_use]
    pub fn keys_removed(self, keys: &[&str]) -> Self {
        let keys: Vec<PermissionKey> = sorted(keys);
        self.event(PermissionsRemoved { namespace: parsed(keys[0].namespace()), keys })
    }

    /// Registers an object type whose keys are `namespace.<type>.read`, `create` and `manage`.
    #[must_use]
    pub fn object_type(self, namespace: &str, name: &str) -> Self {
        let key = |action: &str| parsed(&format!("{namespace}.{name}.{action}"));
        let definition = ObjectTypeDefinition {
            name: parsed(name),
            read: key("read"),
            create: key("create"),
            manage: key("manage"),
            aliases: Vec::new(),
        };
        self.event(ObjectTypesRegistered { namespace: parsed(namespace), types: vec![definition] })
    }

    /// An active person.
    #[must_use]
    pub fn user(self, name: &str) -> Self {
        self.event(UserRegistered {
            user: ids::user(name),
            kind: UserKind::Person,
            profile: ids::profile(name),
        })
    }

    /// An active service.
    #[must_use]
    pub fn service(self, name: &str) -> Self {
        self.event(UserRegistered {
            user: ids::user(name),
            kind: UserKind::Service,
            profile: ids::profile(name),
        })
    }

    /// A person who was invited and has not accepted.
    #[must_use]
    pub fn invited(self, name: &str) -> Self {
        self.event(UserInvited { user: ids::user(name), kind: UserKind::Person, profile: ids::profile(name) })
    }

    /// Suspends a user.
    #[must_use]
    pub fn suspended(self, name: &str) -> Self {
        self.event(UserSuspended { user: ids::user(name) })
    }

    /// Reactivates a user.
    #[must_use]
    pub fn reactivated(self, name: &str) -> Self {
        self.event(UserReactivated { user: ids::user(name) })
    }

    /// A group with members.
    #[must_use]
    pub fn group<'a>(self, slug: &str, members: impl IntoIterator<Item = &'a str>) -> Self {
        let created = GroupCreated { group: ids::group(slug), slug: parsed(slug), name: ids::shown(slug) };
        members.into_iter().fold(self.event(created), |history, user| history.joined(slug, user))
    }

    /// A user joins a group.
    #[must_use]
    pub fn joined(self, group: &str, user: &str) -> Self {
        self.event(GroupMemberAdded { group: ids::group(group), user: ids::user(user) })
    }

    /// A user leaves a group.
    #[must_use]
    pub fn left(self, group: &str, user: &str) -> Self {
        self.event(GroupMemberRemoved { group: ids::group(group), user: ids::user(user) })
    }

    /// A role; its scope is `global`, `object` or `both`.
    #[must_use]
    pub fn role<'a>(self, slug: &str, scope: &str, permissions: impl IntoIterator<Item = &'a str>) -> Self {
        let scope = match scope {
            "global" => RoleScope::Global,
            "object" => RoleScope::Object,
            _ => RoleScope::Both,
        };
        self.event(role_created(slug, scope, permissions, None))
    }

    fn seeded_role<'a>(
        self,
        role: SeededRole,
        scope: RoleScope,
        permissions: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        self.event(role_created(seeded_slug(role), scope, permissions, Some(role)))
    }

    /// A role gains and loses permissions.
    #[must_use]
    pub fn role_changed(self, slug: &str, added: &[&str], removed: &[&str]) -> Self {
        self.event(RolePermissionsChanged {
            role: ids::role(slug),
            added: sorted(added),
            removed: sorted(removed),
        })
    }

    /// A folder that nobody owns.
    #[must_use]
    pub fn folder(self, name: &str, parent: Option<&str>) -> Self {
        self.object("folder", name, parent, None)
    }

    /// An object; with an owner, the grant `owner:<type>:<name>` stands beside it.
    #[must_use]
    pub fn object(self, object_type: &str, name: &str, parent: Option<&str>, owner: Option<&str>) -> Self {
        let created = self.event(ObjectCreated {
            object: ids::object(object_type, name),
            object_type: parsed(object_type),
            external_id: Some(parsed(name)),
            name: ids::shown(name),
            parent: parent.map(ids::folder),
            owner: owner.map(ids::user),
            inherits: true,
        });
        match owner {
            Some(owner) => created
                .grant(&owner_grant(object_type, name), to_user(owner).role("owner").on(object_type, name)),
            None => created,
        }
    }

    /// An object lies elsewhere now.
    #[must_use]
    pub fn moved(self, object_type: &str, name: &str, parent: Option<&str>) -> Self {
        self.event(ObjectMoved { object: ids::object(object_type, name), parent: parent.map(ids::folder) })
    }

    /// An object is cut off from what stands above, or joined to it again.
    #[must_use]
    pub fn inherits(self, object_type: &str, name: &str, inherits: bool) -> Self {
        self.event(ObjectInheritanceChanged { object: ids::object(object_type, name), inherits })
    }

    /// An object changes hands; the new owner's grant is named `owner:<type>:<name>:<user>`.
    #[must_use]
    pub fn transferred(self, object_type: &str, name: &str, old_grant: &str, owner: &str) -> Self {
        let object = ids::object(object_type, name);
        let grant = format!("{}:{owner}", owner_grant(object_type, name));
        self.event(ObjectTransferred { object, owner: ids::user(owner) })
            .event(GrantEnded { grant: ids::grant(old_grant), by: EndedBy::Transfer(object) })
            .grant(&grant, to_user(owner).role("owner").on(object_type, name))
    }

    /// An object goes, and the grants named with it.
    #[must_use]
    pub fn deleted(self, object_type: &str, name: &str, grants: &[&str]) -> Self {
        let object = ids::object(object_type, name);
        grants
            .iter()
            .fold(self, |history, grant| {
                history.event(GrantEnded { grant: ids::grant(grant), by: EndedBy::Object(object) })
            })
            .event(ObjectDeleted { object })
    }

    /// A grant under a name.
    #[must_use]
    pub fn grant(self, name: &str, spec: GrantSpec) -> Self {
        self.event(spec.issued(name))
    }

    /// A grant is taken back.
    #[must_use]
    pub fn revoked(self, name: &str) -> Self {
        self.event(GrantRevoked { grant: ids::grant(name) })
    }

    /// A user is an administrator without end, by the grant `administrator:<name>`.
    #[must_use]
    pub fn administrator(self, user: &str) -> Self {
        self.grant(&format!("administrator:{user}"), to_user(user).role("administrator"))
    }
}

/// The name of an owner's grant.
pub fn owner_grant(object_type: &str, name: &str) -> String {
    format!("owner:{object_type}:{name}")
}

fn permission(key: &str, object_types: &[&str]) -> PermissionDefinition {
    PermissionDefinition {
        key: parsed(key),
        description: ids::shown(key),
        object_types: sorted(object_types),
    }
}

fn role_created<'a>(
    slug: &str,
    scope: RoleScope,
    permissions: impl IntoIterator<Item = &'a str>,
    seeded: Option<SeededRole>,
) -> RoleCreated {
    let permissions = sorted(permissions);
    RoleCreated {
        role: ids::role(slug),
        slug: parsed(slug),
        name: ids::shown(slug),
        scope,
        permissions,
        seeded,
    }
}
