//! A persistent vector for hot arrays: root → middle → page, each behind an `Arc` and copied when touched.
//!
//! Reading is three loads. Writing one entry right after a clone copies a page, a middle and the root: a few
//! microseconds at a million entries; nobody else holding it, it writes in place. Must not know what it holds.

use std::sync::Arc;

/// Pages below one middle.
const MIDDLE: usize = 128;

type Page<T, const N: usize> = Arc<[T; N]>;
type Middle<T, const N: usize> = Arc<[Page<T, N>; MIDDLE]>;

/// A vector that is cheap to clone and cheap to change after a clone, in pages of `N` entries.
#[derive(Debug)]
pub(crate) struct Paged<T, const N: usize> {
    root: Arc<[Middle<T, N>]>,
    len: usize,
}

impl<T, const N: usize> Clone for Paged<T, N> {
    fn clone(&self) -> Self {
        Self { root: Arc::clone(&self.root), len: self.len }
    }
}

impl<T, const N: usize> Default for Paged<T, N> {
    fn default() -> Self {
        Self { root: Arc::from(Vec::new()), len: 0 }
    }
}

impl<T, const N: usize> Paged<T, N> {
    /// How many entries there are.
    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    /// The entry at an index.
    #[inline]
    #[expect(clippy::indexing_slicing, reason = "both remainders are below the arrays' constant lengths")]
    pub(crate) fn get(&self, index: usize) -> Option<&T> {
        if index >= self.len {
            return None;
        }
        let middle = self.root.get(index / (N * MIDDLE))?;
        Some(&middle[index / N % MIDDLE][index % N])
    }

    /// The indexes at which another may hold something else: those on pages the two do not share. A clone and what it
    /// came from share all but the pages that were touched since.
    pub(crate) fn unshared<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = usize> + 'a {
        let len = self.len.max(other.len);
        let touched = (0..len.div_ceil(N)).filter(move |page| !self.shares(other, page * N));
        touched.flat_map(move |page| page * N..len.min((page + 1) * N))
    }

    /// Whether both keep the entry at an index on one page.
    fn shares(&self, other: &Self, index: usize) -> bool {
        self.page(index).zip(other.page(index)).is_some_and(|(one, two)| Arc::ptr_eq(one, two))
    }

    fn page(&self, index: usize) -> Option<&Page<T, N>> {
        self.root.get(index / (N * MIDDLE))?.get(index / N % MIDDLE)
    }

    /// All entries in order.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        (0..self.len).filter_map(|index| self.get(index))
    }
}

impl<T: Clone + Default, const N: usize> Paged<T, N> {
    /// The entry at an index, to change it: copies what is shared on the way.
    #[expect(clippy::indexing_slicing, reason = "both remainders are below the arrays' constant lengths")]
    pub(crate) fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        if index >= self.len {
            return None;
        }
        let middle = Arc::make_mut(&mut self.root).get_mut(index / (N * MIDDLE))?;
        let page = &mut Arc::make_mut(middle)[index / N % MIDDLE];
        Some(&mut Arc::make_mut(page)[index % N])
    }

    /// All of a list at once, page by page.
    pub(crate) fn of(values: Vec<T>) -> Self {
        let len = values.len();
        let mut values = values.into_iter();
        let empty: Page<T, N> = Arc::new(std::array::from_fn(|_| T::default()));
        let mut root: Vec<Middle<T, N>> = Vec::with_capacity(len.div_ceil(N * MIDDLE));
        while values.len() > 0 {
            root.push(Arc::new(std::array::from_fn(|_| {
                if values.len() == 0 {
                    return Arc::clone(&empty);
                }
                Arc::new(std::array::from_fn(|_| values.next().unwrap_or_default()))
            })));
        }
        Self { root: root.into(), len }
    }

    /// Appends an entry and gives its index.
    pub(crate) fn push(&mut self, value: T) -> usize {
        let index = self.len;
        if index == self.root.len() * N * MIDDLE {
            let empty: Page<T, N> = Arc::new(std::array::from_fn(|_| T::default()));
            let middle: Middle<T, N> = Arc::new(std::array::from_fn(|_| Arc::clone(&empty)));
            self.root = self.root.iter().cloned().chain(std::iter::once(middle)).collect();
        }
        self.len += 1;
        if let Some(entry) = self.get_mut(index) {
            *entry = value;
        }
        index
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_come_back_in_order_across_pages_and_middles() {
        let mut paged = Paged::<u32, 4>::default();
        let count = 4 * 128 * 3 + 5;
        for number in 0..count {
            assert_eq!(paged.push(number), number as usize);
        }
        assert_eq!(paged.len(), count as usize);
        let at_once = Paged::<u32, 4>::of((0..count).collect());
        for mut paged in [paged, at_once] {
            assert!(paged.iter().copied().eq(0..count));
            assert_eq!(paged.get(count as usize), None);
            assert_eq!(paged.push(count), count as usize);
            assert_eq!(paged.get(count as usize), Some(&count));
        }
        assert_eq!(Paged::<u32, 4>::of(Vec::new()).len(), 0);
    }

    #[test]
    fn what_two_do_not_share_is_what_was_touched_since_and_its_page() {
        let mut paged = Paged::<u32, 4>::of((0..1000).collect());
        let before = paged.clone();
        assert_eq!(paged.unshared(&before).count(), 0);
        *paged.get_mut(777).unwrap() = 0;
        paged.push(1000);
        let touched: Vec<usize> = before.unshared(&paged).collect();
        assert_eq!(touched, [776, 777, 778, 779, 1000]);
        assert!(paged.unshared(&before).eq(touched));
        let apart = Paged::<u32, 4>::of((0..1000).collect());
        assert!(apart.unshared(&before).eq(0..1000));
    }

    #[test]
    fn a_clone_never_sees_later_changes() {
        let mut paged = Paged::<u32, 4>::default();
        (0..1000).for_each(|number| {
            paged.push(number);
        });
        let before = paged.clone();
        *paged.get_mut(777).unwrap() = 0;
        paged.push(1000);
        assert_eq!((before.get(777), before.get(1000)), (Some(&777), None));
        assert_eq!((paged.get(777), paged.get(1000)), (Some(&0), Some(&1000)));
    }
}
