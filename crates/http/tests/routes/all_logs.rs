//! The access log: one line a request, and never a secret.
use crate::support::{Api, PASSWORD};
use serde_json::{Value, json};
use std::{
    io,
    sync::{Arc, Mutex},
};

/// What was logged.
#[derive(Clone, Default)]
pub(crate) struct Captured(Arc<Mutex<Vec<u8>>>);

impl Captured {
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl io::Write for Captured {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Everything this thread logs, until the guard is dropped.
pub(crate) fn captured() -> (Captured, tracing::subscriber::DefaultGuard) {
    let captured = Captured::default();
    let writer = captured.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_ansi(false)
        .with_writer(move || writer.clone())
        .finish();
    (captured, tracing::subscriber::set_default(subscriber))
}

#[tokio::test]
async fn a_request_is_one_line_with_who_what_and_how_it_ended() {
    let api = Api::new().await;
    let (log, _guard) = captured();
    api.call("GET", "/users/gh%0Aost").by(&api.admin).header("x-request-id", "req-3").send().await.ok(404);
    let text = log.text();
    let lines: Vec<&str> = text.lines().filter(|line| line.contains("charter::access")).collect();
    assert_eq!(lines.len(), 1, "{text}");
    let ada = api.id_of("ada").to_string();
    for part in ["GET", "/api/v1/users/{id}", "404", "not_found", "req-3", &ada] {
        assert!(lines[0].contains(part), "{part}: {}", lines[0]);
    }
    assert!(!lines[0].contains("ost"), "{}", lines[0]);
}

#[tokio::test]
async fn what_machines_ask_all_the_time_is_told_at_debug_unless_it_fails() {
    let api = Api::new().await;
    let (log, _guard) = captured();
    for path in ["/log", "/users"] {
        api.admin("GET", path, Value::Null).await.ok(200);
    }
    api.call("GET", "/log").send().await.ok(401);
    let text = log.text();
    let levels: Vec<&str> = text
        .lines()
        .filter(|line| line.contains("charter::access"))
        .map(|line| line.split_whitespace().nth(1).unwrap())
        .collect();
    assert_eq!(levels, ["DEBUG", "INFO", "INFO"], "{text}");
    let took = text.split("milliseconds=").nth(1).unwrap().split_whitespace().next().unwrap();
    assert!(took.split_once('.').is_none_or(|(_, decimals)| decimals.len() <= 3), "{took}");
}

#[tokio::test]
async fn of_a_path_no_name_and_no_secret_is_logged_and_of_a_method_no_made_up_one() {
    let api = Api::new().await;
    let (log, _guard) = captured();
    for path in
        ["/users/alice", "/user/me/tokens/cht_canary0123456789", "/alice", "/groups/alice/members/alice"]
    {
        for method in ["GET", "DELETE", "PUT", "X-ALICE"] {
            api.call(method, path).by(&api.admin).send().await;
        }
    }
    let id = api.id_of("ada").to_string();
    api.admin("GET", &format!("/users/{id}"), Value::Null).await.ok(200);
    let text = log.text();
    assert!(text.contains(&format!("/api/v1/users/{id}")), "{text}");
    for word in ["alice", "ALICE", "canary"] {
        let told = text.lines().find(|line| line.contains("charter::access") && line.contains(word));
        assert_eq!(told, None);
    }
}

#[tokio::test]
async fn no_secret_reaches_the_log_whatever_is_sent() {
    let api = Api::new().await;
    let canary = "canary0123456789";
    let (log, _guard) = captured();
    let secrets = [format!("chs_{canary}"), format!("cht_{}", canary.repeat(3)), canary.to_owned()];
    for secret in &secrets {
        for path in ["/user/me", &format!("/users?token={secret}"), &format!("/users?limit={secret}")] {
            api.call("GET", path).by(secret).send().await;
            api.call("GET", path).by(&api.admin).send().await;
        }
        for body in [
            json!({"username": "ada", "password": secret}),
            json!({"username": secret, "password": secret}),
            json!({"code": secret, "username": "eve", "password": secret}),
            json!({"current": secret, "new": secret}),
            json!({"secret": secret, "password": secret}),
            json!({"password": {"nested": secret}}),
            json!({secret.as_str(): 1}),
            json!([secret]),
        ] {
            for (method, path) in [
                ("POST", "/session"),
                ("POST", "/setup"),
                ("PUT", "/user/me/password"),
                ("POST", "/users"),
                ("POST", "/users/ada/credential-reset"),
                ("POST", "/user/me/tokens"),
                ("POST", "/invitations"),
                ("POST", "/invitations/accept"),
                ("POST", "/password/forgotten"),
                ("POST", "/password/reset"),
            ] {
                api.admin(method, path, body.clone()).await;
            }
        }
        let broken = format!("{{\"password\":\"{secret}");
        api.call("POST", "/session").raw("application/json", broken.as_bytes()).send().await.ok(400);
    }
    let issued = api.admin("POST", "/user/me/tokens", json!({"name": "canary"})).await.ok(201);
    let real = issued.body["secret"].as_str().unwrap();
    api.by(real, "GET", "/user/me", Value::Null).await.ok(200);
    let invited = api.admin("POST", "/invitations", json!({"username": "guest"})).await.ok(201);
    let link = invited.body["secret"].as_str().unwrap();
    let accept = json!({"secret": link, "password": PASSWORD});
    api.call("POST", "/invitations/accept").json(&accept).send().await.ok(201);
    let signed_in = json!({"username": "ada", "password": PASSWORD});
    api.call("POST", "/session").json(&signed_in).send().await;
    let text = log.text();
    assert!(text.lines().count() > 100);
    for secret in [canary, &real[4..], &link[4..], &api.admin[4..], PASSWORD] {
        assert!(!text.contains(secret), "{}", text.lines().find(|line| line.contains(secret)).unwrap());
    }
}
