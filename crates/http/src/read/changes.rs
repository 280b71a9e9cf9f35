//! Answers that changed, as the API shows them: the decisions of both sides, and only what the caller may read.

use super::{Names, decision, object_ref};
use crate::{ask::Ask, dto};
use charter_events::Scope;
use charter_policy::{DiffChange, DiffPlace, DiffRow, ObjectView};

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

    /// Whether the caller could ask for both of a row's decisions: about others on each side that has the place, since
    /// a place that was moved inherits from where he may not look; about himself on one of them, so that he is told
    /// what he loses.
    pub(crate) fn may_read(&self, row: &DiffRow) -> bool {
        let scope = match row.place {
            DiffPlace::Everywhere => Scope::Global,
            DiffPlace::At(scope) => scope,
        };
        let sides = [&self.before, &self.after];
        let himself = row.user == self.before.user;
        let may_ask = |side: &Ask| side.may_core("core.decision.read", scope);
        match scope {
            Scope::Global => himself || sides.into_iter().all(may_ask),
            Scope::Object(id) => {
                let there: Vec<_> =
                    sides.into_iter().filter_map(|side| Some((side, side.policy.object(id)?))).collect();
                let knows = |(side, view): &(&Ask, ObjectView<'_>)| side.knows(view);
                match himself {
                    true => there.iter().any(knows),
                    false => !there.is_empty() && there.iter().all(|one| knows(one) && may_ask(one.0)),
                }
            }
        }
    }
}
