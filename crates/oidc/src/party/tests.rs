//! The relying party against a provider that answers what a test wants.

use super::*;
use crate::error::TokenFault;
use axum::{
    Json, Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

const NOW: i64 = 1_800_000_000;

/// What the provider answers, and what it was asked.
struct Play {
    description: (u16, Value),
    key: rcgen::KeyPair,
    kid: &'static str,
    token: (u16, Value),
    device: (u16, Value),
    asked: Vec<String>,
}

type Shared = Arc<Mutex<Play>>;

struct Provider {
    issuer: String,
    play: Shared,
}

fn answer(asked: String, play: &Shared, of: impl Fn(&Play) -> (u16, Value)) -> Response {
    let mut play = play.lock().unwrap();
    play.asked.push(asked);
    let (status, body) = of(&play);
    let location = (300..400).contains(&status).then_some([(header::LOCATION, "/elsewhere")]);
    (StatusCode::from_u16(status).unwrap(), location, Json(body)).into_response()
}

fn form(name: &str, headers: &HeaderMap, body: &Bytes) -> String {
    let authorization = headers.get(header::AUTHORIZATION).map(|value| value.to_str().unwrap()).unwrap_or("");
    format!("{name} {authorization} {}", String::from_utf8_lossy(body))
}

impl Provider {
    async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let issuer = format!("http://{}", listener.local_addr().unwrap());
        let description = json!({
            "issuer": issuer,
            "authorization_endpoint": format!("{issuer}/auth?tenant=a%20b"),
            "token_endpoint": format!("{issuer}/token"),
            "jwks_uri": format!("{issuer}/keys"),
            "device_authorization_endpoint": format!("{issuer}/device"),
        });
        let play: Shared = Arc::new(Mutex::new(Play {
            description: (200, description),
            key: rcgen::KeyPair::generate().unwrap(),
            kid: "one",
            token: (400, json!({"error": "invalid_grant"})),
            device: (400, json!({"error": "invalid_client"})),
            asked: Vec::new(),
        }));
        let router = Router::new()
            .route(
                "/.well-known/openid-configuration",
                get(|State(play): State<Shared>| async move {
                    answer("description".to_owned(), &play, |play| play.description.clone())
                }),
            )
            .route(
                "/keys",
                get(|State(play): State<Shared>| async move {
                    answer("keys".to_owned(), &play, |play| {
                        let raw = play.key.public_key_raw();
                        let coded = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
                        let (x, y) = (coded(&raw[1..33]), coded(&raw[33..]));
                        let key = json!({"kty": "EC", "crv": "P-256", "kid": play.kid, "x": x, "y": y});
                        (200, json!({ "keys": [key] }))
                    })
                }),
            )
            .route(
                "/token",
                post(|State(play): State<Shared>, headers: HeaderMap, body: Bytes| async move {
                    answer(form("token", &headers, &body), &play, |play| play.token.clone())
                }),
            )
            .route(
                "/device",
                post(|State(play): State<Shared>, headers: HeaderMap, body: Bytes| async move {
                    answer(form("device", &headers, &body), &play, |play| play.device.clone())
                }),
            )
            .route(
                "/elsewhere",
                get(|State(play): State<Shared>| async move {
                    answer("elsewhere".to_owned(), &play, |play| play.description.clone())
                }),
            )
            .with_state(Arc::clone(&play));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { issuer, play }
    }

    fn party(&self, secret: Option<&str>) -> RelyingParty {
        drop(rustls::crypto::aws_lc_rs::default_provider().install_default());
        let client = Client {
            id: "charter".to_owned(),
            secret: secret.map(Secret::new),
            scopes: "openid".to_owned(),
            redirect: "https://charter.example/callback".to_owned(),
        };
        RelyingParty::new(self.issuer.parse().unwrap(), client).unwrap()
    }

    fn token(&self, now: i64, nonce: Option<&str>) -> Value {
        let play = self.play.lock().unwrap();
        let key = EncodingKey::from_ec_der(&play.key.serialize_der());
        let header = Header { kid: Some(play.kid.to_owned()), ..Header::new(Algorithm::ES256) };
        let claims = json!({
            "iss": self.issuer, "sub": "ada", "aud": "charter", "iat": now, "exp": now + 60, "nonce": nonce,
        });
        json!({"access_token": "at", "token_type": "Bearer", "id_token": encode(&header, &claims, &key).unwrap()})
    }

    fn answers(&self, status: u16, body: Value) {
        self.play.lock().unwrap().token = (status, body);
    }

    fn with_description(&self, name: &str, value: Value) {
        self.play.lock().unwrap().description.1[name] = value;
    }

    /// What was asked since the last time, by the first word of each.
    fn asked(&self) -> Vec<String> {
        let asked = std::mem::take(&mut self.play.lock().unwrap().asked);
        asked.iter().map(|line| line.split(' ').next().unwrap().to_owned()).collect()
    }
}

