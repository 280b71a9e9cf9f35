//! The walk: may this user do this here, now, and why. The one place where entries are matched and scopes decide;
//! every question asks it, so no two questions can disagree.
//!
//! Steps, in order: inactive → unknown key → administrator → nearest scope that speaks → not set. At a scope entries
//! addressed to the user come before those addressed to his groups, and a deny before an allow.

use crate::{
    Because, Decision, Policy, SubjectKind, Verdict,
    ancestry::Ancestry,
    entries::{Entries, Entry},
    ix::{ContentIx, GrantIx, GroupIx, KeyIx, ObjectIx, SubjectIx, UserIx, What},
    sorted::Sorted,
    state::{keys::KeyRow, users::UserNode},
};
use charter_events::{GrantId, ObjectId, PermissionKey, Scope, Timestamp, UserId};
use smallvec::SmallVec;

/// Where something is asked: at a scope, or at an imaginary thing so many levels below a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    /// The object; [`ObjectIx::NONE`]: the global scope.
    pub(crate) object: ObjectIx,
    /// Levels below the object; 0: the object itself.
    pub(crate) below: usize,
    /// Whether what is asked about is a folder.
    pub(crate) is_folder: bool,
}

impl Place {
    pub(crate) const GLOBAL: Self = Self { object: ObjectIx::NONE, below: 0, is_folder: false };
}

/// Who asks: an active user and his groups.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asker<'p> {
    pub(crate) user: UserIx,
    pub(crate) groups: &'p [GroupIx],
}

/// What is asked: a key of the catalog.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked<'p> {
    pub(crate) key: KeyIx,
    pub(crate) row: &'p KeyRow,
}

/// What decided, in dense indexes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Outcome {
    pub(crate) ruling: Option<Ruling>,
    /// All deciding entries.
    pub(crate) grants: SmallVec<[GrantIx; 4]>,
}

/// How it was decided, when anything spoke.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ruling {
    Administrator,
    Grant { verdict: Verdict, scope: ObjectIx, subject: SubjectKind },
}

impl Outcome {
    pub(crate) fn allowed(&self) -> bool {
        matches!(self.ruling, Some(Ruling::Administrator | Ruling::Grant { verdict: Verdict::Allow, .. }))
    }
}

/// The walk at a moment, with a count of what it looked at: each entry of a short list, and in a long one each look-up
/// of a subject and each entry found for it.
#[derive(Debug)]
pub(crate) struct Walk<'p> {
    pub(crate) policy: &'p Policy,
    pub(crate) now: Timestamp,
    pub(crate) visited: u64,
}

/// Collects what counts at one scope: denies push allows out.
#[derive(Default)]
struct Found {
    denied: bool,
    grants: SmallVec<[GrantIx; 4]>,
}

impl Found {
    #[inline]
    fn add(&mut self, entry: Entry) {
        if entry.terms.is_deny() != self.denied {
            if self.denied {
                return;
            }
            self.denied = true;
            self.grants.clear();
        }
        self.grants.push(entry.grant);
    }
}

impl<'p> Walk<'p> {
    pub(crate) const fn new(policy: &'p Policy, now: Timestamp) -> Self {
        Self { policy, now, visited: 0 }
    }

    /// The walk for an active user and a key of the catalog.
    #[inline]
    pub(crate) fn decide(&mut self, asker: Asker<'p>, asked: Asked<'p>, place: Place) -> Outcome {
        let by_wildcard = self.administrator(asker, asked);
        if !by_wildcard.is_empty() {
            return Outcome { ruling: Some(Ruling::Administrator), grants: by_wildcard };
        }
        let policy = self.policy;
        let spoken = policy.scopes(place).find_map(|scope| self.ask(scope, asker, asked, place.is_folder));
        spoken.unwrap_or_default()
    }

    /// The live global grants, own or through a group, of roles with a wildcard that matches.
    #[inline]
    pub(crate) fn administrator(&mut self, asker: Asker<'p>, asked: Asked<'p>) -> SmallVec<[GrantIx; 4]> {
        let policy = self.policy;
        let mut found = SmallVec::new();
        let mut by_wildcard = |entry: Entry| {
            let matches =
                matches!(entry.content.what(), What::Role(role) if asked.row.wildcard_roles.has(role));
            if matches && is_live(policy, entry, self.now) {
                found.push(entry.grant);
            }
        };
        self.visited += 1 + asker.groups.len() as u64;
        match &policy.administrators {
            Sorted::Few(entries) => {
                for entry in entries.iter().filter(|entry| addresses(entry.subject, asker)) {
                    by_wildcard(*entry);
                }
            }
            many @ Sorted::Many(_) => {
                for subject in subjects(asker) {
                    many.addressed_to(subject).for_each(&mut by_wildcard);
                }
            }
        }
        found
    }

