//! A bounded map for what can be read again: two generations, the older one dropped when the newer is full.
//!
//! What is used stays, what is not used is gone after at most two fillings. Nothing in it is ever the truth.

use std::{
    collections::HashMap,
    hash::Hash,
    mem,
    sync::{Mutex, PoisonError},
};

pub(crate) struct Cache<K, V> {
    generation_entries_max: usize,
    generations: Mutex<Generations<K, V>>,
}

struct Generations<K, V> {
    young: HashMap<K, V>,
    old: HashMap<K, V>,
}

impl<K: Eq + Hash + Clone, V: Clone> Cache<K, V> {
    /// A cache that never holds more entries than this.
    pub(crate) fn new(entries_max: usize) -> Self {
        Self {
            generation_entries_max: (entries_max / 2).max(1),
            generations: Mutex::new(Generations { young: HashMap::new(), old: HashMap::new() }),
        }
    }

    pub(crate) fn get(&self, key: &K) -> Option<V> {
        let mut generations = self.generations.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(value) = generations.young.get(key) {
            return Some(value.clone());
        }
        let value = generations.old.remove(key)?;
        self.put(&mut generations, key.clone(), value.clone());
        Some(value)
    }

    pub(crate) fn insert(&self, key: K, value: V) {
        let mut generations = self.generations.lock().unwrap_or_else(PoisonError::into_inner);
        generations.old.remove(&key);
        self.put(&mut generations, key, value);
    }

    /// Changes the entry of a key, which begins as `V::default()`.
    pub(crate) fn update<R>(&self, key: K, change: impl FnOnce(&mut V) -> R) -> R
    where
        V: Default,
    {
        let mut generations = self.generations.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(value) = generations.young.get_mut(&key) {
            return change(value);
        }
        let mut value = generations.old.remove(&key).unwrap_or_default();
        let result = change(&mut value);
        self.put(&mut generations, key, value);
        result
    }

    pub(crate) fn remove(&self, key: &K) {
        let mut generations = self.generations.lock().unwrap_or_else(PoisonError::into_inner);
        generations.young.remove(key);
        generations.old.remove(key);
    }

    fn put(&self, generations: &mut Generations<K, V>, key: K, value: V) {
        if generations.young.len() >= self.generation_entries_max && !generations.young.contains_key(&key) {
            generations.old = mem::take(&mut generations.young);
        }
        generations.young.insert(key, value);
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        let generations = self.generations.lock().unwrap_or_else(PoisonError::into_inner);
        generations.young.len() + generations.old.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_never_holds_more_than_its_bound_and_keeps_what_is_used() {
        let cache = Cache::new(10);
        cache.insert(0, "kept");
        for key in 1..100 {
            cache.insert(key, "other");
            assert_eq!(cache.get(&0), Some("kept"));
            assert!(cache.len() <= 10);
        }
        assert_eq!(cache.get(&1), None);
        cache.remove(&0);
        assert_eq!(cache.get(&0), None);
    }
}
