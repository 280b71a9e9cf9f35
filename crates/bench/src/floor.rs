//! The floor: the same decision on plain arrays of integers, the yes or no alone. What is left when everything is taken
//! away that a product needs: no ids, no explanation, no later change.

use crate::facts::{Facts, Grant, To};
use charter_events::{Affects, ChildTypes, Reach, Timestamp};

const NONE: u32 = u32::MAX;
/// Instead of an object: the global scope.
pub(crate) const GLOBAL: u32 = NONE;
const DENIES: u32 = 1;
const TO_GROUP: u32 = 1 << 1;
/// Looked up in `terms`: it has a begin, an end or a reach of its own.
const HAS_TERMS: u32 = 1 << 2;
const CONTENT_SHIFT: u32 = 3;

/// One grant in eight bytes.
#[derive(Clone, Copy)]
struct Entry {
    subject: u32,
    /// The flags above, and from [`CONTENT_SHIFT`] on the content.
    what: u32,
}

#[derive(Clone, Copy)]
struct Terms {
    not_before: i64,
    expires_at: i64,
    affects: Affects,
    child_types: ChildTypes,
}

/// Arrays.
pub(crate) struct Floor {
    /// For each object: its parent, or [`NONE`].
    parents: Vec<u32>,
    inherits: Vec<bool>,
    is_folder: Vec<bool>,
    is_active: Vec<bool>,
    /// Where each scope's entries begin; the global scope is the last.
    starts: Vec<u32>,
    entries: Vec<Entry>,
    terms: Vec<Terms>,
    /// Where each user's groups begin.
    group_starts: Vec<u32>,
    groups: Vec<u32>,
    /// For each content a bit for each key.
    bits: Vec<u64>,
    words: usize,
    /// For each user: the places in `entries` of the global wildcard grants of his and of his groups.
    wild_starts: Vec<u32>,
    wild: Vec<u32>,
    /// For each content a bit for each key that it matches by a wildcard.
    wild_bits: Vec<u64>,
}

impl Floor {
    /// Lays the facts out.
    pub(crate) fn new(facts: &Facts) -> Self {
        let words = facts.keys.len().div_ceil(64);
        let (bits, wild_bits) = bits(facts, words);
        let (on, global) = facts.by_scope();
        let mut floor = Self {
            parents: facts.objects.iter().map(|o| o.parent.unwrap_or(NONE)).collect(),
            inherits: facts.objects.iter().map(|o| o.inherits).collect(),
            is_folder: facts.objects.iter().map(|o| o.is_folder).collect(),
            is_active: facts.is_active.clone(),
            starts: vec![0],
            entries: Vec::new(),
            terms: Vec::new(),
            group_starts: vec![0],
            groups: Vec::new(),
            bits,
            words,
            wild_starts: vec![0],
            wild: Vec::new(),
            wild_bits,
        };
        for places in on.iter().chain([&global]) {
            for place in places {
                floor.push(&facts.grants[*place as usize]);
            }
            floor.starts.push(length(&floor.entries));
        }
        for groups in &facts.groups_of {
            floor.groups.extend(groups);
            floor.group_starts.push(length(&floor.groups));
        }
        floor.collect_wild(facts, &global);
        floor
    }

    fn push(&mut self, grant: &Grant) {
        let (subject, kind) = match grant.to {
            To::User(user) => (user, 0),
            To::Group(group) => (group, TO_GROUP),
        };
        let plain = grant.not_before.is_none() && grant.expires_at.is_none() && grant.reach == Reach::ALL;
        let flags = kind | if grant.denies { DENIES } else { 0 } | if plain { 0 } else { HAS_TERMS };
        self.entries.push(Entry { subject, what: flags | grant.content << CONTENT_SHIFT });
        self.terms.push(Terms {
            not_before: grant.not_before.unwrap_or(Timestamp::MIN).as_micros(),
            expires_at: grant.expires_at.map_or(i64::MAX, Timestamp::as_micros),
            affects: grant.reach.affects,
            child_types: grant.reach.child_types,
        });
    }

