//! Roles and grants.

use crate::{
    ContentView, GrantView, Policy, Position, RoleView,
    entries::Given,
    ix::{GrantIx, ObjectIx, RoleIx, SubjectIx, What, Who},
    sorted::Sorted,
    state::grants::End,
    who_can::first_after,
};
use charter_events::{
    Actor, GrantId, GroupId, Pattern, RoleId, Scope, SeededRole, Subject, Timestamp, UserId,
};

impl Policy {
    pub(crate) fn role_ix(&self, id: RoleId) -> Option<RoleIx> {
        self.roles.ids.get(id.as_uuid()).map(RoleIx).filter(|ix| self.roles.get(*ix).is_some())
    }

    pub(crate) fn role_id(&self, ix: RoleIx) -> RoleId {
        RoleId::new(self.roles.ids.id(ix.0))
    }

    /// A standing role.
    pub fn role(&self, id: RoleId) -> Option<RoleView<'_>> {
        self.role_view(self.role_ix(id)?)
    }

    /// The role of this name.
    pub fn role_by_slug(&self, slug: &str) -> Option<RoleId> {
        self.roles.slugs.get(slug).map(|ix| self.role_id(*ix))
    }

    /// How many roles were ever created.
    pub fn role_count(&self) -> usize {
        self.roles.ids.len()
    }

    /// How many grants were ever issued.
    pub fn grant_count(&self) -> usize {
        self.grants.ids.len()
    }

    /// All roles in order of creation.
    pub fn roles(&self) -> impl Iterator<Item = RoleView<'_>> {
        (0..self.roles.ids.len() as u32).filter_map(|ix| self.role_view(RoleIx(ix)))
    }

    /// A seeded role, while it stands.
    pub fn seeded_role(&self, seeded: SeededRole) -> Option<RoleId> {
        self.roles.seeded.get(&seeded).map(|ix| self.role_id(*ix))
    }

    fn role_view(&self, ix: RoleIx) -> Option<RoleView<'_>> {
        let facts = self.roles.get(ix)?;
        Some(RoleView {
            id: self.role_id(ix),
            slug: &facts.slug,
            name: &facts.name,
            scope: facts.scope,
            permissions: &facts.permissions,
            seeded: facts.seeded,
            changed_at: facts.changed_at,
            position: Position(u64::from(ix.0)),
        })
    }

    /// A standing grant: neither revoked nor ended nor recorded as expired.
    pub fn grant(&self, id: GrantId) -> Option<GrantView<'_>> {
        self.grant_view(self.grants.ids.get(id.as_uuid()).map(GrantIx)?)
    }

    /// What a standing grant gives, as patterns in byte order: a role's content as it is now, or its literal keys.
    pub fn grant_content(&self, id: GrantId) -> Vec<Pattern> {
        let ix = self.grants.ids.get(id.as_uuid()).map(GrantIx);
        ix.and_then(|ix| self.grants.get(ix)).map_or_else(Vec::new, |grant| self.patterns_of(grant.content))
    }

    /// All standing grants in order of issuing.
    pub fn grants(&self) -> impl Iterator<Item = GrantView<'_>> {
        self.grants_after(None)
    }

    /// The standing grants after a position.
    pub fn grants_after(&self, after: Option<Position>) -> impl Iterator<Item = GrantView<'_>> {
        (first_after(after)..self.grants.ids.len() as u32).filter_map(|ix| self.grant_view(GrantIx(ix)))
    }

    /// The standing grants of a subject in order of issuing.
    pub fn grants_of(&self, subject: Subject) -> impl Iterator<Item = GrantView<'_>> {
        self.grants_of_after(subject, None)
    }

    /// The standing grants of a subject after a position.
    pub fn grants_of_after(
        &self,
        subject: Subject,
        after: Option<Position>,
    ) -> impl Iterator<Item = GrantView<'_>> {
        let from = Given { grant: GrantIx(first_after(after)), ..Given::default() };
        let grants = self.subject_ix(subject).and_then(|subject| self.grant_list_of(subject));
        let given = grants.into_iter().flat_map(move |grants| grants.from(&from));
        given.filter_map(|given| self.grant_view(given.grant))
    }

    /// How many standing grants a subject has.
    pub fn grant_count_of(&self, subject: Subject) -> usize {
        self.subject_ix(subject).and_then(|subject| self.grant_list_of(subject)).map_or(0, Sorted::len)
    }

    /// The standing grants at a scope, those of users first, by subject.
    pub fn grants_at(&self, scope: Scope) -> impl Iterator<Item = GrantView<'_>> {
        let entries = self.entries_at(scope);
        entries.into_iter().flat_map(Sorted::iter).filter_map(|entry| self.grant_view(entry.grant))
    }

    /// How many standing grants there are at a scope.
    pub fn grant_count_at(&self, scope: Scope) -> usize {
        self.entries_at(scope).map_or(0, Sorted::len)
    }

    /// The standing grants of a subject at a scope.
    pub fn grants_at_for(&self, scope: Scope, subject: Subject) -> impl Iterator<Item = GrantView<'_>> {
        let both = self.entries_at(scope).zip(self.subject_ix(subject));
        both.into_iter()
            .flat_map(|(entries, subject)| entries.addressed_to(subject))
            .filter_map(|entry| self.grant_view(entry.grant))
    }

    /// The standing grants of a role in order of issuing.
    pub fn grants_of_role(&self, role: RoleId) -> impl Iterator<Item = GrantView<'_>> {
        self.grants_of_role_after(role, None)
    }

    /// The standing grants of a role after a position.
    pub fn grants_of_role_after(
        &self,
        role: RoleId,
        after: Option<Position>,
    ) -> impl Iterator<Item = GrantView<'_>> {
        let from = GrantIx(first_after(after));
        let grants = self.role_ix(role).and_then(|ix| self.roles.grants(ix));
        grants.into_iter().flat_map(move |grants| grants.from(&from)).filter_map(|ix| self.grant_view(ix))
    }

    /// How many standing grants there are of a role.
    pub fn grant_count_of_role(&self, role: RoleId) -> usize {
        self.role_ix(role).and_then(|ix| self.roles.grants(ix)).map_or(0, Sorted::len)
    }

    /// Standing grants whose end has passed and is not recorded yet, earliest end first, at most `limit`.
    pub fn grants_ending_by(&self, now: Timestamp, limit: usize) -> Vec<GrantId> {
        let ended = self.grants.ending.iter().take_while(|(end, _)| !end.is_after(now));
        ended.take(limit).map(|(_, ix)| self.grant_id(ix)).collect()
    }

    /// The earliest end of a standing grant, passed or not: when the clock has something to do next.
    pub fn next_grant_end(&self) -> Option<Timestamp> {
        self.grants.ending.iter().next().and_then(|(end, _): (End, _)| end.moment())
    }

    pub(crate) fn subject_ix(&self, subject: Subject) -> Option<SubjectIx> {
        match subject {
            Subject::User(user) => self.user_ix(user).map(SubjectIx::user),
            Subject::Group(group) => self.group_ix(group).map(SubjectIx::group),
        }
    }

    pub(crate) fn grant_list_of(&self, subject: SubjectIx) -> Option<&Sorted<Given>> {
        match subject.who() {
            Who::User(user) => self.users.grants(user),
            Who::Group(group) => self.groups.grants(group),
        }
    }

    fn entries_at(&self, scope: Scope) -> Option<&crate::entries::Entries> {
        match scope {
            Scope::Global => Some(&self.global),
            Scope::Object(id) => {
                self.objects.find(id).and_then(|ix| self.objects.node(ix)).map(|node| &node.entries)
            }
        }
    }

    pub(crate) fn subject_id(&self, subject: SubjectIx) -> Subject {
        match subject.who() {
            Who::User(user) => Subject::User(UserId::new(self.users.ids.id(user.0))),
            Who::Group(group) => Subject::Group(GroupId::new(self.groups.ids.id(group.0))),
        }
    }

    pub(crate) fn grant_view(&self, ix: GrantIx) -> Option<GrantView<'_>> {
        const UNKNOWN: &Actor = &Actor::System;
        let grant = self.grants.get(ix)?;
        let facts = self.grants.facts.get(ix.at())?;
        let content = match grant.content.what() {
            What::Role(role) => ContentView::Role(self.role_id(role)),
            What::Key(_) | What::Keys(_) => {
                let keys = self.keys_of(grant.content).into_iter();
                let mut keys: Vec<_> = keys.filter_map(|key| self.catalog.key_text(key)).collect();
                keys.sort_unstable();
                ContentView::Keys(keys)
            }
        };
        let is_owner_grant = grant.scope != ObjectIx::NONE
            && self.objects.get(grant.scope).is_some_and(|facts| facts.owner_grant == ix);
        Some(GrantView {
            id: self.grant_id(ix),
            subject: self.subject_id(grant.subject),
            content,
            scope: self.scope_of(grant.scope),
            effect: grant.terms.effect(),
            not_before: Self::begin(grant),
            expires_at: grant.expires_at.moment(),
            reach: grant.terms.reach(),
            issued_at: facts.issued_at,
            issued_by: self
                .grants
                .actors
                .get(facts.issued_by.at())
                .and_then(Option::as_ref)
                .unwrap_or(UNKNOWN),
            changed_at: facts.changed_at,
            is_owner_grant,
            position: Position(u64::from(ix.0)),
        })
    }
}
