//! What an ID token must be (OpenID Connect Core, 3.1.3.7) before its word is taken.

use crate::{
    error::TokenFault,
    keys::{Keys, TAKEN},
    secret::Secret,
};
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header, errors::ErrorKind};
use serde::{Deserialize, Deserializer, de::Error};
use serde_json::{Number, Value};
use std::collections::HashSet;
use subtle::ConstantTimeEq;

/// How far the provider's clock may be from ours, in seconds.
const SKEW_SECONDS: i64 = 60;
/// The longest token, in bytes.
const TOKEN_BYTES_MAX: usize = 32 * 1024;
/// The longest subject, in bytes (Core, 2).
const SUBJECT_BYTES_MAX: usize = 255;

/// What a token is held to.
pub(crate) struct Expected<'a> {
    pub(crate) issuer: &'a str,
    pub(crate) client: &'a str,
    /// The flow's, where it has one.
    pub(crate) nonce: Option<&'a Secret>,
    /// Seconds since 1970.
    pub(crate) now: i64,
}

/// What a token says it is signed with.
#[derive(Debug)]
pub(crate) struct Signed {
    pub(crate) algorithm: Algorithm,
    pub(crate) key: Option<String>,
}

/// The members that are read. Each of them twice is a fault; others, such as names and addresses, are not looked at.
#[derive(Deserialize)]
struct Claims {
    iss: String,
    sub: String,
    #[serde(deserialize_with = "one_or_several")]
    aud: Vec<String>,
    #[serde(default)]
    azp: Option<String>,
    #[serde(deserialize_with = "moment")]
    exp: i64,
    #[serde(deserialize_with = "moment")]
    iat: i64,
    #[serde(default, deserialize_with = "later_moment")]
    nbf: Option<i64>,
    #[serde(default)]
    nonce: Option<String>,
}

/// Which key a token is to be examined with.
pub(crate) fn signed(token: &str) -> Result<Signed, TokenFault> {
    if token.len() > TOKEN_BYTES_MAX || token.split('.').count() != 3 {
        return Err(TokenFault::Malformed);
    }
    // An algorithm that is not known, `none` among them, can't be read.
    let header = decode_header(token).map_err(|error| match error.kind() {
        ErrorKind::Json(_) | ErrorKind::InvalidAlgorithmName => TokenFault::Algorithm,
        _ => TokenFault::Malformed,
    })?;
    if !TAKEN.contains(&header.alg) {
        return Err(TokenFault::Algorithm);
    }
    Ok(Signed { algorithm: header.alg, key: header.kid })
}

/// Whom a token names, if it is good.
pub(crate) fn subject(token: &str, keys: &Keys, expected: &Expected<'_>) -> Result<String, TokenFault> {
    let Signed { algorithm, key } = signed(token)?;
    let key = keys.find(key.as_deref(), algorithm)?;
    let claims = authentic(token, key, algorithm)?;
    if claims.iss != expected.issuer {
        return Err(TokenFault::Issuer);
    }
    is_for(&claims, expected.client)?;
    if claims.exp.saturating_add(SKEW_SECONDS) <= expected.now {
        return Err(TokenFault::Expired);
    }
    let begins = claims.nbf.unwrap_or(claims.iat).max(claims.iat);
    if begins.saturating_sub(SKEW_SECONDS) > expected.now {
        return Err(TokenFault::NotYet);
    }
    if let Some(nonce) = expected.nonce {
        let told = claims.nonce.as_deref().unwrap_or_default().as_bytes();
        if !bool::from(told.ct_eq(nonce.expose().as_bytes())) {
            return Err(TokenFault::Nonce);
        }
    }
    let names_one = (1..=SUBJECT_BYTES_MAX).contains(&claims.sub.len());
    if !names_one || claims.sub.chars().any(char::is_control) || claims.sub.trim() != claims.sub {
        return Err(TokenFault::Subject);
    }
    Ok(claims.sub)
}

