//! Sign-in by an identity provider, as people meet it: npm's `oidc-provider`, a browser that follows pages, the command
//! line, and servers that don't know of each other.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test")]

use charter_services::free_port;
use charter_tests::{
    ADMIN, Browser, Caller, Database, Installation, PASSWORD, Page, Provider, Server, binary, eventually,
    server_and_provider,
};
use serde_json::{Value, json};
use std::{
    io::{BufRead, BufReader},
    process::Stdio,
};

const CALLBACK: &str = "/api/v1/session/oidc/callback";
const ON_THE_WAY: &str = "charter-oidc";
const SESSION: &str = "charter";

async fn on_sqlite() -> (Installation, Server, Provider) {
    server_and_provider(Installation::new(Database::Sqlite).unwrap()).await.unwrap()
}

/// A person of that name, invited; the secret of the link.
async fn invited(admin: &Caller, name: &str) -> String {
    let answer = admin.post("/api/v1/invitations", &json!({"username": name})).await.unwrap();
    answer.expect(201).unwrap().text("secret").unwrap().to_owned()
}

/// Sends a browser off with an invitation and to the provider; where it is sent back to.
async fn off_with_invitation(browser: &mut Browser, server: &str, secret: &str) -> Page {
    let body = json!({"secret": secret, "return_to": "/welcome"});
    let page = browser.send_json(&format!("{server}/api/v1/invitations/oidc"), &body).await.unwrap();
    assert_eq!(page.status, 200, "{page:?}");
    let body: Value = serde_json::from_str(&page.text).unwrap();
    let there = body.get("location").and_then(Value::as_str).unwrap().to_owned();
    assert!(!there.contains(secret) && !page.text.contains(secret), "the link's secret is in an address");
    browser.follow(&there, CALLBACK).await.unwrap()
}

/// A person with an account that is linked to an identity of the same name.
async fn linked(admin: &Caller, name: &str) -> Browser {
    let secret = invited(admin, name).await;
    let mut browser = Browser::of(name).unwrap();
    let back = off_with_invitation(&mut browser, admin.url(), &secret).await;
    let page = browser.open(&back.location.unwrap()).await.unwrap();
    assert_eq!((page.status, page.location.as_deref()), (303, Some("/welcome")), "{page:?}");
    browser
}

/// Sends a browser off; where the provider sends it back to.
async fn off(browser: &mut Browser, server: &str, query: &str) -> String {
    let back = browser.follow(&format!("{server}/api/v1/session/oidc{query}"), CALLBACK).await.unwrap();
    back.location.unwrap_or_else(|| panic!("it is not sent back"))
}

/// A parameter of an address.
fn parameter(url: &str, name: &str) -> String {
    let url = reqwest::Url::parse(url).unwrap();
    url.query_pairs().find(|(known, _)| known == name).map(|(_, value)| value.into_owned()).unwrap()
}

/// An address with another value of a parameter, or without it.
fn with(url: &str, name: &str, value: Option<&str>) -> String {
    let mut url = reqwest::Url::parse(url).unwrap();
    let pairs: Vec<(String, String)> = url.query_pairs().into_owned().collect();
    let kept = pairs.iter().filter(|(known, _)| known != name);
    let mut query = url.query_pairs_mut();
    query.clear().extend_pairs(kept);
    query.extend_pairs(value.map(|value| (name, value)));
    drop(query);
    url.into()
}

