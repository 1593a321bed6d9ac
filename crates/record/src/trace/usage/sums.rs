//! The programs' sums: `usages` of `bpf/usage.h`.

use std::collections::HashMap;

use libbpf_rs::{MapCore, MapFlags, Object};
use model::usage::Resource;

use super::super::programs;

/// `struct usage_key`.
const KEY_BYTES: usize = 24;
/// Words of `struct usage`.
const WORDS: usize = 4;

type Key = [u8; KEY_BYTES];

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

impl Sums {
    /// The differences. Sums that did not change are removed from the kernel's map, which thus holds only those in use.
    pub(super) fn take(&mut self, object: &Object) -> Vec<Used> {
        let Ok(map) = programs::map(object, "usages") else { return Vec::new() };
        let mut used = Vec::new();
        let mut seen = HashMap::new();
        for key in map.keys().collect::<Vec<_>>() {
            let Ok(Some(values)) = map.lookup_percpu(&key, MapFlags::ANY) else { continue };
            let Ok(key) = Key::try_from(key.as_slice()) else { continue };
            let sum = sum(&values);
            let before = self.seen.get(&key).copied().unwrap_or_default();
            if sum == before {
                // What is added just now is lost: the least that matters.
                let _ = map.delete(&key);
                continue;
            }
            seen.insert(key, sum);
            used.extend(difference(&key, before, sum));
        }
        self.seen = seen;
        used
    }
}

/// The values of all CPUs.
fn sum(values: &[Vec<u8>]) -> [u64; WORDS] {
    let mut sum = [0u64; WORDS];
    for value in values {
        for (word, bytes) in sum.iter_mut().zip(value.as_chunks::<8>().0) {
            *word = word.wrapping_add(u64::from_ne_bytes(*bytes));
        }
    }
    sum
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
    Some(Used { resource, cgroup: u64::from_ne_bytes(*cgroup), target, tid, count, bytes, busy_ns, throttled })
}
