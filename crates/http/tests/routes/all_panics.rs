//! A mistake in a handler costs the one request: it is answered like any other fault of the server's, nothing is
//! changed, nothing of the request is told, and the next one is answered.

use crate::{
    all_logs::captured,
    all_requests::{ADMIN, House},
};
use charter_http::ACCESS_TABLE;
use serde_json::{Value, json};

const WORD: &str = "canary0123456789";

#[tokio::test]
async fn a_panic_on_any_route_is_a_500_that_says_nothing_and_ends_nothing() {
    let mut house = House::new().await;
    for row in ACCESS_TABLE {
        let made = house.made(row, ADMIN).await;
        let head = house.api.head();
        let (log, guard) = captured();
        let call = house.call(row, &made, ADMIN).header("x-request-id", "req-5").header("cookie", WORD);
        let reply = house.startled(call.send()).await;
        let log = log.text();
        drop(guard);
        let about = format!("{row:?}: {}", reply.text);
        assert_eq!(reply.status, 500, "{about}");
        let scim = row.path.starts_with("/scim/");
        let form = if scim { "application/scim+json" } else { "application/problem+json" };
        assert_eq!(reply.header("content-type"), form, "{about}");
        assert!(scim || reply.code() == "internal", "{about}");
        assert_eq!(reply.header("x-request-id"), "req-5");
        house.api.unchanged_since(head);
        assert!(log.contains("a handler panicked") && log.contains("status=500"), "{row:?}: {log}");
        let body = made.body().map(ToString::to_string).unwrap_or_default();
        let secrets = [WORD, house.secrets[ADMIN].as_ref().unwrap(), crate::support::PASSWORD];
        for secret in secrets.into_iter().chain((!body.is_empty() && body != "{}").then_some(body.as_str())) {
            assert!(!log.contains(secret) && !reply.text.contains(secret), "{about}: {log}");
        }
        // It goes on where it was: the same request, and somebody else's.
        let again = house.call(row, &made, ADMIN).send().await;
        assert!(again.status < 500, "{row:?}: {}", again.text);
    }
    let question = json!({"permission": "core.user.read"});
    house.api.admin("POST", "/check", question).await.ok(200);
    house.api.admin("POST", "/groups", json!({"slug": "after"})).await.ok(201);
    house.api.admin("GET", "/user/me", Value::Null).await.ok(200);
}
