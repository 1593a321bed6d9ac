//! Work that is divided among threads. Each item's result depends on the item alone, and results keep the order of the items: the
//! number of threads changes nothing but the time.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Threads at most. How many CPUs the machine has is not asked: what this crate says of a run must not depend on where it is read.
const THREADS: usize = 4;
/// Small items that a thread takes at once.
const AT_ONCE: usize = 1024;

/// The results of all items, in their order.
pub(crate) fn map<Item: Sync, Result: Send>(items: &[Item], of: impl Fn(&Item) -> Result + Sync) -> Vec<Result> {
    if items.len() < 2 {
        return items.iter().map(of).collect();
    }
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(at) else { return done };
            done.push((at, of(item)));
        }
    };
    let mut results: Vec<(usize, Result)> = thread::scope(|scope| {
        let workers: Vec<_> = (0..THREADS.min(items.len())).map(|_| scope.spawn(work)).collect();
        let results = workers.into_iter().flat_map(|worker| worker.join().unwrap_or_else(|panic| resume_unwind(panic)));
        results.collect()
    });
    results.sort_unstable_by_key(|(at, _)| *at);
    results.into_iter().map(|(_, result)| result).collect()
}

/// The same for many small items.
pub(crate) fn map_many<Item: Sync, Result: Send>(items: &[Item], of: impl Fn(&Item) -> Result + Sync) -> Vec<Result> {
    let chunks: Vec<&[Item]> = items.chunks(AT_ONCE).collect();
    map(&chunks, |chunk| chunk.iter().map(&of).collect::<Vec<Result>>()).into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn results_keep_the_order_of_the_items() {
        let items: Vec<u64> = (0..1000).collect();
        let squares: Vec<u64> = items.iter().map(|item| item * item).collect();
        assert_eq!(super::map(&items, |item| item * item), squares);
        assert!(super::map(&[] as &[u64], |item| *item).is_empty());
        let many: Vec<u64> = (0..super::AT_ONCE as u64 * 3 + 1).collect();
        assert_eq!(super::map_many(&many, |item| *item), many);
    }
}
