//! Grants in a few words: to whom, what, where, from when until when, how far down.

use crate::{clock::at, history::sorted, ids};
use charter_events::{Affects, ChildTypes, Content, Effect, GrantIssued, Scope, Subject, Timestamp};

/// A grant to be issued; begins as an empty global allow of role `owner`'s namesake: say `role` or `keys`.
#[derive(Debug, Clone)]
pub struct GrantSpec {
    subject: Subject,
    content: Content,
    scope: Scope,
    effect: Effect,
    not_before: Option<Timestamp>,
    expires_at: Option<Timestamp>,
    affects: Affects,
    child_types: ChildTypes,
}

/// A grant to a user.
pub fn to_user(name: &str) -> GrantSpec {
    GrantSpec::to(Subject::User(ids::user(name)))
}

/// A grant to a group.
pub fn to_group(slug: &str) -> GrantSpec {
    GrantSpec::to(Subject::Group(ids::group(slug)))
}

impl GrantSpec {
    /// A grant to a subject.
    pub const fn to(subject: Subject) -> Self {
        Self {
            subject,
            content: Content::Keys(Vec::new()),
            scope: Scope::Global,
            effect: Effect::Allow,
            not_before: None,
            expires_at: None,
            affects: Affects::All,
            child_types: ChildTypes::All,
        }
    }

    /// Gives a role.
    #[must_use]
    pub fn role(mut self, slug: &str) -> Self {
        self.content = Content::Role(ids::role(slug));
        self
    }

    /// Gives literal keys.
    #[must_use]
    pub fn keys(mut self, keys: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        self.content = Content::Keys(sorted(keys));
        self
    }

    /// On one object; global otherwise.
    #[must_use]
    pub fn on(mut self, object_type: &str, name: &str) -> Self {
        self.scope = Scope::Object(ids::object(object_type, name));
        self
    }

    /// Keeps out.
    #[must_use]
    pub const fn deny(mut self) -> Self {
        self.effect = Effect::Deny;
        self
    }

    /// Live from this moment.
    #[must_use]
    pub fn from(mut self, moment: &str) -> Self {
        self.not_before = Some(at(moment));
        self
    }

    /// Live until just before this moment.
    #[must_use]
    pub fn until(mut self, moment: &str) -> Self {
        self.expires_at = Some(at(moment));
        self
    }

    /// How far down it reaches.
    #[must_use]
    pub const fn affects(mut self, affects: Affects) -> Self {
        self.affects = affects;
        self
    }

    /// Which kinds below it reaches.
    #[must_use]
    pub const fn child_types(mut self, child_types: ChildTypes) -> Self {
        self.child_types = child_types;
        self
    }

    /// The event that issues it under this name.
    pub fn issued(self, name: &str) -> GrantIssued {
        GrantIssued {
            grant: ids::grant(name),
            subject: self.subject,
            content: self.content,
            scope: self.scope,
            effect: self.effect,
            not_before: self.not_before,
            expires_at: self.expires_at,
            affects: self.affects,
            child_types: self.child_types,
        }
    }
}
