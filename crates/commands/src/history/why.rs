//! Why something can't be undone, event by event.

use charter_events::Offset;

/// The most reasons that are listed.
pub const REASONS_LISTED_MAX: usize = 20;

/// Why one event can't be undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, thiserror::Error)]
pub enum Why {
    /// The installation, its seeded roles and core's catalog.
    #[error("it is how the installation began")]
    Beginning,
    /// A namespace's document says what its catalog holds.
    #[error("a catalog is what its namespace's document says: apply an earlier document")]
    Catalog,
    /// An object was deleted.
    #[error("the object's id went with it, and nothing inherits from a deleted object: create it anew")]
    Deleted,
    /// A person was erased.
    #[error("the account is erased, and the key of its names destroyed")]
    Erased,
    /// A password was set or removed, or a token revoked.
    #[error("a secret does not come back: set or issue a new one")]
    Secret,
    /// Sessions ended.
    #[error("a session that ended stays ended: sign in again")]
    Session,
    /// An account was made or accepted.
    #[error("an account is not unmade: suspend it, or schedule its deletion")]
    Account,
    /// A record of what time or an operator did.
    #[error("it records what was done, and changes nobody's access")]
    Record,
    /// The end of the grant has passed, or the moment of the deletion.
    #[error("its time has passed by now")]
    Passed,
    /// Facts were imported without an owner.
    #[error("the object had no owner before, and nobody is not made one")]
    NoOwner,
    /// Somebody changed it again.
    #[error("it was changed again since")]
    Superseded,
    /// What was made is used by now.
    #[error("what was made then is in use by now: delete it if it is to go")]
    InUse,
    /// What it was about is gone.
    #[error("what it was about is gone by now")]
    Gone,
    /// The slug is another's now.
    #[error("its slug is in use by now")]
    SlugTaken,
    /// It is so again.
    #[error("it is again as it was before")]
    Already,
}

impl Why {
    /// The stable word clients see.
    pub const fn code(self) -> &'static str {
        match self {
            Self::Beginning => "beginning",
            Self::Catalog => "catalog",
            Self::Deleted => "deleted",
            Self::Erased => "erased",
            Self::Secret => "secret",
            Self::Session => "session",
            Self::Account => "account",
            Self::Record => "record",
            Self::Passed => "passed",
            Self::NoOwner => "no_owner",
            Self::Superseded => "superseded",
            Self::InUse => "in_use",
            Self::Gone => "gone",
            Self::SlugTaken => "slug_taken",
            Self::Already => "already",
        }
    }
}

/// One event that can't be undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reason {
    /// The event.
    pub offset: Offset,
    /// Its type.
    pub type_name: &'static str,
    /// Why not.
    pub why: Why,
}

/// A command can't be undone: at least one of its events can't, or nothing is left of any.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.text())]
pub struct NotUndoable {
    /// In the order of the events, at most [`REASONS_LISTED_MAX`]; never empty.
    pub reasons: Vec<Reason>,
    /// How many more there are.
    pub more: usize,
}

impl NotUndoable {
    /// From all reasons; `None` when there is none.
    pub(super) fn of(mut reasons: Vec<Reason>) -> Option<Self> {
        reasons.sort_by_key(|reason| reason.offset);
        let more = reasons.len().saturating_sub(REASONS_LISTED_MAX);
        reasons.truncate(REASONS_LISTED_MAX);
        (!reasons.is_empty()).then_some(Self { reasons, more })
    }

    /// The first reason, and how many others there are.
    fn text(&self) -> String {
        let Some(first) = self.reasons.first() else { return "there is nothing to undo".to_owned() };
        let text = format!("`{}` at offset {}: {}", first.type_name, first.offset, first.why);
        match self.reasons.len().saturating_add(self.more).saturating_sub(1) {
            0 => text,
            others => format!("{text}; and {others} more"),
        }
    }
}
