//! A provider's description of itself (OpenID Connect Discovery, 4.2 and 4.3).

use crate::{error::Fault, issuer::Issuer};
use reqwest::Url;
use serde::Deserialize;

/// How a client with a secret shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Authentication {
    Basic,
    Post,
}

/// Where a provider is, as far as it is used here.
#[derive(Debug, Clone)]
pub(crate) struct Description {
    pub(crate) authorization: Url,
    pub(crate) token: Url,
    pub(crate) keys: Url,
    /// None where it has no device flow.
    pub(crate) device: Option<Url>,
    /// None where it takes no way that is known here.
    pub(crate) authentication: Option<Authentication>,
    /// Whether it always says who it is when it sends somebody back (RFC 9207).
    pub(crate) says_issuer: bool,
}

#[derive(Deserialize)]
struct Document {
    issuer: String,
    authorization_endpoint: String,
    token_endpoint: String,
    jwks_uri: String,
    device_authorization_endpoint: Option<String>,
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
    #[serde(default)]
    authorization_response_iss_parameter_supported: bool,
}

impl Description {
    /// Reads a description that must be of this issuer, letter by letter.
    pub(crate) fn parse(bytes: &[u8], issuer: &Issuer) -> Result<Self, Fault> {
        let read: Document = serde_json::from_slice(bytes).map_err(|_| Fault::Unreadable("description"))?;
        if read.issuer != issuer.as_str() {
            return Err(Fault::OtherIssuer);
        }
        let address = |name: &'static str, text: &str| issuer.endpoint(text).ok_or(Fault::Address(name));
        let device = read.device_authorization_endpoint.as_deref();
        Ok(Self {
            authorization: address("authorization_endpoint", &read.authorization_endpoint)?,
            token: address("token_endpoint", &read.token_endpoint)?,
            keys: address("jwks_uri", &read.jwks_uri)?,
            device: device.map(|text| address("device_authorization_endpoint", text)).transpose()?,
            authentication: authentication(read.token_endpoint_auth_methods_supported.as_deref()),
            says_issuer: read.authorization_response_iss_parameter_supported,
        })
    }
}

/// The way that shows the secret in the place made for it, where there is a choice; it is also the way where nothing is
/// said.
fn authentication(methods: Option<&[String]>) -> Option<Authentication> {
    let Some(methods) = methods else { return Some(Authentication::Basic) };
    let takes = |name: &str| methods.iter().any(|method| method == name);
    if takes("client_secret_basic") {
        Some(Authentication::Basic)
    } else {
        takes("client_secret_post").then_some(Authentication::Post)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    const ISSUER: &str = "https://login.example/main";

    fn document() -> Value {
        json!({
            "issuer": ISSUER,
            "authorization_endpoint": "https://login.example/main/auth",
            "token_endpoint": "https://login.example/main/token",
            "jwks_uri": "https://login.example/main/jwks",
            "device_authorization_endpoint": "https://login.example/main/device",
            "response_types_supported": ["code"],
        })
    }

    fn read(document: &Value) -> Result<Description, Fault> {
        Description::parse(document.to_string().as_bytes(), &ISSUER.parse().unwrap())
    }

    fn with(name: &str, value: Value) -> Result<Description, Fault> {
        let mut document = document();
        document[name] = value;
        read(&document)
    }

    #[test]
    fn a_description_is_read_when_it_is_of_this_very_issuer() {
        let found = read(&document()).unwrap();
        assert_eq!(found.token.as_str(), "https://login.example/main/token");
        assert_eq!(found.authentication, Some(Authentication::Basic));
        assert!(found.device.is_some() && !found.says_issuer);
        for other in [
            "https://login.example/main/",
            "https://login.example/Main",
            "https://login.example",
            "http://login.example/main",
            "https://evil.example/main",
            "",
        ] {
            assert_eq!(with("issuer", json!(other)).unwrap_err(), Fault::OtherIssuer, "{other}");
        }
    }

    #[test]
    fn no_address_in_it_leads_to_plain_text_or_to_this_machine() {
        for name in ["authorization_endpoint", "token_endpoint", "jwks_uri", "device_authorization_endpoint"]
        {
            for wrong in ["http://login.example/x", "http://127.0.0.1/x", "file:///x", "x", ""] {
                assert_eq!(with(name, json!(wrong)).unwrap_err(), Fault::Address(name), "{name}: {wrong}");
            }
        }
    }

    #[test]
    fn what_is_missing_or_of_another_form_is_no_description() {
        for name in ["issuer", "authorization_endpoint", "token_endpoint", "jwks_uri"] {
            for wrong in [json!(null), json!(1), json!([]), json!({})] {
                assert_eq!(with(name, wrong).unwrap_err(), Fault::Unreadable("description"), "{name}");
            }
        }
        for bytes in [&b""[..], b"[]", b"<html>", b"{}", b"null", b"\xff"] {
            let read = Description::parse(bytes, &ISSUER.parse().unwrap());
            assert_eq!(read.unwrap_err(), Fault::Unreadable("description"));
        }
        assert!(with("device_authorization_endpoint", json!(null)).unwrap().device.is_none());
    }

    #[test]
    fn the_secret_is_shown_in_a_way_the_provider_takes() {
        for (methods, way) in [
            (json!(null), Some(Authentication::Basic)),
            (json!(["client_secret_post", "client_secret_basic"]), Some(Authentication::Basic)),
            (json!(["none", "client_secret_post"]), Some(Authentication::Post)),
            (json!(["private_key_jwt"]), None),
            (json!([]), None),
        ] {
            let found = with("token_endpoint_auth_methods_supported", methods.clone()).unwrap();
            assert_eq!(found.authentication, way, "{methods}");
        }
    }
}
