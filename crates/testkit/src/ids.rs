//! Ids without chance: counted ones, and ones that follow from a name, so that a test can name a thing it made.

use charter_events::{
    DisplayName, GrantId, GroupId, NameTag, ObjectId, RoleId, Sealed, SealedProfile, TokenId, UserId,
};
use uuid::Uuid;

/// Counts up from 1; every id has the form of a UUIDv7.
#[derive(Debug, Clone, Default)]
pub struct SequentialIds(u64);

impl SequentialIds {
    /// Begins at 1.
    pub const fn new() -> Self {
        Self(0)
    }

    /// The next id.
    #[expect(
        clippy::should_implement_trait,
        reason = "an endless source is no iterator with an end to test for"
    )]
    pub fn next(&mut self) -> Uuid {
        self.0 += 1;
        shaped(0, u128::from(self.0))
    }
}

/// A UUIDv7 whose free bits are a kind and a number.
pub(crate) const fn shaped(kind: u16, number: u128) -> Uuid {
    let number = number & ((1 << 62) - 1);
    Uuid::from_u128(
        (0x019b_7600_0000 << 80) | (7 << 76) | (((kind & 0xfff) as u128) << 64) | (2 << 62) | number,
    )
}

/// 64 bits that follow from a text (FNV-1a, then mixed).
pub(crate) fn hashed(text: &str, salt: u64) -> u64 {
    let fnv = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64 ^ salt, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    crate::rng::mixed(fnv)
}

fn named(kind: u16, name: &str) -> Uuid {
    shaped(kind, u128::from(hashed(name, u64::from(kind))))
}

/// The id of the user of this name.
pub fn user(name: &str) -> UserId {
    UserId::new(named(1, name))
}

/// The id of the group of this slug.
pub fn group(slug: &str) -> GroupId {
    GroupId::new(named(2, slug))
}

/// The id of the role of this slug.
pub fn role(slug: &str) -> RoleId {
    RoleId::new(named(3, slug))
}

/// The id of the object of this type and name.
pub fn object(object_type: &str, name: &str) -> ObjectId {
    ObjectId::new(named(4, &format!("{object_type}:{name}")))
}

/// The id of the folder of this name.
pub fn folder(name: &str) -> ObjectId {
    object("folder", name)
}

/// The id of the grant of this name.
pub fn grant(name: &str) -> GrantId {
    GrantId::new(named(5, name))
}

/// The id of the token of this name.
pub fn token(name: &str) -> TokenId {
    TokenId::new(named(6, name))
}

/// A tag that follows from a name: no HMAC, but different for different names.
pub fn tag(name: &str) -> NameTag {
    let mut bytes = [0; 32];
    for (salt, chunk) in (1_u64..).zip(bytes.chunks_exact_mut(8)) {
        chunk.copy_from_slice(&hashed(name, salt << 32).to_be_bytes());
    }
    NameTag::new(bytes)
}

/// A profile of which only the username is known. Nothing is sealed: the bytes are the name.
pub fn profile(name: &str) -> SealedProfile {
    SealedProfile {
        sealed: Sealed::new(name.as_bytes()),
        username: tag(name),
        login_name: None,
        external_id: None,
        identity: None,
    }
}

/// A display name.
///
/// # Panics
/// When the text is none.
pub fn shown(text: &str) -> DisplayName {
    text.parse().expect("a test's display name is valid")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counted_ids_look_like_those_of_a_server() {
        let mut ids = SequentialIds::new();
        let (one, two) = (ids.next(), ids.next());
        assert!(one < two);
        assert_eq!((one.get_version_num(), two.get_version_num()), (7, 7));
        assert_eq!(one.get_variant(), uuid::Variant::RFC4122);
    }

    #[test]
    fn the_same_name_is_the_same_thing_and_kinds_do_not_mix() {
        assert_eq!(user("a"), user("a"));
        assert_ne!(user("a").as_uuid(), group("a").as_uuid());
        assert_ne!(tag("a"), tag("b"));
    }
}