    /// What one scope says, if it says anything.
    #[inline]
    fn ask(
        &mut self,
        at: ScopeAt<'p>,
        asker: Asker<'p>,
        asked: Asked<'p>,
        is_folder: bool,
    ) -> Option<Outcome> {
        let counts = |walk: &Self, entry: Entry| {
            walk.gives(entry.content, asked)
                && entry.terms.reaches(at.distance, is_folder)
                && is_live(walk.policy, entry, walk.now)
        };
        let mut found = Found::default();
        let mut subject = SubjectKind::User;
        match at.entries {
            Sorted::Few(entries) => {
                for entry in entries {
                    self.visited += 1;
                    if entry.subject.is_group() && subject == SubjectKind::User {
                        if !found.grants.is_empty() {
                            break;
                        }
                        subject = SubjectKind::Group;
                    }
                    // A group's entry is cheaper to dismiss by its content than by looking through the groups.
                    let gives = !entry.subject.is_group() || self.gives(entry.content, asked);
                    if gives && addresses(entry.subject, asker) && counts(self, *entry) {
                        found.add(*entry);
                    }
                }
            }
            many @ Sorted::Many(_) => {
                for addressed in subjects(asker) {
                    if addressed.is_group() && subject == SubjectKind::User {
                        if !found.grants.is_empty() {
                            break;
                        }
                        subject = SubjectKind::Group;
                    }
                    self.visited += 1;
                    for entry in many.addressed_to(addressed) {
                        self.visited += 1;
                        if counts(self, entry) {
                            found.add(entry);
                        }
                    }
                }
            }
        }
        if found.grants.is_empty() {
            return None;
        }
        let verdict = if found.denied { Verdict::Deny } else { Verdict::Allow };
        Some(Outcome {
            ruling: Some(Ruling::Grant { verdict, scope: at.object, subject }),
            grants: found.grants,
        })
    }

    /// Whether a content matches the key.
    #[inline]
    pub(crate) fn gives(&self, content: ContentIx, asked: Asked<'_>) -> bool {
        match content.what() {
            What::Role(role) => asked.row.roles.has(role),
            What::Key(key) => key == asked.key,
            What::Keys(set) => self
                .policy
                .catalog
                .sets
                .get(set.at())
                .is_some_and(|keys| keys.binary_search(&asked.key).is_ok()),
        }
    }

    /// The entry's grant is live and gives the key: what makes somebody a candidate before reach and order are asked.
    pub(crate) fn might_allow(&self, entry: Entry, asked: Asked<'_>) -> bool {
        !entry.terms.is_deny() && self.gives(entry.content, asked) && is_live(self.policy, entry, self.now)
    }
}

/// One scope of a chain.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ScopeAt<'p> {
    /// [`ObjectIx::NONE`]: the global scope.
    pub(crate) object: ObjectIx,
    pub(crate) entries: &'p Entries,
    /// Levels from here down to what is asked about.
    pub(crate) distance: usize,
}

/// The scopes of a place, nearest first: the object, its folders, then global; cut off after the first object that does
/// not inherit.
#[derive(Debug)]
pub(crate) struct Scopes<'p> {
    policy: &'p Policy,
    object: ObjectIx,
    distance: usize,
    ended: bool,
}

impl<'p> Iterator for Scopes<'p> {
    type Item = ScopeAt<'p>;

    #[inline]
    fn next(&mut self) -> Option<ScopeAt<'p>> {
        if self.ended {
            return None;
        }
        let Some(node) = self.policy.objects.node(self.object) else {
            self.ended = true;
            return Some(ScopeAt { object: ObjectIx::NONE, entries: &self.policy.global, distance: 0 });
        };
        let scope = ScopeAt { object: self.object, entries: &node.entries, distance: self.distance };
        self.ended = !node.inherits;
        self.object = self.policy.objects.parent(self.object).unwrap_or(ObjectIx::NONE);
        self.distance += 1;
        Some(scope)
    }
}

