//! What is asked and what is answered: decisions with their explanation, pages, and what a holder lacks.

use crate::Caller;
use charter_events::{GrantId, GroupId, ObjectId, Offset, Pattern, PermissionKey, Scope, Timestamp, UserId};
use smallvec::SmallVec;

/// Yes or no.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// Let in.
    Allow,
    /// Kept out.
    Deny,
}

/// Which step of the walk gave the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Because {
    /// A live global grant of a role whose wildcard matches.
    Administrator,
    /// The nearest scope that spoke.
    Grant,
    /// Nothing spoke.
    NotSet,
    /// The user is unknown, invited, suspended, awaiting deletion or erased.
    InactiveSubject,
    /// The key is not in the catalog.
    UnknownPermission,
    /// The user may, the token he asks about himself with may not.
    TokenTooNarrow,
}

impl Because {
    /// The name clients see.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Administrator => "administrator",
            Self::Grant => "grant",
            Self::NotSet => "not_set",
            Self::InactiveSubject => "inactive_subject",
            Self::UnknownPermission => "unknown_permission",
            Self::TokenTooNarrow => "token_too_narrow",
        }
    }
}

/// To whom the deciding entries were addressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SubjectKind {
    /// The user himself.
    User,
    /// Groups of his.
    Group,
}

/// One decision with its explanation: the same evaluation gives both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// Yes or no.
    pub verdict: Verdict,
    /// Which step gave it.
    pub because: Because,
    /// For [`Because::Grant`]: the scope that decided.
    pub scope: Option<Scope>,
    /// For [`Because::Grant`]: to whom the deciding entries were addressed.
    pub subject: Option<SubjectKind>,
    /// All entries that decided: the denies if any denied, else the allows; of an administrator the global wildcard
    /// grants.
    pub grants: SmallVec<[GrantId; 2]>,
    /// The policy version it was made at.
    pub version: Offset,
    /// The instant it was made for.
    pub at: Timestamp,
}

impl Decision {
    /// Whether the answer is yes.
    pub fn allowed(&self) -> bool {
        self.verdict == Verdict::Allow
    }

    /// The same for the user as he calls: what the token he comes with does not reach, he may not do with it. That
    /// takes allows away and nothing else; a no keeps its reason.
    #[must_use]
    pub fn as_called(self, caller: &Caller, key: &PermissionKey) -> Self {
        if !self.allowed() || caller.reaches(key) {
            return self;
        }
        Self {
            verdict: Verdict::Deny,
            because: Because::TokenTooNarrow,
            scope: None,
            subject: None,
            grants: SmallVec::new(),
            ..self
        }
    }
}

/// What interfaces show of one key at one scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EffectiveState {
    /// Allowed.
    Allowed,
    /// A deny entry won.
    Denied,
    /// Nothing spoke (or the user is inactive, or his token does not reach the key).
    NotSet,
}

/// One catalog key as it stands for a user at a scope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EffectiveEntry {
    /// The key.
    pub key: PermissionKey,
    /// How it stands.
    pub state: EffectiveState,
    /// The walk behind it.
    pub decision: Decision,
}

impl EffectiveEntry {
    pub(crate) fn of(key: PermissionKey, decision: Decision) -> Self {
        let state = match (decision.verdict, decision.because) {
            (Verdict::Allow, _) => EffectiveState::Allowed,
            (Verdict::Deny, Because::Grant) => EffectiveState::Denied,
            (Verdict::Deny, _) => EffectiveState::NotSet,
        };
        Self { key, state, decision }
    }

    /// The same for the user as he calls: see [`Decision::as_called`].
    #[must_use]
    pub fn as_called(self, caller: &Caller) -> Self {
        let decision = self.decision.as_called(caller, &self.key);
        Self::of(self.key, decision)
    }
}

/// A place in a list, stable for one log whatever is created or deleted meanwhile. What the number means is this
/// crate's own; others only carry it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position(pub(crate) u64);

impl Position {
    /// A position that was carried elsewhere and comes back.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// The number to carry.
    pub const fn get(self) -> u64 {
        self.0
    }
}

/// Which part of a list is wanted: at most `limit` rows after a position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    /// Rows come after this one; from the beginning when absent.
    pub after: Option<Position>,
    /// The most rows.
    pub limit: usize,
}

impl Page {
    /// Everything, in one page.
    pub const ALL: Self = Self { after: None, limit: usize::MAX };

    /// The first rows.
    pub const fn first(limit: usize) -> Self {
        Self { after: None, limit }
    }
}

/// One user who may, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// The user.
    pub user: UserId,
    /// The walk that allows him.
    pub how: Decision,
    /// The groups the deciding entries are addressed to, if any.
    pub through: Vec<GroupId>,
}

/// Who may do something somewhere.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WhoCan {
    /// In order of the users' creation.
    pub users: Vec<Holder>,
    /// Where the next page begins, when there may be more.
    pub next: Option<Position>,
}

/// On which objects of a type a user may do something.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AllowedObjects {
    /// Whether he may on all objects of the type, as an administrator.
    pub all: bool,
    /// In order of the objects' creation.
    pub objects: Vec<ObjectId>,
    /// Where the next page begins, when there may be more.
    pub next: Option<Position>,
}

/// How long something must be held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Span {
    /// Now only: what takes access away.
    Now,
    /// Now and at each later change of the holder's own or groups' grants before this moment; `None`: without end.
    Until(Option<Timestamp>),
}

/// The most missing items a refusal lists.
pub const LACKING_ITEMS_MAX: usize = 20;

/// What somebody lacks of what he would give.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lacking {
    /// Held now, but not until the end.
    pub outlives: bool,
    /// The missing items in byte order, the first [`LACKING_ITEMS_MAX`].
    pub items: Vec<Pattern>,
    /// Whether there are more.
    pub more: bool,
}
