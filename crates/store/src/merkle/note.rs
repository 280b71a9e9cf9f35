//! Signed notes (C2SP `signed-note`) with Ed25519: a text, a blank line, and a line for each signature.

use super::checkpoint::NOTE_BYTES_MAX;
use crate::secrets::Key32;
use base64::{Engine, engine::general_purpose::STANDARD};
use ed25519_dalek::{Signer as _, SigningKey, VerifyingKey};
use sha2::{Digest, Sha256};
use std::{fmt, str::FromStr};

/// The kind of key, which is hashed into its id.
const ED25519: u8 = 1;
/// What a line of a signature begins with.
const DASH: &str = "\u{2014} ";
/// The most signatures a note may have.
const SIGNATURES_MAX: usize = 100;

/// Why a text is no signed note, or not signed by whom it should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoteError {
    /// Not of the form.
    #[error("it is no signed note: {0}")]
    Malformed(&'static str),
    /// A key that is none, or not of the form `<name>+<id>+<base64>`.
    #[error("it is no verifier key: {0}")]
    Key(&'static str),
    /// No signature is by the key.
    #[error("it is not signed by this key")]
    NotSigned,
    /// A signature claims to be by the key, and is not.
    #[error("its signature is wrong")]
    BadSignature,
}

/// One signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    /// Whose: the name of the key.
    name: String,
    /// The first four bytes of SHA-256 over name and key.
    id: [u8; 4],
    bytes: Vec<u8>,
}

/// A text and its signatures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedNote {
    /// What is signed; ends with a line break.
    text: String,
    signatures: Vec<Signature>,
}

/// By which signatures are checked. As text: `<name>+<8 hex digits>+<base64>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifierKey {
    name: String,
    id: [u8; 4],
    key: VerifyingKey,
}

/// By which they are made.
pub struct Signer {
    name: String,
    id: [u8; 4],
    key: SigningKey,
}

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Signer({})", self.name)
    }
}

fn key_id(name: &str, key: &VerifyingKey) -> [u8; 4] {
    let mut sha = Sha256::new();
    sha.update(name.as_bytes());
    sha.update([b'\n', ED25519]);
    sha.update(key.as_bytes());
    let [a, b, c, d, ..] = <[u8; 32]>::from(sha.finalize());
    [a, b, c, d]
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && !name.contains(|c: char| c.is_whitespace() || c.is_control() || c == '+')
}

impl Signer {
    /// The signer of that name whose key is made from this seed.
    pub fn new(name: &str, seed: &Key32) -> Self {
        let key = SigningKey::from_bytes(seed.expose());
        Self { name: name.to_owned(), id: key_id(name, &key.verifying_key()), key }
    }

    /// The key to check its signatures with.
    pub fn verifier_key(&self) -> VerifierKey {
        VerifierKey { name: self.name.clone(), id: self.id, key: self.key.verifying_key() }
    }

    /// Signs a text, which ends with a line break.
    pub fn sign(&self, text: String) -> SignedNote {
        let bytes = self.key.sign(text.as_bytes()).to_bytes().to_vec();
        let signature = Signature { name: self.name.clone(), id: self.id, bytes };
        SignedNote { text, signatures: vec![signature] }
    }
}

impl VerifierKey {
    /// Whose key it is.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl fmt::Display for VerifierKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = [&[ED25519], self.key.as_bytes().as_slice()].concat();
        write!(f, "{}+{}+{}", self.name, hex::encode(self.id), STANDARD.encode(key))
    }
}

impl FromStr for VerifierKey {
    type Err = NoteError;

    fn from_str(text: &str) -> Result<Self, NoteError> {
        let mut parts = text.splitn(3, '+');
        let (Some(name), Some(id), Some(key)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(NoteError::Key("it has three parts, `<name>+<id>+<base64>`"));
        };
        if !is_name(name) {
            return Err(NoteError::Key("its name is none"));
        }
        let key = STANDARD.decode(key).map_err(|_| NoteError::Key("its last part is not base64"))?;
        let Some((&ED25519, key)) = key.split_first() else {
            return Err(NoteError::Key("it is not of Ed25519"));
        };
        let key = <[u8; 32]>::try_from(key).ok().and_then(|key| VerifyingKey::from_bytes(&key).ok());
        let key = key.ok_or(NoteError::Key("its last part is no key of Ed25519"))?;
        let known = Self { name: name.to_owned(), id: key_id(name, &key), key };
        if hex::encode(known.id) == id {
            Ok(known)
        } else {
            Err(NoteError::Key("its id is not that of its name and key"))
        }
    }
}

impl SignedNote {
    /// What is signed.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Checks that it is signed by a key. Signatures by other keys are ignored.
    ///
    /// # Errors
    /// [`NoteError::NotSigned`], [`NoteError::BadSignature`].
    pub fn check(&self, key: &VerifierKey) -> Result<(), NoteError> {
        let mut by_it = self.signatures.iter().filter(|s| s.name == key.name && s.id == key.id).peekable();
        if by_it.peek().is_none() {
            return Err(NoteError::NotSigned);
        }
        let is_good = |signature: &Signature| {
            let bytes = signature.bytes.as_slice().try_into();
            bytes.is_ok_and(|bytes| {
                key.key
                    .verify_strict(self.text.as_bytes(), &ed25519_dalek::Signature::from_bytes(bytes))
                    .is_ok()
            })
        };
        if by_it.all(is_good) { Ok(()) } else { Err(NoteError::BadSignature) }
    }
}

impl fmt::Display for SignedNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.text)?;
        for Signature { name, id, bytes } in &self.signatures {
            writeln!(f, "{DASH}{name} {}", STANDARD.encode([id.as_slice(), bytes].concat()))?;
        }
        Ok(())
    }
}

impl FromStr for SignedNote {
    type Err = NoteError;

    fn from_str(note: &str) -> Result<Self, NoteError> {
        if note.len() > NOTE_BYTES_MAX {
            return Err(NoteError::Malformed("it is too long"));
        }
        if note.contains(|c: char| c.is_control() && c != '\n') {
            return Err(NoteError::Malformed("it has control characters"));
        }
        let (text, lines) = note.rsplit_once("\n\n").ok_or(NoteError::Malformed("it has no signatures"))?;
        let lines = lines.strip_suffix('\n').ok_or(NoteError::Malformed("its last line does not end"))?;
        if lines.split('\n').count() > SIGNATURES_MAX {
            return Err(NoteError::Malformed("it has too many signatures"));
        }
        let signatures = lines.split('\n').map(signature).collect::<Result<_, _>>()?;
        Ok(Self { text: format!("{text}\n"), signatures })
    }
}

fn signature(line: &str) -> Result<Signature, NoteError> {
    const WRONG: NoteError = NoteError::Malformed("a signature is `\u{2014} <name> <base64>`");
    let (name, coded) = line.strip_prefix(DASH).and_then(|rest| rest.split_once(' ')).ok_or(WRONG)?;
    let bytes = STANDARD.decode(coded).map_err(|_| WRONG)?;
    let (id, bytes) = bytes.split_first_chunk::<4>().ok_or(WRONG)?;
    if !is_name(name) || bytes.is_empty() {
        return Err(WRONG);
    }
    Ok(Signature { name: name.to_owned(), id: *id, bytes: bytes.to_vec() })
}