/// What a browser's session is of.
async fn who(browser: &mut Browser, server: &str) -> Option<String> {
    let page = browser.open(&format!("{server}/api/v1/user/me")).await.unwrap();
    let body: Value = serde_json::from_str(&page.text).unwrap();
    body.pointer("/user/username").and_then(Value::as_str).map(str::to_owned)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_accepts_an_invitation_at_the_provider_signs_in_there_from_then_on() {
    let (_installation, server, _provider) = on_sqlite().await;
    let admin = server.set_up().await.unwrap();
    let mut browser = linked(&admin, "grace").await;
    assert_eq!(who(&mut browser, &server.url).await.as_deref(), Some("grace"));
    assert_eq!(browser.cookie(ON_THE_WAY), None, "what was brought back is kept no longer");

    let mut again = Browser::of("grace").unwrap();
    let back = off(&mut again, &server.url, "?return_to=/users%3Fq%3Da").await;
    // What a client says of who he is counts for nothing.
    let claims = format!("{back}&sub=ada&login=ada&session_state=x");
    let headers = [("x-user", "ada"), ("x-forwarded-user", "ada"), ("x-remote-user", "ada")];
    let page = again.open_with(&claims, &headers).await.unwrap();
    assert_eq!((page.status, page.location.as_deref()), (303, Some("/users?q=a")), "{page:?}");
    let cookies: Vec<_> =
        page.headers.get_all("set-cookie").iter().map(|line| line.to_str().unwrap().to_owned()).collect();
    assert!(cookies.iter().any(|line| line.starts_with("charter=chs_") && line.contains("SameSite=Strict")));
    assert_eq!(page.headers.get("cache-control").unwrap(), "no-store");
    assert_eq!(who(&mut again, &server.url).await.as_deref(), Some("grace"));

    // The link works once, whoever takes it.
    let secret = invited(&admin, "alan").await;
    let mut alan = Browser::of("alan").unwrap();
    let back = off_with_invitation(&mut alan, &server.url, &secret).await.location.unwrap();
    let mut another = Browser::of("another").unwrap();
    let late = off_with_invitation(&mut another, &server.url, &secret).await.location.unwrap();
    assert_eq!(alan.open(&back).await.unwrap().status, 303);
    let refused = another.open(&late).await.unwrap();
    assert_eq!((refused.status, refused.code().as_str()), (401, "invalid_link"));
    server.stop().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_is_found_by_an_address_a_name_or_an_id() {
    let (_installation, server, _provider) = on_sqlite().await;
    let admin = server.set_up().await.unwrap();
    let me = admin.get("/api/v1/user/me").await.unwrap().expect(200).unwrap();
    let id = me.body.pointer("/user/id").and_then(Value::as_str).unwrap().to_owned();
    let path = format!("/api/v1/users/{id}");
    admin
        .patch(&path, &json!({"email": "ada@example.org", "external_id": "1"}))
        .await
        .unwrap()
        .expect(200)
        .unwrap();
    let mut told = Vec::new();
    // Of the administrator: his address by somebody else, his username, his id, his external id.
    for login in ["mallory", ADMIN, id.as_str(), "1", "ada@example.org"] {
        let mut browser = Browser::of(login).unwrap();
        let back = off(&mut browser, &server.url, "").await;
        let page = browser.open(&back).await.unwrap();
        assert_eq!((page.status, page.code().as_str()), (403, "identity_unknown"), "{login}: {page:?}");
        assert_eq!(browser.cookie(SESSION), None);
        told.push(page.text);
    }
    // An account that does not work is refused in the same words.
    let mut grace = linked(&admin, "grace").await;
    admin.post("/api/v1/users/grace/suspend", &json!({})).await.unwrap().expect(200).unwrap();
    let back = off(&mut grace, &server.url, "").await;
    let page = grace.open(&back).await.unwrap();
    assert_eq!(page.status, 403);
    told.push(page.text);
    assert!(told.iter().all(|text| *text == told[0]), "{told:?}");
    server.stop().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_comes_back_with_anything_else_than_he_was_sent_with_is_refused() {
    let (_installation, server, provider) = on_sqlite().await;
    let admin = server.set_up().await.unwrap();
    linked(&admin, "grace").await;
    let mut grace = Browser::of("grace").unwrap();
    let back = off(&mut grace, &server.url, "").await;
    let cookie = grace.cookie(ON_THE_WAY).unwrap().to_owned();
    let mut other = Browser::of("mallory").unwrap();
    let others = off(&mut other, &server.url, "").await;
    let others_cookie = other.cookie(ON_THE_WAY).unwrap().to_owned();
    let come_back = async |url: &str, cookie: Option<&str>| {
        let mut browser = Browser::of("grace").unwrap();
        if let Some(cookie) = cookie {
            browser.keep(ON_THE_WAY, cookie);
        }
        let page = browser.open(url).await.unwrap();
        assert_eq!(browser.cookie(SESSION), None, "signed in by {url}");
        (page.status, page.code())
    };
    let not_this = (400, "not_this_sign_in".to_owned());
    let mut changed = cookie.clone().into_bytes();
    changed[40] = if changed[40] == b'A' { b'B' } else { b'A' };
    let changed = String::from_utf8(changed).unwrap();
    for (url, cookie) in [
        (back.clone(), None),
        (back.clone(), Some("x")),
        (back.clone(), Some(changed.as_str())),
        (back.clone(), Some(others_cookie.as_str())),
        // The other's code in his browser: he would be signed in as the other.
        (others.clone(), Some(cookie.as_str())),
        (with(&back, "state", None), Some(cookie.as_str())),
        (with(&back, "state", Some("x")), Some(cookie.as_str())),
        (with(&back, "state", Some("")), Some(cookie.as_str())),
    ] {
        assert_eq!(come_back(&url, cookie).await, not_this, "{url}");
    }
    // None of that has used up his own way back, which works once.
    let page = grace.open(&back).await.unwrap();
    assert_eq!(page.status, 303, "{page:?}");
    assert_eq!(come_back(&back, Some(&cookie)).await, not_this, "a second time");

    // Of a good cookie and state, another's code, a provider that is not the one, or none at all.
    for (name, new) in [
        ("code", Some(parameter(&others, "code"))),
        ("code", Some("x".to_owned())),
        ("code", None),
        ("iss", Some("https://evil.example".to_owned())),
        ("iss", None),
    ] {
        let mut browser = Browser::of("grace").unwrap();
        let back = off(&mut browser, &server.url, "").await;
        let cookie = browser.cookie(ON_THE_WAY).unwrap().to_owned();
        let refused = come_back(&with(&back, name, new.as_deref()), Some(&cookie)).await;
        assert_eq!(refused, (400, "oidc_refused".to_owned()), "{name}: {new:?}");
    }
    assert!(server.printed().contains("what an identity provider said was not taken"));
    drop(provider);
    server.stop().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_other_site_begins_a_sign_in_or_is_returned_to() {
    let (_installation, server, _provider) = on_sqlite().await;
    server.set_up().await.unwrap();
    let begin = format!("{}/api/v1/session/oidc", server.url);
    let mut browser = Browser::of("grace").unwrap();
    for headers in [
        [("sec-fetch-site", "cross-site")],
        [("sec-fetch-site", "same-site")],
        [("origin", "https://evil.example")],
        [("origin", "null")],
    ] {
        let page = browser.open_with(&begin, &headers).await.unwrap();
        assert_eq!((page.status, page.code().as_str()), (403, "cross_site"), "{headers:?}");
        assert_eq!(browser.cookie(ON_THE_WAY), None);
    }
    for headers in [[("sec-fetch-site", "same-origin")], [("sec-fetch-site", "none")]] {
        assert_eq!(browser.open_with(&begin, &headers).await.unwrap().status, 303);
    }
    for path in
        ["//evil.example", "https://evil.example", "/%5Cevil.example", "/%09/evil.example", "users", ""]
    {
        let page = browser.open(&format!("{begin}?return_to={path}")).await.unwrap();
        assert_eq!((page.status, page.code().as_str()), (400, "invalid_parameter"), "{path}");
    }
    // An invitation is begun by a page of the installation alone.
    let nobody = Caller::new(&server.url, None);
    let refused = nobody.post("/api/v1/invitations/oidc", &json!({"secret": "chi_x"})).await.unwrap();
    assert_eq!((refused.status, refused.code()), (403, "cross_site"));
    server.stop().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_provider_that_is_away_keeps_nobody_else_out_and_is_found_again() {
    let (installation, server, mut provider) = on_sqlite().await;
    server.set_up().await.unwrap();
    let url = server.url.clone();
    let port = reqwest::Url::parse(&url).unwrap().port().unwrap();
    server.stop().unwrap();
    provider.stop().unwrap();
    let server = Server::start_nth(&installation, 0, port).await.unwrap();
    let begin = format!("{url}/api/v1/session/oidc");
    let mut browser = Browser::of("grace").unwrap();
    for _ in 0..2 {
        let page = browser.open(&begin).await.unwrap();
        assert_eq!((page.status, page.code().as_str()), (503, "oidc_unavailable"), "{page:?}");
        assert!(page.headers.contains_key("retry-after"));
    }
    let nobody = Caller::new(&url, None);
    let device = nobody.post("/api/v1/session/device", &json!({})).await.unwrap();
    assert_eq!((device.status, device.code()), (503, "oidc_unavailable"));
    server.sign_in(ADMIN, PASSWORD).await.unwrap();
    provider.start_again().await.unwrap();
    let mut there = Browser::of("grace").unwrap();
    let found = async || there.open(&begin).await.is_ok_and(|page| page.status == 303);
    eventually("the provider is found again", 30, found).await.unwrap();
    server.stop().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_browser_comes_back_to_any_server_of_a_fleet() {
    let ports = [free_port().unwrap(), free_port().unwrap()];
    let public = format!("http://127.0.0.1:{}", ports[0]);
    let provider = Provider::start(&public).await.unwrap();
    let installation = Installation::new(Database::Postgres).unwrap();
    let installation = provider.known_to(installation, &public).unwrap();
    let one = Server::start_nth(&installation, 0, ports[0]).await.unwrap();
    let admin = one.set_up().await.unwrap();
    let other = Server::start_nth(&installation, 1, ports[1]).await.unwrap();
    let secret = invited(&admin, "grace").await;
    let mut browser = Browser::of("grace").unwrap();
    let back = off_with_invitation(&mut browser, &one.url, &secret).await.location.unwrap();
    let page = browser.open(&back.replace(&one.url, &other.url)).await.unwrap();
    assert_eq!(page.status, 303, "{page:?}");
    assert_eq!(who(&mut browser, &one.url).await.as_deref(), Some("grace"));
    one.stop().unwrap();
    other.stop().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_command_line_signs_in_by_a_code_that_is_typed_elsewhere() {
    let (installation, server, _provider) = on_sqlite().await;
    let admin = server.set_up().await.unwrap();
    let mut grace = linked(&admin, "grace").await;
    let mut login = installation
        .command()
        .unwrap()
        .args(["login", "--oidc", "--server", &server.url])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(login.stderr.take().unwrap()).lines();
    let shown = lines.next().unwrap().unwrap();
    let complete = lines.next().unwrap().unwrap();
    assert!(shown.starts_with("Open http://127.0.0.1:") && shown.contains(" and type "), "{shown}");
    let address = complete.split_whitespace().find(|word| word.contains("user_code=")).unwrap();
    let end = grace.follow(address.trim_end_matches(','), "nowhere").await.unwrap();
    assert_eq!(end.status, 200, "{end:?}");
    let status = tokio::task::spawn_blocking(move || {
        let said: Vec<String> = lines.map_while(Result::ok).collect();
        (login.wait().unwrap(), said)
    });
    let (status, said) = status.await.unwrap();
    assert!(status.success(), "{said:?}");
    let whoami = installation.run_well(&["whoami", "--server", &server.url, "-o", "json"]).unwrap();
    assert!(whoami.contains("\"grace\""), "{whoami}");
    let context = std::fs::read_to_string(installation.data(0).join("config/charter/contexts.toml")).unwrap();
    assert!(context.contains("chs_") && !context.contains("device"), "of the provider nothing gets here");
    installation.run_well(&["logout"]).unwrap();
    assert!(!installation.run(&["whoami"]).unwrap().status.success());
    assert!(binary().is_ok());
    server.stop().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_device_flow_asks_the_provider_no_more_often_than_it_wants_and_ends_once() {
    let (_installation, server, _provider) = on_sqlite().await;
    let admin = server.set_up().await.unwrap();
    let mut grace = linked(&admin, "grace").await;
    let nobody = Caller::new(&server.url, None);
    let begun = nobody.post("/api/v1/session/device", &json!({})).await.unwrap().expect(200).unwrap();
    let handle = begun.text("handle").unwrap().to_owned();
    let ask = async || {
        let answer = nobody.post("/api/v1/session/device/token", &json!({ "handle": handle })).await.unwrap();
        (answer.status, answer.code().to_owned())
    };
    assert_eq!(ask().await, (409, "authorization_pending".to_owned()));
    assert_eq!(
        ask().await,
        (429, "slow_down".to_owned()),
        "the provider is asked every five seconds at most"
    );
    for wrong in ["", "x", &handle[1..], &format!("{handle}A")] {
        let answer = nobody.post("/api/v1/session/device/token", &json!({ "handle": wrong })).await.unwrap();
        assert_eq!((answer.status, answer.code()), (410, "expired"), "{wrong}");
    }
    grace.follow(begun.text("verification_uri_complete").unwrap(), "nowhere").await.unwrap();
    let mut last = (0, String::new());
    eventually("the code was typed", 30, async || {
        last = ask().await;
        last.0 == 201
    })
    .await
    .unwrap_or_else(|error| panic!("{error}: {last:?}"));
    assert_eq!(ask().await, (410, "expired".to_owned()), "it works once");

    // Somebody who is linked to nobody here.
    let begun = nobody.post("/api/v1/session/device", &json!({})).await.unwrap().expect(200).unwrap();
    let mut mallory = Browser::of("mallory").unwrap();
    mallory.follow(begun.text("verification_uri_complete").unwrap(), "nowhere").await.unwrap();
    let body = json!({ "handle": begun.text("handle").unwrap() });
    let refused = nobody.post("/api/v1/session/device/token", &body).await.unwrap();
    assert_eq!((refused.status, refused.code()), (403, "identity_unknown"));
    server.stop().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_there_is_no_provider_every_door_to_it_says_so() {
    let installation = Installation::new(Database::Sqlite).unwrap();
    let server = Server::start(&installation).await.unwrap();
    server.set_up().await.unwrap();
    let nobody = Caller::new(&server.url, None);
    for path in ["/api/v1/session/oidc", CALLBACK] {
        let answer = nobody.get(path).await.unwrap();
        assert_eq!((answer.status, answer.code()), (404, "oidc_not_configured"), "{path}");
    }
    for (path, body) in [
        ("/api/v1/session/device", json!({})),
        ("/api/v1/session/device/token", json!({"handle": "x"})),
        ("/api/v1/invitations/oidc", json!({"secret": "x"})),
    ] {
        let answer = nobody.post(path, &body).await.unwrap();
        assert_eq!((answer.status, answer.code()), (404, "oidc_not_configured"), "{path}");
    }
    let ways = nobody.get("/api/v1/sign-in").await.unwrap().expect(200).unwrap();
    assert_eq!(ways.body, json!({"password": true}));
    server.stop().unwrap();
}
