//! A persistent sorted set for reverse indexes and entry lists: a few values inline, many in a tree of fixed height.
//!
//! Small sets are the rule by far, so they cost no pointer. A large one (a hundred thousand grants of a role) is copied
//! leaf by leaf when touched after a clone. Values usually come in ascending order, and leaves are split for that.

use smallvec::SmallVec;
use std::sync::Arc;

const INLINE: usize = 4;
const FEW_MAX: usize = 64;
const LEAF_MAX: usize = 256;
const LEAVES_MAX: usize = 64;

type Leaf<T> = (T, Arc<Vec<T>>);
type Branch<T> = (T, Arc<Vec<Leaf<T>>>);

/// Distinct values in order.
#[derive(Debug, Clone)]
pub(crate) enum Sorted<T> {
    Few(SmallVec<[T; INLINE]>),
    Many(Arc<Tree<T>>),
}

/// Each branch and leaf stands beside its first value.
#[derive(Debug, Clone)]
pub(crate) struct Tree<T> {
    len: usize,
    branches: Vec<Branch<T>>,
}

impl<T> Default for Sorted<T> {
    fn default() -> Self {
        Self::Few(SmallVec::new())
    }
}

/// Where a value belongs: in the last part that begins at or before it, or the first.
fn part<T: Ord, P>(parts: &[(T, P)], value: &T) -> usize {
    parts.partition_point(|(first, _)| first <= value).saturating_sub(1)
}

/// Cuts off what is over the maximum: half, or only the last when values come in ascending order.
fn split<V>(values: &mut Vec<V>, max: usize, at_end: bool) -> Option<Vec<V>> {
    let keep = if at_end { max } else { max / 2 };
    (values.len() > max).then(|| values.split_off(keep))
}

impl<T: Copy + Ord> Sorted<T> {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Few(values) => values.len(),
            Self::Many(tree) => tree.len,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Puts a value in; `false` when it was there.
    pub(crate) fn insert(&mut self, value: T) -> bool {
        match self {
            Self::Few(values) => {
                let Err(place) = values.binary_search(&value) else { return false };
                if values.len() < FEW_MAX {
                    values.insert(place, value);
                    return true;
                }
                let leaf = (value, Arc::new(values.to_vec()));
                let mut tree = Tree { len: values.len(), branches: vec![(value, Arc::new(vec![leaf]))] };
                tree.refresh_first(0, 0);
                tree.insert(value);
                *self = Self::Many(Arc::new(tree));
                true
            }
            Self::Many(tree) => !tree.contains(&value) && Arc::make_mut(tree).insert(value),
        }
    }

    /// Takes a value out; `false` when it was not there.
    pub(crate) fn remove(&mut self, value: &T) -> bool {
        match self {
            Self::Few(values) => match values.binary_search(value) {
                Ok(place) => {
                    values.remove(place);
                    true
                }
                Err(_) => false,
            },
            Self::Many(tree) => {
                let gone = tree.contains(value) && Arc::make_mut(tree).remove(value);
                if tree.len == 0 {
                    *self = Self::default();
                }
                gone
            }
        }
    }

    pub(crate) fn contains(&self, value: &T) -> bool {
        match self {
            Self::Few(values) => values.binary_search(value).is_ok(),
            Self::Many(tree) => tree.contains(value),
        }
    }

    /// All values in order.
    pub(crate) fn iter(&self) -> Values<'_, T> {
        match self {
            Self::Few(values) => Values { leaf: values.iter(), leaves: [].iter(), branches: [].iter() },
            Self::Many(tree) => Values { leaf: [].iter(), leaves: [].iter(), branches: tree.branches.iter() },
        }
    }

    /// The values from this one on, itself included, in order.
    pub(crate) fn from(&self, value: &T) -> Values<'_, T> {
        match self {
            Self::Few(values) => {
                let rest = values.get(values.partition_point(|v| v < value)..).unwrap_or_default();
                Values { leaf: rest.iter(), leaves: [].iter(), branches: [].iter() }
            }
            Self::Many(tree) => tree.from(value),
        }
    }
}

impl<T: Copy + Ord> Tree<T> {
    fn refresh_first(&mut self, branch: usize, leaf: usize) {
        let Some((first, leaves)) = self.branches.get_mut(branch) else { return };
        let leaves = Arc::make_mut(leaves);
        if let Some((leaf_first, values)) = leaves.get_mut(leaf)
            && let Some(value) = values.first()
        {
            *leaf_first = *value;
        }
        if let Some((leaf_first, _)) = leaves.first() {
            *first = *leaf_first;
        }
    }

    fn find(&self, value: &T) -> Option<&Arc<Vec<T>>> {
        let (_, leaves) = self.branches.get(part(&self.branches, value))?;
        leaves.get(part(leaves, value)).map(|(_, values)| values)
    }

    fn contains(&self, value: &T) -> bool {
        self.find(value).is_some_and(|values| values.binary_search(value).is_ok())
    }