    fn collect_wild(&mut self, facts: &Facts, global: &[u32]) {
        let first = self.starts[self.starts.len() - 2];
        let is_wild = |grant: &Grant| {
            let wildcard = facts.contents[grant.content as usize].iter().any(|p| p.is_wildcard());
            grant.is_role && !grant.denies && wildcard
        };
        for (user, groups) in facts.groups_of.iter().enumerate() {
            for (nth, place) in global.iter().enumerate() {
                let grant = &facts.grants[*place as usize];
                let is_his = match grant.to {
                    To::User(to) => to as usize == user,
                    To::Group(group) => groups.contains(&group),
                };
                if is_his && is_wild(grant) {
                    self.wild.push(first + u32::try_from(nth).unwrap_or(NONE));
                }
            }
            self.wild_starts.push(length(&self.wild));
        }
    }

    /// May the user do this there?
    #[inline]
    pub(crate) fn check(&self, user: u32, key: u32, object: u32, now: i64) -> bool {
        if !self.is_active[user as usize] {
            return false;
        }
        if self.is_administrator(user, key, now) {
            return true;
        }
        let groups = range(&self.group_starts, user as usize);
        let groups = &self.groups[groups];
        if object != GLOBAL {
            let is_folder = self.is_folder[object as usize];
            let (mut here, mut distance) = (object, 0);
            while here != NONE {
                if let Some(allowed) = self.scope(here as usize, user, groups, key, distance, is_folder, now)
                {
                    return allowed;
                }
                if !self.inherits[here as usize] {
                    return false;
                }
                here = self.parents[here as usize];
                distance += 1;
            }
        }
        let global = self.starts.len() - 2;
        self.scope(global, user, groups, key, 0, false, now).unwrap_or(false)
    }

    #[inline]
    fn is_administrator(&self, user: u32, key: u32, now: i64) -> bool {
        self.wild[range(&self.wild_starts, user as usize)].iter().any(|place| {
            let content = self.entries[*place as usize].what >> CONTENT_SHIFT;
            let terms = &self.terms[*place as usize];
            bit(&self.wild_bits, self.words, content, key)
                && terms.not_before <= now
                && now < terms.expires_at
        })
    }

    #[inline]
    #[expect(clippy::too_many_arguments, reason = "numbers in registers are what is measured")]
    fn scope(
        &self,
        scope: usize,
        user: u32,
        groups: &[u32],
        key: u32,
        distance: usize,
        is_folder: bool,
        now: i64,
    ) -> Option<bool> {
        let (mut own, mut through) = (None, None);
        for place in range(&self.starts, scope) {
            let entry = self.entries[place];
            let to_group = entry.what & TO_GROUP != 0;
            let is_his = if to_group { groups.contains(&entry.subject) } else { entry.subject == user };
            if !is_his || !bit(&self.bits, self.words, entry.what >> CONTENT_SHIFT, key) {
                continue;
            }
            if entry.what & HAS_TERMS != 0 && !self.counts(place, distance, is_folder, now) {
                continue;
            }
            let set = if to_group { &mut through } else { &mut own };
            *set = Some(set.unwrap_or(true) && entry.what & DENIES == 0);
        }
        own.or(through)
    }

    fn counts(&self, place: usize, distance: usize, is_folder: bool, now: i64) -> bool {
        let Terms { not_before, expires_at, affects, child_types } = self.terms[place];
        not_before <= now && now < expires_at && Reach { affects, child_types }.reaches(distance, is_folder)
    }
}

fn length<T>(items: &[T]) -> u32 {
    u32::try_from(items.len()).unwrap_or(NONE)
}

#[inline]
fn range(starts: &[u32], place: usize) -> std::ops::Range<usize> {
    starts[place] as usize..starts[place + 1] as usize
}

#[inline]
fn bit(bits: &[u64], words: usize, content: u32, key: u32) -> bool {
    bits[content as usize * words + (key / 64) as usize] >> (key % 64) & 1 == 1
}

fn bits(facts: &Facts, words: usize) -> (Vec<u64>, Vec<u64>) {
    let mut bits = vec![0; facts.contents.len() * words];
    let mut wild = bits.clone();
    for content in 0..length(&facts.contents) {
        for key in 0..length(&facts.keys) {
            let (word, mask) = (content as usize * words + (key / 64) as usize, 1 << (key % 64));
            if facts.holds(content, key) {
                bits[word] |= mask;
            }
            if facts.holds_by_wildcard(content, key) {
                wild[word] |= mask;
            }
        }
    }
    (bits, wild)
}
