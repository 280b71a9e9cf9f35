//! Sessions of browsers, and other sites that would make use of them.

use crate::support::{Api, Call, PASSWORD, Reply};
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

#[tokio::test]
async fn nothing_is_changed_for_a_page_of_another_site() {
    let api = Api::furnished().await;
    let (_, cookie) = signed_in(&api).await;
    let head = api.head();
    let foreign: [&[(&str, &str)]; 8] = [
        &[("origin", "https://evil.example"), ("x-charter-request", "1")],
        &[("origin", "null"), ("x-charter-request", "1")],
        &[("x-charter-request", "1")],
        &[],
        &[("origin", OWN)],
        &[("origin", OWN), ("sec-fetch-site", "cross-site"), ("x-charter-request", "1")],
        &[("origin", OWN), ("sec-fetch-site", "same-site"), ("x-charter-request", "1")],
        &[("origin", OWN), ("origin", "https://evil.example"), ("x-charter-request", "1")],
    ];
    for row in ACCESS_TABLE.iter().filter(|row| row.gate != Gate::Public && row.method != "GET") {
        let path = row.path.replace("{type}", "folder").replace("{id}", "eu").replace("{user}", "ada");
        let path = path.replace("{token}", "x").replace("{namespace}", "game").replace("{name}", "directory");
        for headers in foreign {
            for content_type in ["application/json", "text/plain", "application/x-www-form-urlencoded"] {
                let mut call = api.call(row.method, &path).header("host", HOST).header("cookie", &cookie);
                for (name, value) in headers {
                    call = call.header(name, value);
                }
                let call = call.header("if-match", "*").raw(content_type, b"{}");
                let reply = call.send().await;
                if row.path.starts_with("/scim/") {
                    // The standard's errors have no such code.
                    assert_eq!(reply.status, 403, "{row:?}: {}", reply.text);
                } else {
                    reply.refused(403, "cross_site");
                }
            }
        }
    }
    let read = api.call("GET", "/user/me").header("host", HOST).header("cookie", &cookie);
    read.header("sec-fetch-site", "cross-site").send().await.refused(403, "cross_site");
    api.unchanged_since(head);
    by_page(api.call("GET", "/user/me"), &cookie).send().await.ok(200);
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
