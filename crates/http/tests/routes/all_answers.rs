//! What each row of the access table answers to each kind of caller, as text, committed: a well-formed request about
//! something of its own each time, so that who may is let do it. Rules that hold for every row are asserted besides, so
//! that no blessing makes a hole the committed answer.

use crate::{
    all_requests::{ADMIN, COLUMNS, House, NOBODY},
    support::Reply,
};
use charter_http::{ACCESS_TABLE, Gate, Row};
use serde_json::json;
use std::fmt::Write as _;

/// Of these the credential is none, or worth nothing.
const WITHOUT: [usize; 5] = [0, 4, 5, 6, 7];

/// What can't be done in this house by anybody, and the code by which whoever may is told so.
const CANT_BE_DONE: [(&str, &str, &str); 7] = [
    ("POST", "/api/v1/setup", "setup_closed"),
    ("POST", "/api/v1/operations/{id}/resume", "not_resumable"),
    // No identity provider is set up here.
    ("GET", "/api/v1/session/oidc", "oidc_not_configured"),
    ("GET", "/api/v1/session/oidc/callback", "oidc_not_configured"),
    ("POST", "/api/v1/session/device", "oidc_not_configured"),
    ("POST", "/api/v1/session/device/token", "oidc_not_configured"),
    ("POST", "/api/v1/invitations/oidc", "oidc_not_configured"),
];

/// Whether one answer is what every row owes the caller of its column.
fn rules(row: &Row, column: usize, reply: &Reply) {
    let (kind, about) = (COLUMNS[column], format!("{row:?}: {}", reply.text));
    let of_scim = row.path.starts_with("/scim/");
    if reply.status >= 400 {
        let form = if of_scim { "application/scim+json" } else { "application/problem+json" };
        assert_eq!(reply.header("content-type"), form, "{kind} {about}");
    }
    let cant = CANT_BE_DONE.iter().find(|(method, path, _)| (*method, *path) == (row.method, row.path));
    match (column, row.gate) {
        (ADMIN, _) | (_, Gate::Public) if cant.is_some() => {
            assert_eq!(reply.code(), cant.unwrap().2, "{kind} {about}");
        }
        (_, Gate::Public) => assert!((200..300).contains(&reply.status), "{kind} {about}"),
        (column, _) if WITHOUT.contains(&column) => {
            assert_eq!(reply.status, 401, "{kind} {about}");
            assert!(reply.header("www-authenticate").starts_with("Bearer realm="), "{kind} {about}");
        }
        // The standard's errors have room for words alone.
        (NOBODY, Gate::Key(key)) if of_scim => {
            assert_eq!(reply.status, 403, "{kind} {about}");
            assert!(reply.body["detail"].as_str().unwrap().contains(key), "{kind} {about}");
        }
        (NOBODY, Gate::Key(key)) => {
            assert_eq!((reply.status, reply.code()), (403, "forbidden"), "{kind} {about}");
            assert_eq!(reply.body["missing"], json!([key]), "{kind} {about}");
        }
        (NOBODY, Gate::TypeKey(_)) => assert!([403, 404].contains(&reply.status), "{kind} {about}"),
        // Who holds everything does everything.
        (ADMIN, _) => assert!((200..300).contains(&reply.status), "{kind} {about}"),
        _ => assert_ne!(reply.status, 401, "{kind} {about}"),
    }
}

/// What one row answers to everybody.
async fn answers(house: &mut House, row: &Row) -> Vec<u16> {
    let mut statuses = Vec::new();
    for column in 0..COLUMNS.len() {
        let made = house.made(row, column).await;
        let head = house.api.head();
        let reply = house.call(row, &made, column).send().await;
        let is_let = row.gate == Gate::Public || !WITHOUT.contains(&column);
        if reply.status >= 400 || row.method == "GET" || !is_let {
            house.api.unchanged_since(head);
        }
        rules(row, column, &reply);
        statuses.push(reply.status);
    }
    statuses
}

/// The table with its answers. `BLESS=1` rewrites the committed copy, as far as the rules above allow.
#[tokio::test]
async fn the_committed_answers_of_the_access_table_are_what_each_caller_gets() {
    let mut house = House::new().await;
    let mut table = format!("{:56}{}\n", "", COLUMNS.join(", "));
    for row in ACCESS_TABLE {
        let statuses: Vec<String> = answers(&mut house, row).await.iter().map(u16::to_string).collect();
        writeln!(table, "{:6} {:48} {}", row.method, row.path, statuses.join(" ")).unwrap();
    }
    crate::all_documents::same_as_committed("tests/routes/access_answers.txt", &table);
}

/// `HEAD` goes where `GET` goes, through the same gate, and says nothing.
#[tokio::test]
async fn a_head_request_passes_no_gate_that_its_get_does_not_pass() {
    let mut house = House::new().await;
    for row in ACCESS_TABLE.iter().filter(|row| row.method == "GET") {
        let head = Row { method: "HEAD", ..*row };
        for (column, kind) in COLUMNS.iter().enumerate() {
            let made = house.made(row, column).await;
            let got = house.call(row, &made, column).send().await;
            let told = house.call(&head, &made, column).send().await;
            assert_eq!(got.status, told.status, "{kind} {row:?}");
            assert_eq!(told.text, "", "{kind} {row:?}");
        }
    }
}
