//! Users in events: their kind, who acted, and their personal data, which never stands in the log in the clear.
//!
//! A user's names and address are sealed under a key of that user's own, kept with the secrets. Destroying the key
//! forgets the person in every copy of the history, and the hash chain still verifies. Beside the sealed bytes an
//! event carries keyed tags of the names, by which a user is looked up and uniqueness is enforced without opening
//! anything.

use crate::{
    identity::Identity,
    ids::UserId,
    names::{DisplayName, ExternalId, Namespace, Slug},
};
use base64::{Engine, engine::general_purpose::STANDARD};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::sync::Arc;

/// A person, or a program that calls the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum UserKind {
    /// A human being.
    Person,
    /// A program: no password, no e-mail, never the last administrator.
    Service,
}

/// Who is recorded as having done something.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", content = "id", rename_all = "snake_case")]
pub enum Actor {
    /// A person.
    User(UserId),
    /// A service user.
    Service(UserId),
    /// A module on its own initiative: an attribution label, not a subject.
    Module(Namespace),
    /// The control plane itself, or whoever has the host.
    System,
}

/// The way a command came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Via {
    /// The HTTP API.
    Api,
    /// The command line on the host itself.
    Cli,
    /// A module.
    Module,
    /// An import.
    Import,
    /// The server on its own: start, clock.
    System,
}

/// The longest sealed profile, in bytes.
pub const SEALED_BYTES_MAX: usize = 8 * 1024;

/// Bytes sealed under one user's key (AEAD): base64 in JSON. What they hold is a [`Profile`] as JSON.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Sealed(Arc<[u8]>);

impl Sealed {
    /// Takes bytes that are sealed already.
    pub fn new(bytes: &[u8]) -> Self {
        Self(bytes.into())
    }

    /// The sealed bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl std::fmt::Debug for Sealed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Sealed({} bytes)", self.0.len())
    }
}

impl Serialize for Sealed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            serializer.serialize_str(&STANDARD.encode(&self.0))
        } else {
            serializer.serialize_bytes(&self.0)
        }
    }
}

impl<'de> Deserialize<'de> for Sealed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let bytes = if deserializer.is_human_readable() {
            let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
            STANDARD.decode(text.as_bytes()).map_err(|_| de::Error::custom("not base64"))?
        } else {
            Vec::<u8>::deserialize(deserializer)?
        };
        if bytes.len() > SEALED_BYTES_MAX {
            return Err(de::Error::custom("sealed bytes are too long"));
        }
        Ok(Self(bytes.into()))
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Sealed {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Sealed".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let chars_max = SEALED_BYTES_MAX.div_ceil(3) * 4;
        schemars::json_schema!({"type": "string", "contentEncoding": "base64", "maxLength": chars_max})
    }
}

/// HMAC-SHA-256 of a user's username, login name, external id or identity under the installation's key: 64 hex digits
/// in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NameTag([u8; 32]);

impl NameTag {
    /// Takes a tag that was computed elsewhere.
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The tag's bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl std::fmt::Display for NameTag {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|b| write!(f, "{b:02x}"))
    }
}

/// The text is not 64 lower-case hex digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected 64 lower-case hex digits")]
pub struct InvalidDigest;

pub(crate) fn hex32(text: &str) -> Result<[u8; 32], InvalidDigest> {
    let mut bytes = [0; 32];
    let lower = text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
    if !lower || hex::decode_to_slice(text, &mut bytes).is_err() {
        return Err(InvalidDigest);
    }
    Ok(bytes)
}

impl std::str::FromStr for NameTag {
    type Err = InvalidDigest;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        hex32(text).map(Self)
    }
}

impl Serialize for NameTag {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            serializer.collect_str(self)
        } else {
            self.0.serialize(serializer)
        }
    }
}

impl<'de> Deserialize<'de> for NameTag {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            crate::text::from_text(deserializer)
        } else {
            <[u8; 32]>::deserialize(deserializer).map(Self)
        }
    }
}

crate::text::string_schema!(NameTag, "", "^[0-9a-f]{64}$");

/// A user's personal data in the clear: what [`Sealed`] holds. Never part of an event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// By which people name the user.
    pub username: Slug,
    /// How the user is shown; the username when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_name: Option<DisplayName>,
    /// Where mail reaches the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
    /// Another name accepted at sign-in, given by an identity provider; unique ignoring case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub login_name: Option<String>,
    /// The user's id in somebody else's system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_id: Option<ExternalId>,
    /// Who the user is at an identity provider: whoever is that there signs in as the user here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<Identity>,
}

/// A profile as events carry it: sealed, with the tags it is looked up by. The tags of username, login name and
/// external id share one key space: no two users may share any of them. Identities have a key space of their own, so
/// that none can equal a name, and no two users may share one either.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SealedProfile {
    /// The [`Profile`], sealed.
    pub sealed: Sealed,
    /// Tag of the username.
    pub username: NameTag,
    /// Tag of the login name, lower-cased.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub login_name: Option<NameTag>,
    /// Tag of the external id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_id: Option<NameTag>,
    /// Tag of the identity at a provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<NameTag>,
}

impl SealedProfile {
    /// All tags, each once.
    pub fn tags(&self) -> impl Iterator<Item = NameTag> + '_ {
        let login = self.login_name.filter(|t| *t != self.username);
        let external = self.external_id.filter(|t| *t != self.username && Some(*t) != login);
        std::iter::once(self.username).chain(login).chain(external).chain(self.identity)
    }
}

/// A member of a profile, to say what changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ProfileField {
    /// The username.
    Username,
    /// The display name.
    DisplayName,
    /// The e-mail address.
    Email,
    /// The login name.
    LoginName,
    /// The external id.
    ExternalId,
    /// The identity at a provider.
    Identity,
}
