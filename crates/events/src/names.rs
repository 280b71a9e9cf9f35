//! Names: what may be looked up (slugs, type names, external ids) and what is only shown (display text).
//!
//! Nothing is ever folded or normalised: text outside a kind's alphabet is refused, so two different texts are
//! two different names everywhere, in every database.

use crate::text::{as_text, string_schema};
use smol_str::SmolStr;

/// The text is not a valid name of its kind; the message says what would be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a valid {kind}: {rule}")]
pub struct InvalidName {
    text: String,
    kind: &'static str,
    rule: &'static str,
}

/// At most this much of a refused text is repeated to the caller.
const SHOWN_CHARS_MAX: usize = 64;

pub(crate) fn invalid(text: &str, kind: &'static str, rule: &'static str) -> InvalidName {
    InvalidName {
        text: text.chars().take(SHOWN_CHARS_MAX).flat_map(char::escape_debug).collect(),
        kind,
        rule,
    }
}

macro_rules! name {
    ($(#[$doc:meta])* $name:ident, $kind:literal, $pattern:literal, $rule:literal, $valid:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(SmolStr);

        impl $name {
            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl std::str::FromStr for $name {
            type Err = InvalidName;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                let valid: fn(&str) -> bool = $valid;
                if valid(text) { Ok(Self(SmolStr::new(text))) } else { Err(invalid(text, $kind, $rule)) }
            }
        }

        impl std::borrow::Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        as_text!($name);
        string_schema!($name, "", $pattern);
    };
}

/// The longest segment of a permission key and the longest type name, in bytes.
pub const SEGMENT_BYTES_MAX: usize = 128;

pub(crate) fn is_segment(text: &str) -> bool {
    (1..=SEGMENT_BYTES_MAX).contains(&text.len())
        && text.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-'))
}

fn is_slug(text: &str) -> bool {
    let lower = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    text.len() <= 128
        && text.bytes().next().is_some_and(lower)
        && text.bytes().all(|b| lower(b) || matches!(b, b'_' | b'.' | b'-'))
}

fn is_alias(text: &str) -> bool {
    let taken = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-');
    (1..=128).contains(&text.len()) && text.bytes().all(taken)
}

fn is_shown_text(text: &str) -> bool {
    let chars = text.chars().count();
    (1..=128).contains(&chars) && !text.chars().any(|c| c.is_control()) && text.trim() == text
}

name! {
    /// A username, or the slug of a role or group: unique among its kind, lower case only.
    Slug, "name", r"^[a-z0-9][a-z0-9_.-]{0,127}$",
    "it takes 1 to 128 of `a-z`, `0-9`, `_`, `.` and `-`, and begins with a letter or digit", is_slug
}

name! {
    /// The first segment of a permission key: who registered it. `core` is the control plane's own.
    Namespace, "namespace", r"^[a-z0-9_-]{1,128}$", "it takes 1 to 128 of `a-z`, `0-9`, `_` and `-`", is_segment
}

name! {
    /// The name of an object type. `folder` is core's; `any` stands for every type and names none.
    ObjectType, "object type", r"^[a-z0-9_-]{1,128}$", "it takes 1 to 128 of `a-z`, `0-9`, `_` and `-`", is_segment
}

name! {
    /// An object's or user's id in somebody else's system: unique within its type, compared exactly, never interpreted.
    ExternalId, "external id", r"^[\x20-\x7e]{1,256}$", "it takes 1 to 256 printable ASCII characters",
    |text| (1..=256).contains(&text.len()) && text.bytes().all(|b| (0x20..=0x7e).contains(&b))
}

name! {
    /// A name that is shown and never looked up.
    DisplayName, "display name", r"^.{1,128}$",
    "it takes 1 to 128 characters, none of them a control character, without space around", is_shown_text
}

name! {
    /// A short action name of an object type (`view`, `GET`, `can_read`) that stands for a permission key.
    ActionAlias, "action alias", r"^[A-Za-z0-9_.-]{1,128}$",
    "it takes 1 to 128 of `A-Z`, `a-z`, `0-9`, `_`, `.` and `-`", is_alias
}

/// The namespace of the control plane's own keys.
pub const CORE: &str = "core";
/// The type of folders, core's only object type.
pub const FOLDER: &str = "folder";
/// In a permission's object types: every type, also those registered later.
pub const ANY_TYPE: &str = "any";

impl Namespace {
    /// Whether this is the control plane's own namespace.
    pub fn is_core(&self) -> bool {
        self.as_str() == CORE
    }

    /// The control plane's own namespace.
    pub fn core() -> Self {
        Self(SmolStr::new_static(CORE))
    }
}

impl ObjectType {
    /// Whether objects of this type contain others.
    pub fn is_folder(&self) -> bool {
        self.as_str() == FOLDER
    }

    /// The type of folders.
    pub fn folder() -> Self {
        Self(SmolStr::new_static(FOLDER))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slug_is_never_folded() {
        for text in ["alice", "a", "0", "ops.team_1-x", &"a".repeat(128)] {
            assert_eq!(text.parse::<Slug>().unwrap().as_str(), text);
        }
        for text in
            ["", "Admin", "-a", ".a", "a b", "admin ", "аdmin", "admin\u{200b}", "a\0", "é", &"a".repeat(129)]
        {
            assert!(text.parse::<Slug>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn names_with_a_meaning_elsewhere_are_no_slugs() {
        for text in ["*", "**", "?", "[a]", "a.*", "%", "_", ".", "..", ">", "$SYS"] {
            assert!(text.parse::<Slug>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_refusal_repeats_the_text_escaped_and_cut() {
        let error = "\u{1b}[31m".repeat(100).parse::<Slug>().unwrap_err().to_string();
        assert!(!error.contains('\u{1b}') && error.len() < 900, "{error}");
    }

    /// At each size from 1 on, twice as large as the one before, up to a mebibyte: whether a text of it is taken, and
    /// how long what is said of it is.
    fn at_each_size<T: std::str::FromStr<Err = InvalidName>>(unit: &str) -> Vec<(usize, Option<usize>)> {
        let sizes = std::iter::successors(Some(1_usize), |size| Some(size * 2)).take(21);
        sizes
            .map(|size| (size, unit.repeat(size).parse::<T>().err().map(|why| why.to_string().len())))
            .collect()
    }

    #[test]
    fn a_name_of_any_size_is_short_or_refused_in_few_words() {
        for unit in ["a", "a.", "-", "\u{e9}", "\u{1b}", " "] {
            let kinds = [
                ("slug", at_each_size::<Slug>(unit)),
                ("namespace", at_each_size::<Namespace>(unit)),
                ("object type", at_each_size::<ObjectType>(unit)),
                ("alias", at_each_size::<ActionAlias>(unit)),
                ("external id", at_each_size::<ExternalId>(unit)),
                ("display name", at_each_size::<DisplayName>(unit)),
                ("key", at_each_size::<crate::PermissionKey>(unit)),
                ("pattern", at_each_size::<crate::Pattern>(unit)),
            ];
            for (kind, found) in kinds {
                for (size, refused) in found {
                    match refused {
                        None => assert!(size * unit.len() <= 1_024, "{kind} {unit:?} of {size}"),
                        Some(said) => assert!(said < 1_200, "{kind} {unit:?} of {size}: {said}"),
                    }
                }
            }
        }
    }
}
