//! What whoever is on the way to the provider carries along, sealed: he can neither read nor change it, nor make one
//! up, and every server of the installation can open it. One for browsers is none for devices.
//!
//! Layout, before base64url: version (1) ‖ nonce (24) ‖ XChaCha20-Poly1305 of JSON, with the purpose as associated
//! data. The key is the installation's for cursors, through HMAC-SHA-256 with provider and client: of another
//! provider's flows nothing is opened.

use super::ReturnTo;
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use chacha20poly1305::{
    XChaCha20Poly1305, XNonce,
    aead::{Aead, KeyInit, Payload},
};
use charter_control::SecretText;
use charter_events::{DisplayName, Timestamp};
use charter_oidc::{Flow, Secret};
use hmac::{Hmac, Mac};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use sha2::Sha256;
use zeroize::Zeroizing;

const VERSION: u8 = 1;
const NONCE_BYTES: usize = 24;
/// The longest sealed value; a browser keeps no longer cookie.
const SEALED_CHARS_MAX: usize = 3_800;

/// What a browser carries.
#[derive(Serialize, Deserialize)]
pub(crate) struct Carried {
    state: String,
    nonce: String,
    verifier: String,
    pub(crate) return_to: ReturnTo,
    /// In microseconds since 1970.
    expires_at: i64,
    /// The invitation he accepts by coming back.
    pub(crate) invitation: Option<Invited>,
}

/// An invitation that is being accepted.
#[derive(Serialize, Deserialize)]
pub(crate) struct Invited {
    secret: String,
    pub(crate) display_name: Option<DisplayName>,
}

/// What a client carries whose user signs in elsewhere.
#[derive(Serialize, Deserialize)]
pub(crate) struct DeviceFlow {
    code: String,
    /// How often the provider may be asked, in seconds.
    pub(crate) interval: u64,
    expires_at: i64,
}

impl Carried {
    pub(crate) fn new(
        flow: &Flow,
        return_to: ReturnTo,
        expires_at: Timestamp,
        invitation: Option<Invited>,
    ) -> Self {
        Self {
            state: flow.state.expose().to_owned(),
            nonce: flow.nonce.expose().to_owned(),
            verifier: flow.verifier.expose().to_owned(),
            return_to,
            expires_at: expires_at.as_micros(),
            invitation,
        }
    }

    pub(crate) fn flow(&self) -> Flow {
        Flow {
            state: Secret::new(self.state.clone()),
            nonce: Secret::new(self.nonce.clone()),
            verifier: Secret::new(self.verifier.clone()),
        }
    }

    pub(crate) const fn expires_at(&self) -> i64 {
        self.expires_at
    }
}

impl Invited {
    pub(crate) fn new(secret: &SecretText, display_name: Option<DisplayName>) -> Self {
        Self { secret: secret.expose().to_owned(), display_name }
    }

    pub(crate) fn secret(&self) -> SecretText {
        SecretText::new(self.secret.clone())
    }
}

impl DeviceFlow {
    pub(crate) fn new(code: &Secret, interval: u64, expires_at: Timestamp) -> Self {
        Self { code: code.expose().to_owned(), interval, expires_at: expires_at.as_micros() }
    }

    pub(crate) fn code(&self) -> Secret {
        Secret::new(self.code.clone())
    }

    pub(crate) const fn expires_at(&self) -> i64 {
        self.expires_at
    }
}

/// What can be sealed, and for what.
pub(crate) trait Sealable: Serialize + DeserializeOwned {
    /// Nothing sealed for one purpose is opened for another.
    const PURPOSE: &'static [u8];

    /// Until when it is opened, in microseconds since 1970.
    fn until(&self) -> i64;
}

impl Sealable for Carried {
    const PURPOSE: &'static [u8] = b"browser";

    fn until(&self) -> i64 {
        self.expires_at
    }
}

impl Sealable for DeviceFlow {
    const PURPOSE: &'static [u8] = b"device";

    fn until(&self) -> i64 {
        self.expires_at
    }
}

/// Seals and opens.
pub(crate) struct Sealer(Zeroizing<[u8; 32]>);

impl Sealer {
    pub(crate) fn new(key: &[u8; 32], issuer: &str, client: &str) -> Self {
        let mut block = [0; 64];
        block[..32].copy_from_slice(key);
        let mut mac = Hmac::<Sha256>::new(&block.into());
        mac.update(b"charter sign-in at a provider\0");
        mac.update(&super::super::edge::digest(&[issuer.as_bytes(), client.as_bytes()]));
        Self(Zeroizing::new(mac.finalize().into_bytes().into()))
    }

