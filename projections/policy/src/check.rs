//! Questions about one user: one decision, many, everything at a scope, anything anywhere.

use crate::{
    Because, Decision, EffectiveEntry, Policy,
    entries::Given,
    ix::{GrantIx, ObjectIx, SubjectIx},
    sorted::Sorted,
    walk::{Asker, Place, Walk, subjects},
};
use charter_events::{PermissionKey, Scope, Timestamp, UserId};

impl Policy {
    /// Whether a user may do something somewhere, and why. An object that is not there: deny, not set.
    pub fn check(&self, user: UserId, key: &PermissionKey, scope: Scope, now: Timestamp) -> Decision {
        self.check_counted(user, key, scope, now).0
    }

    /// [`Policy::check`], and how many entries it looked at: at most chain × (1 + groups) + entries on the chain.
    pub fn check_counted(
        &self,
        user: UserId,
        key: &PermissionKey,
        scope: Scope,
        now: Timestamp,
    ) -> (Decision, u64) {
        let mut walk = Walk::new(self, now);
        let decision = match self.asker(user) {
            Some(asker) => self.check_as(&mut walk, asker, key, self.place(scope)),
            None => self.plain(Because::InactiveSubject, now),
        };
        (decision, walk.visited)
    }

    /// Many decisions for one user, all at this version.
    pub fn check_batch(
        &self,
        user: UserId,
        questions: &[(PermissionKey, Scope)],
        now: Timestamp,
    ) -> Vec<Decision> {
        let Some(asker) = self.asker(user) else {
            return questions.iter().map(|_| self.plain(Because::InactiveSubject, now)).collect();
        };
        let mut walk = Walk::new(self, now);
        questions
            .iter()
            .map(|(key, scope)| self.check_as(&mut walk, asker, key, self.place(*scope)))
            .collect()
    }

    #[inline]
    fn check_as<'p>(
        &'p self,
        walk: &mut Walk<'p>,
        asker: Asker<'p>,
        key: &PermissionKey,
        place: Option<Place>,
    ) -> Decision {
        let Some(asked) = self.asked(key) else { return self.plain(Because::UnknownPermission, walk.now) };
        let Some(place) = place else { return self.plain(Because::NotSet, walk.now) };
        let outcome = walk.decide(asker, asked, place);
        self.explain(&outcome, walk.now)
    }

    /// Each key of the catalog as it stands for a user at a scope, in byte order of the key.
    pub fn effective(&self, user: UserId, scope: Scope, now: Timestamp) -> Vec<EffectiveEntry> {
        let Some(asker) = self.asker(user) else {
            return self.effective_as(now, || self.plain(Because::InactiveSubject, now));
        };
        let place = self.place(scope);
        let mut walk = Walk::new(self, now);
        let keys = self.catalog.registered.keys();
        keys.map(|key| EffectiveEntry::of(key.clone(), self.check_as(&mut walk, asker, key, place))).collect()
    }

    /// Every key with the same decision.
    pub(crate) fn effective_as(&self, _: Timestamp, decision: impl Fn() -> Decision) -> Vec<EffectiveEntry> {
        self.catalog.registered.keys().map(|key| EffectiveEntry::of(key.clone(), decision())).collect()
    }

    /// A coarse gate: whether any live allow grant at any scope, his own or a group's, gives an active user the key.
    /// `false` means that no check can allow it anywhere.
    pub fn allows_anywhere(&self, user: UserId, key: &PermissionKey, now: Timestamp) -> bool {
        let (Some(asker), Some(asked)) = (self.asker(user), self.asked(key)) else { return false };
        let walk = Walk::new(self, now);
        self.given_to(asker).any(|(subject, given)| walk.might_allow(given.entry(subject), asked))
    }

    /// The next moment after `now` at which a grant of the user's own or his groups' begins or ends: until then his
    /// answers change only with a new version.
    pub fn valid_until(&self, user: UserId, now: Timestamp) -> Option<Timestamp> {
        self.changes_after(self.asker_or_not(user)?, now, |_| true).into_iter().next()
    }

    /// The moments after `now` at which grants of the user's own or his groups' at scopes that count begin or end, in
    /// order, each once.
    pub(crate) fn changes_after(
        &self,
        asker: Asker<'_>,
        now: Timestamp,
        counts: impl Fn(ObjectIx) -> bool,
    ) -> Vec<Timestamp> {
        let mut moments = Vec::new();
        for subject in subjects(asker) {
            let timed = self.grants.timed.from(&(subject, GrantIx(0)));
            for (_, ix) in timed.take_while(|(addressed, _)| *addressed == subject) {
                let Some(grant) = self.grants.get(ix).filter(|grant| counts(grant.scope)) else { continue };
                let ends = [Some(grant.not_before), grant.expires_at.moment()];
                moments.extend(ends.into_iter().flatten().filter(|moment| *moment > now));
            }
        }
        moments.sort_unstable();
        moments.dedup();
        moments
    }

    /// A known user with his groups, active or not.
    pub(crate) fn asker_or_not(&self, user: UserId) -> Option<Asker<'_>> {
        let user = self.user_ix(user)?;
        Some(Asker { user, groups: &self.users.node(user)?.groups })
    }

    /// What is given to a user and his groups, each beside its subject.
    pub(crate) fn given_to<'p>(&'p self, asker: Asker<'p>) -> impl Iterator<Item = (SubjectIx, Given)> {
        subjects(asker).flat_map(|subject| {
            let given = self.grant_list_of(subject).into_iter().flat_map(Sorted::iter);
            given.map(move |given| (subject, given))
        })
    }
}
