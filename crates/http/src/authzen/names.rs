//! The names a gateway calls things by: types of subjects, short names of actions, and by what things are called back.

use crate::{HttpConfig, read::Names};
use charter_events::{AliasDefinition, ObjectTypeDefinition, PermissionKey, UserId, names::ANY_TYPE};
use charter_policy::{ObjectTypeView, PermissionView, Policy};
use std::str::FromStr;

/// The type of subject there always is.
const USER: &str = "user";
/// The longest name of a type of subject, in bytes.
const SUBJECT_TYPE_BYTES_MAX: usize = 128;

/// Another name for the type of subject `user`, such as `identity`: what a gateway calls its users.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubjectType(String);

/// Not a name of a type of subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it takes 1 to {SUBJECT_TYPE_BYTES_MAX} printable ASCII characters without space")]
pub struct InvalidSubjectType;

impl FromStr for SubjectType {
    type Err = InvalidSubjectType;

    fn from_str(text: &str) -> Result<Self, InvalidSubjectType> {
        let fits = (1..=SUBJECT_TYPE_BYTES_MAX).contains(&text.len());
        if fits && text.bytes().all(|b| b.is_ascii_graphic()) {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidSubjectType)
        }
    }
}

/// Whether subjects of a type are users.
pub(crate) fn is_user(config: &HttpConfig, subject_type: &str) -> bool {
    subject_type == USER || config.subject_types.iter().any(|known| known.0 == subject_type)
}

/// The permission an action is, on resources of a type. What has the form of a key is that key and no alias, so that
/// nobody who registers a type says what another's key means.
pub(crate) fn permission(policy: &Policy, resource_type: &str, action: &str) -> Option<PermissionKey> {
    if let Ok(key) = action.parse() {
        return Some(key);
    }
    let of = policy.object_type(resource_type)?;
    of.definition.aliases.iter().find(|known| known.alias.as_str() == action).map(|known| known.key.clone())
}

/// What can be done on resources of a type: its aliases' keys, its read and manage keys, and every key that names the
/// type. Keys for objects of any type, such as core's own, are asked about one by one.
pub(crate) fn is_action_of(of: &ObjectTypeView<'_>, key: &PermissionView<'_>) -> bool {
    let definition = of.definition;
    let own = [&definition.read, &definition.manage].contains(&key.key);
    let named = key.object_types.iter().any(|name| *name == definition.name && name.as_str() != ANY_TYPE);
    own || named || aliases(definition, key.key).next().is_some()
}

/// What an action is called on a type: its aliases; without any, the key.
pub(crate) fn called(of: &ObjectTypeDefinition, key: &PermissionKey) -> Vec<String> {
    let mut names: Vec<String> = aliases(of, key).map(|known| known.alias.to_string()).collect();
    if names.is_empty() {
        names.push(key.to_string());
    }
    names
}

/// The aliases by which a key can be asked for.
fn aliases<'a>(
    of: &'a ObjectTypeDefinition,
    key: &'a PermissionKey,
) -> impl Iterator<Item = &'a AliasDefinition> {
    let is_key = |known: &&AliasDefinition| known.alias.as_str().parse::<PermissionKey>().is_ok();
    of.aliases.iter().filter(move |known| known.key == *key && !is_key(known))
}

/// By what a user is called back: what the gateway's own system calls him, else his username; his id where neither is
/// known or can be read now.
pub(crate) fn user(names: &Names, user: UserId) -> String {
    let profile = names.profile(user);
    let external = profile.and_then(|profile| profile.external_id.as_ref()).map(ToString::to_string);
    let username = || profile.map(|profile| profile.username.to_string());
    external.or_else(username).unwrap_or_else(|| user.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_of_subject_is_a_word() {
        for text in ["identity", "urn:example:user", "User"] {
            assert_eq!(text.parse::<SubjectType>().unwrap().0, text);
        }
        for text in ["", "two words", "n\u{e4}me", "a\n", &"x".repeat(129)] {
            assert_eq!(text.parse::<SubjectType>(), Err(InvalidSubjectType), "{text}");
        }
    }

    #[test]
    fn users_are_called_so_and_by_the_names_that_were_set() {
        let mut config = HttpConfig::default();
        assert!(is_user(&config, "user") && !is_user(&config, "identity"));
        config.subject_types.push("identity".parse().unwrap());
        assert!(is_user(&config, "user") && is_user(&config, "identity"));
        for other in ["", "User", "identity2", "spaceship"] {
            assert!(!is_user(&config, other), "{other}");
        }
    }

    #[test]
    fn a_type_of_subject_has_a_bound_at_every_size() {
        for size in std::iter::successors(Some(1_usize), |size| Some(size * 2)).take(21) {
            let read = "x".repeat(size).parse::<SubjectType>();
            assert_eq!(read.is_ok(), size <= SUBJECT_TYPE_BYTES_MAX, "{size}");
        }
    }
}
