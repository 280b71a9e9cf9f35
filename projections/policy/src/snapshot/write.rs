//! From a policy to the records.

use super::records::{
    ActorRecord, Body, DefinitionRecord, GrantRecord, GroupRecord, KeyRecord, ObjectRecord, ProfileRecord,
    RoleRecord, TokenRecord, TypeRecord, UserRecord,
};
use crate::{
    Policy,
    intern::Interner,
    ix::{GroupIx, ObjectIx, RoleIx, UserIx},
    sorted::Sorted,
};
use charter_events::Actor;

/// One record for each id that was ever interned.
fn each<T>(ids: &Interner, record: impl Fn(u32) -> T) -> Vec<(u128, T)> {
    (0..ids.len() as u32).map(|ix| (ids.id(ix).as_u128(), record(ix))).collect()
}

impl Body {
    pub(super) fn of(policy: &Policy) -> Self {
        let actor = |actor: &Option<Actor>| ActorRecord::of(actor.as_ref().unwrap_or(&Actor::System));
        Self {
            version: policy.version,
            skipped: policy.skipped.iter().cloned().collect(),
            recorded_at: policy.recorded_at,
            installation: policy.installation.clone(),
            keys: keys(policy),
            types: types(policy),
            revisions: policy
                .catalog
                .revisions
                .iter()
                .map(|(name, number)| (name.clone(), *number))
                .collect(),
            sets: policy.catalog.sets.iter().map(|set| set.to_vec()).collect(),
            roles: each(&policy.roles.ids, |ix| role(policy, RoleIx(ix))),
            users: each(&policy.users.ids, |ix| user(policy, UserIx(ix)))
                .into_iter()
                .filter_map(|(id, record)| Some((id, record?)))
                .collect(),
            groups: each(&policy.groups.ids, |ix| group(policy, GroupIx(ix))),
            objects: each(&policy.objects.ids, |ix| object(policy, ObjectIx(ix))),
            actors: policy.grants.actors.iter().map(actor).collect(),
            grants: grants(policy),
            tokens: tokens(policy),
            ended_sessions: policy
                .credentials
                .ended
                .iter()
                .map(|(session, (user, expires_at))| (session.as_uuid().as_u128(), *user, *expires_at))
                .collect(),
        }
    }
}

fn keys(policy: &Policy) -> Vec<KeyRecord> {
    let facts = policy.catalog.facts.iter().flatten();
    facts
        .map(|facts| KeyRecord {
            key: facts.key.clone(),
            registration: facts.registration.as_ref().map(|registration| {
                let types = registration.object_types.to_vec();
                (registration.description.clone(), types, registration.deprecated)
            }),
        })
        .collect()
}

fn types(policy: &Policy) -> Vec<TypeRecord> {
    let types = policy.catalog.types.iter();
    types
        .map(|facts| TypeRecord {
            name: facts.name.clone(),
            definition: facts
                .definition
                .as_ref()
                .map(|(given, namespace)| DefinitionRecord::of(given, namespace)),
        })
        .collect()
}

fn role(policy: &Policy, ix: RoleIx) -> Option<RoleRecord> {
    policy.roles.get(ix).map(|facts| RoleRecord {
        slug: facts.slug.clone(),
        name: facts.name.clone(),
        scope: facts.scope,
        permissions: facts.permissions.to_vec(),
        seeded: facts.seeded,
        changed_at: facts.changed_at,
    })
}

fn user(policy: &Policy, ix: UserIx) -> Option<UserRecord> {
    policy.users.get(ix).map(|facts| UserRecord {
        kind: facts.kind,
        status: facts.status,
        profile: facts.profile.as_ref().map(ProfileRecord::of),
        has_password: facts.has_password,
        erase_at: facts.erase_at,
        before_deletion: facts.before_deletion,
        changed_at: facts.changed_at,
        created_at: facts.created_at,
        sessions_ended: facts.sessions_ended,
    })
}

fn group(policy: &Policy, ix: GroupIx) -> Option<GroupRecord> {
    policy.groups.get(ix).map(|facts| GroupRecord {
        slug: facts.slug.clone(),
        name: facts.name.clone(),
        external_id: facts.external_id.clone(),
        changed_at: facts.changed_at,
        members: policy.groups.members(ix).into_iter().flat_map(Sorted::iter).collect(),
    })
}

fn object(policy: &Policy, ix: ObjectIx) -> Option<ObjectRecord> {
    let (node, facts) = (policy.objects.node(ix)?, policy.objects.get(ix)?);
    Some(ObjectRecord {
        type_ix: node.type_ix,
        parent: node.parent,
        inherits: node.inherits,
        name: facts.name.clone(),
        external_id: facts.external_id.clone(),
        owner: facts.owner,
        owner_grant: facts.owner_grant,
        created_at: facts.created_at,
        changed_at: facts.changed_at,
    })
}

fn grants(policy: &Policy) -> Vec<GrantRecord> {
    let both = policy.grants.hot.iter().zip(policy.grants.facts.iter()).enumerate();
    both.map(|(ix, (grant, facts))| GrantRecord {
        id: policy.grants.ids.id(ix as u32).as_u128(),
        subject: grant.subject.0,
        content: grant.content,
        scope: grant.scope,
        terms: grant.terms.0,
        not_before: Policy::begin(grant),
        expires_at: grant.expires_at.moment(),
        issued_at: facts.issued_at,
        changed_at: facts.changed_at,
        issued_by: facts.issued_by,
    })
    .collect()
}

fn tokens(policy: &Policy) -> Vec<TokenRecord> {
    let tokens = policy.credentials.tokens.iter();
    tokens
        .map(|(id, facts)| TokenRecord {
            id: id.as_uuid().as_u128(),
            user: facts.user,
            name: facts.name.clone(),
            expires_at: facts.expires_at,
            mask: facts.mask.as_ref().map(|mask| mask.to_vec()),
            issued_at: facts.issued_at,
        })
        .collect()
}