/// The claims of a token that this key signed. What they must be is judged here alone: the moment is handed in.
fn authentic(token: &str, key: &DecodingKey, algorithm: Algorithm) -> Result<Claims, TokenFault> {
    let mut signature_alone = Validation::new(algorithm);
    signature_alone.required_spec_claims = HashSet::new();
    signature_alone.validate_exp = false;
    signature_alone.validate_aud = false;
    decode::<Claims>(token, key, &signature_alone).map(|read| read.claims).map_err(|error| {
        match error.kind() {
            ErrorKind::InvalidSignature => TokenFault::Signature,
            ErrorKind::InvalidAlgorithm => TokenFault::Algorithm,
            _ => TokenFault::Malformed,
        }
    })
}

/// For this client, and, where it is for others as well, asked for by this one.
fn is_for(claims: &Claims, client: &str) -> Result<(), TokenFault> {
    let named = claims.aud.iter().any(|audience| audience == client);
    let asked = match &claims.azp {
        Some(party) => party == client,
        None => claims.aud.len() == 1,
    };
    if named && asked { Ok(()) } else { Err(TokenFault::Audience) }
}

fn one_or_several<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    match Value::deserialize(deserializer)? {
        Value::String(one) => Ok(vec![one]),
        several => serde_json::from_value(several).map_err(D::Error::custom),
    }
}

/// Whole seconds, downwards: a standard allows fractions.
fn moment<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
    let number = Number::deserialize(deserializer)?;
    #[expect(clippy::cast_possible_truncation, reason = "a float beyond the range becomes its end")]
    let whole =
        || number.as_f64().filter(|seconds| seconds.is_finite()).map(|seconds| seconds.floor() as i64);
    number.as_i64().or_else(whole).ok_or_else(|| D::Error::custom("no moment"))
}

