//! Text that must not be seen: passwords, tokens, codes. Wiped when dropped, never shown by `Debug`.

use serde::{Deserialize, Deserializer};
use zeroize::Zeroizing;

/// A secret in the clear. It has no `Display` and no `Serialize`; [`SecretText::expose`] is the only way to its text.
#[derive(Clone)]
pub struct SecretText(Zeroizing<String>);

impl SecretText {
    /// Takes a secret's text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(Zeroizing::new(text.into()))
    }

    /// The secret's text. What is done with it is the caller's responsibility.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for SecretText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SecretText(…)")
    }
}

impl From<String> for SecretText {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

impl<'de> Deserialize<'de> for SecretText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::new)
    }
}