/// Whether an entry's grant is live. Most have neither begin nor end, and are not looked up.
#[inline]
pub(crate) fn is_live(policy: &Policy, entry: Entry, now: Timestamp) -> bool {
    !entry.terms.is_timed() || policy.grants.get(entry.grant).is_some_and(|grant| grant.is_live(now))
}

#[inline]
fn addresses(subject: SubjectIx, asker: Asker<'_>) -> bool {
    if subject.is_group() {
        asker.groups.iter().any(|group| SubjectIx::group(*group) == subject)
    } else {
        subject == SubjectIx::user(asker.user)
    }
}

/// The user, then his groups.
pub(crate) fn subjects(asker: Asker<'_>) -> impl Iterator<Item = SubjectIx> {
    std::iter::once(SubjectIx::user(asker.user))
        .chain(asker.groups.iter().map(|group| SubjectIx::group(*group)))
}

impl Policy {
    #[inline]
    pub(crate) fn scopes(&self, place: Place) -> Scopes<'_> {
        Scopes { policy: self, object: place.object, distance: place.below, ended: false }
    }

    pub(crate) fn user_ix(&self, id: UserId) -> Option<UserIx> {
        self.users.ids.get(id.as_uuid()).map(UserIx)
    }

    /// The user, when active.
    #[inline]
    pub(crate) fn asker(&self, id: UserId) -> Option<Asker<'_>> {
        self.asker_ix(self.user_ix(id)?)
    }

    #[inline]
    pub(crate) fn asker_ix(&self, user: UserIx) -> Option<Asker<'_>> {
        let UserNode { active, groups } = self.users.node(user)?;
        active.then_some(Asker { user, groups })
    }

    /// The key, when it is in the catalog.
    #[inline]
    pub(crate) fn asked(&self, key: &PermissionKey) -> Option<Asked<'_>> {
        self.asked_ix(self.catalog.key(key.as_str())?)
    }

    #[inline]
    pub(crate) fn asked_ix(&self, key: KeyIx) -> Option<Asked<'_>> {
        let row = self.catalog.rows.get(key.at())?;
        row.registered.then_some(Asked { key, row })
    }

    /// The place of a scope; `None` when its object is not there.
    #[inline]
    pub(crate) fn place(&self, scope: Scope) -> Option<Place> {
        let Scope::Object(id) = scope else { return Some(Place::GLOBAL) };
        self.place_of(self.objects.ids.get(id.as_uuid()).map(ObjectIx)?)
    }

    #[inline]
    pub(crate) fn place_of(&self, object: ObjectIx) -> Option<Place> {
        let node = self.objects.node(object)?;
        Some(Place { object, below: 0, is_folder: node.is_folder })
    }

    pub(crate) fn plain(&self, because: Because, now: Timestamp) -> Decision {
        Decision {
            verdict: Verdict::Deny,
            because,
            scope: None,
            subject: None,
            grants: SmallVec::new(),
            version: self.version(),
            at: now,
        }
    }

    /// An outcome with ids in place of indexes.
    #[inline]
    pub(crate) fn explain(&self, outcome: &Outcome, now: Timestamp) -> Decision {
        let mut decision = self.plain(Because::NotSet, now);
        match outcome.ruling {
            None => return decision,
            Some(Ruling::Administrator) => {
                decision.verdict = Verdict::Allow;
                decision.because = Because::Administrator;
            }
            Some(Ruling::Grant { verdict, scope, subject }) => {
                decision.verdict = verdict;
                decision.because = Because::Grant;
                decision.scope = Some(self.scope_of(scope));
                decision.subject = Some(subject);
            }
        }
        decision.grants = outcome.grants.iter().map(|ix| self.grant_id(*ix)).collect();
        decision
    }

    #[inline]
    pub(crate) fn grant_id(&self, ix: GrantIx) -> GrantId {
        GrantId::new(self.grants.ids.id(ix.0))
    }

    #[inline]
    pub(crate) fn object_id(&self, ix: ObjectIx) -> ObjectId {
        ObjectId::new(self.objects.ids.id(ix.0))
    }

    pub(crate) fn user_id(&self, ix: UserIx) -> UserId {
        UserId::new(self.users.ids.id(ix.0))
    }

    #[inline]
    pub(crate) fn scope_of(&self, object: ObjectIx) -> Scope {
        object.some().map_or(Scope::Global, |ix| Scope::Object(self.object_id(ix)))
    }
}
