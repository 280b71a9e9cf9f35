//! Keys, and which roles hold each: one row of bits a key, so that a question looks its key up once and then asks each
//! role with one bit.

use crate::ix::{KeyIx, RoleIx};
use charter_events::PermissionKey;
use smallvec::SmallVec;
use std::{
    collections::HashMap,
    hash::{BuildHasherDefault, Hasher},
};

/// A set of roles.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RoleBits(SmallVec<[u64; 2]>);

impl RoleBits {
    #[inline]
    pub(crate) fn has(&self, role: RoleIx) -> bool {
        self.0.get(role.at() / 64).is_some_and(|word| word >> (role.0 % 64) & 1 == 1)
    }

    /// The roles that are in one of the two and not in the other.
    pub(crate) fn differing(&self, other: &Self) -> impl Iterator<Item = RoleIx> {
        let word = |bits: &Self, at: usize| bits.0.get(at).copied().unwrap_or(0);
        let words =
            (0..self.0.len().max(other.0.len())).map(move |at| (at, word(self, at) ^ word(other, at)));
        words.flat_map(|(at, bits)| {
            let set = (0..64_u32).filter(move |bit| bits >> bit & 1 == 1);
            set.map(move |bit| RoleIx(at as u32 * 64 + bit))
        })
    }

    pub(crate) fn set(&mut self, role: RoleIx, is_in: bool) {
        let word = role.at() / 64;
        if self.0.len() <= word {
            if !is_in {
                return;
            }
            self.0.resize(word + 1, 0);
        }
        if let Some(bits) = self.0.get_mut(word) {
            let bit = 1 << (role.0 % 64);
            *bits = if is_in { *bits | bit } else { *bits & !bit };
        }
    }
}

/// What a question needs of its key.
#[derive(Debug, Clone, Default)]
pub(crate) struct KeyRow {
    /// Whether the key is in the catalog now.
    pub(crate) registered: bool,
    /// The roles that hold it, literally or by a wildcard.
    pub(crate) roles: RoleBits,
    /// The roles that hold it by a wildcard: an administrator's, when granted globally.
    pub(crate) wildcard_roles: RoleBits,
}

/// From a key's text to its index. Keys are registered by trusted modules, so a fast hash without a secret does.
pub(crate) type KeyIndex = HashMap<PermissionKey, KeyIx, BuildHasherDefault<KeyHasher>>;

/// Multiplies and folds eight bytes at a time.
#[derive(Debug, Default)]
pub(crate) struct KeyHasher(u64);

impl KeyHasher {
    #[inline]
    fn mix(&mut self, word: u64) {
        let product = u128::from(self.0 ^ word ^ 0xF39C_C060_5CED_C835) * 0x9E37_79B9_7F4A_7C15;
        self.0 = (product >> 64) as u64 ^ product as u64;
    }
}

impl Hasher for KeyHasher {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        let mut chunks = bytes.chunks_exact(8);
        for chunk in &mut chunks {
            self.mix(chunk.try_into().map_or(0, u64::from_le_bytes));
        }
        let rest =
            chunks.remainder().iter().fold(bytes.len() as u64, |word, byte| word << 8 | u64::from(*byte));
        self.mix(rest);
    }

    #[inline]
    fn write_u8(&mut self, _: u8) {
        // the separator after text; keys are hashed alone
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }
}

/// Spreads a dense index: nobody chooses indexes to collide.
#[derive(Debug, Default)]
pub(crate) struct IndexHasher(u64);

impl Hasher for IndexHasher {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u32(u32::from(*byte));
        }
    }

    fn write_u32(&mut self, number: u32) {
        self.0 = (self.0.rotate_left(5) ^ u64::from(number)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }

    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 32
    }
}
