//! Sessions of browsers, and other sites that would make use of them.

use crate::{
    all_requests::{ADMIN, House, NOBODY},
    support::{Api, Call, PASSWORD, Reply},
};
use charter_http::{ACCESS_TABLE, Gate};
use serde_json::json;

const HOST: &str = "charter.example";
const OWN: &str = "http://charter.example";

/// What a page of the installation sends.
fn by_page<'a>(call: Call<'a>, cookie: &str) -> Call<'a> {
    let call = call.header("host", HOST).header("origin", OWN).header("cookie", cookie);
    call.header("sec-fetch-site", "same-origin").header("x-charter-request", "1")
}

async fn signed_in(api: &Api) -> (Reply, String) {
    let asked = json!({"username": "ada", "password": PASSWORD, "cookie": true});
    let call = api.call("POST", "/session").header("host", HOST).header("origin", OWN);
    let reply = call.header("x-charter-request", "1").json(&asked).send().await.ok(201);
    let cookie = reply.header("set-cookie").split(';').next().unwrap().to_owned();
    (reply, cookie)
}

#[tokio::test]
async fn a_browser_keeps_its_session_in_a_cookie_no_script_reads() {
    let api = Api::new().await;
    let (reply, cookie) = signed_in(&api).await;
    assert!(reply.body.get("secret").is_none() && !reply.text.contains("chs_"), "{}", reply.text);
    let line = reply.header("set-cookie");
    assert!(cookie.starts_with("charter=chs_"));
    for part in ["; Path=/", "; HttpOnly", "; SameSite=Strict", "; Max-Age="] {
        assert!(line.contains(part), "{line}");
    }
    let me = by_page(api.call("GET", "/user/me"), &cookie).send().await.ok(200);
    assert_eq!(me.body["user"]["username"], "ada");
    by_page(api.call("POST", "/groups"), &cookie).json(&json!({"slug": "ops"})).send().await.ok(201);
    let preview = json!({"method": "DELETE", "path": "/api/v1/groups/ops"});
    let told = by_page(api.call("POST", "/commands/preview"), &cookie).json(&preview).send().await.ok(200);
    assert_eq!(told.body["event_count"], 1);

    let out = by_page(api.call("DELETE", "/session"), &cookie).send().await.ok(204);

    assert!(
        out.header("set-cookie").starts_with("charter=; ") && out.header("set-cookie").contains("Max-Age=0")
    );
    by_page(api.call("GET", "/user/me"), &cookie).send().await.refused(401, "invalid_token");
}

/// What a page of another site may have a browser send along: nothing at all, its origin, or none; with what a script
/// may not add unless it is asked first, and without.
const FOREIGN: [&[(&str, &str)]; 9] = [
    &[("origin", "https://evil.example"), ("x-charter-request", "1")],
    &[("origin", "null"), ("x-charter-request", "1")],
    &[("x-charter-request", "1")],
    &[],
    &[("origin", OWN)],
    &[("origin", OWN), ("sec-fetch-site", "cross-site"), ("x-charter-request", "1")],
    &[("origin", OWN), ("sec-fetch-site", "same-site"), ("x-charter-request", "1")],
    &[("origin", OWN), ("origin", "https://evil.example"), ("x-charter-request", "1")],
    &[("origin", "https://evil.example"), ("sec-fetch-mode", "no-cors"), ("sec-fetch-site", "cross-site")],
];
/// What a form or a script may send without being asked first, and what the API takes.
const FORMS: [&str; 4] = [
    "text/plain",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "application/json",
];

