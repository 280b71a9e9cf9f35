//! Proofs of inclusion and of consistency: making them from a tree, checking them without one.

use super::tree::{Absent, Nodes, node};
use charter_events::Hash;

/// Why no proof can be made, or one is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ProofError {
    /// The tree of that size has no such leaf, or this tree has no such size.
    #[error("there is no such place in a tree of {size}")]
    OutOfRange {
        /// The size asked about.
        size: u64,
    },
    /// Leaves are missing to make it.
    #[error(transparent)]
    Absent(#[from] Absent),
    /// It does not lead to the root.
    #[error("the proof does not lead to the root")]
    Wrong,
}

impl Nodes<'_> {
    /// That the leaf at `index` is in the tree of the first `size` leaves (RFC 6962, 2.1.1).
    ///
    /// # Errors
    /// [`ProofError::OutOfRange`], [`ProofError::Absent`].
    pub fn inclusion(&self, index: u64, size: u64) -> Result<Vec<Hash>, ProofError> {
        if index >= size || size > self.size() {
            return Err(ProofError::OutOfRange { size });
        }
        let (mut from, mut to) = (0, size);
        let mut path = Vec::new();
        while to - from > 1 {
            let middle = from + (to - from).next_power_of_two() / 2;
            if index < middle {
                path.push(self.range(middle, to)?);
                to = middle;
            } else {
                path.push(self.range(from, middle)?);
                from = middle;
            }
        }
        path.reverse();
        Ok(path)
    }

    /// That the tree of the first `old` leaves is the beginning of that of the first `size` (RFC 6962, 2.1.2). Nothing
    /// needs to be said when they are one, or the old is empty.
    ///
    /// # Errors
    /// [`ProofError::OutOfRange`], [`ProofError::Absent`].
    pub fn consistency(&self, old: u64, size: u64) -> Result<Vec<Hash>, ProofError> {
        if old > size || size > self.size() {
            return Err(ProofError::OutOfRange { size });
        }
        if old == 0 || old == size {
            return Ok(Vec::new());
        }
        let (mut from, mut to) = (0, size);
        let mut path = Vec::new();
        while to > old {
            let middle = from + (to - from).next_power_of_two() / 2;
            if old <= middle {
                path.push(self.range(middle, to)?);
                to = middle;
            } else {
                path.push(self.range(from, middle)?);
                from = middle;
            }
        }
        // The checker knows the old root already when that is where the walk ends.
        if from > 0 {
            path.push(self.range(from, to)?);
        }
        path.reverse();
        Ok(path)
    }
}

/// Checks that a leaf is at `index` of a tree (RFC 9162, 2.1.3.2).
///
/// # Errors
/// [`ProofError::OutOfRange`], [`ProofError::Wrong`].
pub fn check_inclusion(
    leaf: &Hash,
    index: u64,
    size: u64,
    path: &[Hash],
    root: &Hash,
) -> Result<(), ProofError> {
    if index >= size {
        return Err(ProofError::OutOfRange { size });
    }
    let (mut place, mut last, mut found) = (index, size - 1, *leaf);
    for beside in path {
        if last == 0 {
            return Err(ProofError::Wrong);
        }
        if place & 1 == 1 || place == last {
            found = node(beside, &found);
            while place & 1 == 0 && place != 0 {
                (place, last) = (place >> 1, last >> 1);
            }
        } else {
            found = node(&found, beside);
        }
        (place, last) = (place >> 1, last >> 1);
    }
    if last == 0 && found == *root { Ok(()) } else { Err(ProofError::Wrong) }
}

/// Checks that the tree of `old` leaves is the beginning of that of `size` (RFC 9162, 2.1.4.2).
///
/// # Errors
/// [`ProofError::OutOfRange`], [`ProofError::Wrong`].
pub fn check_consistency(
    (old, old_root): (u64, &Hash),
    (size, root): (u64, &Hash),
    path: &[Hash],
) -> Result<(), ProofError> {
    if old > size {
        return Err(ProofError::OutOfRange { size });
    }
    let right = |right| if right { Ok(()) } else { Err(ProofError::Wrong) };
    if old == size {
        return right(path.is_empty() && old_root == root);
    }
    if old == 0 {
        return right(path.is_empty() && *old_root == super::EMPTY_ROOT);
    }
    let mut path = path.iter();
    // A whole tree on the left is its own first step.
    let first = if old.is_power_of_two() { old_root } else { path.next().ok_or(ProofError::Wrong)? };
    let (mut place, mut last) = (old - 1, size - 1);
    while place & 1 == 1 {
        (place, last) = (place >> 1, last >> 1);
    }
    let (mut found_old, mut found) = (*first, *first);
    for beside in path {
        if last == 0 {
            return Err(ProofError::Wrong);
        }
        if place & 1 == 1 || place == last {
            found_old = node(beside, &found_old);
            found = node(beside, &found);
            while place & 1 == 0 && place != 0 {
                (place, last) = (place >> 1, last >> 1);
            }
        } else {
            found = node(&found, beside);
        }
        (place, last) = (place >> 1, last >> 1);
    }
    right(last == 0 && found_old == *old_root && found == *root)
}
