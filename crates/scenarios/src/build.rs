//! A scenario's facts as state: names for ids, ids for names, and the fold.

use crate::{
    facts,
    file::Scenario,
    questions,
    refused::{Problem, Refused},
    words::{GrantName, ObjectRef},
};
use charter_events::{
    Actor, Event, EventMeta, GrantId, GroupId, ObjectId, Offset, RoleId, Scope, Slug, Timestamp, UserId,
};
use charter_policy::Policy;
use std::collections::BTreeMap;
use uuid::Uuid;

/// The moment questions are asked at when a scenario names none: 2026-01-01T00:00:00Z.
const DEFAULT_AT_MICROS: i64 = 1_767_225_600_000_000;

/// Which name stands for which id.
#[derive(Debug, Clone, Default)]
pub struct Names {
    pub(crate) users: BTreeMap<Slug, UserId>,
    pub(crate) groups: BTreeMap<Slug, GroupId>,
    pub(crate) roles: BTreeMap<Slug, RoleId>,
    pub(crate) objects: BTreeMap<ObjectRef, ObjectId>,
    pub(crate) grants: BTreeMap<GrantName, GrantId>,
    shown: BTreeMap<Uuid, String>,
}

impl Names {
    /// The user of this name.
    pub fn user(&self, name: &str) -> Option<UserId> {
        self.users.get(name).copied()
    }

    /// The object of this type and name.
    pub fn object(&self, object: &ObjectRef) -> Option<ObjectId> {
        self.objects.get(object).copied()
    }

    /// The grant of this name.
    pub fn grant(&self, name: &GrantName) -> Option<GrantId> {
        self.grants.get(name).copied()
    }

    /// The name behind an id: of an object `<type>:<name>`.
    pub fn shown(&self, id: Uuid) -> &str {
        self.shown.get(&id).map_or("(unnamed)", String::as_str)
    }

    /// A scope by name.
    pub(crate) fn scope(&self, on: Option<&ObjectRef>) -> Option<Scope> {
        match on {
            None => Some(Scope::Global),
            Some(object) => self.object(object).map(Scope::Object),
        }
    }

    /// Notes the name shown for an id.
    pub(crate) fn note(&mut self, id: Uuid, name: String) {
        self.shown.insert(id, name);
    }
}

/// A scenario's state, ready to be asked.
#[derive(Debug, Clone)]
pub struct Built {
    /// The state.
    pub policy: Policy,
    /// The names in it.
    pub names: Names,
    /// When questions are asked.
    pub at: Timestamp,
    /// The events the state was folded from.
    pub events: Vec<(EventMeta, Event)>,
}

impl Scenario {
    /// The scenario's name.
    pub fn name(&self) -> &str {
        self.name.as_str()
    }

    /// The file it stands in, as the caller named it.
    pub fn file(&self) -> &str {
        &self.origin.file
    }

    /// When its questions are asked.
    pub fn at(&self) -> Timestamp {
        self.at.or_else(|| Timestamp::from_micros(DEFAULT_AT_MICROS)).unwrap_or_default()
    }

    /// The events its facts are, and the names in them, in a form any fold can take.
    ///
    /// # Errors
    /// [`Refused`] when the facts or the questions state what the model refuses.
    pub fn facts(&self) -> Result<(Vec<(EventMeta, Event)>, Names), Refused> {
        self.facts_or_problem().map_err(|problem| self.origin.refused(self.name(), problem))
    }

    fn facts_or_problem(&self) -> Result<(Vec<(EventMeta, Event)>, Names), Problem> {
        let (events, names) = facts::write(self)?;
        questions::check(self, &names)?;
        let events = (1..)
            .zip(events)
            .filter_map(|(number, event)| {
                let offset = Offset::new(number)?;
                Some((EventMeta { offset, recorded_at: self.at(), actor: Actor::System }, event))
            })
            .collect();
        Ok((events, names))
    }

    /// Checks the scenario and folds its facts.
    ///
    /// # Errors
    /// [`Refused`] when the facts or the questions state what the model refuses.
    pub fn build(&self) -> Result<Built, Refused> {
        let (events, names) = self.facts()?;
        let mut policy = Policy::new();
        for (meta, event) in &events {
            policy.apply(meta, event).map_err(|error| Refused {
                file: self.origin.file.clone(),
                line: self.origin.line(&[]),
                scenario: Some((self.origin.number, self.name().to_owned())),
                place: None,
                reason: error.to_string(),
            })?;
        }
        Ok(Built { policy, names, at: self.at(), events })
    }
}
