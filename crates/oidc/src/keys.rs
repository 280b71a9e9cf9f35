//! The keys a provider signs with (RFC 7517). Of those it shows, only public keys of kinds that are taken are kept: a
//! secret key among them would let anybody who reads them sign.

use crate::error::{Fault, TokenFault};
use jsonwebtoken::{
    Algorithm, DecodingKey,
    jwk::{AlgorithmParameters, EllipticCurve, Jwk, KeyAlgorithm, PublicKeyUse},
};
use serde::Deserialize;
use serde_json::Value;

/// The most keys looked at.
const KEYS_MAX: usize = 100;

/// What a token may be signed with: never with a secret both sides know, and never with nothing.
pub(crate) const TAKEN: [Algorithm; 9] = [
    Algorithm::RS256,
    Algorithm::RS384,
    Algorithm::RS512,
    Algorithm::PS256,
    Algorithm::PS384,
    Algorithm::PS512,
    Algorithm::ES256,
    Algorithm::ES384,
    Algorithm::EdDSA,
];

/// The keys of a provider.
#[derive(Debug, Default)]
pub(crate) struct Keys(Vec<Key>);

#[derive(Debug)]
struct Key {
    id: Option<String>,
    kind: Kind,
    /// The one algorithm it is for, where it says so.
    only: Option<KeyAlgorithm>,
    key: DecodingKey,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Rsa,
    P256,
    P384,
    Ed25519,
}

#[derive(Deserialize)]
struct Document {
    keys: Vec<Value>,
}

impl Keys {
    /// Reads a document of keys. Those of other kinds and those that can't be read are passed over, as the standard
    /// wants it: providers show more than signing keys there.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, Fault> {
        let read: Document =
            serde_json::from_slice(bytes).map_err(|_| Fault::Unreadable("document of keys"))?;
        Ok(Self(read.keys.into_iter().take(KEYS_MAX).filter_map(Key::read).collect()))
    }

    /// The key a token says it is signed with. One that names none could be signed with any: there must be one alone.
    pub(crate) fn find(&self, id: Option<&str>, algorithm: Algorithm) -> Result<&DecodingKey, TokenFault> {
        let named = |key: &&Key| id.is_none() || key.id.as_deref() == id;
        let mut found = self.0.iter().filter(named).filter(|key| key.is_for(algorithm));
        match (found.next(), found.next()) {
            (Some(key), None) => Ok(&key.key),
            _ => Err(TokenFault::UnknownKey),
        }
    }
}

impl Key {
    fn read(value: Value) -> Option<Self> {
        let jwk: Jwk = serde_json::from_value(value).ok()?;
        let kind = match &jwk.algorithm {
            AlgorithmParameters::RSA(_) => Kind::Rsa,
            AlgorithmParameters::EllipticCurve(of) => match of.curve {
                EllipticCurve::P256 => Kind::P256,
                EllipticCurve::P384 => Kind::P384,
                _ => return None,
            },
            AlgorithmParameters::OctetKeyPair(of) if of.curve == EllipticCurve::Ed25519 => Kind::Ed25519,
            _ => return None,
        };
        if jwk.common.public_key_use.as_ref().is_some_and(|of| *of != PublicKeyUse::Signature) {
            return None;
        }
        let key = DecodingKey::from_jwk(&jwk).ok()?;
        Some(Self { id: jwk.common.key_id, kind, only: jwk.common.key_algorithm, key })
    }

    fn is_for(&self, algorithm: Algorithm) -> bool {
        let kind = match algorithm {
            Algorithm::ES256 => Kind::P256,
            Algorithm::ES384 => Kind::P384,
            Algorithm::EdDSA => Kind::Ed25519,
            Algorithm::RS256 | Algorithm::RS384 | Algorithm::RS512 => Kind::Rsa,
            Algorithm::PS256 | Algorithm::PS384 | Algorithm::PS512 => Kind::Rsa,
            _ => return false,
        };
        kind == self.kind && self.only.is_none_or(|only| only == KeyAlgorithm::from(algorithm))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const X: &str = "MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4";
    const Y: &str = "4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM";

    fn keys(keys: Value) -> Keys {
        Keys::parse(json!({ "keys": keys }).to_string().as_bytes()).unwrap()
    }

    #[test]
    fn a_key_is_found_by_its_name_and_for_its_own_algorithm_alone() {
        let all = keys(json!([
            {"kty": "EC", "crv": "P-256", "x": X, "y": Y, "kid": "a", "use": "sig"},
            {"kty": "EC", "crv": "P-256", "x": X, "y": Y, "kid": "b", "alg": "ES256"},
            {"kty": "RSA", "n": X, "e": "AQAB", "kid": "r", "alg": "PS256"},
        ]));
        assert!(
            all.find(Some("a"), Algorithm::ES256).is_ok() && all.find(Some("b"), Algorithm::ES256).is_ok()
        );
        for (id, algorithm) in [
            (Some("c"), Algorithm::ES256),
            (Some("a"), Algorithm::ES384),
            (Some("a"), Algorithm::RS256),
            (Some("a"), Algorithm::HS256),
            (Some("r"), Algorithm::RS256),
            // Of two that could be meant none is.
            (None, Algorithm::ES256),
        ] {
            assert_eq!(all.find(id, algorithm).unwrap_err(), TokenFault::UnknownKey, "{id:?} {algorithm:?}");
        }
        assert!(all.find(None, Algorithm::PS256).is_ok(), "the only one of its kind needs no name");
    }

    #[test]
    fn keys_that_are_no_public_signing_keys_are_passed_over() {
        let all = keys(json!([
            {"kty": "oct", "k": "c2VjcmV0", "kid": "a", "alg": "HS256"},
            {"kty": "EC", "crv": "P-256", "x": X, "y": Y, "kid": "a", "use": "enc"},
            {"kty": "EC", "crv": "secp256k1", "x": X, "y": Y, "kid": "a"},
            {"kty": "OKP", "crv": "X25519", "x": X, "kid": "a"},
            {"kty": "AKP", "kid": "a", "pub": "x"},
            {"kty": "RSA", "n": "!", "e": "AQAB", "kid": "a"},
            {"kid": "a"}, 5, null, "x", [],
        ]));
        assert!(all.0.is_empty(), "{all:?}");
        for bytes in [&b"{}"[..], b"[]", b"", b"{\"keys\": {}}"] {
            assert_eq!(Keys::parse(bytes).unwrap_err(), Fault::Unreadable("document of keys"));
        }
    }

    #[test]
    fn no_more_keys_are_looked_at_than_a_provider_has() {
        let many: Vec<Value> = (0..1_000)
            .map(|at| json!({"kty": "EC", "crv": "P-256", "x": X, "y": Y, "kid": at.to_string()}))
            .collect();
        assert_eq!(keys(json!(many)).0.len(), KEYS_MAX);
    }
}
