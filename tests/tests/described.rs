//! The API is what its document says: requests made up from the document, right and wrong ones, and every answer held
//! against it, by a tool that knows nothing of Charter.

use charter_tests::{Database, Installation, Server, schemathesis};
use serde_json::json;
use std::process::Stdio;

/// Left out: what a schema can't say (a name that is taken, an object that is not there) is refused, and that is right.
const LEFT_OUT: &str = "positive_data_acceptance";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_request_made_up_from_the_document_is_answered_otherwise_than_it_says() {
    let installation = Installation::new(Database::Sqlite).unwrap();
    let server = Server::start(&installation).await.unwrap();
    let admin = server.set_up().await.unwrap();
    let issued = admin.post("/api/v1/user/me/tokens", &json!({"name": "the run's own"})).await.unwrap();
    let token = issued.expect(201).unwrap().text("secret").unwrap().to_owned();
    let mut demo = installation.command().unwrap();
    demo.arg("demo").env("CHARTER_SERVER", &server.url).env("CHARTER_TOKEN", &token);
    assert!(demo.stdout(Stdio::null()).status().unwrap().success());

    let mut tool = schemathesis().unwrap();
    tool.args(["run", &format!("{}/api/openapi.json", server.url), "--no-color", "--warnings", "off"]);
    tool.args(["--checks", "all", "--exclude-checks", LEFT_OUT]).env("CHARTER_TOKEN", &token);
    let tried = tool.current_dir(installation.data(0)).output().unwrap();

    let told = format!(
        "{}{}\n{}",
        String::from_utf8_lossy(&tried.stdout),
        String::from_utf8_lossy(&tried.stderr),
        server.printed()
    );
    assert!(tried.status.success(), "{told}");
    // What was tried was tried as an administrator, to the last request.
    let caller = charter_tests::Caller::new(&server.url, Some(token));
    caller.get("/api/v1/users").await.unwrap().expect(200).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn metrics_are_told_as_openmetrics_to_those_who_accept_that() {
    let installation = Installation::new(Database::Sqlite).unwrap();
    let server = Server::start(&installation).await.unwrap();
    let admin = server.set_up().await.unwrap();
    let request = admin.request(reqwest::Method::GET, "/metrics");
    let answer = request.header("accept", "application/openmetrics-text;version=1.0.0").send().await.unwrap();
    let form = answer.headers().get("content-type").unwrap().to_str().unwrap().to_owned();
    let text = answer.text().await.unwrap();

    assert_eq!(form, "application/openmetrics-text; version=1.0.0; charset=utf-8");
    assert!(text.ends_with("# EOF\n") && !text.contains("\n\n"), "{text}");
    for line in [
        "# TYPE charter_http_requests counter",
        "# TYPE charter_http_request_seconds histogram",
        "# UNIT charter_http_request_seconds seconds",
        "# TYPE charter_policy_version gauge",
    ] {
        assert!(text.lines().any(|told| told == line), "{line}: {text}");
    }
    for described in text.lines().filter_map(|line| line.strip_prefix("# TYPE ")) {
        let name = described.split(' ').next().unwrap();
        assert!(text.contains(&format!("# HELP {name} ")), "{name} is not described");
    }
    let plain = admin.text("/metrics").await.unwrap();
    assert!(
        plain.contains("# TYPE charter_http_requests_total counter") && !plain.contains("# EOF"),
        "{plain}"
    );
}
