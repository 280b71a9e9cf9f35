//! Lists: what filters find, in which order, on which page.

use super::{GROUP, Provider, SEARCH, USER, encoded};
use crate::support::Api;
use serde_json::{Value, json};

/// Users and groups whose names are near one another.
async fn prepared(provider: &Provider<'_>) {
    for (number, name) in
        ["Anna", "anna.b", "BERT", "bert_2", "100%", "C\\D", "it's", "\"quoted\"", "Änne"].iter().enumerate()
    {
        let mut user = json!({"schemas": [USER], "userName": name, "active": number % 3 != 0});
        if number % 2 == 0 {
            user["displayName"] = json!(format!("Person {name}"));
            user["externalId"] = json!(format!("Ext-{number}"));
        }
        if number % 4 < 2 {
            user["emails"] = json!([{"value": format!("Mail{number}@Example.com")}]);
        }
        let id = provider.send("POST", "/Users", user).await.ok(201).body["id"].as_str().unwrap().to_owned();
        if number % 3 == 1 {
            let group = json!({"schemas": [GROUP], "displayName": format!("Team {name}"), "members": [{"value": id}]});
            provider.send("POST", "/Groups", group).await.ok(201);
        }
    }
    provider.group("Empty", &[]).await;
}

/// A small generator: the same numbers each time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % below
    }

    fn of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }
}

/// A filter as text, and whether a resource fits, found by looking at what the resource shows.
struct Asked {
    text: String,
    fits: Box<dyn Fn(&Value) -> bool>,
}

/// The values a resource shows for a path.
fn shown(resource: &Value, path: &str) -> Vec<Value> {
    let mut values = vec![resource.clone()];
    for part in path.split('.') {
        values = values
            .into_iter()
            .flat_map(|value| match value {
                Value::Array(all) => all,
                one => vec![one],
            })
            .filter_map(|value| value.get(part).cloned())
            .collect();
    }
    values
        .into_iter()
        .flat_map(|value| match value {
            Value::Array(all) => all,
            one => vec![one],
        })
        .collect()
}

fn compared(resource: &Value, path: &str, op: &str, wanted: &Value) -> bool {
    let exact = ["id", "externalId", "members.value", "groups.value"].contains(&path);
    let fold = |value: &Value| match value.as_str() {
        Some(text) if !exact => text.to_lowercase(),
        Some(text) => text.to_owned(),
        None => value.to_string(),
    };
    let wanted = fold(wanted);
    let values: Vec<String> = shown(resource, path).iter().map(fold).collect();
    match op {
        "ne" => values.iter().all(|value| *value != wanted),
        _ => values.iter().any(|value| match op {
            "eq" => *value == wanted,
            "co" => value.contains(&wanted),
            "sw" => value.starts_with(&wanted),
            "ew" => value.ends_with(&wanted),
            "gt" => *value > wanted,
            "ge" => *value >= wanted,
            "lt" => *value < wanted,
            _ => *value <= wanted,
        }),
    }
}