fn later_moment<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<i64>, D::Error> {
    moment(deserializer).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
    use jsonwebtoken::{EncodingKey, Header, encode};
    use serde_json::json;

    const ISSUER: &str = "https://login.example";
    const NOW: i64 = 1_800_000_000;

    /// A provider's key of a kind, and the document it shows it in.
    struct Pair {
        private: EncodingKey,
        keys: Keys,
        shown: String,
    }

    impl Pair {
        fn of(algorithm: Algorithm) -> Self {
            let kind = match algorithm {
                Algorithm::ES256 => &rcgen::PKCS_ECDSA_P256_SHA256,
                Algorithm::ES384 => &rcgen::PKCS_ECDSA_P384_SHA384,
                Algorithm::EdDSA => &rcgen::PKCS_ED25519,
                _ => &rcgen::PKCS_RSA_SHA256,
            };
            let der = rcgen::KeyPair::generate_for(kind).unwrap().serialize_der();
            let private = match algorithm {
                Algorithm::ES256 | Algorithm::ES384 => EncodingKey::from_ec_der(&der),
                Algorithm::EdDSA => EncodingKey::from_ed_der(&der),
                // What a key of 2,048 bits is wrapped in comes before it.
                _ => EncodingKey::from_rsa_der(&der[26..]),
            };
            let mut jwk = public(kind, &der);
            jwk["kid"] = json!("k");
            let shown = json!({ "keys": [jwk] }).to_string();
            Self { private, keys: Keys::parse(shown.as_bytes()).unwrap(), shown }
        }

        fn signs(&self, algorithm: Algorithm, claims: &Value) -> String {
            encode(&Header { kid: Some("k".to_owned()), ..Header::new(algorithm) }, claims, &self.private)
                .unwrap()
        }
    }

    /// The public half, as a provider shows it.
    fn public(kind: &'static rcgen::SignatureAlgorithm, der: &[u8]) -> Value {
        let pair = rcgen::KeyPair::from_pkcs8_der_and_sign_algo(&der.into(), kind).unwrap();
        let raw = pair.public_key_raw();
        let coded = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        if kind == &rcgen::PKCS_ED25519 {
            return json!({"kty": "OKP", "crv": "Ed25519", "x": coded(raw)});
        }
        if kind == &rcgen::PKCS_RSA_SHA256 {
            // SEQUENCE of the modulus, of 256 bytes and one for its sign, and of the exponent, 65537.
            let (modulus, exponent) = (&raw[9..9 + 256], &raw[raw.len() - 3..]);
            return json!({"kty": "RSA", "n": coded(modulus), "e": coded(exponent)});
        }
        let half = (raw.len() - 1) / 2;
        let curve = if half == 32 { "P-256" } else { "P-384" };
        json!({"kty": "EC", "crv": curve, "x": coded(&raw[1..=half]), "y": coded(&raw[1 + half..])})
    }

    fn claims() -> Value {
        json!({
            "iss": ISSUER, "sub": "ada", "aud": "charter", "exp": NOW + 300, "iat": NOW, "nonce": "n",
            "email": "grace@example.org", "email_verified": true,
        })
    }

    fn with(name: &str, value: Value) -> Value {
        let mut claims = claims();
        claims[name] = value;
        claims
    }

    fn without(name: &str) -> Value {
        let mut claims = claims();
        claims.as_object_mut().unwrap().remove(name);
        claims
    }

    fn judged(token: &str, keys: &Keys) -> Result<String, TokenFault> {
        let nonce = Secret::new("n");
        subject(token, keys, &Expected { issuer: ISSUER, client: "charter", nonce: Some(&nonce), now: NOW })
    }

    #[test]
    fn a_token_of_each_kind_of_key_is_taken_for_whom_it_names() {
        for algorithm in TAKEN {
            let pair = Pair::of(algorithm);
            assert_eq!(
                judged(&pair.signs(algorithm, &claims()), &pair.keys),
                Ok("ada".to_owned()),
                "{algorithm:?}"
            );
        }
    }

    #[test]
    fn a_token_that_says_anything_else_is_refused() {
        let pair = Pair::of(Algorithm::ES256);
        let long = "x".repeat(SUBJECT_BYTES_MAX + 1);
        for (claims, fault) in [
            (with("iss", json!("https://login.example/")), TokenFault::Issuer),
            (with("iss", json!("https://evil.example")), TokenFault::Issuer),
            (with("aud", json!("another")), TokenFault::Audience),
            (with("aud", json!([])), TokenFault::Audience),
            (with("aud", json!(["another"])), TokenFault::Audience),
            (with("aud", json!(["charter", "another"])), TokenFault::Audience),
            (with("azp", json!("another")), TokenFault::Audience),
            (with("exp", json!(NOW - SKEW_SECONDS)), TokenFault::Expired),
            (with("exp", json!(-1e300)), TokenFault::Expired),
            (with("iat", json!(NOW + SKEW_SECONDS + 1)), TokenFault::NotYet),
            (with("nbf", json!(NOW + SKEW_SECONDS + 1)), TokenFault::NotYet),
            (with("nonce", json!("another")), TokenFault::Nonce),
            (with("nonce", json!("")), TokenFault::Nonce),
            (with("nonce", json!(null)), TokenFault::Nonce),
            (without("nonce"), TokenFault::Nonce),
            (with("sub", json!("")), TokenFault::Subject),
            (with("sub", json!(" ada")), TokenFault::Subject),
            (with("sub", json!("a\u{0}da")), TokenFault::Subject),
            (with("sub", json!(long)), TokenFault::Subject),
        ] {
            let token = pair.signs(Algorithm::ES256, &claims);
            assert_eq!(judged(&token, &pair.keys), Err(fault), "{claims}");
        }
        for name in ["iss", "sub", "aud", "exp", "iat"] {
            for claims in [without(name), with(name, json!(null)), with(name, json!({"a": 1}))] {
                let token = pair.signs(Algorithm::ES256, &claims);
                assert_eq!(judged(&token, &pair.keys), Err(TokenFault::Malformed), "{claims}");
            }
        }
        for name in ["exp", "iat", "nbf"] {
            let token = pair.signs(Algorithm::ES256, &with(name, json!("1800000000")));
            assert_eq!(judged(&token, &pair.keys), Err(TokenFault::Malformed), "{name} as a text");
        }
    }

    #[test]
    fn clocks_may_differ_a_little_and_a_token_be_for_several_when_this_client_asked() {
        let pair = Pair::of(Algorithm::ES256);
        for claims in [
            with("exp", json!(NOW - SKEW_SECONDS + 1)),
            with("iat", json!(NOW + SKEW_SECONDS)),
            with("exp", json!(NOW as f64 + 0.5)),
            with("aud", json!(["charter"])),
            with("azp", json!("charter")),
        ] {
            assert!(judged(&pair.signs(Algorithm::ES256, &claims), &pair.keys).is_ok(), "{claims}");
        }
        let mut several = with("aud", json!(["another", "charter"]));
        several["azp"] = json!("charter");
        assert!(judged(&pair.signs(Algorithm::ES256, &several), &pair.keys).is_ok());
    }

    #[test]
    fn nothing_that_is_not_signed_with_the_providers_own_key_is_taken() {
        let (pair, other) = (Pair::of(Algorithm::ES256), Pair::of(Algorithm::ES256));
        let token = other.signs(Algorithm::ES256, &claims());
        assert_eq!(judged(&token, &pair.keys), Err(TokenFault::Signature));
        let good = pair.signs(Algorithm::ES256, &claims());
        let (body, signature) = good.rsplit_once('.').unwrap();
        let (header, _) = body.split_once('.').unwrap();
        let part = |value: Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let forged = part(with("sub", json!("root")));
        assert_eq!(judged(&format!("{header}.{forged}.{signature}"), &pair.keys), Err(TokenFault::Signature));
        assert_eq!(judged(&format!("{body}."), &pair.keys), Err(TokenFault::Signature));
        for algorithm in ["none", "None", "NONE", "", "HS256", "HS384", "HS512", "ES512", "x"] {
            let header = part(json!({"alg": algorithm, "kid": "k"}));
            let token = format!("{header}.{forged}.{signature}");
            assert_eq!(judged(&token, &pair.keys), Err(TokenFault::Algorithm), "{algorithm}");
            assert_eq!(judged(&format!("{header}.{forged}."), &pair.keys), Err(TokenFault::Algorithm));
        }
        // A key that is public is no secret to sign with.
        let secret = EncodingKey::from_secret(pair.shown.as_bytes()).unwrap();
        let header = Header { kid: Some("k".to_owned()), ..Header::new(Algorithm::HS256) };
        let token = encode(&header, &claims(), &secret).unwrap();
        assert_eq!(judged(&token, &pair.keys), Err(TokenFault::Algorithm));
        let header = Header { kid: Some("other".to_owned()), ..Header::new(Algorithm::ES256) };
        let token = encode(&header, &claims(), &pair.private).unwrap();
        assert_eq!(judged(&token, &pair.keys), Err(TokenFault::UnknownKey));
    }

    #[test]
    fn a_token_in_another_form_is_none() {
        let pair = Pair::of(Algorithm::ES256);
        let good = pair.signs(Algorithm::ES256, &claims());
        let long = format!("{good}{}", "A".repeat(TOKEN_BYTES_MAX));
        for token in ["", ".", "..", "a.b.c", "a.b", &format!("{good}.x"), &format!(" {good}"), &long] {
            let fault = judged(token, &pair.keys).unwrap_err();
            assert!([TokenFault::Malformed, TokenFault::Algorithm].contains(&fault), "{token}: {fault:?}");
        }
        // What is said twice could be read either way.
        let text = claims().to_string();
        let twice = format!("{{\"sub\":\"root\",{}", &text[1..]);
        let header = URL_SAFE_NO_PAD.encode(r#"{"alg":"ES256","kid":"k"}"#);
        let body = format!("{header}.{}", URL_SAFE_NO_PAD.encode(twice));
        let signature = jsonwebtoken::crypto::sign(body.as_bytes(), &pair.private, Algorithm::ES256).unwrap();
        assert_eq!(judged(&format!("{body}.{signature}"), &pair.keys), Err(TokenFault::Malformed));
        let header = URL_SAFE_NO_PAD.encode(r#"{"alg":"ES256","kid":"k","crit":["exp"]}"#);
        let body = format!("{header}.{}", URL_SAFE_NO_PAD.encode(claims().to_string()));
        let signature = jsonwebtoken::crypto::sign(body.as_bytes(), &pair.private, Algorithm::ES256).unwrap();
        assert_eq!(judged(&format!("{body}.{signature}"), &pair.keys), Err(TokenFault::Malformed));
    }

    #[test]
    fn a_flow_without_a_nonce_asks_for_none() {
        let pair = Pair::of(Algorithm::ES256);
        let expected = Expected { issuer: ISSUER, client: "charter", nonce: None, now: NOW };
        let token = pair.signs(Algorithm::ES256, &without("nonce"));
        assert_eq!(subject(&token, &pair.keys, &expected), Ok("ada".to_owned()));
    }
}
