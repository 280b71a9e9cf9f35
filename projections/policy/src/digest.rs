//! A digest of the facts: two policies that know the same have the same digest, in whatever order they came to know it.
//!
//! Things are hashed in order of their ids and name each other by ids, so neither dense indexes nor the order of legal
//! events shows. When and at which offset something was recorded is not part of it, but for the offset by
//! which all of a user's sessions ended, which is itself what a session is judged by.

use crate::{
    Policy,
    intern::Interner,
    ix::{GrantIx, GroupIx, ObjectIx, RoleIx, UserIx},
};
use charter_events::{Actor, Scope, SealedProfile, Subject};
use sha2::{Digest, Sha256};
use uuid::Uuid;

/// Writes facts so that no two different sequences of facts give the same bytes.
struct Facts(Sha256);

impl Facts {
    fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.0.update(bytes);
    }

    fn text(&mut self, text: impl AsRef<str>) {
        self.bytes(text.as_ref().as_bytes());
    }

    fn shown(&mut self, value: &impl std::fmt::Debug) {
        self.text(format!("{value:?}"));
    }

    fn number(&mut self, number: u64) {
        self.0.update(number.to_le_bytes());
    }

    fn id(&mut self, id: Uuid) {
        self.0.update(id.as_bytes());
    }

    fn tagged(&mut self, kind: &str, id: Uuid) {
        self.text(kind);
        self.id(id);
    }

    fn maybe<T>(&mut self, value: Option<T>, write: impl FnOnce(&mut Self, T)) {
        self.0.update([u8::from(value.is_some())]);
        if let Some(value) = value {
            write(self, value);
        }
    }

    /// Things of one kind in order of their ids.
    fn each(
        &mut self,
        kind: &str,
        ids: &Interner,
        exists: impl Fn(u32) -> bool,
        write: impl Fn(&mut Self, u32),
    ) {
        let standing = (0..ids.len() as u32).filter(|ix| exists(*ix));
        let mut things: Vec<(Uuid, u32)> = standing.map(|ix| (ids.id(ix), ix)).collect();
        things.sort_unstable();
        self.text(kind);
        self.number(things.len() as u64);
        for (id, ix) in things {
            self.id(id);
            write(self, ix);
        }
    }
}

impl Policy {
    /// The digest of everything known.
    pub fn digest(&self) -> [u8; 32] {
        let mut facts = Facts(Sha256::new());
        facts.maybe(self.installation.as_ref(), |facts, name| facts.text(name.as_str()));
        self.digest_catalog(&mut facts);
        let policy = self;
        facts.each(
            "role",
            &self.roles.ids,
            |ix| policy.roles.get(RoleIx(ix)).is_some(),
            |facts, ix| {
                policy.digest_role(facts, RoleIx(ix));
            },
        );
        facts.each(
            "user",
            &self.users.ids,
            |ix| policy.users.get(UserIx(ix)).is_some(),
            |facts, ix| {
                policy.digest_user(facts, UserIx(ix));
            },
        );
        facts.each(
            "group",
            &self.groups.ids,
            |ix| policy.groups.get(GroupIx(ix)).is_some(),
            |facts, ix| {
                policy.digest_group(facts, GroupIx(ix));
            },
        );
        facts.each(
            "object",
            &self.objects.ids,
            |ix| policy.objects.node(ObjectIx(ix)).is_some(),
            |facts, ix| {
                policy.digest_object(facts, ObjectIx(ix));
            },
        );
        facts.each(
            "grant",
            &self.grants.ids,
            |ix| policy.grants.get(GrantIx(ix)).is_some(),
            |facts, ix| {
                policy.digest_grant(facts, GrantIx(ix));
            },
        );
        self.digest_credentials(&mut facts);
        for (projection, offset) in self.skipped.iter() {
            facts.text("skipped");
            facts.text(projection.as_str());
            facts.number(offset.get());
        }
        facts.0.finalize().into()
    }

    fn digest_catalog(&self, facts: &mut Facts) {
        facts.text("catalog");
        facts.number(self.catalog.registered.len() as u64);
        for permission in self.permissions() {
            facts.text(permission.key.as_str());
            facts.text(permission.description.as_str());
            facts.shown(&permission.object_types);
            facts.number(u64::from(permission.deprecated));
        }
        let mut types: Vec<_> = self.object_types().collect();
        types.sort_by(|a, b| a.definition.name.cmp(&b.definition.name));
        facts.shown(&types);
        facts.number(self.catalog.revisions.len() as u64);
        for (namespace, revision) in &self.catalog.revisions {
            facts.text(namespace.as_str());
            facts.number(u64::from(*revision));
        }
    }

