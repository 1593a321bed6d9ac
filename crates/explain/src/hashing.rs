//! Maps that explaining a run asks many millions of times.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;

/// A map that hashes fast. Its seed differs in each process, as the numbers and names of a run come from strangers who
/// may choose them to collide: nothing may depend on the order of its entries.
pub(crate) type FastMap<K, V> = HashMap<K, V, RandomState>;
/// The same for sets.
pub(crate) type FastSet<K> = HashSet<K, RandomState>;