/// A request that an administrator's own page could make: so only where it is from stands in its way.
#[tokio::test]
async fn nothing_is_changed_for_a_page_of_another_site_on_any_route() {
    let mut house = House::new().await;
    for row in ACCESS_TABLE.iter().filter(|row| row.gate != Gate::Public && row.method != "GET") {
        let made = house.made(row, ADMIN).await;
        let cookie = format!("charter={}", house.session_of("boss").await.0);
        let head = house.api.head();
        let body = made.body().map(ToString::to_string).unwrap_or_default();
        let call = |method: &str| {
            let call = house.api.call(method, &made.path(row)).header("cookie", &cookie);
            call.header("host", HOST).header("if-match", "*").header("x-reason", "it is tried")
        };
        for headers in FOREIGN {
            for form in FORMS {
                let foreign =
                    headers.iter().fold(call(row.method), |call, (name, value)| call.header(name, value));
                let reply = foreign.raw(form, body.as_bytes()).send().await;
                assert_eq!(reply.status, 403, "{row:?} {headers:?} {form}: {}", reply.text);
                // The standard's errors have no such code.
                assert!(
                    row.path.starts_with("/scim/") || reply.code() == "cross_site",
                    "{row:?}: {}",
                    reply.text
                );
            }
            let read = headers.iter().fold(call("GET"), |call, (name, value)| call.header(name, value));
            read.send().await;
        }
        house.api.unchanged_since(head);
        if row.path.ends_with("/resume") {
            continue;
        }
        let own = call(row.method).header("origin", OWN).header("sec-fetch-site", "same-origin");
        let own = own.header("x-charter-request", "1");
        let own = if made.body().is_some() { own.raw("application/json", body.as_bytes()) } else { own };
        let reply = own.send().await;
        assert!((200..300).contains(&reply.status), "{row:?}: {} {}", reply.status, reply.text);
    }
    let (_, cookie) = signed_in(&house.api).await;
    let read = house.api.call("GET", "/user/me").header("host", HOST).header("cookie", &cookie);
    read.header("sec-fetch-site", "cross-site").send().await.refused(403, "cross_site");
}

/// Those need no cookie; they take what no form can send.
#[tokio::test]
async fn no_form_reaches_a_route_that_is_open_to_everybody() {
    let mut house = House::new().await;
    for row in ACCESS_TABLE.iter().filter(|row| row.gate == Gate::Public && row.method != "GET") {
        let made = house.made(row, NOBODY).await;
        let body = made.body().unwrap().to_string();
        let head = house.api.head();
        for form in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""]
        {
            let call = house.api.call(row.method, row.path).header("host", HOST).raw(form, body.as_bytes());
            call.send().await.refused(415, "unsupported_media_type");
        }
        let call = house.api.call("GET", row.path).header("host", HOST).send().await;
        assert!([200, 405].contains(&call.status), "{row:?}: {}", call.text);
        house.api.unchanged_since(head);
    }
}

#[tokio::test]
async fn nobody_is_signed_in_by_a_page_of_another_site() {
    let api = Api::new().await;
    let asked = json!({"username": "ada", "password": PASSWORD, "cookie": true});
    for origin in ["https://evil.example", "null"] {
        let call = api.call("POST", "/session").header("host", HOST).header("origin", origin);
        let reply =
            call.header("x-charter-request", "1").json(&asked).send().await.refused(403, "cross_site");
        assert_eq!(reply.header("set-cookie"), "");
    }
}

#[tokio::test]
async fn what_is_sent_on_purpose_counts_before_a_cookie_and_two_cookies_count_for_nothing() {
    let api = Api::new().await;
    let (_, cookie) = signed_in(&api).await;
    let bob = api.user("bob").await;
    let both = api.call("GET", "/user/me").by(&bob).header("cookie", &cookie).send().await.ok(200);
    assert_eq!(both.body["user"]["username"], "bob");
    let wrong = api.call("GET", "/user/me").by("chs_wrong").header("cookie", &cookie).send().await;
    wrong.refused(401, "invalid_token");
    let twice = format!("{cookie}; {cookie}");
    by_page(api.call("GET", "/user/me"), &twice).send().await.refused(400, "invalid_header");
    // A token is sent on purpose only, and a cookie of another name is none.
    by_page(api.call("GET", "/user/me"), &format!("charter={bob}"))
        .send()
        .await
        .refused(401, "invalid_token");
    let secure = cookie.replace("charter=", "__Host-charter=");
    by_page(api.call("GET", "/user/me"), &secure).send().await.refused(401, "unauthenticated");
    let none = by_page(api.call("GET", "/user/me"), "charter=").send().await.refused(401, "invalid_token");
    assert!(none.header("www-authenticate").starts_with("Bearer"));
}
