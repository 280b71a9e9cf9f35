//! The SCIM routes as a client library meets them: PyPI's `scim2-tester` against a real server.
#![expect(clippy::unwrap_used, reason = "a test")]

use charter_tests::{Installation, Server, on_both_databases, scim_check};
use serde_json::json;

async fn an_independent_client_finds_no_error(installation: Installation) {
    let server = Server::start(&installation).await.unwrap();
    let admin = server.set_up().await.unwrap();
    let token = admin.post("/api/v1/user/me/tokens", &json!({"name": "provisioning"})).await.unwrap();
    let token = token.expect(201).unwrap().text("secret").unwrap().to_owned();
    let url = format!("{}/scim/v2", admin.url());

    let checked =
        tokio::task::spawn_blocking(move || scim_check().unwrap().arg(url).arg(token).output().unwrap());

    let checked = checked.await.unwrap();
    let said = [checked.stdout, checked.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert!(checked.status.success(), "{}", said.join("\n"));
    server.stop().unwrap();
}

on_both_databases!(an_independent_client_finds_no_error);
