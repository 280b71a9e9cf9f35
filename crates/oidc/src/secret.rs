//! Text that must not be seen. Wiped when dropped, never shown by `Debug`.

use zeroize::Zeroizing;

/// A secret in the clear: the client's own, a code, or what proves that whoever comes back is who was sent.
#[derive(Clone)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// Takes a secret's text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(Zeroizing::new(text.into()))
    }

    /// The secret's text. What is done with it is the caller's responsibility.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(…)")
    }
}
