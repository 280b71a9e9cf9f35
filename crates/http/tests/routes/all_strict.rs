//! JSON that two readers could read in two ways, put at every place of a body that every route would take: refused, and
//! nothing is changed.

use crate::{
    all_requests::{ADMIN, House},
    support::Reply,
};
use charter_http::{ACCESS_TABLE, Row};
use serde_json::Value;

/// A place in a value: which member or element, from the outermost in.
type Place = Vec<usize>;

fn children(value: &Value) -> Vec<&Value> {
    match value {
        Value::Array(elements) => elements.iter().collect(),
        Value::Object(members) => members.values().collect(),
        _ => Vec::new(),
    }
}

fn places(value: &Value) -> Vec<(Place, Value)> {
    let mut all = vec![(Vec::new(), value.clone())];
    for (at, child) in children(value).into_iter().enumerate() {
        for (mut place, inner) in places(child) {
            place.insert(0, at);
            all.push((place, inner));
        }
    }
    all
}

/// The value as text, with other text at one place.
fn with(value: &Value, place: &[usize], text: &str) -> String {
    let Some((at, rest)) = place.split_first() else { return text.to_owned() };
    let of = |(number, child): (usize, &Value)| {
        if number == *at { with(child, rest, text) } else { child.to_string() }
    };
    let parts: Vec<String> = children(value).into_iter().enumerate().map(of).collect();
    match value {
        Value::Object(members) => {
            let named = members
                .keys()
                .zip(parts)
                .map(|(name, part)| format!("{}:{part}", Value::from(name.as_str())));
            format!("{{{}}}", named.collect::<Vec<_>>().join(","))
        }
        _ => format!("[{}]", parts.join(",")),
    }
}

/// What is wrong at a place whatever is there, by what is there; each with whether it is no JSON of ours at all.
fn wrong(there: &Value) -> Vec<(String, bool)> {
    let text = there.to_string();
    let mut wrong = vec![("NaN".to_owned(), true), ("01".to_owned(), true), ("\"\\ud800\"".to_owned(), true)];
    match there {
        Value::Object(members) => {
            let again = members.iter().next().map_or_else(
                || "\"zzz\":1,\"zzz\":1".to_owned(),
                |(name, value)| format!("{}:{value}", Value::from(name.as_str())),
            );
            let comma = if members.is_empty() { "" } else { "," };
            wrong.push((format!("{}{comma}{again}}}", text.strip_suffix('}').unwrap()), true));
            wrong.push((format!("[{text}]"), false));
            wrong.push(("7".to_owned(), false));
        }
        Value::Array(_) => wrong.push(("{\"0\":1}".to_owned(), false)),
        Value::String(_) => {
            for other in ["7", "{}", "[[]]", "true"] {
                wrong.push((other.to_owned(), false));
            }
        }
        Value::Number(_) => {
            let numbers = [
                "9007199254740993",
                "9223372036854775808",
                "18446744073709551616",
                "-0",
                "-1",
                "1e2",
                "1.0",
                "\"1\"",
            ];
            wrong.extend(numbers.map(|number| (number.to_owned(), false)));
        }
        Value::Bool(_) => wrong.extend(["0", "\"true\"", "[]"].map(|other| (other.to_owned(), false))),
        Value::Null => {}
    }
    wrong
}

/// The standard answers each question of several by itself: one that can't be read is no.
fn is_a_no(row: &Row, reply: &Reply) -> bool {
    let answers = reply.body["evaluations"].as_array();
    row.path == "/access/v1/evaluations"
        && reply.status == 200
        && answers.is_some_and(|all| all.iter().all(|one| one["decision"] == false))
}

#[tokio::test]
async fn what_can_be_read_in_two_ways_is_refused_at_every_place_of_every_body() {
    let mut house = House::new().await;
    let mut tried = 0;
    for row in ACCESS_TABLE {
        let made = house.made(row, ADMIN).await;
        let Some(good) = made.body().cloned() else { continue };
        let head = house.api.head();
        let mut bodies = vec![
            (format!("\u{feff}{good}"), true),
            (format!("{good}{good}"), true),
            (format!("{good} x"), true),
            (good.to_string().trim_end_matches('}').to_owned(), true),
        ];
        for (place, there) in places(&good) {
            let at = |(text, malformed): (String, bool)| (with(&good, &place, &text), malformed);
            bodies.extend(wrong(&there).into_iter().map(at));
        }
        for (body, malformed) in bodies {
            let call = house.api.call(row.method, &made.path(row)).by(house.secrets[ADMIN].as_ref().unwrap());
            let call = call.header("if-match", "*").header("host", "charter.example");
            let reply =
                call.header("x-reason", "it is tried").raw("application/json", body.as_bytes()).send().await;
            let refused = (400..500).contains(&reply.status) || is_a_no(row, &reply);
            assert!(refused, "{row:?} {body}: {} {}", reply.status, reply.text);
            assert!(!malformed || reply.status == 400, "{row:?} {body}: {} {}", reply.status, reply.text);
            tried += 1;
        }
        house.api.unchanged_since(head);
    }
    assert!(tried > 1_000, "{tried} bodies");
}
