//! Secrets pushed through every route, right and wrong, with everything logged that can be: they are found in nothing
//! that the server says or keeps, in no spelling.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]

use base64::Engine;
use charter_tests::{
    Browser, CLIENT_SECRET, Caller, Database, Installation, PASSWORD, on_both_databases, server_and_provider,
};
use serde_json::json;
use std::{fmt::Write, path::Path};

/// A secret, by what it is called here and in the spellings in which it could be told.
struct Canary {
    name: &'static str,
    spellings: Vec<Vec<u8>>,
}

impl Canary {
    fn new(name: &'static str, secret: &str) -> Self {
        let bytes = secret.as_bytes();
        let hex = |upper: bool| {
            bytes.iter().fold(String::new(), |mut text, byte| {
                let written = if upper { write!(text, "{byte:02X}") } else { write!(text, "{byte:02x}") };
                written.map(|()| text).unwrap()
            })
        };
        let escaped = escaped(secret);
        let mut spellings =
            vec![secret.to_owned(), escaped.replace("%20", "+"), escaped, hex(false), hex(true)];
        // Base64 looks otherwise at each of three places in a text: what is the same wherever it stands.
        for before in 0..3 {
            let text = [&vec![b'x'; before], bytes].concat();
            for engine in [
                &base64::engine::general_purpose::STANDARD_NO_PAD,
                &base64::engine::general_purpose::URL_SAFE_NO_PAD,
            ] {
                let coded = engine.encode(&text);
                spellings.push(coded[4..coded.len() - 4].to_owned());
            }
        }
        spellings.sort();
        spellings.dedup();
        Self { name, spellings: spellings.into_iter().map(String::into_bytes).collect() }
    }

    #[track_caller]
    fn is_not_in(&self, what: &str, said: &[u8]) {
        for spelling in &self.spellings {
            let found = said.windows(spelling.len()).position(|window| window == spelling);
            let shown = found.map(|at| {
                let near = &said[at.saturating_sub(200)..(at + spelling.len() + 50).min(said.len())];
                String::from_utf8_lossy(near).into_owned()
            });
            assert_eq!(shown, None, "the {} is told in {what}", self.name);
        }
    }
}

/// As it stands in an address.
fn escaped(text: &str) -> String {
    text.bytes().fold(String::new(), |mut escaped, byte| {
        match byte {
            byte if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) => {
                escaped.push(char::from(byte));
            }
            byte => write!(escaped, "%{byte:02X}").unwrap(),
        }
        escaped
    })
}

/// Every route with its variable segments, from the document.
async fn routes(admin: &Caller) -> Vec<(reqwest::Method, String)> {
    let document = admin.get("/api/openapi.json").await.unwrap().expect(200).unwrap().body;
    let mut routes = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for method in item.as_object().unwrap().keys() {
            if let Ok(method) = method.to_uppercase().parse() {
                routes.push((method, path.clone()));
            }
        }
    }
    assert!(routes.len() > 70, "{}", routes.len());
    routes
}

fn filled(path: &str, with: &str) -> String {
    let segments = path.split('/').map(|segment| if segment.starts_with('{') { with } else { segment });
    segments.collect::<Vec<_>>().join("/").replace(' ', "%20")
}

/// Sends one secret to one route in every place a request has, also where it does not belong.
async fn push(caller: &Caller, method: &reqwest::Method, path: &str, secret: &str) -> Vec<(u16, String)> {
    let mut requests = Vec::new();
    let start = |path: &str| caller.request(method.clone(), path);
    let ids = filled(path, "00000000-0000-4000-8000-000000000000");
    requests.push(start(&filled(path, secret)));
    for query in ["token", "limit", "q", "cursor", "as_of"] {
        requests.push(start(&format!("{ids}?{query}={}", escaped(secret))));
    }
    for header in
        ["if-match", "idempotency-key", "policy-version-min", "last-event-id", "x-forwarded-for", "cookie"]
    {
        requests.push(start(&ids).header(header, secret));
    }
    let nobody = Caller::new(caller.url(), None);
    for authorization in [format!("Bearer {secret}x"), format!("Basic {secret}"), secret.to_owned()] {
        requests.push(nobody.request(method.clone(), &ids).header("authorization", authorization));
    }
    if *method != reqwest::Method::GET {
        let broken = format!("{{\"password\": \"{secret}");
        for body in [
            json!({"username": "ada", "password": secret, "code": secret, "current": secret, "new": secret})
                .to_string(),
            json!({"password": {"nested": secret}}).to_string(),
            json!({secret: secret}).to_string(),
            json!([secret]).to_string(),
            broken,
        ] {
            let request = start(&ids).header("if-match", "*").header("content-type", "application/json");
            requests.push(request.body(body));
        }
    }
    let mut answers = Vec::new();
    for request in requests {
        // A live stream does not end by itself, and is not asked for here.
        let Ok(answer) = request.send().await else { continue };
        answers.push((answer.status().as_u16(), answer.text().await.unwrap_or_default()));
    }
    answers
}

