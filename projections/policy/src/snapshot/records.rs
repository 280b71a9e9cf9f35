//! The records of a snapshot: plain fields in flat lists. Types of events that leave members out, or tag
//! themselves, are for JSON and have a record of their own here.

use crate::{
    UserStatus,
    ix::{ActorIx, ContentIx, GrantIx, KeyIx, ObjectIx, UserIx},
};
use charter_events::{
    ActionAlias, Actor, AliasDefinition, DisplayName, ExternalId, NameTag, Namespace, ObjectType,
    ObjectTypeDefinition, Offset, Pattern, PermissionKey, RoleScope, Sealed, SealedProfile, SeededRole, Slug,
    Timestamp, UserId, UserKind,
};
use serde::{Deserialize, Serialize};

/// Everything, each list in order of dense indexes, tombstones included.
#[derive(Serialize, Deserialize)]
pub(super) struct Body {
    pub(super) version: Offset,
    pub(super) recorded_at: Timestamp,
    pub(super) installation: Option<DisplayName>,
    pub(super) keys: Vec<KeyRecord>,
    pub(super) types: Vec<TypeRecord>,
    pub(super) revisions: Vec<(Namespace, u32)>,
    pub(super) sets: Vec<Vec<KeyIx>>,
    pub(super) roles: Vec<(u128, Option<RoleRecord>)>,
    pub(super) users: Vec<(u128, UserRecord)>,
    pub(super) groups: Vec<(u128, Option<GroupRecord>)>,
    pub(super) objects: Vec<(u128, Option<ObjectRecord>)>,
    pub(super) actors: Vec<ActorRecord>,
    pub(super) grants: Vec<GrantRecord>,
    pub(super) tokens: Vec<TokenRecord>,
    pub(super) ended_sessions: Vec<(u128, UserIx, Timestamp)>,
    pub(super) skipped: Vec<(Slug, Offset)>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct KeyRecord {
    pub(super) key: PermissionKey,
    pub(super) registration: Option<(DisplayName, Vec<ObjectType>, bool)>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct TypeRecord {
    pub(super) name: ObjectType,
    pub(super) definition: Option<DefinitionRecord>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct DefinitionRecord {
    namespace: Namespace,
    read: PermissionKey,
    create: PermissionKey,
    manage: PermissionKey,
    aliases: Vec<(ActionAlias, PermissionKey)>,
}

impl DefinitionRecord {
    pub(super) fn of(definition: &ObjectTypeDefinition, namespace: &Namespace) -> Self {
        let aliases = definition.aliases.iter();
        Self {
            namespace: namespace.clone(),
            read: definition.read.clone(),
            create: definition.create.clone(),
            manage: definition.manage.clone(),
            aliases: aliases.map(|alias| (alias.alias.clone(), alias.key.clone())).collect(),
        }
    }

    pub(super) fn into_definition(self, name: ObjectType) -> (ObjectTypeDefinition, Namespace) {
        let aliases = self.aliases.into_iter().map(|(alias, key)| AliasDefinition { alias, key }).collect();
        let (read, create, manage) = (self.read, self.create, self.manage);
        (ObjectTypeDefinition { name, read, create, manage, aliases }, self.namespace)
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct RoleRecord {
    pub(super) slug: Slug,
    pub(super) name: DisplayName,
    pub(super) scope: RoleScope,
    pub(super) permissions: Vec<Pattern>,
    pub(super) seeded: Option<SeededRole>,
    pub(super) changed_at: Offset,
}

#[derive(Serialize, Deserialize)]
pub(super) struct UserRecord {
    pub(super) kind: UserKind,
    pub(super) status: UserStatus,
    pub(super) profile: Option<ProfileRecord>,
    pub(super) has_password: bool,
    pub(super) erase_at: Option<Timestamp>,
    pub(super) before_deletion: Option<UserStatus>,
    pub(super) changed_at: Offset,
    pub(super) created_at: Timestamp,
    pub(super) sessions_ended: Option<Offset>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct ProfileRecord {
    sealed: Sealed,
    username: NameTag,
    login_name: Option<NameTag>,
    external_id: Option<NameTag>,
    identity: Option<NameTag>,
}

impl ProfileRecord {
    pub(super) fn of(profile: &SealedProfile) -> Self {
        Self {
            sealed: profile.sealed.clone(),
            username: profile.username,
            login_name: profile.login_name,
            external_id: profile.external_id,
            identity: profile.identity,
        }
    }

    pub(super) fn into_profile(self) -> SealedProfile {
        SealedProfile {
            sealed: self.sealed,
            username: self.username,
            login_name: self.login_name,
            external_id: self.external_id,
            identity: self.identity,
        }
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct GroupRecord {
    pub(super) slug: Slug,
    pub(super) name: DisplayName,
    pub(super) external_id: Option<ExternalId>,
    pub(super) changed_at: Offset,
    pub(super) members: Vec<UserIx>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct ObjectRecord {
    pub(super) type_ix: u16,
    pub(super) parent: ObjectIx,
    pub(super) inherits: bool,
    pub(super) name: DisplayName,
    pub(super) external_id: Option<ExternalId>,
    pub(super) owner: UserIx,
    pub(super) owner_grant: GrantIx,
    pub(super) created_at: Timestamp,
    pub(super) changed_at: Offset,
}

#[derive(Serialize, Deserialize)]
pub(super) enum ActorRecord {
    User(UserId),
    Service(UserId),
    Module(Namespace),
    System,
}

impl ActorRecord {
    pub(super) fn of(actor: &Actor) -> Self {
        match actor {
            Actor::User(id) => Self::User(*id),
            Actor::Service(id) => Self::Service(*id),
            Actor::Module(namespace) => Self::Module(namespace.clone()),
            Actor::System => Self::System,
        }
    }

    pub(super) fn into_actor(self) -> Actor {
        match self {
            Self::User(id) => Actor::User(id),
            Self::Service(id) => Actor::Service(id),
            Self::Module(namespace) => Actor::Module(namespace),
            Self::System => Actor::System,
        }
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct GrantRecord {
    pub(super) id: u128,
    pub(super) subject: u32,
    pub(super) content: ContentIx,
    pub(super) scope: ObjectIx,
    pub(super) terms: u32,
    pub(super) not_before: Option<Timestamp>,
    pub(super) expires_at: Option<Timestamp>,
    pub(super) issued_at: Timestamp,
    pub(super) changed_at: Offset,
    pub(super) issued_by: ActorIx,
}

#[derive(Serialize, Deserialize)]
pub(super) struct TokenRecord {
    pub(super) id: u128,
    pub(super) user: UserIx,
    pub(super) name: DisplayName,
    pub(super) expires_at: Option<Timestamp>,
    pub(super) mask: Option<Vec<Pattern>>,
    pub(super) issued_at: Timestamp,
}
