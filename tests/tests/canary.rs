//! Secrets pushed through every route, right and wrong, with everything logged that can be: they are found in nothing
//! that the server says or keeps, in no spelling.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]

use base64::Engine;
use charter_services::{Nats, NatsSettings, free_port};
use charter_tests::{
    Browser, CLIENT_SECRET, Caller, Database, Installation, PASSWORD, eventually, on_both_databases,
    server_and_provider,
};
use serde_json::json;
use std::{
    fmt::Write,
    io::{BufRead, BufReader, Read},
    path::Path,
    process::Stdio,
    sync::{Arc, Mutex},
};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt};

const NATS_PASSWORD: &str = "stream-canary.5Q7x9Zr2";
const MAIL_PASSWORD: &str = "mail-canary.8Lw3Vt6Y";

/// A mail server that refuses the first who signs in, with everything he said, and then takes every letter.
struct Post {
    port: u16,
    letters: Arc<Mutex<String>>,
}

impl Post {
    async fn open() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (port, letters) = (listener.local_addr().unwrap().port(), Arc::new(Mutex::new(String::new())));
        let kept = Arc::clone(&letters);
        tokio::spawn(async move {
            let mut refused = false;
            while let Ok((stream, _)) = listener.accept().await {
                Self::talk(stream, &kept, &mut refused).await;
            }
        });
        Self { port, letters }
    }

    async fn talk(stream: tokio::net::TcpStream, kept: &Mutex<String>, refused: &mut bool) {
        let (read, mut write) = stream.into_split();
        let (mut lines, mut letter) = (tokio::io::BufReader::new(read).lines(), false);
        let mut answer = "220 here".to_owned();
        loop {
            if write.write_all(format!("{answer}\r\n").as_bytes()).await.is_err() {
                return;
            }
            // A letter's lines are answered all at once.
            loop {
                let Ok(Some(line)) = lines.next_line().await else { return };
                if !letter || line == "." {
                    answer = match line.as_str() {
                        "." => "250 taken".to_owned(),
                        "DATA" => "354 go on".to_owned(),
                        line if line.starts_with("EHLO") => "250-here\r\n250 AUTH PLAIN".to_owned(),
                        line if line.starts_with("AUTH") && !*refused => {
                            *refused = true;
                            format!("454 not now: {line} {MAIL_PASSWORD}")
                        }
                        line if line.starts_with("AUTH") => "235 come in".to_owned(),
                        _ => "250 fine".to_owned(),
                    };
                    letter = line == "DATA";
                    break;
                }
                let mut kept = kept.lock().unwrap();
                kept.push_str(line.strip_suffix('=').map_or(&format!("{line}\n"), |line| line));
            }
        }
    }

    /// The secret of the link in the first letter.
    async fn link(&self) -> String {
        let secret = || {
            let letters = self.letters.lock().unwrap().clone();
            let rest = letters.split_once("chi_")?.1;
            Some(format!("chi_{}", rest.split_whitespace().next()?)).filter(|secret| secret.len() == 47)
        };
        eventually("a letter comes", 60, async || secret().is_some()).await.unwrap();
        secret().unwrap()
    }
}

/// A secret, by what it is called here and in the spellings in which it could be told.
struct Canary {
    name: &'static str,
    spellings: Vec<String>,
}

impl Canary {
    fn new(name: &'static str, secret: &str) -> Self {
        let mut canary = Self::of_bytes(name, secret.as_bytes());
        let escaped = escaped(secret);
        canary.spellings.extend([secret.to_owned(), escaped.replace("%20", "+"), escaped]);
        canary
    }

    /// A secret that is no text.
    fn of_bytes(name: &'static str, bytes: &[u8]) -> Self {
        let hex = |upper: bool| {
            bytes.iter().fold(String::new(), |mut text, byte| {
                let written = if upper { write!(text, "{byte:02X}") } else { write!(text, "{byte:02x}") };
                written.map(|()| text).unwrap()
            })
        };
        let mut spellings = vec![hex(false), hex(true)];
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
        Self { name, spellings }
    }

