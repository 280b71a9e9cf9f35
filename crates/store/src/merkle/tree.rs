//! The tree itself: what of it is kept in memory, and the nodes and roots that are made from it.
//!
//! Kept are the nodes from the roots of full tiles of 256 leaves upwards, and the leaves after the last one: 64 bytes
//! for 256 events. The leaves of a full tile are read again where they are needed; see [`Nodes`].

use super::tile::TILE_WIDTH;
use charter_events::Hash;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// The root of the tree without leaves: SHA-256 of nothing.
pub const EMPTY_ROOT: Hash = Hash::new([
    0xe3, 0xb0, 0xc4, 0x42, 0x98, 0xfc, 0x1c, 0x14, 0x9a, 0xfb, 0xf4, 0xc8, 0x99, 0x6f, 0xb9, 0x24, 0x27,
    0xae, 0x41, 0xe4, 0x64, 0x9b, 0x93, 0x4c, 0xa4, 0x95, 0x99, 0x1b, 0x78, 0x52, 0xb8, 0x55,
]);

/// The level of the roots of tiles: a tile has 2⁸ leaves.
const TILE_LEVEL: u32 = 8;

/// The hash of an inner node.
pub fn node(left: &Hash, right: &Hash) -> Hash {
    let mut sha = Sha256::new();
    sha.update([1]);
    sha.update(left.as_bytes());
    sha.update(right.as_bytes());
    Hash::new(sha.finalize().into())
}

/// The root of some leaves that stand beside each other, the first of them at a place that is a multiple of the least
/// power of two that holds them all.
pub(super) fn root_of(leaves: &[Hash]) -> Hash {
    match leaves {
        [] => EMPTY_ROOT,
        [one] => *one,
        _ => {
            let (left, right) = leaves.split_at(split(leaves.len()));
            node(&root_of(left), &root_of(right))
        }
    }
}

/// The largest power of two below a count of at least two.
const fn split(count: usize) -> usize {
    let half = count.next_power_of_two() / 2;
    if half == 0 { 1 } else { half }
}

/// A tree that grows at its end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tree {
    /// The nodes above the leaves of full tiles, each level in order: first the roots of the tiles, then of pairs of
    /// them.
    levels: Vec<Vec<Hash>>,
    /// The leaves after them, fewer than a tile.
    tail: Vec<Hash>,
}

impl Tree {
    /// How many leaves it has: the offset of the last event.
    pub fn size(&self) -> u64 {
        self.tiles().saturating_mul(TILE_WIDTH).saturating_add(count(self.tail.len()))
    }

    /// How many full tiles.
    fn tiles(&self) -> u64 {
        self.levels.first().map_or(0, |tiles| count(tiles.len()))
    }

    /// Adds a leaf: the hash of the next event.
    pub fn push(&mut self, leaf: Hash) {
        self.tail.push(leaf);
        if count(self.tail.len()) < TILE_WIDTH {
            return;
        }
        let mut root = root_of(&self.tail);
        self.tail.clear();
        let mut height = 0;
        loop {
            if self.levels.len() == height {
                self.levels.push(Vec::new());
            }
            let Some(level) = self.levels.get_mut(height) else { return };
            let left = level.last().copied();
            level.push(root);
            match left.filter(|_| level.len().is_multiple_of(2)) {
                Some(left) => root = node(&left, &root),
                None => return,
            }
            height += 1;
        }
    }

    /// The root.
    pub fn root(&self) -> Hash {
        let tiles = self.tiles();
        let peaks = self.levels.iter().enumerate().filter(|(height, _)| tiles >> height & 1 == 1);
        // From the right, which is lowest: each peak stands left of all that is lower.
        let tail = Some(root_of(&self.tail)).filter(|_| !self.tail.is_empty());
        let root = peaks.filter_map(|(_, level)| level.last()).fold(tail, |right, left| match right {
            Some(right) => Some(node(left, &right)),
            None => Some(*left),
        });
        root.unwrap_or(EMPTY_ROOT)
    }

    /// The root of a full tile.
    pub fn tile_root(&self, index: u64) -> Option<Hash> {
        self.above_tiles(TILE_LEVEL, index)
    }

    /// The leaves after the last full tile.
    pub fn tail(&self) -> &[Hash] {
        &self.tail
    }

