//! Permission keys and the patterns a role may hold.
//!
//! A key is `namespace.resource.action`. Wildcards exist in roles only, and only to allow: `*`, `ns.*`, `ns.res.*`.
//! Both orders below are byte order of the text, which refusals and lists use.

use crate::{
    names::{InvalidName, Namespace, invalid, is_segment},
    text::{as_text, string_schema},
};
use smol_str::SmolStr;

/// A literal permission key of exactly three segments, such as `minecraft.server.restart`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PermissionKey(SmolStr);

/// What a role holds: a literal key or an allow-side wildcard.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pattern(SmolStr);

/// A pattern taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatternKind<'a> {
    /// `*`: every key there is or will be.
    All,
    /// `ns.*`: every key of a namespace.
    Namespace(&'a str),
    /// `ns.res.*`: every key of a resource; the text before the `.*`.
    Resource(&'a str),
    /// One literal key.
    Key(&'a str),
}

const KEY_RULE: &str =
    "it takes three segments `namespace.resource.action`, each of `a-z`, `0-9`, `_` and `-`";
const PATTERN_RULE: &str =
    "it is a key `namespace.resource.action`, or one of `*`, `namespace.*`, `namespace.resource.*`";

fn segments(text: &str) -> Option<[&str; 3]> {
    let mut parts = text.split('.');
    let three = [parts.next()?, parts.next()?, parts.next()?];
    (parts.next().is_none() && three.iter().all(|s| is_segment(s))).then_some(three)
}

impl PermissionKey {
    /// The key as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The first segment.
    pub fn namespace(&self) -> &str {
        self.0.split('.').next().unwrap_or_default()
    }

    /// The second segment.
    pub fn resource(&self) -> &str {
        self.0.split('.').nth(1).unwrap_or_default()
    }

    /// The third segment.
    pub fn action(&self) -> &str {
        self.0.split('.').nth(2).unwrap_or_default()
    }

    /// Whether the key lies in a namespace.
    pub fn is_in(&self, namespace: &Namespace) -> bool {
        self.namespace() == namespace.as_str()
    }
}

impl Pattern {
    /// `*`.
    pub fn all() -> Self {
        Self(SmolStr::new_static("*"))
    }

    /// The pattern as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The pattern taken apart.
    pub fn kind(&self) -> PatternKind<'_> {
        match self.0.strip_suffix(".*") {
            None if self.0 == "*" => PatternKind::All,
            None => PatternKind::Key(&self.0),
            Some(before) if before.contains('.') => PatternKind::Resource(before),
            Some(before) => PatternKind::Namespace(before),
        }
    }

    /// Whether it is a wildcard.
    pub fn is_wildcard(&self) -> bool {
        self.0.ends_with('*')
    }

    /// The literal key, when it is no wildcard.
    pub fn as_key(&self) -> Option<PermissionKey> {
        (!self.is_wildcard()).then(|| PermissionKey(self.0.clone()))
    }

    /// Whether it matches a key.
    pub fn matches(&self, key: &PermissionKey) -> bool {
        self.covers_text(key.as_str())
    }

    /// Whether everything the other matches, now or later, is matched by this one: `*` covers all, `ns.*` covers
    /// `ns.res.*`, each covers itself.
    pub fn covers(&self, other: &Self) -> bool {
        self.covers_text(&other.0)
    }

    fn covers_text(&self, other: &str) -> bool {
        match self.kind() {
            PatternKind::All => true,
            PatternKind::Key(key) => key == other,
            PatternKind::Namespace(before) | PatternKind::Resource(before) => {
                other.strip_prefix(before).is_some_and(|rest| rest.starts_with('.'))
            }
        }
    }
}

impl From<PermissionKey> for Pattern {
    fn from(key: PermissionKey) -> Self {
        Self(key.0)
    }
}

impl std::fmt::Display for PermissionKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::fmt::Display for Pattern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::str::FromStr for PermissionKey {
    type Err = InvalidName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match segments(text) {
            Some(_) => Ok(Self(SmolStr::new(text))),
            None => Err(invalid(text, "permission key", KEY_RULE)),
        }
    }
}

impl std::str::FromStr for Pattern {
    type Err = InvalidName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let valid = text == "*"
            || match text.strip_suffix(".*") {
                None => segments(text).is_some(),
                Some(before) => match before.split_once('.') {
                    None => is_segment(before),
                    Some((namespace, resource)) => is_segment(namespace) && is_segment(resource),
                },
            };
        if valid {
            Ok(Self(SmolStr::new(text)))
        } else {
            Err(invalid(text, "permission or wildcard", PATTERN_RULE))
        }
    }
}

impl std::borrow::Borrow<str> for PermissionKey {
    fn borrow(&self) -> &str {
        &self.0
    }
}

as_text!(PermissionKey);
as_text!(Pattern);
string_schema!(PermissionKey, "", r"^[a-z0-9_-]+\.[a-z0-9_-]+\.[a-z0-9_-]+$");
string_schema!(Pattern, "", r"^(\*|[a-z0-9_-]+\.(\*|[a-z0-9_-]+\.(\*|[a-z0-9_-]+)))$");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_three_segments_of_the_alphabet() {
        for text in ["core.user.create", "a.b.c", "a-1._.9"] {
            assert_eq!(text.parse::<PermissionKey>().unwrap().to_string(), text);
        }
        for text in
            ["", "a", "a.b", "a.b.c.d", "a..c", "A.b.c", "a.b.c ", "a.b.*", "*", "a.b.é", "a.b.c\n", ".b.c"]
        {
            assert!(text.parse::<PermissionKey>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_wildcard_stands_at_the_end_of_whole_segments_only() {
        for text in ["*", "a.*", "a.b.*", "a.b.c"] {
            assert_eq!(text.parse::<Pattern>().unwrap().to_string(), text);
        }
        for text in ["", "**", "*.b.c", "a.*.c", "a*", "a.b*", "a.b.c.*", "a.b.c*", ".*", "a..*", "*.*"] {
            assert!(text.parse::<Pattern>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn covering_goes_by_whole_segments() {
        let covers = |a: &str, b: &str| a.parse::<Pattern>().unwrap().covers(&b.parse().unwrap());
        for (a, b) in [
            ("*", "*"),
            ("*", "a.*"),
            ("*", "a.b.c"),
            ("a.*", "a.b.*"),
            ("a.*", "a.*"),
            ("a.b.*", "a.b.c"),
            ("a.b.c", "a.b.c"),
        ] {
            assert!(covers(a, b), "{a} covers {b}");
        }
        for (a, b) in [
            ("a.*", "*"),
            ("a.b.*", "a.*"),
            ("a.*", "ab.c.d"),
            ("a.b.*", "a.bc.d"),
            ("a.b.c", "a.b.*"),
            ("a.b.c", "a.b.cd"),
        ] {
            assert!(!covers(a, b), "{a} does not cover {b}");
        }
    }
}