    #[track_caller]
    fn is_not_in(&self, what: &str, said: &[u8]) {
        let said = String::from_utf8_lossy(said);
        for spelling in &self.spellings {
            let shown = said.split_once(spelling.as_str()).map(|(before, after)| {
                let near: Vec<char> = before.chars().rev().take(200).collect();
                let near: String = near.into_iter().rev().collect();
                format!("{near}{spelling}{}", after.chars().take(50).collect::<String>())
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

/// Everything around a server that it has a secret for: a stream, a mail server, a folder for backups.
struct Around {
    _nats: Nats,
    mail: Post,
}

impl Around {
    async fn of(installation: Installation) -> (Installation, Self) {
        let config = format!("authorization {{ user: charter, password: \"{NATS_PASSWORD}\" }}");
        let nats =
            Nats::start_with(NatsSettings { config: Some(config), ..NatsSettings::default() }).unwrap();
        let mail = Post::open().await;
        let smtp = format!("smtp://charter:{MAIL_PASSWORD}@127.0.0.1:{}", mail.port);
        let backups = installation.data(0).join("backups").display().to_string();
        let installation = installation
            .with_nats(nats.url_as("charter", NATS_PASSWORD))
            .with("CHARTER_SMTP_URL", smtp)
            .with("CHARTER_MAIL_FROM", "Charter <charter@example.org>")
            .with("CHARTER_PUBLIC_URL", "https://charter.example")
            .with("CHARTER_BACKUPS", backups)
            .with("CHARTER_LOG", "trace")
            .with("CHARTER_ADDRESS_RATE", "0");
        (installation, Self { _nats: nats, mail })
    }
}

/// Keys that are in files of their own, and told by none.
struct Keys {
    /// In no backup either.
    of_users: Vec<Canary>,
    of_the_installation: Vec<Canary>,
}

/// Takes a backup, waits for it, and reads the keys in it and in the file of users' keys.
async fn keys(admin: &Caller, folder: &Path) -> Keys {
    let begun = admin.request(reqwest::Method::POST, "/api/v1/backups");
    let begun = admin.send(begun).await.unwrap().expect(202).unwrap();
    let operation = format!("/api/v1/operations/{}", begun.text("id").unwrap());
    eventually("the backup is taken", 60, async || {
        admin.get(&operation).await.unwrap().text("state") == Some("done")
    })
    .await
    .unwrap();
    let mut keys = Keys { of_users: Vec::new(), of_the_installation: Vec::new() };
    visit(folder, &mut |path, bytes| {
        if !path.extension().is_some_and(|extension| extension == "keys" || extension == "backup") {
            return;
        }
        for line in std::str::from_utf8(bytes).unwrap().lines() {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            let key = |name, member: &str| {
                line[name][member].as_str().map(|hex| Canary::of_bytes("key", &bytes_of(hex)))
            };
            keys.of_users.extend(key("user_key", "key"));
            keys.of_the_installation.extend(key("installation", "tag_key"));
            keys.of_the_installation.extend(key("installation", "signing_key"));
        }
    });
    assert!(keys.of_users.len() >= 2 && keys.of_the_installation.len() >= 2, "keys are missing");
    keys
}

fn bytes_of(hex: &str) -> Vec<u8> {
    let pairs = hex.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).unwrap());
    pairs.map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect()
}

/// What the program says on the host about an installation, to somebody who looks over a shoulder.
fn told_on_the_host(installation: &Installation) -> Vec<(String, Vec<u8>)> {
    let verbs: [&[&str]; 6] = [
        &["config", "show"],
        &["config", "show", "-o", "json"],
        &["config", "check"],
        &["doctor"],
        &["doctor", "-o", "json"],
        &["serve", "--help"],
    ];
    let told = verbs.iter().map(|verb| {
        let output = installation.run(verb).unwrap();
        (format!("`charter {}`", verb.join(" ")), [output.stdout, output.stderr].concat())
    });
    told.collect()
}

/// The secrets that are sent, as they are sent, and what is looked for.
fn of_the_server(code: &str, session: &str, token: &str, link: &str) -> Vec<(&'static str, String, Canary)> {
    // Of credentials the part that is secret: by what they begin with anybody may know what they are.
    let bare = |secret: &str| secret[4..].to_owned();
    vec![
        ("setup code", code.to_owned(), Canary::new("setup code", code)),
        ("password", PASSWORD.to_owned(), Canary::new("password", PASSWORD)),
        ("session", session.to_owned(), Canary::new("session", &bare(session))),
        ("token", token.to_owned(), Canary::new("token", &bare(token))),
        ("link", link.to_owned(), Canary::new("link", &bare(link))),
    ]
}

/// The secrets of what is around a server, none of which is ever sent to it.
fn of_the_surroundings(installation: &Installation) -> Vec<Canary> {
    let mut canaries = vec![
        Canary::new("stream's password", NATS_PASSWORD),
        Canary::new("mail's password", MAIL_PASSWORD),
        Canary::new("secret at the identity provider", CLIENT_SECRET),
    ];
    if installation.kind() == Database::Postgres {
        let url = &installation.database().unwrap().server_url;
        let password = url.split_once("://").and_then(|(_, rest)| rest.split_once('@'));
        let password = password.and_then(|(who, _)| who.split_once(':')).unwrap().1;
        canaries.push(Canary::new("database's password", password));
    }
    canaries
}

/// Sends every secret of the server's to every route, looks through each answer, and returns them all.
async fn answers_to_secrets(
    admin: &Caller,
    sent: &[(&'static str, String, Canary)],
    kept: &[Canary],
) -> String {
    let mut statuses = std::collections::BTreeMap::<u16, usize>::new();
    let mut answers = String::new();
    for (method, path) in routes(admin).await {
        for (name, secret, _) in sent {
            for (status, said) in push(admin, &method, &path, secret).await {
                *statuses.entry(status).or_default() += 1;
                // A name that is not known is told to whoever sent it, and to nobody else.
                let words = [
                    "\"code\":\"unknown_member\"",
                    "\"code\":\"not_found\"",
                    "` is not known",
                    ": no member is expected",
                ];
                let told_back = words.iter().any(|words| said.contains(words));
                let canaries = sent.iter().map(|(.., canary)| canary).chain(kept);
                for canary in canaries.filter(|canary| !told_back || canary.name != *name) {
                    canary.is_not_in(&format!("an answer of {method} {path}"), said.as_bytes());
                }
                answers.push_str(&said);
            }
        }
    }
    assert!(statuses.contains_key(&400) && statuses.contains_key(&401), "{statuses:?}");
    answers
}

async fn no_secret_is_found_in_anything_that_is_said_or_kept(installation: Installation) {
    let (installation, around) = Around::of(installation).await;
    let (installation, server, _provider) = server_and_provider(installation).await.unwrap();
    let code = server.setup_code.clone().unwrap();
    let session = server.set_up().await.unwrap();
    let issued = session.post("/api/v1/user/me/tokens", &json!({"name": "canary"})).await.unwrap();
    let token = issued.expect(201).unwrap().text("secret").unwrap().to_owned();
    let admin = Caller::new(&server.url, Some(token.clone()));
    let invited = json!({"username": "guest", "email": "guest@example.org"});
    let invited = admin.post("/api/v1/invitations", &invited).await.unwrap().expect(201).unwrap();
    let link = around.mail.link().await;
    let sent = of_the_server(&code, session.secret().unwrap(), &token, &link);
    let mut kept = of_the_surroundings(&installation);
    at_the_provider(&server.url, &mut kept).await;
    let canaries = || sent.iter().map(|(.., canary)| canary).chain(&kept);
    canaries().for_each(|canary| canary.is_not_in("an invitation", invited.body.to_string().as_bytes()));

    let answers = answers_to_secrets(&admin, &sent, &kept).await;
    for (status, _) in
        push(&admin, &reqwest::Method::GET, "/api/v1/users", &token).await.iter().skip(1).take(5)
    {
        assert_eq!(*status, 400, "a token in a query is refused");
    }

    let keys = keys(&admin, &installation.data(0)).await;
    let mut said = told_on_the_host(&installation);
    for path in [
        "/metrics",
        "/readyz",
        "/api/openapi.json",
        "/api/v1/events?limit=500",
        "/api/v1/audit?limit=500",
        "/api/v1/operations",
        "/api/v1/servers",
        "/api/v1/user/me/tokens",
    ] {
        said.push((path.to_owned(), admin.text(path).await.unwrap().into_bytes()));
    }
    said.push(("an answer".to_owned(), answers.into_bytes()));
    let printed = server.printed();
    let (banner, logs) = printed.split_once("listening on").unwrap();
    assert!(banner.contains(&code) && logs.lines().count() > 1_000, "nothing was logged");
    said.push(("the log".to_owned(), logs.as_bytes().to_vec()));
    for (what, text) in &said {
        assert!(!text.is_empty(), "{what}");
        let kept_apart = keys.of_users.iter().chain(&keys.of_the_installation);
        kept_apart.for_each(|key| key.is_not_in(what, text));
        canaries().filter(|_| what != "an answer").for_each(|canary| canary.is_not_in(what, text));
    }
    for canary in canaries().filter(|canary| canary.name != "setup code") {
        canary.is_not_in("what is printed at the start", banner.as_bytes());
    }
    server.stop().unwrap();
    visit(&installation.data(0), &mut |path, bytes| {
        // Where whoever set it up keeps it.
        if path.ends_with("secrets/client-secret") {
            return;
        }
        canaries().for_each(|canary| canary.is_not_in(&path.display().to_string(), bytes));
        if path.extension().is_some_and(|extension| extension == "backup") {
            keys.of_users.iter().for_each(|key| key.is_not_in("a backup", bytes));
        }
    });
}

on_both_databases!(no_secret_is_found_in_anything_that_is_said_or_kept);

/// A key that does not fit, is cut short, or is good: it is told in no message, and by no handshake.
#[test]
fn a_private_key_is_told_nowhere() {
    let installation = Installation::new(Database::Sqlite).unwrap();
    let folder = installation.data(0);
    let made = || rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let (one, other) = (made(), made());
    let pem = one.signing_key.serialize_pem();
    let lines: Vec<&str> = pem.lines().filter(|line| !line.starts_with("-----")).collect();
    let mut canaries: Vec<Canary> = lines.iter().map(|line| Canary::new("private key", line)).collect();
    canaries.push(Canary::of_bytes("private key", one.signing_key.serialized_der()));
    let (key, certificate) = (folder.join("key.pem"), folder.join("certificate.pem"));
    let cut = pem[..pem.len() / 2].to_owned();
    let broken = pem.replace(&lines[0][..8], "!!!!!!!!");
    for (certificate_pem, key_pem, starts) in [
        (other.cert.pem(), pem.clone(), false),
        (one.cert.pem(), cut, false),
        (one.cert.pem(), broken, false),
        (pem.clone(), one.cert.pem(), false),
        (one.cert.pem(), pem.clone(), true),
    ] {
        std::fs::write(&certificate, certificate_pem).unwrap();
        std::fs::write(&key, key_pem).unwrap();
        std::fs::set_permissions(&key, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        let mut said = Vec::new();
        let command = |verb: &[&str]| {
            let mut command = installation.command().unwrap();
            command.env("CHARTER_TLS_CERTIFICATE", &certificate).env("CHARTER_TLS_KEY", &key);
            command.env("CHARTER_LOG", "trace").args(verb);
            command
        };
        for verb in [&["config", "show"] as &[&str], &["config", "check"]] {
            let output = command(verb).output().unwrap();
            said.extend([output.stdout, output.stderr].concat());
        }
        let port = free_port().unwrap();
        let listen = format!("127.0.0.1:{port}");
        let serve = ["serve", "--listen", &listen];
        if starts {
            said.extend(spoken_to(command(&serve), port, &folder.join("log")));
        } else {
            let output = command(&serve).output().unwrap();
            assert!(!output.status.success(), "it started");
            said.extend([output.stdout, output.stderr].concat());
        }
        assert!(said.len() > 100);
        canaries.iter().for_each(|canary| canary.is_not_in("what is printed", &said));
    }
}

/// What a server printed that several spoke to in no language of its own.
fn spoken_to(mut command: std::process::Command, port: u16, log: &Path) -> Vec<u8> {
    let stderr = std::fs::File::create(log).unwrap();
    let mut child = command.stdout(Stdio::piped()).stderr(stderr).spawn().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut said = Vec::new();
    while !String::from_utf8_lossy(&said).contains("listening on") {
        assert!(stdout.read_until(b'\n', &mut said).unwrap() > 0, "{}", String::from_utf8_lossy(&said));
    }
    for words in [&b"GET / HTTP/1.1\r\n\r\n"[..], &[22, 3, 1, 0, 5, 1, 0, 0, 1, 3], &[0; 64]] {
        let mut stream = std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
        std::io::Write::write_all(&mut stream, words).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        // Whatever it answers to that; it may also cut the line.
        let _ = stream.read_to_end(&mut said);
    }
    charter_services::signal(child.id(), "TERM").unwrap();
    stdout.read_to_end(&mut said).unwrap();
    child.wait().unwrap();
    said.extend(std::fs::read(log).unwrap());
    said
}

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
