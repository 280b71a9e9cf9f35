//! From the records to a policy: every index is made anew, through the code the fold uses.

use super::records::{
    Body, GrantRecord, GroupRecord, KeyRecord, ObjectRecord, RoleRecord, TypeRecord, UserRecord,
};
use crate::{
    Policy, SnapshotError,
    entries::{Given, Terms},
    intern::Interner,
    ix::{GrantIx, GroupIx, ObjectIx, RoleIx, SubjectIx, TypeIx, UserIx, What, Who},
    pages::Paged,
    sorted::Sorted,
    state::{
        catalog::Registration,
        credentials::TokenFacts,
        grants::{End, Grant, GrantFacts},
        objects::{Node, ObjectFacts, Objects},
        roles::RoleFacts,
        users::{GroupFacts, UserFacts},
    },
};
use charter_events::{SessionId, Timestamp, TokenId};
use uuid::Uuid;

type Read = Result<(), SnapshotError>;

const TWICE: SnapshotError = SnapshotError::Contradiction("an id occurs twice");
const NOWHERE: SnapshotError = SnapshotError::Contradiction("something names what is not there");

impl Body {
    pub(super) fn into_policy(self) -> Result<Policy, SnapshotError> {
        let mut policy = Policy {
            version: self.version,
            recorded_at: self.recorded_at,
            installation: self.installation,
            skipped: std::sync::Arc::new(self.skipped.into_iter().collect()),
            ..Policy::default()
        };
        keys(&mut policy, self.keys)?;
        types(&mut policy, self.types)?;
        policy.catalog.revisions = self.revisions.into_iter().collect();
        for set in &self.sets {
            policy.catalog.key_set(set).ok_or(TWICE)?;
        }
        roles(&mut policy, self.roles)?;
        users(&mut policy, self.users)?;
        groups(&mut policy, self.groups)?;
        for actor in self.actors {
            policy.grants.actor(&actor.into_actor()).ok_or(TWICE)?;
        }
        objects_and_grants(&mut policy, self.objects, self.grants)?;
        for token in self.tokens {
            let facts = TokenFacts {
                user: token.user,
                name: token.name,
                expires_at: token.expires_at,
                mask: token.mask.map(Into::into),
                issued_at: token.issued_at,
            };
            policy.credentials.insert_token(TokenId::new(Uuid::from_u128(token.id)), facts);
        }
        for (session, user, expires_at) in self.ended_sessions {
            let session = SessionId::new(Uuid::from_u128(session));
            policy.credentials.end_session(session, user, expires_at);
        }
        Ok(policy)
    }
}

fn keys(policy: &mut Policy, records: Vec<KeyRecord>) -> Read {
    for record in records {
        let ix = policy.catalog.intern(&record.key).ok_or(TWICE)?;
        if let Some((description, object_types, deprecated)) = record.registration {
            let registration = Registration { description, object_types: object_types.into(), deprecated };
            policy.catalog.set_registration(ix, Some(registration));
        }
    }
    Ok(())
}

fn types(policy: &mut Policy, records: Vec<TypeRecord>) -> Read {
    for record in records {
        let definition = record.definition.map(|given| given.into_definition(record.name.clone()));
        policy.catalog.set_type(&record.name, definition).ok_or(TWICE)?;
    }
    Ok(())
}

fn roles(policy: &mut Policy, records: Vec<(u128, Option<RoleRecord>)>) -> Read {
    for (id, record) in records {
        let ix = RoleIx(policy.roles.ids.insert(Uuid::from_u128(id)).ok_or(TWICE)?);
        policy.roles.grants.push(Sorted::default());
        let Some(record) = record else {
            policy.roles.facts.push(None);
            continue;
        };
        policy.roles.slugs.insert(record.slug.clone(), ix);
        if let Some(seeded) = record.seeded {
            policy.roles.seeded.insert(seeded, ix);
        }
        policy.roles.facts.push(Some(RoleFacts {
            slug: record.slug,
            name: record.name,
            scope: record.scope,
            permissions: record.permissions.clone().into(),
            seeded: record.seeded,
            changed_at: record.changed_at,
        }));
        policy.roles.content_changed(ix, &record.permissions, &mut policy.catalog);
    }
    Ok(())
}

fn users(policy: &mut Policy, records: Vec<(u128, UserRecord)>) -> Read {
    for (id, record) in records {
        let ix = UserIx(policy.users.ids.insert(Uuid::from_u128(id)).ok_or(TWICE)?);
        let profile = record.profile.map(super::records::ProfileRecord::into_profile);
        if let Some(profile) = &profile {
            let claimed = policy.users.claim_tags(ix, profile);
            claimed.map_err(|_| SnapshotError::Contradiction("a name is two users'"))?;
        }
        policy.users.push(UserFacts {
            kind: record.kind,
            status: record.status,
            profile,
            has_password: record.has_password,
            erase_at: record.erase_at,
            before_deletion: record.before_deletion,
            changed_at: record.changed_at,
            created_at: record.created_at,
            sessions_ended: record.sessions_ended,
        });
    }
    Ok(())
}

