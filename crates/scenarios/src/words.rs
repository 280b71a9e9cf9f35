//! The small words of a file: references by name, the name of a grant, a user's status.

use charter_events::{InvalidName, ObjectType, Slug};
use serde::{Deserialize, Deserializer, de};
use std::{borrow::Cow, fmt, str::FromStr};

/// The text is no reference of its kind.
#[derive(Debug, thiserror::Error)]
pub enum InvalidWord {
    /// Not `user:<name>` or `group:<name>`.
    #[error("`{0}` names no subject: it takes `user:<name>` or `group:<name>`")]
    Subject(String),
    /// Not `<type>:<name>`.
    #[error("`{0}` names no object: it takes `<type>:<name>`")]
    Object(String),
    /// Not a name with colons.
    #[error(
        "`{0}` is not a valid name of a grant: it takes 1 to 128 of `a-z`, `0-9`, `_`, `.`, `-` and `:`, and \
         begins with a letter or digit"
    )]
    Grant(String),
    /// A part of it is no name.
    #[error(transparent)]
    Name(#[from] InvalidName),
}

fn shown(text: &str) -> String {
    text.chars().take(64).flat_map(char::escape_debug).collect()
}

/// `user:<name>` or `group:<name>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SubjectRef {
    /// A user.
    User(Slug),
    /// A group.
    Group(Slug),
}

/// `<type>:<name>`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectRef {
    /// The object's type.
    pub object_type: ObjectType,
    /// Its name, unique within the type.
    pub name: Slug,
}

/// `<type>:<name>` or `global`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScopeRef {
    /// The whole platform.
    Global,
    /// One object.
    Object(ObjectRef),
}

/// The name of a grant: a name that may also hold colons.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GrantName(String);

impl GrantName {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name of the grant an object's owner has.
    pub fn of_owner(object: &ObjectRef) -> Self {
        Self(format!("owner:{object}"))
    }
}

/// What a user's account is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It works.
    #[default]
    Active,
    /// Not accepted yet.
    Invited,
    /// Stopped.
    Suspended,
    /// Stopped, to be erased.
    AwaitingDeletion,
    /// Gone.
    Erased,
}

impl FromStr for SubjectRef {
    type Err = InvalidWord;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once(':') {
            Some(("user", name)) => Ok(Self::User(name.parse()?)),
            Some(("group", name)) => Ok(Self::Group(name.parse()?)),
            _ => Err(InvalidWord::Subject(shown(text))),
        }
    }
}

impl FromStr for ObjectRef {
    type Err = InvalidWord;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (object_type, name) = text.split_once(':').ok_or_else(|| InvalidWord::Object(shown(text)))?;
        Ok(Self { object_type: object_type.parse()?, name: name.parse()? })
    }
}

impl FromStr for ScopeRef {
    type Err = InvalidWord;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "global" { Ok(Self::Global) } else { text.parse().map(Self::Object) }
    }
}

impl FromStr for GrantName {
    type Err = InvalidWord;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let lower = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
        // An owner's grant is named after the type and the name of its object, each as long as names get.
        let valid = text.len() <= 264
            && text.bytes().next().is_some_and(lower)
            && text.bytes().all(|b| lower(b) || matches!(b, b'_' | b'.' | b'-' | b':'));
        if valid { Ok(Self(text.to_owned())) } else { Err(InvalidWord::Grant(shown(text))) }
    }
}

impl fmt::Display for ObjectRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.object_type, self.name)
    }
}

impl fmt::Display for SubjectRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::User(name) => write!(f, "user:{name}"),
            Self::Group(name) => write!(f, "group:{name}"),
        }
    }
}

impl fmt::Display for ScopeRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Global => f.write_str("global"),
            Self::Object(object) => object.fmt(f),
        }
    }
}

impl fmt::Display for GrantName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

macro_rules! from_text {
    ($($name:ty),+) => {$(
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Cow::<'de, str>::deserialize(deserializer)?.parse().map_err(de::Error::custom)
            }
        }
    )+};
}

from_text!(SubjectRef, ObjectRef, ScopeRef, GrantName);
