//! Who may do something somewhere: candidates from the reverse index, then the same walk for each.
//!
//! Whoever the walk allows is addressed by an allow entry on the chain, himself or through a group, or is an
//! administrator. Both kinds of list are in order of users, so a page is merged from them and costs what it shows.

use crate::{
    Holder, Page, Policy, Position, WhoCan,
    entries::{Entries, Entry},
    ix::{GroupIx, ObjectIx, SubjectIx, UserIx, What, Who},
    sorted::{Sorted, Values},
    walk::{Asked, Outcome, Place, Walk, is_live},
};
use charter_events::{GroupId, PermissionKey, Scope, Timestamp};
use std::{cmp::Reverse, collections::BinaryHeap};

/// Streams of users in ascending order, merged, each user once.
struct Candidates<'p> {
    heads: BinaryHeap<Reverse<(UserIx, usize)>>,
    streams: Vec<Stream<'p>>,
}

enum Stream<'p> {
    Own(std::vec::IntoIter<UserIx>),
    Members(Values<'p, UserIx>),
}

impl Iterator for Stream<'_> {
    type Item = UserIx;

    fn next(&mut self) -> Option<UserIx> {
        match self {
            Self::Own(users) => users.next(),
            Self::Members(users) => users.next(),
        }
    }
}

impl<'p> Candidates<'p> {
    fn new(streams: Vec<Stream<'p>>) -> Self {
        let mut candidates = Self { heads: BinaryHeap::new(), streams };
        for stream in 0..candidates.streams.len() {
            candidates.advance(stream);
        }
        candidates
    }

    fn advance(&mut self, stream: usize) {
        if let Some(user) = self.streams.get_mut(stream).and_then(Iterator::next) {
            self.heads.push(Reverse((user, stream)));
        }
    }
}

impl Iterator for Candidates<'_> {
    type Item = UserIx;

    fn next(&mut self) -> Option<UserIx> {
        let Reverse((user, stream)) = self.heads.pop()?;
        self.advance(stream);
        while let Some(Reverse((same, stream))) = self.heads.peek().copied()
            && same == user
        {
            self.heads.pop();
            self.advance(stream);
        }
        Some(user)
    }
}

impl Policy {
    /// Every active user whose walk allows, and how. Costs what the entries on the chain, the members of the groups
    /// they name and the page amount to, however many users there are.
    pub fn who_can(&self, key: &PermissionKey, scope: Scope, now: Timestamp, page: Page) -> WhoCan {
        self.who_can_counted(key, scope, now, page).0
    }

    /// [`Policy::who_can`], and how many entries and candidates it looked at.
    pub fn who_can_counted(
        &self,
        key: &PermissionKey,
        scope: Scope,
        now: Timestamp,
        page: Page,
    ) -> (WhoCan, u64) {
        let mut walk = Walk::new(self, now);
        let mut answer = WhoCan::default();
        let (Some(asked), Some(place)) = (self.asked(key), self.place(scope)) else {
            return (answer, walk.visited);
        };
        let from = UserIx(first_after(page.after));
        let streams = self.candidate_users(&mut walk, asked, place, from);
        for user in Candidates::new(streams) {
            walk.visited += 1;
            let Some(asker) = self.asker_ix(user) else { continue };
            let outcome = walk.decide(asker, asked, place);
            if !outcome.allowed() {
                continue;
            }
            if answer.users.len() >= page.limit {
                answer.next = answer.users.last().and_then(|last| self.user_ix(last.user)).map(position);
                break;
            }
            answer.users.push(Holder {
                user: self.user_id(user),
                through: self.groups_behind(&outcome),
                how: self.explain(&outcome, now),
            });
        }
        (answer, walk.visited)
    }

    /// Everybody who might be allowed, from a user on: those addressed by allow entries that give the key, and by
    /// administrators' entries, as ascending streams.
    fn candidate_users<'p>(
        &'p self,
        walk: &mut Walk<'p>,
        asked: Asked<'p>,
        place: Place,
        from: UserIx,
    ) -> Vec<Stream<'p>> {
        let mut streams = Vec::new();
        let mut groups: Vec<GroupIx> = Vec::new();
        let mut take = |entries: &Entries, might: &dyn Fn(&Walk<'p>, Entry) -> bool| {
            let mut own = Vec::new();
            let first = Entry { subject: SubjectIx::user(from), ..Entry::default() };
            for entry in entries.from(&first) {
                walk.visited += 1;
                match entry.subject.who() {
                    Who::User(user) if might(walk, entry) => own.push(user),
                    Who::Group(group) if groups.last() != Some(&group) && might(walk, entry) => {
                        groups.push(group)
                    }
                    Who::User(_) | Who::Group(_) => {}
                }
            }
            streams.push(Stream::Own(own.into_iter()));
        };
        take(&self.administrators, &|walk, entry| {
            matches!(entry.content.what(), What::Role(role) if asked.row.wildcard_roles.has(role))
                && is_live(walk.policy, entry, walk.now)
        });
        for scope in self.scopes(place) {
            take(scope.entries, &|walk, entry| {
                entry.terms.reaches(scope.distance, place.is_folder) && walk.might_allow(entry, asked)
            });
        }
        groups.sort_unstable();
        groups.dedup();
        let members = groups.into_iter().filter_map(|group| self.groups.members(group));
        streams.extend(members.map(|members: &Sorted<UserIx>| Stream::Members(members.from(&from))));
        streams
    }

    /// The groups the deciding entries are addressed to.
    fn groups_behind(&self, outcome: &Outcome) -> Vec<GroupId> {
        let subjects = outcome.grants.iter().filter_map(|ix| self.grants.get(*ix)).map(|grant| grant.subject);
        let mut groups: Vec<GroupId> = subjects
            .filter_map(|subject| match subject.who() {
                Who::Group(group) => Some(GroupId::new(self.groups.ids.id(group.0))),
                Who::User(_) => None,
            })
            .collect();
        groups.dedup();
        groups
    }
}

/// The first dense index after a position.
pub(crate) fn first_after(after: Option<Position>) -> u32 {
    after.map_or(0, |position| u32::try_from(position.0).map_or(u32::MAX, |ix| ix.saturating_add(1)))
}

pub(crate) fn position(user: UserIx) -> Position {
    Position(u64::from(user.0))
}

pub(crate) fn object_position(object: ObjectIx) -> Position {
    Position(u64::from(object.0))
}
