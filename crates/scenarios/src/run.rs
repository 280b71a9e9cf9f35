//! Asks a scenario's questions and compares the answers.

use crate::{
    build::Built,
    file::{AllowedObjects, Because, Check, Effective, Holds, Scenario, SubjectKind, Verdict, WhoCan},
    refused::{Step, shown},
    report::{Difference, Outcome, Report},
    words::ObjectRef,
};
use charter_events::{Pattern, PermissionKey, Reach, Scope, UserId};
use charter_policy::{self as policy, Decision, EffectiveState, Page};
use std::{collections::BTreeSet, fmt::Display};

/// Builds a scenario, asks its questions and compares.
pub fn run(scenario: &Scenario) -> Report {
    let (asked, outcome) = match scenario.build() {
        Ok(built) => {
            let (asked, differences) = Asking { built: &built, scenario }.all();
            (asked, if differences.is_empty() { Outcome::Held } else { Outcome::Differs(differences) })
        }
        Err(refused) => (0, Outcome::Refused(refused)),
    };
    Report { scenario: scenario.name().to_owned(), file: scenario.file().to_owned(), asked, outcome }
}

/// A question with what was expected and what came.
struct Answered {
    question: String,
    expected: String,
    got: String,
    explanation: Vec<String>,
}

struct Asking<'a> {
    built: &'a Built,
    scenario: &'a Scenario,
}

