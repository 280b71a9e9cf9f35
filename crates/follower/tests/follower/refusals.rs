//! What keeps a follower from starting, each said clearly.

use crate::server::{Server, quick};
use axum::{Router, routing::get};
use charter_follower::{Follower, FollowerError};

async fn refused(server: &str, token: &str) -> FollowerError {
    let error = Follower::start(quick(server, token)).await.unwrap_err();
    let shown = format!("{error} {error:?}");
    assert!(!shown.contains("cht_"), "{shown}");
    error
}

#[tokio::test]
async fn a_token_nobody_knows_and_one_that_may_not_read_are_told_apart() {
    let server = Server::new().await;
    let error = refused(&server.base(), &format!("cht_{}", "A".repeat(43))).await;
    assert!(matches!(error, FollowerError::Unauthenticated { .. }), "{error}");
    let bob = server.user("bob").await;
    let error = refused(&server.base(), &server.token_of(bob).await).await;
    assert_eq!(
        error.to_string(),
        "the token may not follow the log: permission `core.audit.read` is needed globally"
    );
    let error = refused(&server.base(), "cht_with\nline break").await;
    assert!(matches!(error, FollowerError::Token), "{error}");
}

#[tokio::test]
async fn an_address_where_nobody_or_somebody_else_answers_is_named() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let nobody = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let error = refused(&nobody, "cht_x").await;
    assert!(
        matches!(error, FollowerError::Unreachable { .. }) && error.to_string().contains(&nobody),
        "{error}"
    );

    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let other = format!("http://{}", listener.local_addr().unwrap());
    let router = Router::new().route("/api/v1/log", get(|| async { "<html>hello</html>" }));
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    for address in [other.clone(), format!("{other}/elsewhere")] {
        let error = refused(&address, "cht_x").await;
        assert!(matches!(error, FollowerError::NotAServer { .. }), "{error}");
    }
    // TLS is spoken where none is.
    let error = refused(&other.replace("http://", "https://"), "cht_x").await;
    assert!(matches!(error, FollowerError::Unreachable { .. }), "{error}");
    let error = refused("127.0.0.1:7400", "cht_x").await;
    assert!(matches!(error, FollowerError::Address { .. }), "{error}");
}
