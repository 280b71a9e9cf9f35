//! Known-right scenarios from outside the repository: the naive model and the real fold both give every answer they
//! expect. `CHARTER_VECTORS` names a directory of `.jsonl` files; without it there is nothing to compare with.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a test"
)]

use charter_events::{Affects, ChildTypes, Pattern, PermissionKey, Scope, Timestamp, UserId};
use charter_scenarios::{Format, Names, Outcome, Scenario, parse, run};
use charter_testkit::model::{Because, State, World};
use serde_json::Value;
use std::{collections::BTreeSet, path::PathBuf};

fn files() -> Vec<PathBuf> {
    let Some(directory) = std::env::var_os("CHARTER_VECTORS") else { return Vec::new() };
    let entries = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let files: Vec<_> =
        entries.filter(|path| path.extension().is_some_and(|ending| ending == "jsonl")).collect();
    assert!(!files.is_empty(), "the directory holds no `.jsonl` file");
    files
}

fn scenarios(path: &PathBuf) -> (Vec<Scenario>, Vec<Value>) {
    let bytes = std::fs::read(path).unwrap();
    let scenarios = parse(&path.display().to_string(), &bytes, Format::JsonLines).unwrap();
    let raw = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    (scenarios, raw.map(|line| serde_json::from_slice(line).unwrap()).collect())
}

#[test]
fn the_real_fold_gives_every_answer() {
    for path in files() {
        let mut asked = 0;
        for scenario in scenarios(&path).0 {
            let report = run(&scenario);
            assert_eq!(report.outcome, Outcome::Held, "{report}");
            asked += report.asked;
        }
        println!("{}: {asked} answers", path.display());
    }
}

#[test]
fn the_naive_model_gives_every_answer() {
    for path in files() {
        let (scenarios, raw) = scenarios(&path);
        let asked: usize =
            scenarios.iter().zip(&raw).map(|(scenario, raw)| Asking::of(scenario, raw).all()).sum();
        println!("{}: {asked} answers", path.display());
    }
}

struct Asking<'a> {
    world: World,
    names: Names,
    now: Timestamp,
    raw: &'a Value,
}

impl<'a> Asking<'a> {
    fn of(scenario: &Scenario, raw: &'a Value) -> Self {
        let (events, names) = scenario.facts().unwrap();
        Self { world: World::of(events.iter().map(|(_, event)| event)), names, now: scenario.at(), raw }
    }

    fn all(&self) -> usize {
        let each = |list: &str, ask: &dyn Fn(&Value)| {
            let questions = self.raw[list].as_array().map(Vec::as_slice).unwrap_or_default();
            questions.iter().for_each(ask);
            questions.len()
        };
        each("checks", &|q| self.check(q))
            + each("who_can", &|q| self.who_can(q))
            + each("allowed_objects", &|q| self.allowed_objects(q))
            + each("effective", &|q| self.effective(q))
            + each("holds", &|q| self.holds(q))
    }

    fn user(&self, q: &Value) -> UserId {
        self.names.user(q["user"].as_str().unwrap()).unwrap()
    }

    fn scope(&self, on: &Value) -> Scope {
        match on.as_str() {
            None | Some("global") => Scope::Global,
            Some(object) => Scope::Object(self.names.object(&object.parse().unwrap()).unwrap()),
        }
    }

    fn check(&self, q: &Value) {
        let got = self.world.check(self.user(q), &key(q), self.scope(&q["on"]), self.now);
        let expected = if q["expect"].is_string() {
            serde_json::json!({"verdict": q["expect"]})
        } else {
            q["expect"].clone()
        };
        let about = || format!("{} {q}: got {got:?}", self.raw["name"]);
        for (member, value) in expected.as_object().unwrap() {
            let same = match member.as_str() {
                "verdict" => got.allowed == (value == "allow"),
                "because" => because(got.because) == value,
                "scope" => got.winner.map(|winner| winner.0) == Some(self.scope(value)),
                "subject" => got.winner.map(|winner| winner.1) == Some(value == "user"),
                "grants" => {
                    let names = strings(value).into_iter().map(|name| name.parse().unwrap());
                    let ids: BTreeSet<_> = names.map(|name| self.names.grant(&name).unwrap()).collect();
                    ids == got.grants
                }
                _ => panic!("unknown member {member}"),
            };
            assert!(same, "{member}: {}", about());
        }
    }

    fn who_can(&self, q: &Value) {
        let got = self.world.who_can(&key(q), self.scope(&q["on"]), self.now);
        let got: BTreeSet<_> =
            got.iter().map(|(user, _)| self.names.shown(user.as_uuid()).to_owned()).collect();
        assert_eq!(got, strings(&q["expect"]), "{} {q}", self.raw["name"]);
    }

    fn allowed_objects(&self, q: &Value) {
        let object_type = q["type"].as_str().unwrap();
        let got = self.world.allowed_objects(self.user(q), &key(q), object_type, self.now);
        let expected = strings(&q["expect"]).into_iter().map(|name| format!("{object_type}:{name}"));
        let expected: BTreeSet<_> =
            expected.map(|object| self.names.object(&object.parse().unwrap()).unwrap()).collect();
        assert_eq!(got, expected, "{} {q}", self.raw["name"]);
    }

    fn effective(&self, q: &Value) {
        let got = self.world.effective(self.user(q), self.scope(&q["on"]), self.now);
        for (member, state) in
            [("allowed", State::Allowed), ("denied", State::Denied), ("not_set", State::NotSet)]
        {
            if q["expect"][member].is_array() {
                let found = got.iter().filter(|entry| entry.1 == state).map(|entry| entry.0.to_string());
                assert_eq!(
                    found.collect::<BTreeSet<_>>(),
                    strings(&q["expect"][member]),
                    "{} {q}",
                    self.raw["name"]
                );
            }
        }
    }

    fn holds(&self, q: &Value) {
        let content: Vec<Pattern> = strings(&q["content"]).iter().map(|item| item.parse().unwrap()).collect();
        let affects: Affects = serde_json::from_value(q["affects"].clone()).unwrap_or_default();
        let child_types: ChildTypes = serde_json::from_value(q["child_types"].clone()).unwrap_or_default();
        let reach = (self.scope(&q["on"]), affects, child_types);
        let got = self.world.missing(self.user(q), &content, reach, self.now);
        let got: BTreeSet<_> = got.iter().map(ToString::to_string).collect();
        assert_eq!(got, strings(&q["expect"]["missing"]), "{} {q}", self.raw["name"]);
    }
}

fn key(q: &Value) -> PermissionKey {
    q["permission"].as_str().unwrap().parse().unwrap()
}

fn strings(list: &Value) -> BTreeSet<String> {
    list.as_array().unwrap().iter().map(|item| item.as_str().unwrap().to_owned()).collect()
}

fn because(because: Because) -> &'static str {
    match because {
        Because::Administrator => "administrator",
        Because::Grant => "grant",
        Because::NotSet => "not_set",
        Because::InactiveSubject => "inactive_subject",
        Because::UnknownPermission => "unknown_permission",
    }
}
