//! From ids to dense indexes and back.
//!
//! The index is a hash table that grows one bucket at a time (linear hashing) over a paged vector, so that neither a
//! clone nor the growth at a million ids is ever a pause. Ids are UUIDs the server gave: nobody chooses them
//! to collide, so a fast fixed hash does. Names that people choose are kept in ordered maps instead.

use crate::{ix::THINGS_MAX, pages::Paged};
use smallvec::SmallVec;
use uuid::Uuid;

/// Entries a bucket holds on average at most before another bucket is added.
const LOAD: usize = 3;

/// Each word: the id's hash in the upper half, the dense index in the lower.
type Bucket = SmallVec<[u64; 6]>;

/// Ids of one kind.
#[derive(Debug, Clone, Default)]
pub(crate) struct Interner {
    ids: Paged<Uuid, 256>,
    buckets: Paged<Bucket, 64>,
}

fn hash(id: Uuid) -> u32 {
    let (high, low) = id.as_u64_pair();
    let mixed = (high.rotate_left(26) ^ low).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed >> 32) as u32
}

fn bucket_of(hash: u32, count: usize) -> usize {
    let mask = count.next_power_of_two() - 1;
    let slot = hash as usize & mask;
    if slot < count { slot } else { slot & (mask >> 1) }
}

const fn word_hash(word: u64) -> u32 {
    (word >> 32) as u32
}

const fn word_index(word: u64) -> u32 {
    word as u32
}

impl Interner {
    /// How many ids were ever interned.
    pub(crate) const fn len(&self) -> usize {
        self.ids.len()
    }

    /// The id at an index; the nil id when there is none.
    #[inline]
    pub(crate) fn id(&self, index: u32) -> Uuid {
        self.ids.get(index as usize).copied().unwrap_or_default()
    }

    /// The index of an id.
    #[inline]
    pub(crate) fn get(&self, id: Uuid) -> Option<u32> {
        let hash = hash(id);
        let bucket = self.buckets.get(bucket_of(hash, self.buckets.len()))?;
        bucket
            .iter()
            .find(|word| word_hash(**word) == hash && self.id(word_index(**word)) == id)
            .map(|word| word_index(*word))
    }

    /// Interns an id; `None` when it is there already, or there is no room.
    pub(crate) fn insert(&mut self, id: Uuid) -> Option<u32> {
        if self.get(id).is_some() || self.len() >= THINGS_MAX {
            return None;
        }
        let index = self.ids.push(id) as u32;
        if self.len() > self.buckets.len() * LOAD {
            self.add_bucket();
        }
        let hash = hash(id);
        let bucket = bucket_of(hash, self.buckets.len());
        self.buckets.get_mut(bucket)?.push(u64::from(hash) << 32 | u64::from(index));
        Some(index)
    }

    /// Interns a list of ids at once; `None` when one of them occurs twice, or there is no room.
    pub(crate) fn of(ids: Vec<Uuid>) -> Option<Self> {
        if ids.len() > THINGS_MAX {
            return None;
        }
        let mut buckets = vec![Bucket::new(); ids.len().div_ceil(LOAD)];
        let count = buckets.len();
        for (index, id) in ids.iter().enumerate() {
            let hash = hash(*id);
            let bucket = buckets.get_mut(bucket_of(hash, count))?;
            let same =
                |word: &u64| word_hash(*word) == hash && ids.get(word_index(*word) as usize) == Some(id);
            if bucket.iter().any(same) {
                return None;
            }
            bucket.push(u64::from(hash) << 32 | index as u64);
        }
        Some(Self { ids: Paged::of(ids), buckets: Paged::of(buckets) })
    }

    /// Splits the one bucket whose words may belong in the new one.
    fn add_bucket(&mut self) {
        let new = self.buckets.len();
        self.buckets.push(Bucket::new());
        let Some(old) = new.checked_sub(1).map(|_| new ^ (1 << new.ilog2())) else { return };
        let mut moved = Bucket::new();
        if let Some(bucket) = self.buckets.get_mut(old) {
            bucket.retain(|word| {
                let stays = bucket_of(word_hash(*word), new + 1) != new;
                if !stays {
                    moved.push(*word);
                }
                stays
            });
        }
        if let Some(bucket) = self.buckets.get_mut(new) {
            *bucket = moved;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_id_is_found_and_no_other() {
        // counted ids, counted ids shifted into the time part, scattered ids
        let kinds: [fn(u128) -> u128; 3] =
            [|n| n, |n| n << 64, |n| n.wrapping_mul(0x2545_F491_4F6C_DD1D_9E37_79B9_7F4A_7C15)];
        for kind in kinds {
            let mut interner = Interner::default();
            let mut at_once =
                Interner::of((1..=5_000).map(|number| Uuid::from_u128(kind(number))).collect()).unwrap();
            for number in 1..=5_000 {
                assert_eq!(at_once.get(Uuid::from_u128(kind(number))), Some(number as u32 - 1));
            }
            assert_eq!(at_once.insert(Uuid::from_u128(kind(5_001))), Some(5_000));
            assert_eq!(at_once.get(Uuid::from_u128(kind(4_999))), Some(4_998));
            assert!(Interner::of(vec![Uuid::from_u128(kind(1)); 2]).is_none());
            for number in 1..=20_000 {
                let id = Uuid::from_u128(kind(number));
                assert_eq!(interner.get(id), None);
                assert_eq!(interner.insert(id), Some(number as u32 - 1));
                assert_eq!(interner.insert(id), None);
            }
            for number in 1..=20_000 {
                let id = Uuid::from_u128(kind(number));
                assert_eq!(interner.get(id).map(|index| interner.id(index)), Some(id));
            }
            let longest = interner.buckets.iter().map(SmallVec::len).max().unwrap();
            assert!(longest <= 24, "a bucket of {longest}");
        }
    }
}
