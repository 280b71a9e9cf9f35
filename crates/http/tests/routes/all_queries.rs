//! What may stand in the query of every route that takes one: a text is found as it is and never means more, and
//! nothing is sorted, filtered or counted by but what the route names.

use crate::{
    all_requests::{ADMIN, House},
    scim::encoded,
};
use charter_http::{ACCESS_TABLE, Row};

/// Texts that mean something to some language of patterns or queries.
const HOSTILE: [&str; 14] =
    ["%", "_", "\\", "%%", "\\%", "'", "\"", "';--", "' OR '1'='1", "*", "?", ".*", "$1", "{\"$ne\":1}"];

/// A route with its path filled in.
async fn reads(house: &mut House) -> Vec<(&'static Row, String)> {
    let mut reads = Vec::new();
    for row in ACCESS_TABLE.iter().filter(|row| row.method == "GET") {
        let made = house.made(row, ADMIN).await;
        reads.push((row, made.path(row)));
    }
    reads
}

fn joined(path: &str, parameter: &str) -> String {
    format!("{path}{}{parameter}", if path.contains('?') { '&' } else { '?' })
}

#[tokio::test]
async fn a_text_that_is_searched_for_is_found_as_it_is_and_never_means_more() {
    let mut house = House::new().await;
    let all = reads(&mut house).await;
    let head = house.api.head();
    let mut tried = 0;
    for (row, path) in all.iter().filter(|(row, _)| row.query.contains(&"q")) {
        for text in HOSTILE {
            let path = joined(path, &format!("q={}", encoded(text)));
            let reply = house.api.call("GET", &path).by(&house.api.admin).send().await.ok(200);
            for found in reply.body["items"].as_array().unwrap() {
                assert!(found.to_string().contains(text), "{row:?} {text}: {found}");
            }
            tried += 1;
        }
        for text in ["%".repeat(10_000), "\0".to_owned(), "a\0b".to_owned()] {
            let path = joined(path, &format!("q={}", encoded(&text)));
            let reply = house.api.call("GET", &path).by(&house.api.admin).send().await;
            let empty = reply.body["items"].as_array().is_some_and(Vec::is_empty);
            assert!(reply.status == 400 || (reply.status == 200 && empty), "{row:?}: {}", reply.text);
        }
    }
    assert!(tried >= 4 * HOSTILE.len(), "{tried}");
    house.api.unchanged_since(head);
}

#[tokio::test]
async fn nothing_is_asked_by_what_the_route_does_not_name() {
    let mut house = House::new().await;
    let all = reads(&mut house).await;
    let boss = house.secrets[ADMIN].clone().unwrap();
    let mut tried = 0;
    for (row, path) in &all {
        for name in
            ["password_hash", "token_hash", "hash", "secret_hash", "..", "%00", "limit%5B%5D", "LIMIT"]
        {
            // What a provider sends along beside what was agreed upon is passed over, as its standard has it.
            if row.query.contains(&"*") {
                continue;
            }
            let reply = house.api.call("GET", &joined(path, &format!("{name}=1"))).by(&boss).send().await;
            assert_eq!(reply.status, 400, "{row:?} {name}: {}", reply.text);
        }
        for by in ["password_hash", "token_hash", "..", "name;drop", "name,id", "", "-"] {
            for parameter in ["sort", "sortBy"].iter().filter(|name| row.query.contains(name)) {
                let path = joined(path, &format!("{parameter}={}", encoded(by)));
                let reply = house.api.call("GET", &path).by(&boss).send().await;
                let passed_over = row.path.starts_with("/scim/") && by.is_empty();
                assert!(reply.status == 400 || passed_over, "{row:?} {parameter}={by}: {}", reply.text);
                tried += 1;
            }
        }
        for number in ["0", "-1", "2147483648", "9223372036854775808", "1.5", "1e2", "NaN", "+1", ""] {
            if row.query.contains(&"limit") {
                let path = joined(path, &format!("limit={}", encoded(number)));
                let reply = house.api.call("GET", &path).by(&boss).send().await;
                assert_eq!(reply.status, 400, "{row:?} limit={number}: {}", reply.text);
                tried += 1;
            }
        }
        if row.query.contains(&"cursor") {
            for cursor in ["", "A", "%", "../..", &"A".repeat(20_000), "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"] {
                let path = joined(path, &format!("cursor={}", encoded(cursor)));
                let reply = house.api.call("GET", &path).by(&boss).send().await;
                assert_eq!(
                    (reply.status, reply.code()),
                    (400, "invalid_cursor"),
                    "{row:?} {cursor}: {}",
                    reply.text
                );
                tried += 1;
            }
        }
    }
    assert!(tried > 100, "{tried}");
}