fn code(code: &str) -> CodeAnswer<'_> {
    CodeAnswer { code: Some(code), error: None, issuer: None }
}

fn flow() -> Flow {
    Flow { nonce: Secret::new("n"), ..Flow::new().unwrap() }
}

#[tokio::test]
async fn a_browser_is_sent_with_all_that_has_to_come_back_and_nothing_secret() {
    let provider = Provider::start().await;
    let flow = flow();
    let at = provider.party(Some("hunter2")).authorization(&flow, NOW).await.unwrap();
    let url = Url::parse(&at).unwrap();
    let pairs: Vec<(String, String)> = url.query_pairs().into_owned().collect();
    let expected = [
        ("tenant", "a b"),
        ("response_type", "code"),
        ("client_id", "charter"),
        ("redirect_uri", "https://charter.example/callback"),
        ("scope", "openid"),
        ("state", flow.state.expose()),
        ("nonce", "n"),
        ("code_challenge", &flow.challenge()),
        ("code_challenge_method", "S256"),
    ];
    assert_eq!(pairs, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    assert!(!at.contains(flow.verifier.expose()) && !at.contains("hunter2"));
}

#[tokio::test]
async fn a_code_is_exchanged_with_the_verifier_and_names_somebody() {
    let provider = Provider::start().await;
    let flow = flow();
    provider.answers(200, provider.token(NOW, Some("n")));
    let party = provider.party(Some("a secret/+:"));
    let subject = party.came_back(code("c0de"), &flow, NOW).await.unwrap();
    assert_eq!(subject, Subject { issuer: provider.issuer.clone(), subject: "ada".to_owned() });
    let asked = provider.play.lock().unwrap().asked.clone();
    let token = asked.iter().find(|line| line.starts_with("token")).unwrap();
    let verifier = format!("code_verifier={}", flow.verifier.expose());
    let basic = format!("Basic {}", STANDARD.encode("charter:a+secret%2F%2B%3A"));
    for part in ["grant_type=authorization_code", "code=c0de", "callback", &verifier, &basic] {
        assert!(token.contains(part), "{part}: {token}");
    }
    assert!(!token.contains("client_secret"), "{token}");
    // Where that is the only way it takes, they are in the form; without a secret the id alone is.
    provider.with_description("token_endpoint_auth_methods_supported", json!(["client_secret_post"]));
    for (secret, part) in [(Some("s"), "client_id=charter&client_secret=s"), (None, "client_id=charter")] {
        provider.play.lock().unwrap().asked.clear();
        provider.party(secret).came_back(code("c0de"), &flow, NOW).await.unwrap();
        let asked = provider.play.lock().unwrap().asked.clone();
        assert!(asked.iter().any(|line| line.starts_with("token  ") && line.ends_with(part)), "{asked:?}");
    }
}

#[tokio::test]
async fn whoever_comes_back_otherwise_than_he_was_sent_is_refused_before_the_code_is_shown_to_anybody() {
    let provider = Provider::start().await;
    let (party, flow) = (provider.party(None), flow());
    let long = "c".repeat(CODE_BYTES_MAX + 1);
    for (answer, error) in [
        (CodeAnswer { issuer: Some("https://evil.example"), ..code("c") }, OidcError::Refused),
        (CodeAnswer { issuer: Some(""), ..code("c") }, OidcError::Refused),
        (CodeAnswer { error: Some("access_denied"), ..code("c") }, OidcError::Declined),
        (CodeAnswer { error: Some("nonsense"), ..code("c") }, OidcError::Refused),
        (CodeAnswer { error: Some("invalid_scope"), ..code("c") }, OidcError::Misconfigured("invalid_scope")),
        (CodeAnswer { code: None, error: None, issuer: None }, OidcError::Refused),
        (code(""), OidcError::Refused),
        (code(&long), OidcError::Refused),
    ] {
        assert_eq!(party.came_back(answer, &flow, NOW).await, Err(error));
    }
    provider.with_description("authorization_response_iss_parameter_supported", json!(true));
    let party = provider.party(None);
    assert_eq!(
        party.came_back(code("c"), &flow, NOW).await,
        Err(OidcError::Refused),
        "it does not say who it is"
    );
    assert!(!provider.asked().contains(&"token".to_owned()));
    let named = CodeAnswer { issuer: Some(&provider.issuer), ..code("c") };
    provider.answers(200, provider.token(NOW, Some("n")));
    assert!(party.came_back(named, &flow, NOW).await.is_ok());
}

#[tokio::test]
async fn what_a_provider_answers_to_a_code_is_understood() {
    let provider = Provider::start().await;
    let (party, flow) = (provider.party(Some("s")), flow());
    for (status, body, error) in [
        (400, json!({"error": "invalid_grant"}), OidcError::Refused),
        (401, json!({"error": "invalid_client"}), OidcError::Misconfigured("invalid_client")),
        (400, json!({"error": "temporarily_unavailable"}), OidcError::Away(Fault::Status(503))),
        (500, json!({}), OidcError::Away(Fault::Status(500))),
        (302, json!({}), OidcError::Away(Fault::Status(302))),
        (200, json!({"access_token": "at"}), OidcError::Away(Fault::Unreadable("answer"))),
        (200, json!([]), OidcError::Away(Fault::Unreadable("answer"))),
        (200, json!({"id_token": "x"}), OidcError::Token(TokenFault::Malformed)),
        (200, provider.token(NOW - 3_600, Some("n")), OidcError::Token(TokenFault::Expired)),
        (200, provider.token(NOW, Some("another")), OidcError::Token(TokenFault::Nonce)),
        (200, json!({"id_token": "x".repeat(300 * 1024)}), OidcError::Away(Fault::TooLarge)),
    ] {
        provider.answers(status, body);
        assert_eq!(party.came_back(code("c"), &flow, NOW).await, Err(error), "{status}");
    }
    assert!(!provider.asked().contains(&"elsewhere".to_owned()), "a redirect was followed");
}

#[tokio::test]
async fn description_and_keys_are_read_once_and_again_when_they_are_old() {
    let provider = Provider::start().await;
    let (party, flow) = (provider.party(None), flow());
    let come_back = async |now: i64| {
        provider.answers(200, provider.token(now, Some("n")));
        party.came_back(code("c"), &flow, now).await
    };
    assert!(provider.asked().is_empty(), "it is asked nothing before somebody signs in");
    come_back(NOW).await.unwrap();
    assert_eq!(provider.asked(), ["description", "token", "keys"]);
    come_back(NOW + 3_599).await.unwrap();
    assert_eq!(provider.asked(), ["token"]);
    come_back(NOW + 3_600).await.unwrap();
    assert_eq!(provider.asked(), ["description", "token", "keys"]);
}

#[tokio::test]
async fn a_new_key_is_found_and_made_up_ones_ask_for_keys_once_in_a_while() {
    let provider = Provider::start().await;
    let (party, flow) = (provider.party(None), flow());
    let come_back = async |now: i64| {
        provider.answers(200, provider.token(now, Some("n")));
        party.came_back(code("c"), &flow, now).await
    };
    come_back(NOW).await.unwrap();
    provider.asked();
    // A key the provider does not show.
    let shown = {
        let mut play = provider.play.lock().unwrap();
        std::mem::replace(&mut play.kid, "made up")
    };
    let made_up = provider.token(NOW, Some("n"));
    provider.play.lock().unwrap().kid = shown;
    provider.answers(200, made_up);
    for _ in 0..3 {
        let refused = party.came_back(code("c"), &flow, NOW + 29).await;
        assert_eq!(refused, Err(OidcError::Token(TokenFault::UnknownKey)));
    }
    assert_eq!(provider.asked(), ["token", "token", "token"], "keys of a moment ago are new enough");
    // The provider begins with another key.
    {
        let mut play = provider.play.lock().unwrap();
        (play.key, play.kid) = (rcgen::KeyPair::generate().unwrap(), "two");
    }
    come_back(NOW + 30).await.unwrap();
    assert_eq!(provider.asked(), ["token", "keys"]);
}

#[tokio::test]
async fn a_provider_that_is_away_is_tried_again_after_a_moment_and_not_before() {
    let provider = Provider::start().await;
    provider.play.lock().unwrap().description.0 = 503;
    let (party, flow) = (provider.party(None), flow());
    let away = OidcError::Away(Fault::Status(503));
    assert_eq!(party.authorization(&flow, NOW).await, Err(away));
    provider.play.lock().unwrap().description.0 = 200;
    assert_eq!(party.authorization(&flow, NOW + 4).await, Err(OidcError::Away(Fault::NotLongAgo)));
    assert_eq!(provider.asked(), ["description"]);
    assert!(party.authorization(&flow, NOW + 5).await.is_ok());
    // Nobody there at all.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let gone = Provider { issuer: format!("http://{}", listener.local_addr().unwrap()), play: provider.play };
    drop(listener);
    assert_eq!(gone.party(None).authorization(&flow, NOW).await, Err(OidcError::Away(Fault::Unreachable)));
}

#[tokio::test]
async fn a_description_elsewhere_or_of_somebody_else_is_not_taken() {
    let provider = Provider::start().await;
    provider.play.lock().unwrap().description.0 = 302;
    let sent = provider.party(None).authorization(&flow(), NOW).await;
    assert_eq!(sent, Err(OidcError::Away(Fault::Status(302))));
    provider.play.lock().unwrap().description.0 = 200;
    provider.with_description("issuer", json!("https://evil.example"));
    let sent = provider.party(None).authorization(&flow(), NOW).await;
    assert_eq!(sent, Err(OidcError::Away(Fault::OtherIssuer)));
    assert_eq!(provider.asked(), ["description", "description"]);
}

#[tokio::test]
async fn a_device_flow_begins_with_what_people_are_shown() {
    let provider = Provider::start().await;
    let party = provider.party(None);
    let began = json!({
        "device_code": "dc", "user_code": "WDJB-MJHT", "verification_uri": "https://login.example/device",
        "verification_uri_complete": "https://login.example/device?c=WDJB-MJHT", "expires_in": 600, "interval": 7,
    });
    let begin = async |name: &str, value: Value| {
        let mut body = began.clone();
        body[name] = value;
        provider.play.lock().unwrap().device = (200, body);
        party.begin_device(NOW).await
    };
    let device = begin("more", json!(1)).await.unwrap();
    assert_eq!((device.code.expose(), device.user_code.as_str()), ("dc", "WDJB-MJHT"));
    assert_eq!((device.expires_in, device.interval), (600, 7));
    assert!(device.complete_address.is_some() && !format!("{device:?}").contains("dc\""));
    assert_eq!(begin("interval", json!(null)).await.unwrap().interval, 5);
    assert_eq!(begin("interval", json!(0)).await.unwrap().interval, 1);
    assert_eq!(begin("expires_in", json!(1_000_000)).await.unwrap().expires_in, DEVICE_SECONDS_MAX);
    assert_eq!(begin("verification_uri_complete", json!("x:y")).await.unwrap().complete_address, None);
    for (name, wrong) in [
        ("user_code", json!("\u{1b}[2J")),
        ("user_code", json!("")),
        ("verification_uri", json!("http://login.example/device")),
        ("verification_uri", json!("javascript:alert(1)")),
        ("device_code", json!("")),
        ("expires_in", json!("soon")),
    ] {
        let begun = begin(name, wrong.clone()).await.map(drop);
        assert_eq!(begun, Err(OidcError::Away(Fault::Unreadable("device code"))), "{name}: {wrong}");
    }
    provider.play.lock().unwrap().device = (400, json!({"error": "unauthorized_client"}));
    let refused = party.begin_device(NOW).await.map(drop);
    assert_eq!(refused, Err(OidcError::Misconfigured("unauthorized_client")));
    provider.with_description("device_authorization_endpoint", json!(null));
    assert_eq!(provider.party(None).begin_device(NOW).await.map(drop), Err(OidcError::NoDeviceFlow));
}

#[tokio::test]
async fn each_answer_of_a_device_flow_is_understood() {
    let provider = Provider::start().await;
    let party = provider.party(None);
    let done = Poll::Done(Subject { issuer: provider.issuer.clone(), subject: "ada".to_owned() });
    let refusal = |word: &str| (400, json!({ "error": word }));
    for ((status, body), expected) in [
        (refusal("authorization_pending"), Ok(Poll::Pending)),
        (refusal("slow_down"), Ok(Poll::SlowDown)),
        (refusal("expired_token"), Ok(Poll::Expired)),
        (refusal("access_denied"), Ok(Poll::Denied)),
        (refusal("invalid_grant"), Err(OidcError::Refused)),
        ((200, provider.token(NOW, None)), Ok(done)),
        ((503, json!({})), Err(OidcError::Away(Fault::Status(503)))),
    ] {
        provider.answers(status, body.clone());
        assert_eq!(party.poll_device(&Secret::new("dc"), NOW).await, expected, "{body}");
    }
    let asked = provider.play.lock().unwrap().asked.clone();
    let polled =
        "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Adevice_code&device_code=dc&client_id=charter";
    assert!(asked.iter().any(|line| line.ends_with(polled)), "{asked:?}");
}
