//! The pages that links in letters lead to: what a browser may do on them, and that everything on them is there.

use crate::support::Api;
use charter_http::{ACCESS_TABLE, Gate};
use serde_json::{Value, json};
use std::collections::BTreeSet;

const PAGES: [&str; 2] = ["/invitation", "/reset-password"];

/// What stands between quotes behind an attribute, wherever it stands.
fn attributes<'a>(page: &'a str, name: &str) -> Vec<&'a str> {
    let begin = format!(" {name}=\"");
    page.split(begin.as_str()).skip(1).map(|rest| rest.split('"').next().unwrap()).collect()
}

#[tokio::test]
async fn a_page_loads_only_what_is_its_own_and_is_kept_nowhere() {
    let api = Api::new().await;
    for path in PAGES.into_iter().chain(["/assets/links.js", "/assets/links.css"]) {
        let reply = api.call("GET", path).send().await.ok(200);
        let policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
                      form-action 'none'; frame-ancestors 'none'; base-uri 'none'";
        for (name, value) in [
            ("content-security-policy", policy),
            ("referrer-policy", "no-referrer"),
            ("cache-control", "no-store"),
            ("x-content-type-options", "nosniff"),
            ("set-cookie", ""),
        ] {
            assert_eq!(reply.header(name), value, "{path} {name}");
        }
        let kind = match path.rsplit('.').next() {
            Some("js") => "text/javascript; charset=utf-8",
            Some("css") => "text/css; charset=utf-8",
            _ => "text/html; charset=utf-8",
        };
        assert_eq!(reply.header("content-type"), kind, "{path}");
        assert!(!reply.text.contains("://"), "{path} names no other place");
        let row = ACCESS_TABLE.iter().find(|row| row.path == path).unwrap();
        assert_eq!((row.method, row.gate), ("GET", Gate::Public));
        // It is the same for everybody, and takes nothing in its address.
        assert_eq!(api.admin("GET", path, Value::Null).await.ok(200).text, reply.text);
    }
    // What is no page says that nothing may be loaded at all.
    let reply = api.call("GET", "/healthz").send().await.ok(200);
    assert_eq!(reply.header("content-security-policy"), "default-src 'none'; frame-ancestors 'none'");
}

#[tokio::test]
async fn nothing_on_a_page_is_inline_and_everything_it_names_is_there() {
    let api = Api::new().await;
    let script = api.call("GET", "/assets/links.js").send().await.ok(200).text;
    for path in PAGES {
        let page = api.call("GET", path).send().await.ok(200).text;
        let opened: Vec<&str> = page.split("<script").skip(1).collect();
        assert!(!opened.is_empty() && !page.contains("<style"), "{path}");
        for rest in opened {
            let (tag, rest) = rest.split_once('>').unwrap();
            assert!(tag.contains(" src=\"/assets/") && rest.starts_with("</script>"), "{path}: {tag}");
        }
        for inline in ["style", "onclick", "onsubmit", "onload", "onerror", "action", "formaction"] {
            assert_eq!(attributes(&page, inline), [""; 0], "{path} {inline}");
        }
        assert!(!page.contains("javascript:"), "{path}");
        let named: BTreeSet<&str> =
            attributes(&page, "src").into_iter().chain(attributes(&page, "href")).collect();
        assert_eq!(named.len(), 2, "{path}: {named:?}");
        for asset in named {
            api.call("GET", asset).send().await.ok(200);
        }
        let to = attributes(&page, "data-post");
        assert!(ACCESS_TABLE.iter().any(|row| row.method == "POST" && [row.path] == to[..]), "{path}");

        // Whoever does not see it is told the same: each field has its label, and its hint is there.
        let ids: BTreeSet<&str> = attributes(&page, "id").into_iter().collect();
        assert_eq!(ids.len(), attributes(&page, "id").len(), "{path}: an id stands for one thing");
        let inputs = page.split("<input ").skip(1).map(|rest| rest.split('>').next().unwrap());
        for input in inputs.map(|tag| format!(" {tag}")) {
            let id = attributes(&input, "id")[0];
            assert!(attributes(&page, "for").contains(&id), "{path}: {id} has a label");
            assert!(ids.contains(attributes(&input, "aria-describedby")[0]), "{path}: {id} has its hint");
        }
        assert!(page.contains("role=\"alert\"") && page.contains("<html lang=\"en\">"), "{path}");
        // What the script takes hold of is on each page, but for what only one of them asks for.
        for wanted in script.split("element(\"").skip(1).map(|rest| rest.split('"').next().unwrap()) {
            let only_invited = ["display_name", "username", "as"].contains(&wanted);
            assert!(ids.contains(wanted) || only_invited && path != "/invitation", "{path}: {wanted}");
        }
    }
    for unsafe_way in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function("]
    {
        assert!(!script.contains(unsafe_way), "{unsafe_way}");
    }
    assert!(script.contains("history.replaceState(null, \"\", location.pathname)"));
}

#[tokio::test]
async fn what_a_page_sends_is_what_its_route_takes() {
    let api = Api::new().await;
    let invited = api.admin("POST", "/invitations", json!({"username": "alice"})).await.ok(201);
    let secret = invited.body["secret"].as_str().unwrap().to_owned();
    let page = api.call("GET", "/invitation").send().await.ok(200).text;
    assert!(secret.starts_with(attributes(&page, "data-prefix")[0]));
    let body = json!({"secret": secret, "password": "correct horse battery", "display_name": "Alice"});
    let mut names: Vec<&str> = attributes(&page, "name");
    names.retain(|name| body.get(name).is_some());
    assert_eq!(names, ["secret", "display_name", "password"]);
    let accepted = api.call("POST", attributes(&page, "data-post")[0]).json(&body).send().await.ok(201);
    assert_eq!(accepted.body["username"], "alice", "the page says as whom to sign in");

    let link = api.admin("POST", "/users/alice/reset-link", Value::Null).await.ok(200);
    let secret = link.body["secret"].as_str().unwrap().to_owned();
    let page = api.call("GET", "/reset-password").send().await.ok(200).text;
    assert!(secret.starts_with(attributes(&page, "data-prefix")[0]));
    let to = attributes(&page, "data-post")[0];
    let short = json!({"secret": secret, "password": "short"});
    let refused = api.call("POST", to).json(&short).send().await;
    assert_eq!((refused.status, &refused.body["field"]), (422, &json!("password")), "{}", refused.text);
    let body = json!({"secret": secret, "password": "another good password"});
    api.call("POST", to).json(&body).send().await.ok(204);
    api.call("POST", to).json(&body).send().await.refused(401, "invalid_link");
}