    fn digest_role(&self, facts: &mut Facts, ix: RoleIx) {
        let Some(role) = self.roles.get(ix) else { return };
        facts.text(role.slug.as_str());
        facts.text(role.name.as_str());
        facts.shown(&(role.scope, role.seeded));
        facts.number(role.permissions.len() as u64);
        role.permissions.iter().for_each(|pattern| facts.text(pattern.as_str()));
    }

    fn digest_user(&self, facts: &mut Facts, ix: UserIx) {
        let Some(user) = self.users.get(ix) else { return };
        facts.shown(&(user.kind, user.status, user.before_deletion, user.has_password));
        facts.shown(&(user.erase_at, user.sessions_ended));
        facts.maybe(user.profile.as_ref(), |facts, profile| {
            facts.bytes(profile.sealed.as_bytes());
            let SealedProfile { username, login_name, external_id, identity, sealed: _ } = profile;
            match identity {
                // As before there were any: digests that were written down then must still be found.
                None => facts.shown(&(username, login_name, external_id)),
                Some(identity) => facts.shown(&(username, login_name, external_id, identity)),
            }
        });
    }

    fn digest_group(&self, facts: &mut Facts, ix: GroupIx) {
        let Some(group) = self.groups.get(ix) else { return };
        facts.text(group.slug.as_str());
        facts.text(group.name.as_str());
        let members = self.groups.members(ix).into_iter().flat_map(crate::sorted::Sorted::iter);
        let mut members: Vec<Uuid> = members.map(|user| self.users.ids.id(user.0)).collect();
        members.sort_unstable();
        facts.number(members.len() as u64);
        members.into_iter().for_each(|member| facts.id(member));
    }

    fn digest_object(&self, facts: &mut Facts, ix: ObjectIx) {
        let Some(object) = self.object_view(ix) else { return };
        facts.text(object.object_type.as_str());
        facts.maybe(object.external_id, |facts, id| facts.text(id.as_str()));
        facts.text(object.name.as_str());
        facts.maybe(object.parent, |facts, id| facts.id(id.as_uuid()));
        facts.maybe(object.owner, |facts, id| facts.id(id.as_uuid()));
        facts.maybe(object.owner_grant, |facts, id| facts.id(id.as_uuid()));
        facts.number(u64::from(object.inherits));
    }

    fn digest_grant(&self, facts: &mut Facts, ix: GrantIx) {
        let (Some(grant), Some(cold)) = (self.grants.get(ix), self.grants.facts.get(ix.at())) else { return };
        match self.subject_id(grant.subject) {
            Subject::User(id) => facts.tagged("user", id.as_uuid()),
            Subject::Group(id) => facts.tagged("group", id.as_uuid()),
        }
        match grant.content.what() {
            crate::ix::What::Role(role) => facts.tagged("role", self.roles.ids.id(role.0)),
            crate::ix::What::Key(_) | crate::ix::What::Keys(_) => {
                facts.text("keys");
                let keys = self.patterns_of(grant.content);
                facts.number(keys.len() as u64);
                keys.iter().for_each(|key| facts.text(key.as_str()));
            }
        }
        match self.scope_of(grant.scope) {
            Scope::Global => facts.text("global"),
            Scope::Object(id) => facts.tagged("object", id.as_uuid()),
        }
        facts.number(u64::from(grant.terms.0));
        facts.maybe(Self::begin(grant), |facts, begin| facts.number(begin.as_micros() as u64));
        facts.maybe(grant.expires_at.moment(), |facts, end| facts.number(end.as_micros() as u64));
        match self.grants.actors.get(cold.issued_by.at()).and_then(Option::as_ref) {
            Some(Actor::User(id)) => facts.tagged("user", id.as_uuid()),
            Some(Actor::Service(id)) => facts.tagged("service", id.as_uuid()),
            Some(Actor::Module(namespace)) => facts.text(namespace.as_str()),
            Some(Actor::System) | None => facts.text(""),
        }
    }

    fn digest_credentials(&self, facts: &mut Facts) {
        facts.text("credentials");
        facts.number(self.credentials.tokens.len() as u64);
        for (id, token) in &self.credentials.tokens {
            facts.id(id.as_uuid());
            facts.id(self.users.ids.id(token.user.0));
            facts.text(token.name.as_str());
            facts.shown(&(token.expires_at, token.mask.as_deref()));
        }
        facts.number(self.credentials.ended.len() as u64);
        for (id, (user, expires_at)) in &self.credentials.ended {
            facts.id(id.as_uuid());
            facts.id(self.users.ids.id(user.0));
            facts.number(expires_at.as_micros() as u64);
        }
    }
}
