//! From the records to a policy: every index is made anew, through the code the fold uses.

use super::records::{
    Body, GrantRecord, GroupRecord, KeyRecord, ObjectRecord, RoleRecord, TypeRecord, UserRecord,
};
use crate::{
    Policy, SnapshotError,
    entries::Terms,
    ix::{GrantIx, GroupIx, ObjectIx, RoleIx, SubjectIx, UserIx},
    sorted::Sorted,
    state::{
        catalog::Registration,
        credentials::TokenFacts,
        grants::{End, Grant, GrantFacts},
        objects::{Node, ObjectFacts},
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
        objects(&mut policy, self.objects)?;
        for actor in self.actors {
            policy.grants.actor(&actor.into_actor()).ok_or(TWICE)?;
        }
        grants(&mut policy, self.grants)?;
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
        let facts = GroupFacts { slug: record.slug, name: record.name, changed_at: record.changed_at };
        policy.groups.push(Some(facts));
        for user in record.members {
            if policy.users.get(user).is_none() || !policy.set_membership(ix, user, true) {
                return Err(NOWHERE);
            }
        }
    }
    Ok(())
}

fn objects(policy: &mut Policy, records: Vec<(u128, Option<ObjectRecord>)>) -> Read {
    for (id, record) in records {
        let ix = ObjectIx(policy.objects.ids.insert(Uuid::from_u128(id)).ok_or(TWICE)?);
        let Some(record) = record else {
            policy.objects.push(Node::default(), None);
            continue;
        };
        let object_type = crate::ix::TypeIx(u32::from(record.type_ix));
        let type_facts = policy.catalog.type_facts(object_type).ok_or(NOWHERE)?;
        let node = Node {
            parent: record.parent,
            type_ix: record.type_ix,
            exists: true,
            is_folder: type_facts.name.is_folder(),
            inherits: record.inherits,
            entries: Sorted::default(),
        };
        let facts = ObjectFacts {
            name: record.name,
            external_id: record.external_id,
            owner: record.owner,
            owner_grant: record.owner_grant,
            changed_at: record.changed_at,
        };
        policy.objects.push(node, Some(facts));
        if let Some(owner) = record.owner.some() {
            policy.users.owned.get_mut(owner.at()).ok_or(NOWHERE)?.insert(ix);
        }
    }
    Ok(())
}

fn grants(policy: &mut Policy, records: Vec<GrantRecord>) -> Read {
    for record in records {
        let ix = GrantIx(policy.grants.ids.insert(Uuid::from_u128(record.id)).ok_or(TWICE)?);
        let grant = Grant {
            subject: SubjectIx(record.subject),
            content: record.content,
            scope: record.scope,
            terms: Terms(record.terms),
            not_before: record.not_before.unwrap_or(Timestamp::MIN),
            expires_at: End::new(record.expires_at),
        };
        policy.grants.hot.push(grant);
        policy.grants.facts.push(GrantFacts {
            issued_at: record.issued_at,
            changed_at: record.changed_at,
            issued_by: record.issued_by,
        });
        if !grant.terms.is_standing() {
            continue;
        }
        if grant.scope.some().is_some_and(|object| policy.objects.node(object).is_none()) {
            return Err(NOWHERE);
        }
        policy.link(ix, &grant);
    }
    Ok(())
}
