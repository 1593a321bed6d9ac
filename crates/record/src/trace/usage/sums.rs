//! The programs' sums, of `bpf/task/usage_table.h`: a table for each CPU, and a map of those that found no place there.

use std::collections::HashMap;

use libbpf_rs::{MapCore, MapFlags, Object};
use model::usage::Resource;

use super::super::programs;

/// `struct usage_key`. Its last word is the state of its place; in the map it is 0.
const KEY_BYTES: usize = 24;
const STATE_AT: usize = 20;
/// The state of a place that holds a sum.
const TAKEN: u32 = 2;
/// `struct usage_place`: a key, a sum, and a word.
const PLACE_BYTES: usize = 64;
const SUM_AT: std::ops::Range<usize> = KEY_BYTES..KEY_BYTES + 8 * WORDS;
/// Places that are read at once.
const BATCH: u32 = 4096;
/// Words of `struct usage`.
const WORDS: usize = 4;

pub(super) type Key = [u8; KEY_BYTES];

/// What was used since the last look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::trace) struct Used {
    pub(super) resource: Resource,
    /// Number of the bio's cgroup; 0: unknown.
    pub(super) cgroup: u64,
    /// Device, file system or CPU.
    pub(super) target: u32,
    /// The thread, or the process; 0: unknown.
    pub(super) tid: u32,
    pub(super) count: u64,
    pub(super) bytes: u64,
    pub(super) busy_ns: u64,
    pub(super) throttled: u64,
}

/// The sums at the last look.
#[derive(Debug, Default)]
pub(super) struct Sums {
    seen: HashMap<Key, [u64; WORDS]>,
}

/// A sum, and where the programs have parts of it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) sum: [u64; WORDS],
    pub(super) places: Vec<u32>,
    is_in_map: bool,
}

impl Sums {
    /// The differences. Sums that did not change are removed from the kernel's tables, which thus hold only those in
    /// use.
    pub(super) fn take(&mut self, object: &Object) -> Vec<Used> {
        let (Ok(places), Ok(map)) = (programs::map(object, "usage_places"), programs::map(object, "usages")) else {
            return Vec::new();
        };
        let mut found = HashMap::new();
        // Where a part cannot be read, the next look has it.
        let all = places.lookup_batch(BATCH, MapFlags::ANY, MapFlags::ANY);
        all.into_iter().flatten().for_each(|(at, place)| add_place(&mut found, &at, &place));
        for key in map.keys() {
            let Ok(Some(values)) = map.lookup_percpu(&key, MapFlags::ANY) else { continue };
            let Ok(key) = Key::try_from(key.as_slice()) else { continue };
            let known = found.entry(key).or_default();
            values.iter().for_each(|value| add(&mut known.sum, value));
            known.is_in_map = true;
        }
        let (used, unchanged) = self.compare(found);
        for (key, found) in unchanged {
            // What is added just now is lost: the least that matters.
            for at in found.places {
                let _ = places.update(&at.to_ne_bytes(), &[0; PLACE_BYTES], MapFlags::ANY);
            }
            let _ = found.is_in_map.then(|| map.delete(&key));
        }
        used
    }

    /// What changed since the last look, and the sums that did not.
    fn compare(&mut self, found: HashMap<Key, Found>) -> (Vec<Used>, Vec<(Key, Found)>) {
        let mut seen = HashMap::new();
        let (mut used, mut unchanged) = (Vec::new(), Vec::new());
        for (key, found) in found {
            let before = self.seen.get(&key).copied().unwrap_or_default();
            if found.sum == before {
                unchanged.push((key, found));
                continue;
            }
            seen.insert(key, found.sum);
            used.extend(difference(&key, before, found.sum));
        }
        self.seen = seen;
        (used, unchanged)
    }
}

/// Adds the sum at a place, if it holds one.
pub(super) fn add_place(found: &mut HashMap<Key, Found>, at: &[u8], place: &[u8]) {
    let (Ok(at), Some(mut key), Some(sum)) =
        (at.try_into(), place.first_chunk::<KEY_BYTES>().copied(), place.get(SUM_AT))
    else {
        return;
    };
    if key[STATE_AT..] != TAKEN.to_ne_bytes() {
        return;
    }
    key[STATE_AT..].fill(0);
    let known = found.entry(key).or_default();
    add(&mut known.sum, sum);
    known.places.push(u32::from_ne_bytes(at));
}

/// Adds the sum of one CPU.
fn add(sum: &mut [u64; WORDS], value: &[u8]) {
    for (word, bytes) in sum.iter_mut().zip(value.as_chunks::<8>().0) {
        *word = word.wrapping_add(u64::from_ne_bytes(*bytes));
    }
}

/// `None` for a use that is not known.
pub(super) fn difference(key: &Key, before: [u64; WORDS], now: [u64; WORDS]) -> Option<Used> {
    let (cgroup, rest) = key.split_first_chunk::<8>()?;
    let mut words = rest.as_chunks::<4>().0.iter().map(|bytes| u32::from_ne_bytes(*bytes));
    let (target, tid) = (words.next()?, words.next()?);
    let resource = match words.next()? {
        0 => Resource::Cpu,
        1 => Resource::DeviceRead,
        2 => Resource::DeviceWrite,
        3 => Resource::DeviceOther,
        4 => Resource::DeviceMetadata,
        5 => Resource::Journal,
        6 => Resource::Inodes,
        _ => return None,
    };
    let [count, bytes, busy_ns, throttled] = std::array::from_fn(|at| now[at].wrapping_sub(before[at]));
    // A time that was given to another one after the last look.
    let busy_ns = busy_ns.cast_signed().max(0).cast_unsigned();
    Some(Used { resource, cgroup: u64::from_ne_bytes(*cgroup), target, tid, count, bytes, busy_ns, throttled })
}
