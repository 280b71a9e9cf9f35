//! Entries: what a scope's list says of each grant on it, in sixteen bytes.

use crate::{
    ix::{ContentIx, GrantIx, ObjectIx, SubjectIx},
    sorted::Sorted,
};
use charter_events::{Affects, ChildTypes, Effect, Reach};

/// One grant as the walk sees it. Ordered by subject (users before groups), then grant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Entry {
    pub(crate) subject: SubjectIx,
    pub(crate) grant: GrantIx,
    pub(crate) content: ContentIx,
    pub(crate) terms: Terms,
}

/// The entries of one scope.
pub(crate) type Entries = Sorted<Entry>;

/// One grant as its subject's list has it: what is asked of all of somebody's grants reads them in a row. Ordered by
/// grant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Given {
    pub(crate) grant: GrantIx,
    /// [`ObjectIx::NONE`]: the global scope.
    pub(crate) scope: ObjectIx,
    pub(crate) content: ContentIx,
    pub(crate) terms: Terms,
}

impl Given {
    pub(crate) const fn entry(self, subject: SubjectIx) -> Entry {
        Entry { subject, grant: self.grant, content: self.content, terms: self.terms }
    }
}

/// Effect, reach and whether there is a begin or end, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub(crate) struct Terms(pub(crate) u32);

const DENY: u32 = 1;
const TIMED: u32 = 1 << 1;
const STANDING: u32 = 1 << 2;
const AFFECTS_SHIFT: u32 = 4;
const CHILD_TYPES_SHIFT: u32 = 8;
const FIELD: u32 = 0xF;

impl Terms {
    pub(crate) const fn new(effect: Effect, reach: Reach, timed: bool) -> Self {
        let deny = if matches!(effect, Effect::Deny) { DENY } else { 0 };
        let timed = if timed { TIMED } else { 0 };
        let affects = match reach.affects {
            Affects::All => 0,
            Affects::SelfOnly => 1,
            Affects::ChildrenOnly => 2,
            Affects::SelfAndDirectChildren => 3,
            Affects::DirectChildrenOnly => 4,
        };
        let child_types = match reach.child_types {
            ChildTypes::All => 0,
            ChildTypes::Objects => 1,
            ChildTypes::Containers => 2,
        };
        Self(STANDING | deny | timed | affects << AFFECTS_SHIFT | child_types << CHILD_TYPES_SHIFT)
    }

    #[inline]
    pub(crate) const fn is_deny(self) -> bool {
        self.0 & DENY != 0
    }

    pub(crate) const fn effect(self) -> Effect {
        if self.is_deny() { Effect::Deny } else { Effect::Allow }
    }

    /// Whether it has a begin or an end.
    #[inline]
    pub(crate) const fn is_timed(self) -> bool {
        self.0 & TIMED != 0
    }

    /// Whether the grant is neither revoked nor ended nor recorded as expired.
    pub(crate) const fn is_standing(self) -> bool {
        self.0 & STANDING != 0
    }

    pub(crate) const fn fallen(self) -> Self {
        Self(self.0 & !STANDING)
    }

    pub(crate) const fn reach(self) -> Reach {
        let affects = match self.0 >> AFFECTS_SHIFT & FIELD {
            0 => Affects::All,
            1 => Affects::SelfOnly,
            2 => Affects::ChildrenOnly,
            3 => Affects::SelfAndDirectChildren,
            _ => Affects::DirectChildrenOnly,
        };
        let child_types = match self.0 >> CHILD_TYPES_SHIFT & FIELD {
            0 => ChildTypes::All,
            1 => ChildTypes::Objects,
            _ => ChildTypes::Containers,
        };
        Reach { affects, child_types }
    }

    /// Whether it reaches something this far below its scope. The default reach needs no more than a comparison.
    #[inline]
    pub(crate) const fn reaches(self, distance: usize, is_folder: bool) -> bool {
        self.0 >> AFFECTS_SHIFT == 0 || self.reach().reaches(distance, is_folder)
    }
}

impl Sorted<Entry> {
    /// The entries addressed to one subject.
    #[inline]
    pub(crate) fn addressed_to(&self, subject: SubjectIx) -> impl Iterator<Item = Entry> {
        self.from(&Entry { subject, ..Entry::default() }).take_while(move |entry| entry.subject == subject)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_keep_what_they_are_made_of() {
        use Affects::*;
        for affects in [All, SelfOnly, ChildrenOnly, SelfAndDirectChildren, DirectChildrenOnly] {
            for child_types in [ChildTypes::All, ChildTypes::Objects, ChildTypes::Containers] {
                for (effect, timed) in [(Effect::Allow, true), (Effect::Deny, false)] {
                    let reach = Reach { affects, child_types };
                    let terms = Terms::new(effect, reach, timed);
                    assert_eq!((terms.effect(), terms.reach(), terms.is_timed()), (effect, reach, timed));
                    assert!(terms.is_standing() && !terms.fallen().is_standing());
                    for distance in 0..4 {
                        for is_folder in [true, false] {
                            assert_eq!(
                                terms.reaches(distance, is_folder),
                                reach.reaches(distance, is_folder)
                            );
                        }
                    }
                }
            }
        }
    }
}
