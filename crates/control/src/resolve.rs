//! References: the texts by which callers name things. Looked up as a UUID, then as a name, then as an external id;
//! no name parses as a UUID, so no text has two meanings.

use crate::control::Control;
use charter_events::{ExternalId, GroupId, Identity, ObjectId, RoleId, UserId};
use charter_policy::Policy;
use uuid::Uuid;

/// The longest reference that is looked at, in bytes: a type, a colon and an external id.
const REFERENCE_BYTES_MAX: usize = 128 + 1 + 256;

/// Whether a text names something by its id, and not by a name.
pub fn is_id(text: &str) -> bool {
    as_id(text).is_some()
}

fn as_id(text: &str) -> Option<Uuid> {
    // Only the hyphenated form is an id: 32 bare hex digits may well be somebody's external id.
    (text.len() == 36).then(|| Uuid::try_parse(text).ok()).flatten()
}

impl Control {
    /// A user by id, username or external id. Erased users are known by id only.
    pub fn resolve_user(&self, policy: &Policy, text: &str) -> Option<UserId> {
        if text.len() > REFERENCE_BYTES_MAX {
            return None;
        }
        if let Some(id) = as_id(text) {
            let id = UserId::new(id);
            return policy.user(id).map(|_| id);
        }
        let tag = self.inner.sealing.tag(text);
        let id = policy.user_by_tag(&tag)?;
        let profile = policy.user(id)?.profile?;
        (profile.username == tag || profile.external_id == Some(tag)).then_some(id)
    }

    /// A user by username alone: neither an id nor an external id counts.
    pub fn user_by_username(&self, policy: &Policy, username: &str) -> Option<UserId> {
        let tag = self.inner.sealing.tag(username);
        let id = policy.user_by_tag(&tag)?;
        (policy.user(id)?.profile?.username == tag).then_some(id)
    }

    /// A user by the name he signs in with, in any case: his login name, or his username while he has none.
    pub fn user_by_login_name(&self, policy: &Policy, name: &str) -> Option<UserId> {
        let tag = self.inner.sealing.login_tag(name);
        let id = policy.user_by_tag(&tag)?;
        let profile = policy.user(id)?.profile?;
        (profile.login_name.unwrap_or(profile.username) == tag).then_some(id)
    }

    /// A user by external id alone.
    pub fn user_by_external_id(&self, policy: &Policy, external_id: &str) -> Option<UserId> {
        let tag = self.inner.sealing.tag(external_id);
        let id = policy.user_by_tag(&tag)?;
        (policy.user(id)?.profile?.external_id == Some(tag)).then_some(id)
    }

    /// The user who is linked to an identity at a provider. No name, address or id of his means anything here.
    pub fn user_by_identity(&self, policy: &Policy, identity: &Identity) -> Option<UserId> {
        let tag = self.inner.sealing.identity_tag(identity);
        let id = policy.user_by_tag(&tag)?;
        (policy.user(id)?.profile?.identity == Some(tag)).then_some(id)
    }

    /// A role by id or slug.
    pub fn resolve_role(&self, policy: &Policy, text: &str) -> Option<RoleId> {
        match as_id(text).map(RoleId::new) {
            Some(id) => policy.role(id).map(|_| id),
            None => policy.role_by_slug(text),
        }
    }

    /// A group by id or slug.
    pub fn resolve_group(&self, policy: &Policy, text: &str) -> Option<GroupId> {
        match as_id(text).map(GroupId::new) {
            Some(id) => policy.group(id).map(|_| id),
            None => policy.group_by_slug(text),
        }
    }

    /// An object by `type:id` or `type:external_id`.
    pub fn resolve_object(&self, policy: &Policy, text: &str) -> Option<ObjectId> {
        let (object_type, name) = text.split_once(':')?;
        self.resolve_object_of(policy, object_type, name)
    }

    /// An object of a type by id or external id. An object without an external id is known by its id alone.
    pub fn resolve_object_of(&self, policy: &Policy, object_type: &str, name: &str) -> Option<ObjectId> {
        if object_type.len() + 1 + name.len() > REFERENCE_BYTES_MAX {
            return None;
        }
        match as_id(name).map(ObjectId::new) {
            Some(id) => policy.object(id).filter(|o| o.object_type.as_str() == object_type).map(|_| id),
            None => {
                name.parse::<ExternalId>().ok()?;
                policy.object_by_external_id(object_type, name)
            }
        }
    }
}
