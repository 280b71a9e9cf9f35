//! Where a browser goes in the end: a page of this installation, and of no other.

use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// The longest path, in bytes.
const BYTES_MAX: usize = 512;

/// A path of this installation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct ReturnTo(String);

/// Not a path of this installation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it takes a path of this installation: `/` and at most 511 characters more, without `//` and `\\`")]
pub(crate) struct InvalidPath;

impl ReturnTo {
    pub(crate) fn into_path(self) -> String {
        self.0
    }
}

impl Default for ReturnTo {
    fn default() -> Self {
        Self("/".to_owned())
    }
}

impl FromStr for ReturnTo {
    type Err = InvalidPath;

    fn from_str(text: &str) -> Result<Self, InvalidPath> {
        // Browsers take `\` for `/`, and leave out what is not seen: neither may make a host of what follows.
        let plain = text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
        let fits = text.starts_with('/') && !text.contains("//") && plain && text.len() <= BYTES_MAX;
        if fits { Ok(Self(text.to_owned())) } else { Err(InvalidPath) }
    }
}

impl TryFrom<String> for ReturnTo {
    type Error = InvalidPath;

    fn try_from(text: String) -> Result<Self, InvalidPath> {
        text.parse()
    }
}

impl From<ReturnTo> for String {
    fn from(path: ReturnTo) -> Self {
        path.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_sent_to_another_site() {
        for path in ["/", "/users", "/users?q=a%20b#top", "/%2F/evil.example", "/@evil.example"] {
            assert_eq!(path.parse::<ReturnTo>().map(ReturnTo::into_path), Ok(path.to_owned()));
        }
        let long = format!("/{}", "a".repeat(BYTES_MAX));
        for path in [
            "",
            "users",
            "//evil.example",
            "///evil.example",
            "/\\evil.example",
            "\\\\evil.example",
            "/a//evil.example",
            "https://evil.example",
            "javascript:alert(1)",
            "/\t/evil.example",
            "/\n/evil.example",
            " /users",
            "/a b",
            "/\u{0}",
            "/ä",
            &long,
        ] {
            assert_eq!(path.parse::<ReturnTo>(), Err(InvalidPath), "{path:?}");
        }
    }
}
