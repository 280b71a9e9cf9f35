//! Every question, asked of both.

use crate::sides::Effort;
use charter_events::{PermissionKey, Reach, Scope, Subject, UserId};
use charter_policy::{
    AllowedObjects, Because, Caller, Decision, EffectiveState, Lacking, Page, Policy, Span, SubjectKind,
    WhoCan,
};
use charter_testkit::{
    model::{self, Answer, Lack, State, World},
    random::{Held, History, Question},
};
use std::collections::BTreeSet;

/// Both sides of one world.
pub(crate) struct Sides<'a> {
    pub(crate) policy: &'a Policy,
    pub(crate) world: &'a World,
    pub(crate) history: &'a History,
}

impl Sides<'_> {
    pub(crate) fn difference(&self, effort: Effort) -> Option<String> {
        let questions = self.history.questions(self.world, effort.checks);
        let few = || questions.iter().take(effort.lists);
        questions
            .iter()
            .find_map(|q| self.check(q))
            .or_else(|| self.batch(&questions))
            .or_else(|| few().find_map(|q| self.effective(q.user, q.scope)))
            .or_else(|| few().find_map(|q| self.who_can(&q.key, q.scope)))
            .or_else(|| few().find_map(|q| self.allowed_objects(q)))
            .or_else(|| few().find_map(|q| self.allows_anywhere(q)))
            .or_else(|| self.history.held(self.world, effort.held).iter().find_map(|held| self.held(held)))
    }

    fn check(&self, q: &Question) -> Option<String> {
        let now = self.history.now;
        let (decision, expected) =
            (self.policy.check(q.user, &q.key, q.scope, now), self.world.check(q.user, &q.key, q.scope, now));
        let same =
            same(&decision, &expected) && decision.version == self.policy.version() && decision.at == now;
        (!same).then(|| format!("check {q:?}\n  model  {expected:?}\n  policy {decision:?}"))
    }

    /// A batch is the same answers.
    fn batch(&self, questions: &[Question]) -> Option<String> {
        let user = questions.first()?.user;
        let asked: Vec<_> = questions.iter().map(|q| (q.key.clone(), q.scope)).collect();
        let answers = self.policy.check_batch(user, &asked, self.history.now);
        let each: Vec<Decision> =
            asked.iter().map(|(key, scope)| self.policy.check(user, key, *scope, self.history.now)).collect();
        (answers != each).then(|| format!("a batch of {user} differs from single checks"))
    }

    fn effective(&self, user: UserId, scope: Scope) -> Option<String> {
        let got = self.policy.effective(user, scope, self.history.now);
        let expected = self.world.effective(user, scope, self.history.now);
        let same = got.len() == expected.len()
            && got.iter().zip(&expected).all(|(got, (key, state, answer))| {
                got.key == *key && same_state(got.state, *state) && same(&got.decision, answer)
            });
        (!same).then(|| format!("effective {user} {scope:?}\n  model  {expected:?}\n  policy {got:?}"))
    }

    fn who_can(&self, key: &PermissionKey, scope: Scope) -> Option<String> {
        let now = self.history.now;
        let expected = self.world.who_can(key, scope, now);
        let got = self.policy.who_can(key, scope, now, Page::ALL);
        let found: BTreeSet<UserId> = got.users.iter().map(|holder| holder.user).collect();
        let right = got.users.len() == expected.len()
            && got.next.is_none()
            && found.len() == expected.len()
            && got.users.iter().all(|holder| {
                expected.iter().any(|(user, answer)| {
                    *user == holder.user && same(&holder.how, answer) && {
                        let through: BTreeSet<_> = holder.through.iter().copied().collect();
                        through == self.groups_behind(answer) && through.len() == holder.through.len()
                    }
                })
            });
        if !right {
            return Some(format!("who_can {key} {scope:?}\n  model  {expected:?}\n  policy {got:?}"));
        }
        self.who_can_by_pages(key, scope, &got)
    }

    fn who_can_by_pages(&self, key: &PermissionKey, scope: Scope, whole: &WhoCan) -> Option<String> {
        let mut page = Page::first(1);
        let mut paged = Vec::new();
        for _ in 0..whole.users.len() + 2 {
            let part = self.policy.who_can(key, scope, self.history.now, page);
            let full = part.users.len() <= 1;
            paged.extend(part.users);
            match part.next {
                Some(next) if full => page.after = Some(next),
                _ => break,
            }
        }
        (paged != whole.users).then(|| format!("who_can {key} {scope:?}: pages {paged:?}, whole {whole:?}"))
    }

    /// The groups the deciding grants are given to.
    fn groups_behind(&self, answer: &Answer) -> BTreeSet<charter_events::GroupId> {
        let grants = self.world.grants.iter().filter(|grant| answer.grants.contains(&grant.id));
        grants
            .filter_map(|grant| match grant.subject {
                Subject::Group(group) => Some(group),
                Subject::User(_) => None,
            })
            .collect()
    }

    fn allowed_objects(&self, q: &Question) -> Option<String> {
        let now = self.history.now;
        ["folder", "server", "world"].into_iter().find_map(|object_type| {
            let expected = self.world.allowed_objects(q.user, &q.key, object_type, now);
            let whole = self.policy.allowed_objects(q.user, &q.key, object_type, now, Page::ALL);
            let found: BTreeSet<_> = whole.objects.iter().copied().collect();
            let everywhere =
                self.world.check(q.user, &q.key, Scope::Global, now).because == model::Because::Administrator;
            let right = found == expected
                && found.len() == whole.objects.len()
                && whole.next.is_none()
                && whole.all == everywhere;
            if !right {
                return Some(format!(
                    "allowed_objects {q:?} {object_type}\n  model  {expected:?}\n  policy {whole:?}"
                ));
            }
            self.allowed_objects_by_pages(q, object_type, &whole)
        })
    }

    fn allowed_objects_by_pages(
        &self,
        q: &Question,
        object_type: &str,
        whole: &AllowedObjects,
    ) -> Option<String> {
        let mut page = Page::first(1);
        let mut paged = Vec::new();
        for _ in 0..whole.objects.len() + 2 {
            let part = self.policy.allowed_objects(q.user, &q.key, object_type, self.history.now, page);
            let full = part.objects.len() <= 1;
            paged.extend(part.objects);
            match part.next {
                Some(next) if full => page.after = Some(next),
                _ => break,
            }
        }
        (paged != whole.objects)
            .then(|| format!("allowed_objects {q:?} {object_type}: pages {paged:?}, whole {whole:?}"))
    }

    fn allows_anywhere(&self, q: &Question) -> Option<String> {
        let now = self.history.now;
        let got = self.policy.allows_anywhere(q.user, &q.key, now);
        let expected = self.world.allows_anywhere(q.user, &q.key, now);
        (got != expected).then(|| format!("allows_anywhere {q:?}: model {expected}, policy {got}"))
    }

    fn held(&self, held: &Held) -> Option<String> {
        let now = self.history.now;
        let (scope, affects, child_types) = held.reach;
        let span = held.until.map_or(Span::Now, Span::Until);
        let caller = Caller::User { id: held.user, ceiling: None };
        let got = self.policy.require_held(
            &caller,
            &held.content,
            scope,
            Reach { affects, child_types },
            span,
            now,
        );
        let expected = match held.until {
            None => match self.world.missing(held.user, &held.content, held.reach, now) {
                missing if missing.is_empty() => Lack::Nothing,
                missing => Lack::Now(missing),
            },
            Some(end) => self.world.lacking(held.user, &held.content, held.reach, end, now),
        };
        (!same_lack(&got, &expected))
            .then(|| format!("held {held:?}\n  model  {expected:?}\n  policy {got:?}"))
    }
}

