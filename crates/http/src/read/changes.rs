//! Answers that changed, as the API shows them: the decisions of both sides, and only what the caller may read.

use super::{Names, decision, object_ref};
use crate::{ask::Ask, dto};
use charter_events::Scope;
use charter_policy::{DiffChange, DiffPlace, DiffRow};

/// One request on both sides of a change.
pub(crate) struct BothSides {
    pub(crate) before: Ask,
    pub(crate) after: Ask,
}

impl BothSides {
    /// A row as it is shown; none of a place that is on neither side.
    pub(crate) fn row(&self, row: &DiffRow, names: &Names) -> Option<dto::AccessChange> {
        let place = match row.place {
            DiffPlace::Everywhere => dto::ChangePlace::Everywhere,
            DiffPlace::At(Scope::Global) => dto::ChangePlace::Global,
            DiffPlace::At(Scope::Object(id)) => {
                let view = self.before.policy.object(id).or_else(|| self.after.policy.object(id))?;
                dto::ChangePlace::Object { object: object_ref(&view) }
            }
        };
        Some(dto::AccessChange {
            user: names.user(row.user),
            permission: row.key.clone(),
            place,
            change: match row.change {
                DiffChange::Gained => dto::Change::Gained,
                DiffChange::Lost => dto::Change::Lost,
            },
            before: decision(&self.before, &row.before),
            after: decision(&self.after, &row.after),
        })
    }

    /// Whether the caller could ask for both of a row's decisions: he asks about himself where he may know the place,
    /// or may ask about others there. A place that is yet to come is judged by what the change leads to.
    pub(crate) fn may_read(&self, row: &DiffRow) -> bool {
        let scope = match row.place {
            DiffPlace::Everywhere => Scope::Global,
            DiffPlace::At(scope) => scope,
        };
        let (side, knows) = match scope {
            Scope::Global => (&self.before, true),
            Scope::Object(id) => {
                let is_there = self.before.policy.object(id).is_some();
                let side = if is_there { &self.before } else { &self.after };
                (side, side.policy.object(id).is_some_and(|view| side.knows(&view)))
            }
        };
        let himself = row.user == self.before.user;
        knows && (himself || side.may_core("core.decision.read", scope))
    }
}