    /// The node that is the root of the 2^`level` leaves from `index · 2^level` on, of levels of whole tiles; `None`
    /// when the tree has not all of them.
    fn above_tiles(&self, level: u32, index: u64) -> Option<Hash> {
        let height = usize::try_from(level.checked_sub(TILE_LEVEL)?).ok()?;
        self.levels.get(height)?.get(usize::try_from(index).ok()?).copied()
    }
}

fn count(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

/// Leaves are needed that are not at hand: those of this tile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the leaves of tile {tile} are not at hand")]
pub struct Absent {
    /// Its number, from 0.
    pub tile: u64,
}

/// A tree with the leaves of some of its full tiles: from it every node can be told that lies above tiles or in one of
/// these.
#[derive(Debug, Clone)]
pub struct Nodes<'a> {
    tree: &'a Tree,
    leaves: BTreeMap<u64, Vec<Hash>>,
}

impl<'a> Nodes<'a> {
    /// Of a tree, its tail at hand.
    pub fn new(tree: &'a Tree) -> Self {
        let last = tree.size() / TILE_WIDTH;
        Self { tree, leaves: BTreeMap::from([(last, tree.tail.clone())]) }
    }

    /// Takes the leaves of a full tile. False, and nothing taken, when they are not the ones the tree was made of.
    #[must_use]
    pub fn take(&mut self, tile: u64, leaves: Vec<Hash>) -> bool {
        let is_it = count(leaves.len()) == TILE_WIDTH && self.tree.tile_root(tile) == Some(root_of(&leaves));
        if is_it {
            self.leaves.insert(tile, leaves);
        }
        is_it
    }

    /// How many leaves the tree has.
    pub fn size(&self) -> u64 {
        self.tree.size()
    }

    /// A leaf.
    ///
    /// # Errors
    /// [`Absent`].
    pub fn leaf(&self, index: u64) -> Result<Hash, Absent> {
        self.range(index, index.saturating_add(1))
    }

    /// The root of the tree of the first `size` leaves, at most as many as it has.
    ///
    /// # Errors
    /// [`Absent`].
    pub fn root(&self, size: u64) -> Result<Hash, Absent> {
        if size == self.size() { Ok(self.tree.root()) } else { self.range(0, size) }
    }

    /// The root of the leaves `from..to`, where `from` is a multiple of the least power of two not below `to − from`.
    pub(super) fn range(&self, from: u64, to: u64) -> Result<Hash, Absent> {
        let width = to.saturating_sub(from);
        match width {
            0 => return Ok(EMPTY_ROOT),
            _ if width <= TILE_WIDTH && from / TILE_WIDTH == (to - 1) / TILE_WIDTH => {
                return self.within(from, to);
            }
            _ => {}
        }
        if width.is_power_of_two()
            && let Some(found) = self.tree.above_tiles(width.trailing_zeros(), from / width)
        {
            return Ok(found);
        }
        let half = width.next_power_of_two() / 2;
        let middle = from.saturating_add(half.min(width.saturating_sub(1)));
        Ok(node(&self.range(from, middle)?, &self.range(middle, to)?))
    }

    /// The root of leaves of one tile.
    fn within(&self, from: u64, to: u64) -> Result<Hash, Absent> {
        let tile = from / TILE_WIDTH;
        if (to - from) == TILE_WIDTH
            && let Some(root) = self.tree.tile_root(tile)
        {
            return Ok(root);
        }
        let place = |index: u64| usize::try_from(index - tile * TILE_WIDTH).unwrap_or(usize::MAX);
        let leaves = self.leaves.get(&tile).and_then(|leaves| leaves.get(place(from)..place(to)));
        leaves.map(root_of).ok_or(Absent { tile })
    }

    /// The hashes of a tile above the leaves: the nodes at `8 · level` from `index · 256` on, `width` of them; `None`
    /// when the tree has not all of them, or at level 0.
    pub fn tile(&self, level: u32, index: u64, width: u64) -> Option<Vec<Hash>> {
        let first = index.checked_mul(TILE_WIDTH)?;
        let level = level.checked_mul(TILE_LEVEL)?;
        (first..first.checked_add(width)?).map(|index| self.tree.above_tiles(level, index)).collect()
    }
}