    /// Seals a value; none when there is no randomness, or it is too long to be carried.
    pub(crate) fn seal<T: Sealable>(&self, value: &T) -> Option<String> {
        let plain = Zeroizing::new(serde_json::to_vec(value).ok()?);
        let mut nonce = [0; NONCE_BYTES];
        getrandom::fill(&mut nonce).ok()?;
        let payload = Payload { msg: &plain, aad: T::PURPOSE };
        let sealed = self.cipher().encrypt(&XNonce::from(nonce), payload).ok()?;
        let text = URL_SAFE_NO_PAD.encode([&[VERSION], nonce.as_slice(), &sealed].concat());
        (text.len() <= SEALED_CHARS_MAX).then_some(text)
    }

    /// Opens a value that was sealed here or on another server and has not expired; none for anything else.
    pub(crate) fn open<T: Sealable>(&self, text: &str, now: Timestamp) -> Option<T> {
        if text.len() > SEALED_CHARS_MAX {
            return None;
        }
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        let (version, rest) = bytes.split_first()?;
        let (nonce, sealed) = rest.split_first_chunk::<NONCE_BYTES>()?;
        if *version != VERSION {
            return None;
        }
        let payload = Payload { msg: sealed, aad: T::PURPOSE };
        let plain = Zeroizing::new(self.cipher().decrypt(&XNonce::from(*nonce), payload).ok()?);
        let value: T = serde_json::from_slice(&plain).ok()?;
        (now.as_micros() < value.until()).then_some(value)
    }

    fn cipher(&self) -> XChaCha20Poly1305 {
        XChaCha20Poly1305::new((&*self.0).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_micros(second * 1_000_000).unwrap()
    }

    fn sealer(issuer: &str, client: &str) -> Sealer {
        Sealer::new(&[7; 32], issuer, client)
    }

    fn carried() -> Carried {
        let invitation = Invited::new(&SecretText::new("chi_secret"), None);
        Carried::new(&Flow::new().unwrap(), "/users".parse().unwrap(), at(600), Some(invitation))
    }

    #[test]
    fn what_was_sealed_is_opened_by_every_server_until_it_expires() {
        let value = carried();
        let text = sealer("https://a", "b").seal(&value).unwrap();
        let opened: Carried = sealer("https://a", "b").open(&text, at(599)).unwrap();
        assert_eq!(opened.flow().verifier.expose(), value.verifier);
        assert_eq!(opened.invitation.unwrap().secret().expose(), "chi_secret");
        assert!(sealer("https://a", "b").open::<Carried>(&text, at(600)).is_none());
        assert!(!text.contains("chi_secret") && sealer("https://a", "b").seal(&value).unwrap() != text);
    }

    #[test]
    fn nothing_else_is_opened() {
        let sealer_of = || sealer("https://a", "b");
        let text = sealer_of().seal(&carried()).unwrap();
        for other in
            [sealer("https://a", "c"), sealer("https://ab", ""), Sealer::new(&[8; 32], "https://a", "b")]
        {
            assert!(other.open::<Carried>(&text, at(0)).is_none());
        }
        assert!(
            sealer_of().open::<DeviceFlow>(&text, at(0)).is_none(),
            "one for browsers is none for devices"
        );
        let device = DeviceFlow::new(&Secret::new("dc"), 5, at(600));
        let device = sealer_of().seal(&device).unwrap();
        assert!(sealer_of().open::<Carried>(&device, at(0)).is_none());
        assert!(sealer_of().open::<DeviceFlow>(&device, at(0)).is_some());
        for at_byte in 0..URL_SAFE_NO_PAD.decode(&text).unwrap().len() {
            let mut bytes = URL_SAFE_NO_PAD.decode(&text).unwrap();
            bytes[at_byte] ^= 1;
            let changed = URL_SAFE_NO_PAD.encode(bytes);
            assert!(sealer_of().open::<Carried>(&changed, at(0)).is_none(), "byte {at_byte}");
        }
        for wrong in
            ["", "A", "AQ", &text[1..], &text[..text.len() - 1], &format!("{text}A"), &format!("{text}=")]
        {
            assert!(sealer_of().open::<Carried>(wrong, at(0)).is_none(), "{wrong}");
        }
    }

    #[test]
    fn the_longest_that_can_be_asked_for_fits_into_a_cookie() {
        let path = format!("/{}", "\"".repeat(511));
        let name: DisplayName = "\u{10ffff}".repeat(128).parse().unwrap();
        let secret = SecretText::new(format!("chi_{}", "A".repeat(43)));
        let invitation = Invited::new(&secret, Some(name));
        let carried =
            Carried::new(&Flow::new().unwrap(), path.parse().unwrap(), Timestamp::MAX, Some(invitation));
        assert!(sealer("https://a", "b").seal(&carried).is_some());
    }
}
