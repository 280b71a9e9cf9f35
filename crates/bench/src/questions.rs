//! The workloads as the benchmark sees them, and the questions asked of each.

use crate::{facts::Facts, floor};
use charter_events::{Event, EventMeta, PermissionKey, Scope, Timestamp, UserId};
use charter_testkit::{
    at,
    workload::{Conflict, RbacW, Size},
};

/// A log and its questions.
pub(crate) enum Workload {
    /// RBAC-W of a size.
    Rbac(RbacW),
    /// X.
    Conflict(Conflict),
}

/// One question, by number and as a caller asks it.
#[derive(Debug, Clone)]
pub(crate) struct Question {
    pub(crate) user: u32,
    pub(crate) key: u32,
    /// None: the global scope.
    pub(crate) object: Option<u32>,
    pub(crate) asked: Asked,
}

/// A question as a caller asks it.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) user: UserId,
    pub(crate) key: PermissionKey,
    pub(crate) scope: Scope,
}

impl Question {
    /// The object for the floor.
    pub(crate) fn place(&self) -> u32 {
        self.object.unwrap_or(floor::GLOBAL)
    }
}

impl Workload {
    /// RBAC-W of a size.
    pub(crate) fn rbac(size: Size, seed: u64) -> Self {
        Self::Rbac(RbacW::new(size, seed))
    }

    /// The world full of conflict.
    pub(crate) fn conflict(seed: u64) -> Self {
        Self::Conflict(Conflict::new(seed))
    }

    /// The log, made while it is read.
    pub(crate) fn events(&self) -> Box<dyn Iterator<Item = (EventMeta, Event)> + '_> {
        match self {
            Self::Rbac(rbac) => Box::new(rbac.events()),
            Self::Conflict(conflict) => Box::new(conflict.events()),
        }
    }

    /// The moment to ask at.
    pub(crate) fn now(&self) -> Timestamp {
        match self {
            Self::Rbac(_) => at("2030-01-01T00:00:00Z"),
            Self::Conflict(conflict) => conflict.now(),
        }
    }

    /// Questions; of RBAC-W about half are allowed.
    pub(crate) fn questions(&self, facts: &Facts, seed: u64, count: usize) -> anyhow::Result<Vec<Question>> {
        let asked: Vec<Asked> = match self {
            Self::Rbac(rbac) => {
                let questions = rbac.questions(seed).take(count);
                questions.map(|q| Asked { user: q.user, key: q.key, scope: q.scope }).collect()
            }
            Self::Conflict(conflict) => {
                let questions = conflict.questions(seed).take(count);
                questions.map(|(user, key, scope)| Asked { user, key, scope }).collect()
            }
        };
        asked.into_iter().map(|asked| numbered(facts, asked)).collect()
    }
}

fn numbered(facts: &Facts, asked: Asked) -> anyhow::Result<Question> {
    Ok(Question {
        user: facts.user_number(asked.user.as_uuid())?,
        key: facts.key_number(&asked.key)?,
        object: match asked.scope {
            Scope::Global => None,
            Scope::Object(id) => Some(facts.object_number(id.as_uuid())?),
        },
        asked,
    })
}