impl Asking<'_> {
    fn all(&self) -> (usize, Vec<Difference>) {
        let s = self.scenario;
        let mut asked = 0;
        let mut differences = Vec::new();
        let mut note = |list: &str, answers: Vec<Option<Answered>>| {
            asked += answers.len();
            let wrong = answers.into_iter().enumerate().filter_map(|(index, answer)| Some((index, answer?)));
            differences.extend(wrong.map(|(index, answer)| self.difference(list, index, answer)));
        };
        note("checks", s.checks.iter().map(|question| self.check(question)).collect());
        note("who_can", s.who_can.iter().map(|question| self.who_can(question)).collect());
        note(
            "allowed_objects",
            s.allowed_objects.iter().map(|question| self.allowed_objects(question)).collect(),
        );
        note("effective", s.effective.iter().map(|question| self.effective(question)).collect());
        note("holds", s.holds.iter().map(|question| self.holds(question)).collect());
        (asked, differences)
    }

    fn difference(&self, list: &str, index: usize, answered: Answered) -> Difference {
        let place = [Step::Member(list.to_owned()), Step::Item(index)];
        let Answered { question, expected, got, explanation } = answered;
        Difference {
            line: self.scenario.origin.line(&place),
            place: shown(&place),
            question,
            expected,
            got,
            explanation,
        }
    }

    /// Every name was checked when the scenario was built.
    fn user(&self, name: &str) -> UserId {
        self.built.names.user(name).unwrap_or(UserId::from_u128(0))
    }

    fn scope(&self, on: Option<&ObjectRef>) -> Scope {
        self.built.names.scope(on).unwrap_or(Scope::Global)
    }

    fn check(&self, q: &Check) -> Option<Answered> {
        let decision = self.built.policy.check(
            self.user(q.user.as_str()),
            &q.permission,
            self.scope(q.on.as_ref()),
            self.built.at,
        );
        let (expected, got) = self.compared(q, &decision);
        (expected != got).then(|| Answered {
            question: format!("may {} do {} {}?", q.user, q.permission, place(q.on.as_ref())),
            expected: expected.join(", "),
            got: got.join(", "),
            explanation: vec![self.explained(&decision)],
        })
    }

    /// The members that are compared, side by side.
    fn compared(&self, q: &Check, decision: &Decision) -> (Vec<String>, Vec<String>) {
        let (mut expected, mut got) = (Vec::new(), Vec::new());
        if let Some(verdict) = q.expect.verdict {
            expected.push(if verdict == Verdict::Allow { "allow" } else { "deny" }.to_owned());
            got.push(self.verdict(decision).to_owned());
        }
        if let Some(because) = q.expect.because {
            expected.push(format!("because {}", because_word(because)));
            got.push(format!("because {}", decision.because.as_str()));
        }
        if let Some(scope) = &q.expect.scope {
            expected.push(format!("at {scope}"));
            got.push(
                decision
                    .scope
                    .map_or("at no scope".to_owned(), |scope| format!("at {}", self.scope_name(scope))),
            );
        }
        if let Some(subject) = q.expect.subject {
            expected.push(format!("as {}", if subject == SubjectKind::User { "user" } else { "group" }));
            got.push(format!("as {}", subject_word(decision.subject)));
        }
        if let Some(grants) = &q.expect.grants {
            let names: BTreeSet<&str> = grants.iter().map(|name| name.as_str()).collect();
            expected.push(format!("by [{}]", joined(names)));
            got.push(format!("by [{}]", joined(self.grant_names(decision))));
        }
        (expected, got)
    }

    fn who_can(&self, q: &WhoCan) -> Option<Answered> {
        let answer =
            self.built.policy.who_can(&q.permission, self.scope(q.on.as_ref()), self.built.at, Page::ALL);
        let names = &self.built.names;
        let got: BTreeSet<&str> =
            answer.users.iter().map(|holder| names.shown(holder.user.as_uuid())).collect();
        let expected: BTreeSet<&str> = q.expect.iter().map(|user| user.as_str()).collect();
        let explanation = || {
            let surplus =
                answer.users.iter().filter(|holder| !expected.contains(names.shown(holder.user.as_uuid())));
            surplus
                .map(|holder| {
                    format!("{}: {}", names.shown(holder.user.as_uuid()), self.explained(&holder.how))
                })
                .chain(
                    expected.difference(&got).map(|user| self.asked_anew(user, &q.permission, q.on.as_ref())),
                )
                .collect()
        };
        (expected != got).then(|| Answered {
            question: format!("who may do {} {}?", q.permission, place(q.on.as_ref())),
            expected: joined(&expected),
            got: joined(&got),
            explanation: explanation(),
        })
    }

    fn allowed_objects(&self, q: &AllowedObjects) -> Option<Answered> {
        let user = self.user(q.user.as_str());
        let object_type = q.object_type.as_str();
        let answer =
            self.built.policy.allowed_objects(user, &q.permission, object_type, self.built.at, Page::ALL);
        let names = &self.built.names;
        let name = |shown: &str| shown.split_once(':').map_or(shown.to_owned(), |(_, name)| name.to_owned());
        let got: BTreeSet<String> =
            answer.objects.iter().map(|object| name(names.shown(object.as_uuid()))).collect();
        let expected: BTreeSet<String> = q.expect.iter().map(ToString::to_string).collect();
        let explained = |object: &String| {
            let on = ObjectRef { object_type: q.object_type.clone(), name: object.parse().ok()? };
            Some(format!("{on}: {}", self.asked_anew(q.user.as_str(), &q.permission, Some(&on))))
        };
        (expected != got).then(|| Answered {
            question: format!(
                "on which objects of type {} may {} do {}?",
                q.object_type, q.user, q.permission
            ),
            expected: joined(&expected),
            got: joined(&got),
            explanation: expected.symmetric_difference(&got).filter_map(explained).collect(),
        })
    }

    fn effective(&self, q: &Effective) -> Option<Answered> {
        let entries =
            self.built.policy.effective(self.user(q.user.as_str()), self.scope(q.on.as_ref()), self.built.at);
        let (mut expected, mut got, mut wrong) = (Vec::new(), Vec::new(), BTreeSet::new());
        for (word, state, keys) in [
            ("allowed", EffectiveState::Allowed, &q.expect.allowed),
            ("denied", EffectiveState::Denied, &q.expect.denied),
            ("not set", EffectiveState::NotSet, &q.expect.not_set),
        ] {
            let Some(keys) = keys else { continue };
            let wanted: BTreeSet<&PermissionKey> = keys.iter().collect();
            let found: BTreeSet<&PermissionKey> =
                entries.iter().filter(|entry| entry.state == state).map(|entry| &entry.key).collect();
            wrong.extend(wanted.symmetric_difference(&found).copied());
            expected.push(format!("{word} [{}]", joined(wanted)));
            got.push(format!("{word} [{}]", joined(found)));
        }
        let explained = entries
            .iter()
            .filter(|entry| wrong.contains(&entry.key))
            .map(|entry| format!("{}: {}", entry.key, self.explained(&entry.decision)));
        (expected != got).then(|| Answered {
            question: format!("what may {} do {}?", q.user, place(q.on.as_ref())),
            expected: expected.join(", "),
            got: got.join(", "),
            explanation: explained.collect(),
        })
    }

    fn holds(&self, q: &Holds) -> Option<Answered> {
        let reach = Reach { affects: q.affects, child_types: q.child_types };
        let (user, scope) = (self.user(q.user.as_str()), self.scope(q.on.as_ref()));
        let missing = self.built.policy.missing(user, &q.content, scope, reach, self.built.at);
        let got: BTreeSet<&Pattern> = missing.iter().collect();
        let expected: BTreeSet<&Pattern> = q.expect.missing.iter().collect();
        (expected != got).then(|| Answered {
            question: format!(
                "what of [{}] does {} lack {}, affects {:?}, child types {:?}?",
                joined(&*q.content),
                q.user,
                place(q.on.as_ref()),
                q.affects,
                q.child_types
            ),
            expected: format!("[{}]", joined(expected)),
            got: format!("[{}]", joined(got)),
            explanation: Vec::new(),
        })
    }

    fn asked_anew(&self, user: &str, key: &PermissionKey, on: Option<&ObjectRef>) -> String {
        let decision = self.built.policy.check(self.user(user), key, self.scope(on), self.built.at);
        format!("{user}: {}", self.explained(&decision))
    }

    fn verdict(&self, decision: &Decision) -> &'static str {
        if decision.allowed() { "allow" } else { "deny" }
    }

    fn explained(&self, decision: &Decision) -> String {
        let mut text = format!("{} because {}", self.verdict(decision), decision.because.as_str());
        if let Some(scope) = decision.scope {
            text.push_str(&format!(", at {}", self.scope_name(scope)));
        }
        if decision.subject.is_some() {
            text.push_str(&format!(", as {}", subject_word(decision.subject)));
        }
        if !decision.grants.is_empty() {
            text.push_str(&format!(", by [{}]", joined(self.grant_names(decision))));
        }
        text
    }

    fn grant_names(&self, decision: &Decision) -> BTreeSet<&str> {
        decision.grants.iter().map(|grant| self.built.names.shown(grant.as_uuid())).collect()
    }

    fn scope_name(&self, scope: Scope) -> &str {
        match scope {
            Scope::Global => "global",
            Scope::Object(object) => self.built.names.shown(object.as_uuid()),
        }
    }
}

const fn subject_word(subject: Option<policy::SubjectKind>) -> &'static str {
    match subject {
        Some(policy::SubjectKind::User) => "user",
        Some(policy::SubjectKind::Group) => "group",
        None => "nobody in particular",
    }
}

const fn because_word(because: Because) -> &'static str {
    match because {
        Because::Administrator => policy::Because::Administrator.as_str(),
        Because::Grant => policy::Because::Grant.as_str(),
        Because::NotSet => policy::Because::NotSet.as_str(),
        Because::InactiveSubject => policy::Because::InactiveSubject.as_str(),
        Because::UnknownPermission => policy::Because::UnknownPermission.as_str(),
    }
}

fn place(on: Option<&ObjectRef>) -> String {
    on.map_or("globally".to_owned(), |object| format!("on {object}"))
}

fn joined<T: Display>(items: impl IntoIterator<Item = T>) -> String {
    items.into_iter().map(|item| item.to_string()).collect::<Vec<_>>().join(", ")
}