/// A sign-in by each way at the identity provider, so that all that is secret on these ways is used.
async fn at_the_provider(server: &str, canaries: &mut Vec<Canary>) {
    let mut browser = Browser::of("nobody").unwrap();
    let begin = format!("{server}/api/v1/session/oidc");
    let back = browser.follow(&begin, "/oidc/callback").await.unwrap().location.unwrap();
    let carried = browser.cookie("charter-oidc").unwrap().to_owned();
    assert_eq!(browser.open(&back).await.unwrap().status, 403, "nobody is linked to it");
    let url = reqwest::Url::parse(&back).unwrap();
    let code = url.query_pairs().find(|(name, _)| name == "code").map(|(_, code)| code.into_owned()).unwrap();
    let nobody = Caller::new(server, None);
    let begun = nobody.post("/api/v1/session/device", &json!({})).await.unwrap().expect(200).unwrap();
    let handle = begun.text("handle").unwrap().to_owned();
    let asked = nobody.post("/api/v1/session/device/token", &json!({ "handle": handle })).await.unwrap();
    assert_eq!(asked.code(), "authorization_pending");
    canaries.extend([
        Canary::new("code of the identity provider", &code),
        Canary::new("cookie of a browser on its way", &carried),
        Canary::new("handle of a device", &handle),
    ]);
}

fn visit(folder: &Path, see: &mut dyn FnMut(&Path, &[u8])) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            visit(&path, see);
        } else if let Ok(bytes) = std::fs::read(&path) {
            see(&path, &bytes);
        }
    }
}

async fn no_secret_is_found_in_anything_that_is_said_or_kept(installation: Installation) {
    let installation = installation.with("CHARTER_LOG", "trace").with("CHARTER_ADDRESS_RATE", "0");
    let (installation, server, _provider) = server_and_provider(installation).await.unwrap();
    let code = server.setup_code.clone().unwrap();
    let session = server.set_up().await.unwrap();
    let issued = session.post("/api/v1/user/me/tokens", &json!({"name": "canary"})).await.unwrap();
    let token = issued.expect(201).unwrap().text("secret").unwrap().to_owned();
    let admin = Caller::new(&server.url, Some(token.clone()));
    // Of credentials the part that is secret: by what they begin with anybody may know what they are.
    let bare = |secret: &str| secret[4..].to_owned();
    let mut canaries = vec![
        Canary::new("setup code", &code),
        Canary::new("password", PASSWORD),
        Canary::new("session", &bare(session.secret().unwrap())),
        Canary::new("token", &bare(&token)),
        Canary::new("secret at the identity provider", CLIENT_SECRET),
    ];
    if installation.kind() == Database::Postgres {
        let url = &installation.database().unwrap().server_url;
        let password = url.split_once("://").and_then(|(_, rest)| rest.split_once('@'));
        let password =
            password.and_then(|(who, _)| who.split_once(':')).map(|(_, password)| password.to_owned());
        canaries.extend(password.map(|password| Canary::new("database's password", &password)));
    }

    at_the_provider(&server.url, &mut canaries).await;

    let mut statuses = std::collections::BTreeMap::<u16, usize>::new();
    for (method, path) in routes(&admin).await {
        for secret in [code.as_str(), PASSWORD, session.secret().unwrap(), token.as_str()] {
            for (status, said) in push(&admin, &method, &path, secret).await {
                *statuses.entry(status).or_default() += 1;
                // A name that is not known is told to whoever sent it, and to nobody else; so is what SCIM can't read.
                let told_back = ["unknown_member", "not_found"]
                    .iter()
                    .any(|code| said.contains(&format!("\"code\":\"{code}\"")));
                if told_back || (path.starts_with("/scim/") && [400, 404].contains(&status)) {
                    continue;
                }
                for canary in &canaries {
                    canary.is_not_in(&format!("an answer of {method} {path}"), said.as_bytes());
                }
            }
        }
    }
    assert!(statuses.contains_key(&400) && statuses.contains_key(&401), "{statuses:?}");
    for (status, _) in
        push(&admin, &reqwest::Method::GET, "/api/v1/users", &token).await.iter().skip(1).take(5)
    {
        assert_eq!(*status, 400, "a token in a query is refused");
    }

    for path in ["/metrics", "/api/v1/events?limit=500", "/api/v1/audit?limit=500", "/api/v1/user/me/tokens"]
    {
        let said = admin.text(path).await.unwrap();
        canaries.iter().for_each(|canary| canary.is_not_in(path, said.as_bytes()));
    }
    let printed = server.printed();
    let (banner, logs) = printed.split_once("listening on").unwrap();
    assert!(banner.contains(&code) && logs.lines().count() > 1_000, "nothing was logged");
    for canary in &canaries {
        canary.is_not_in("the log", logs.as_bytes());
        if canary.name != "setup code" {
            canary.is_not_in("what is printed at the start", banner.as_bytes());
        }
    }
    server.stop().unwrap();
    visit(&installation.data(0), &mut |path, bytes| {
        // Where whoever set it up keeps it.
        if path.ends_with("secrets/client-secret") {
            return;
        }
        canaries.iter().for_each(|canary| canary.is_not_in(&path.display().to_string(), bytes));
    });
}

on_both_databases!(no_secret_is_found_in_anything_that_is_said_or_kept);

#[test]
fn each_spelling_is_found_wherever_it_stands() {
    use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE};
    let secret = "a secret~ with/signs?";
    let canary = Canary::new("canary", secret);
    for padding in ["", "x", "xy", "xyz"] {
        let text = format!("{padding}{secret}{padding}");
        let plain = text.clone();
        let hex = text.bytes().fold(String::new(), |text, byte| format!("{text}{byte:02x}"));
        for said in [plain, hex, BASE64_STANDARD.encode(&text), BASE64_URL_SAFE.encode(&text)] {
            let found = std::panic::catch_unwind(|| canary.is_not_in("a test", said.as_bytes()));
            assert!(found.is_err(), "{said}");
        }
    }
    canary.is_not_in("a test", b"nothing of it");
}