fn same_lack(got: &Result<(), Lacking>, expected: &Lack) -> bool {
    match (got, expected) {
        (Ok(()), Lack::Nothing) => true,
        (Err(lacking), Lack::Now(missing)) => {
            !lacking.outlives && !lacking.more && lacking.items.iter().eq(missing.iter())
        }
        // Which of the later moments is named is the evaluator's choice.
        (Err(lacking), Lack::Later(missing)) => {
            lacking.outlives
                && !lacking.items.is_empty()
                && lacking.items.iter().all(|item| missing.contains(item))
        }
        _ => false,
    }
}

/// Whether a decision and its explanation are the model's.
pub(crate) fn same(got: &Decision, expected: &Answer) -> bool {
    let because = match expected.because {
        model::Because::Administrator => Because::Administrator,
        model::Because::Grant => Because::Grant,
        model::Because::NotSet => Because::NotSet,
        model::Because::InactiveSubject => Because::InactiveSubject,
        model::Because::UnknownPermission => Because::UnknownPermission,
    };
    let subject = |own: bool| if own { SubjectKind::User } else { SubjectKind::Group };
    let winner = expected.because == model::Because::Grant;
    got.allowed() == expected.allowed
        && got.because == because
        && got.grants.len() == expected.grants.len()
        && got.grants.iter().all(|grant| expected.grants.contains(grant))
        && (!winner
            || got.scope.zip(got.subject) == expected.winner.map(|(scope, own)| (scope, subject(own))))
}

const fn same_state(got: EffectiveState, expected: State) -> bool {
    matches!(
        (got, expected),
        (EffectiveState::Allowed, State::Allowed)
            | (EffectiveState::Denied, State::Denied)
            | (EffectiveState::NotSet, State::NotSet)
    )
}