fn term(numbers: &mut Numbers, texts: &[&'static str], words: &[String]) -> Asked {
    let path = *numbers.of(texts);
    match numbers.below(8) {
        0 => Asked { text: format!("{path} pr"), fits: Box::new(move |of| !shown(of, path).is_empty()) },
        1 if texts.contains(&"userName") => {
            let wanted = numbers.below(2) == 0;
            Asked {
                text: format!("ACTIVE eq {wanted}"),
                fits: Box::new(move |of| compared(of, "active", "eq", &json!(wanted))),
            }
        }
        _ => {
            let op = *numbers.of(&["eq", "ne", "co", "sw", "ew", "gt", "ge", "lt", "le"]);
            let wanted = json!(numbers.of(words));
            let spelled = if numbers.below(2) == 0 { path.to_uppercase() } else { path.to_owned() };
            Asked {
                text: format!("{spelled} {op} {wanted}"),
                fits: Box::new(move |of| compared(of, path, op, &wanted)),
            }
        }
    }
}

fn filter(numbers: &mut Numbers, texts: &[&'static str], words: &[String], depth: usize) -> Asked {
    let kind = if depth == 0 { 0 } else { numbers.below(5) };
    match kind {
        1 => {
            let inner = filter(numbers, texts, words, depth - 1);
            Asked { text: format!("not ({})", inner.text), fits: Box::new(move |of| !(inner.fits)(of)) }
        }
        2 | 3 => {
            let (one, other) =
                (filter(numbers, texts, words, depth - 1), filter(numbers, texts, words, depth - 1));
            let and = kind == 2;
            Asked {
                text: format!("({}) {} ({})", one.text, if and { "and" } else { "OR" }, other.text),
                fits: Box::new(move |of| {
                    if and { (one.fits)(of) && (other.fits)(of) } else { (one.fits)(of) || (other.fits)(of) }
                }),
            }
        }
        _ => term(numbers, texts, words),
    }
}

/// Whatever is asked, what is found is what a look at each resource finds.
#[tokio::test]
async fn a_filter_finds_what_a_look_at_everybody_finds() {
    let api = Api::new().await;
    let provider = Provider::admin(&api).await;
    prepared(&provider).await;
    let mut numbers = Numbers(7);
    for (path, texts) in [
        (
            "/Users",
            &[
                "id",
                "userName",
                "displayName",
                "externalId",
                "emails.value",
                "emails.type",
                "groups.display",
                "meta.resourceType",
            ][..],
        ),
        ("/Groups", &["id", "displayName", "members.value", "externalId"][..]),
    ] {
        let all = provider.get(path).await.ok(200).body["Resources"].as_array().unwrap().clone();
        assert!(all.len() > 3);
        let mut words: Vec<String> =
            ["a", "AN", "%", "_", "\\", "'", "\"", "e", "ä", "person anna", "zz", ""]
                .map(str::to_owned)
                .to_vec();
        for resource in &all {
            words.extend(
                texts
                    .iter()
                    .flat_map(|text| shown(resource, text))
                    .filter_map(|value| value.as_str().map(str::to_owned)),
            );
        }
        let mut found_some = 0;
        for _ in 0..400 {
            let asked = filter(&mut numbers, texts, &words, 3);
            let expected: Vec<&str> =
                all.iter().filter(|of| (asked.fits)(of)).map(|of| of["id"].as_str().unwrap()).collect();
            let found = provider.found(&format!("{path}?filter={}", encoded(&asked.text))).await;
            assert_eq!(found, expected, "{}", asked.text);
            found_some += usize::from(!found.is_empty() && found.len() < all.len());
        }
        assert!(found_some > 50, "{found_some}");
    }
}

#[tokio::test]
async fn operators_bind_as_the_standard_says() {
    let api = Api::new().await;
    let provider = Provider::admin(&api).await;
    for name in ["a", "b", "c"] {
        provider.user(name).await;
    }
    for (filter, names) in [
        ("userName eq \"a\" or userName eq \"b\" and userName eq \"c\"", vec!["a"]),
        ("(userName eq \"a\" or userName eq \"b\") and userName eq \"b\"", vec!["b"]),
        ("not (userName eq \"a\") and (userName eq \"b\" or userName eq \"a\")", vec!["b"]),
        ("urn:ietf:params:scim:schemas:core:2.0:User:userName eq \"A\"", vec!["a"]),
        ("userName eq \"\\u0061\"", vec!["a"]),
        ("externalId eq null and userName sw \"c\"", vec!["c"]),
        ("meta.created gt \"2000-01-01T00:00:00Z\" and userName le \"a\"", vec!["a"]),
        ("emails[type eq \"work\"]", vec![]),
    ] {
        let found = provider.get(&format!("/Users?filter={}", encoded(filter))).await.ok(200);
        assert_eq!(found.texts("Resources", "userName"), names, "{filter}");
    }
}

#[tokio::test]
async fn a_filter_that_is_wrong_is_refused_never_passed_over() {
    let api = Api::new().await;
    let provider = Provider::admin(&api).await;
    let deep = format!("{}userName pr{}", "(".repeat(17), ")".repeat(17));
    let many = vec!["userName pr"; 33].join(" or ");
    let long = format!("userName eq \"{}\"", "a".repeat(4_096));
    for filter in [
        "",
        " ",
        "userName",
        "userName eq",
        "userName eq bob",
        "userName eq \"bob",
        "userName eq \"\\x\"",
        "userName eq 5",
        "userName eq true",
        "userName gt null",
        "userName like \"b\"",
        "userName eq \"a\" \"b\"",
        "userName eq \"a\" and",
        "userName eq \"a\" xor userName eq \"b\"",
        "(userName eq \"a\"",
        "userName eq \"a\")",
        "not userName eq \"a\"",
        "active co \"t\"",
        "active gt true",
        "active eq \"true\"",
        "meta.created eq \"yesterday\"",
        "meta.created sw \"2026\"",
        "emails[type eq \"work\"",
        "emails[emails[type pr]]",
        "userName[value eq \"a\"]",
        "password eq \"x\"",
        "password_hash pr",
        "token_hash pr",
        "name.givenName eq \"x\"",
        "members pr",
        ".. pr",
        "urn:ietf:params:scim:schemas:core:2.0:Group:userName pr",
        "userName eq \"a\";--",
        "userName\0 pr",
        &deep,
        &many,
        &long,
    ] {
        let reply = provider.get(&format!("/Users?filter={}", encoded(filter))).await;
        assert_eq!(reply.status, 400, "{filter:?}: {}", reply.text);
        reply.fault(400, Some("invalidFilter"));
    }
    for sort in ["password", "emails.nothing", ".."] {
        provider.get(&format!("/Users?sortBy={sort}")).await.fault(400, Some("invalidFilter"));
    }
}

#[tokio::test]
async fn pages_hold_each_resource_once_and_say_how_many_there_are() {
    let api = Api::new().await;
    let provider = Provider::admin(&api).await;
    for number in 0..11 {
        provider.user(&format!("user-{number:02}")).await;
    }
    let mut seen = Vec::new();
    for start in [1, 5, 9, 13] {
        let page = provider.get(&format!("/Users?startIndex={start}&count=4&sortBy=userName")).await.ok(200);
        assert_eq!((&page.body["totalResults"], &page.body["startIndex"]), (&json!(12), &json!(start)));
        assert_eq!(page.body["itemsPerPage"], json!(page.ids("Resources").len()));
        seen.extend(page.texts("Resources", "userName"));
    }
    let mut sorted = seen.clone();
    sorted.sort();
    sorted.dedup();
    assert_eq!((seen.len(), &seen), (12, &sorted));
    let down = provider.get("/Users?sortBy=userName&sortOrder=descending").await.ok(200);
    sorted.reverse();
    assert_eq!(down.texts("Resources", "userName"), sorted);
    for (query, rows) in [
        ("count=0", 0),
        ("count=-5", 0),
        ("startIndex=-1", 12),
        ("startIndex=0", 12),
        ("count=100000", 12),
        ("startIndex=9223372036854775807", 0),
    ] {
        assert_eq!(provider.found(&format!("/Users?{query}")).await.len(), rows, "{query}");
    }
    for query in [
        "count=x",
        "startIndex=1.5",
        "count=",
        "sortOrder=sideways",
        "attributes=id&excludedAttributes=id",
        "count=99999999999999999999",
    ] {
        provider.get(&format!("/Users?{query}")).await.fault(400, Some("invalidValue"));
    }
    for (query, scim_type) in
        [("limit=5", None), ("Filter=x", None), ("count=1&count=2", Some("invalidValue"))]
    {
        provider.get(&format!("/Users?{query}")).await.fault(400, scim_type);
    }
}

#[tokio::test]
async fn only_what_is_asked_for_is_shown() {
    let api = Api::new().await;
    let provider = Provider::admin(&api).await;
    prepared(&provider).await;
    let members = |value: &Value| {
        let mut names: Vec<_> = value.as_object().unwrap().keys().cloned().collect();
        names.sort();
        names.join(" ")
    };
    for (query, expected) in [
        ("attributes=userName", "id schemas userName"),
        ("attributes=USERNAME,meta.location", "id meta schemas userName"),
        ("attributes=urn:ietf:params:scim:schemas:core:2.0:User:emails.value", "emails id schemas"),
        ("attributes=nothing", "id schemas"),
        ("excludedAttributes=emails,meta,groups,id", "active displayName externalId id schemas userName"),
    ] {
        let found =
            provider.get(&format!("/Users?filter={}&{query}", encoded("userName eq \"Anna\""))).await.ok(200);
        assert_eq!(members(&found.body["Resources"][0]), expected, "{query}");
        let id = found.ids("Resources")[0].clone();
        assert_eq!(
            members(&provider.get(&format!("Users/{id}?{query}")).await.ok(200).body),
            expected,
            "{query}"
        );
    }
    let found = provider.get("/Groups?excludedAttributes=members").await.ok(200);
    assert!(found.body["Resources"].as_array().unwrap().iter().all(|group| group.get("members").is_none()));
    let search =
        json!({"schemas": [SEARCH], "filter": "displayName sw \"team\"", "attributes": ["displayName"]});
    let found = provider.send("POST", "/Groups/.search", search.clone()).await.ok(200);
    assert_eq!(found.ids("Resources").len(), 3);
    assert_eq!(members(&found.body["Resources"][0]), "displayName id schemas");
    assert!(provider.send("POST", "Users/.search", search.clone()).await.ok(200).ids("Resources").is_empty());
    let both = json!({"schemas": [SEARCH], "filter": "displayName co \"anna\"", "sortBy": "displayName"});
    let found = provider.send("POST", "/.search", both).await.ok(200);
    assert_eq!(found.texts("Resources", "displayName"), ["Person Anna", "Team anna.b"]);
    let wrong = json!({"schemas": [SEARCH], "filter": "nothing pr"});
    provider.send("POST", "/.search", wrong).await.fault(400, Some("invalidFilter"));
    for body in [json!({"schemas": [SEARCH], "count": "5"}), json!({"schemas": [SEARCH], "startIndex": 1.5})]
    {
        provider.send("POST", "Users/.search", body).await.fault(400, Some("invalidValue"));
    }
    for body in [
        json!({}),
        json!({"schemas": [SEARCH], "zzz": 1}),
        json!({"schemas": [SEARCH], "filter": "id pr", "FILTER": "id pr"}),
    ] {
        provider.send("POST", "Users/.search", body).await.fault(400, Some("invalidSyntax"));
    }
}
