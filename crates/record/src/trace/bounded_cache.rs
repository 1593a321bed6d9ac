//! A cache that never holds more than twice its limit, for what is emitted once and then referred to by number.

use std::collections::HashMap;
use std::hash::Hash;

/// Values by key. When there are `limit` recent ones, those not used since the last time are dropped.
#[derive(Debug)]
pub(super) struct BoundedCache<K, V> {
    recent: HashMap<K, V>,
    older: HashMap<K, V>,
    limit: usize,
}

impl<K: Eq + Hash, V> BoundedCache<K, V> {
    pub(super) fn new(limit: usize) -> BoundedCache<K, V> {
        BoundedCache { recent: HashMap::new(), older: HashMap::new(), limit }
    }

    /// The value of a key, if it is still cached.
    pub(super) fn get<Q>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: std::borrow::Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        if let Some((key, value)) = self.older.remove_entry(key) {
            self.insert(key, value);
        }
        self.recent.get_mut(key)
    }

    /// Adds a value.
    pub(super) fn insert(&mut self, key: K, value: V) {
        if self.recent.len() >= self.limit {
            self.older = std::mem::take(&mut self.recent);
        }
        self.recent.insert(key, value);
    }

    /// All cached values.
    pub(super) fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.recent.values_mut().chain(self.older.values_mut())
    }

    /// Drops all values.
    pub(super) fn clear(&mut self) {
        self.recent.clear();
        self.older.clear();
    }
}