fn groups(policy: &mut Policy, records: Vec<(u128, Option<GroupRecord>)>) -> Read {
    for (id, record) in records {
        let ix = GroupIx(policy.groups.ids.insert(Uuid::from_u128(id)).ok_or(TWICE)?);
        let Some(record) = record else {
            policy.groups.push(None);
            continue;
        };
        policy.groups.slugs.insert(record.slug.clone(), ix);
        let GroupRecord { slug, name, external_id, changed_at, members } = record;
        let facts = GroupFacts { slug, name, external_id, changed_at };
        policy.groups.push(Some(facts));
        for user in members {
            if policy.users.get(user).is_none() || !policy.set_membership(ix, user, true) {
                return Err(NOWHERE);
            }
        }
    }
    Ok(())
}

/// Objects and grants in plain lists, so that a million of them are filed without a page being copied.
struct Lists {
    nodes: Vec<Node>,
    of_users: Vec<Sorted<Given>>,
    of_groups: Vec<Sorted<Given>>,
    of_roles: Vec<Sorted<GrantIx>>,
}

fn objects_and_grants(
    policy: &mut Policy,
    objects: Vec<(u128, Option<ObjectRecord>)>,
    grants: Vec<GrantRecord>,
) -> Read {
    let ids = objects.iter().map(|(id, _)| Uuid::from_u128(*id)).collect();
    let (mut nodes, mut facts) = (Vec::with_capacity(objects.len()), Vec::with_capacity(objects.len()));
    for (_, record) in objects {
        let Some(record) = record else {
            nodes.push(Node::default());
            facts.push(None);
            continue;
        };
        let ix = ObjectIx(nodes.len() as u32);
        nodes.push(node(policy, &record)?);
        if let Some(owner) = record.owner.some() {
            policy.users.owned.get_mut(owner.at()).ok_or(NOWHERE)?.insert(ix);
        }
        facts.push(Some(ObjectFacts {
            name: record.name,
            external_id: record.external_id,
            owner: record.owner,
            owner_grant: record.owner_grant,
            created_at: record.created_at,
            changed_at: record.changed_at,
        }));
    }
    let mut lists = Lists {
        nodes,
        of_users: vec![Sorted::default(); policy.users.ids.len()],
        of_groups: vec![Sorted::default(); policy.groups.ids.len()],
        of_roles: vec![Sorted::default(); policy.roles.ids.len()],
    };
    lists.file(policy, grants)?;
    policy.objects = Objects::of(ids, lists.nodes, facts).ok_or(TWICE)?;
    policy.users.grants = Paged::of(lists.of_users);
    policy.groups.grants = Paged::of(lists.of_groups);
    policy.roles.grants = Paged::of(lists.of_roles);
    Ok(())
}

fn node(policy: &Policy, record: &ObjectRecord) -> Result<Node, SnapshotError> {
    let object_type = TypeIx(u32::from(record.type_ix));
    let type_facts = policy.catalog.type_facts(object_type).ok_or(NOWHERE)?;
    Ok(Node {
        parent: record.parent,
        type_ix: record.type_ix,
        exists: true,
        is_folder: type_facts.name.is_folder(),
        inherits: record.inherits,
        entries: Sorted::default(),
    })
}

impl Lists {
    fn file(&mut self, policy: &mut Policy, records: Vec<GrantRecord>) -> Read {
        let ids = records.iter().map(|record| Uuid::from_u128(record.id)).collect();
        policy.grants.ids = Interner::of(ids).ok_or(TWICE)?;
        let mut hot = Vec::with_capacity(records.len());
        let mut facts = Vec::with_capacity(records.len());
        for (number, record) in records.into_iter().enumerate() {
            let grant = Grant {
                subject: SubjectIx(record.subject),
                content: record.content,
                scope: record.scope,
                terms: Terms(record.terms),
                not_before: record.not_before.unwrap_or(Timestamp::MIN),
                expires_at: End::new(record.expires_at),
            };
            if grant.terms.is_standing() {
                let ix = GrantIx(number as u32);
                self.link(ix, &grant).ok_or(NOWHERE)?;
                policy.link_beside(ix, &grant);
            }
            hot.push(grant);
            facts.push(GrantFacts {
                issued_at: record.issued_at,
                changed_at: record.changed_at,
                issued_by: record.issued_by,
            });
        }
        policy.grants.hot = Paged::of(hot);
        policy.grants.facts = Paged::of(facts);
        Ok(())
    }

    fn link(&mut self, ix: GrantIx, grant: &Grant) -> Option<()> {
        if let Some(object) = grant.scope.some() {
            self.nodes.get_mut(object.at()).filter(|node| node.exists)?.entries.insert(grant.entry(ix));
        }
        match grant.subject.who() {
            Who::User(user) => self.of_users.get_mut(user.at())?.insert(grant.given(ix)),
            Who::Group(group) => self.of_groups.get_mut(group.at())?.insert(grant.given(ix)),
        };
        if let What::Role(role) = grant.content.what() {
            self.of_roles.get_mut(role.at())?.insert(ix);
        }
        Some(())
    }
}