    fn insert(&mut self, value: T) -> bool {
        let branch = part(&self.branches, &value);
        let last_branch = branch + 1 == self.branches.len();
        let Some((_, leaves)) = self.branches.get_mut(branch) else { return false };
        let leaves = Arc::make_mut(leaves);
        let leaf = part(leaves, &value);
        let last_leaf = last_branch && leaf + 1 == leaves.len();
        let Some((_, values)) = leaves.get_mut(leaf) else { return false };
        let values = Arc::make_mut(values);
        let Err(place) = values.binary_search(&value) else { return false };
        let at_end = last_leaf && place == values.len();
        values.insert(place, value);
        if let Some(rest) = split(values, LEAF_MAX, at_end)
            && let Some(first) = rest.first().copied()
        {
            leaves.insert(leaf + 1, (first, Arc::new(rest)));
        }
        if let Some(rest) = split(leaves, LEAVES_MAX, at_end)
            && let Some((first, _)) = rest.first()
        {
            let first = *first;
            self.branches.insert(branch + 1, (first, Arc::new(rest)));
        }
        self.len += 1;
        self.refresh_first(branch, leaf);
        true
    }

    fn remove(&mut self, value: &T) -> bool {
        let branch = part(&self.branches, value);
        let Some((_, leaves)) = self.branches.get_mut(branch) else { return false };
        let leaves = Arc::make_mut(leaves);
        let leaf = part(leaves, value);
        let Some((_, values)) = leaves.get_mut(leaf) else { return false };
        let values = Arc::make_mut(values);
        let Ok(place) = values.binary_search(value) else { return false };
        values.remove(place);
        self.len -= 1;
        if values.is_empty() {
            leaves.remove(leaf);
        }
        if leaves.is_empty() {
            self.branches.remove(branch);
        } else {
            self.refresh_first(branch, leaf);
        }
        true
    }

    fn from(&self, value: &T) -> Values<'_, T> {
        let branch = part(&self.branches, value);
        let later = self.branches.get(branch + 1..).unwrap_or_default().iter();
        let Some((_, leaves)) = self.branches.get(branch) else {
            return Values { leaf: [].iter(), leaves: [].iter(), branches: later };
        };
        let leaf = part(leaves, value);
        let values = leaves.get(leaf).map_or(&[][..], |(_, values)| values.as_slice());
        let rest = values.get(values.partition_point(|v| v < value)..).unwrap_or_default();
        let later_leaves = leaves.get(leaf + 1..).unwrap_or_default().iter();
        Values { leaf: rest.iter(), leaves: later_leaves, branches: later }
    }
}

/// Values in order.
#[derive(Debug, Clone)]
pub(crate) struct Values<'a, T> {
    leaf: std::slice::Iter<'a, T>,
    leaves: std::slice::Iter<'a, Leaf<T>>,
    branches: std::slice::Iter<'a, Branch<T>>,
}

impl<T: Copy> Iterator for Values<'_, T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        loop {
            if let Some(value) = self.leaf.next() {
                return Some(*value);
            }
            if let Some((_, values)) = self.leaves.next() {
                self.leaf = values.iter();
            } else {
                self.leaves = self.branches.next()?.1.iter();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn agree(sorted: &Sorted<u32>, model: &BTreeSet<u32>) {
        assert!(sorted.iter().eq(model.iter().copied()));
        assert_eq!(sorted.len(), model.len());
        for probe in [0, 1, 500, 5_000, 49_999, 60_000] {
            assert_eq!(sorted.contains(&probe), model.contains(&probe), "{probe}");
            assert!(sorted.from(&probe).eq(model.range(probe..).copied()), "{probe}");
        }
    }

    #[test]
    fn a_sorted_set_is_a_set_whatever_the_order_of_changes() {
        // ascending, descending, and scattered (a full cycle of a multiplicative generator)
        let orders: [Box<dyn Fn(u32) -> u32>; 3] =
            [Box::new(|n| n), Box::new(|n| 49_999 - n), Box::new(|n| (n * 7_919) % 50_000)];
        for order in orders {
            let (mut sorted, mut model) = (Sorted::default(), BTreeSet::new());
            for number in 0..50_000 {
                assert!(sorted.insert(order(number)));
                model.insert(order(number));
            }
            assert!(!sorted.insert(order(7)));
            agree(&sorted, &model);
            let before = sorted.clone();
            for number in (0..50_000).filter(|n| n % 3 != 0) {
                assert!(sorted.remove(&order(number)));
                model.remove(&order(number));
            }
            assert!(!sorted.remove(&order(1)));
            agree(&sorted, &model);
            assert_eq!(before.len(), 50_000);
            for number in (0..50_000).filter(|n| n % 3 == 0) {
                assert!(sorted.remove(&order(number)));
            }
            assert!(sorted.is_empty());
        }
    }
}
