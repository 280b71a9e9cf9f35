//! Issues a grant, allow or deny.

use crate::command::Decide;
use charter_events::{Affects, ChildTypes, Content, Effect, Scope, Subject, Timestamp};

/// Issues a grant, allow or deny.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssueGrant {
    /// To whom.
    pub subject: Subject,
    /// A role, or literal keys in any order.
    pub content: Content,
    /// Where.
    pub scope: Scope,
    /// Allow or deny.
    pub effect: Effect,
    /// Live from this moment on; at once when absent.
    pub not_before: Option<Timestamp>,
    /// Live until just before this moment; without end when absent.
    pub expires_at: Option<Timestamp>,
    /// How far below a folder it reaches.
    pub affects: Affects,
    /// Which kinds of things below a folder it reaches.
    pub child_types: ChildTypes,
}

impl Decide for IssueGrant {}
