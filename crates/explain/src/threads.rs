//! Work on two threads, whose results are those of one.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{SendError, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread::{Builder, scope};

/// What `of` says of each item, in their order.
pub(crate) fn map<T: Sync, R: Send>(items: &[T], of: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let (next, results) = (AtomicUsize::new(0), Mutex::new(Vec::with_capacity(items.len())));
    let work = || {
        while let Some((at, item)) = {
            let at = next.fetch_add(1, Ordering::Relaxed);
            items.get(at).map(|item| (at, item))
        } {
            let result = of(item);
            results.lock().unwrap_or_else(PoisonError::into_inner).push((at, result));
        }
    };
    scope(|scope| {
        if items.len() > 1 {
            // Where there can be no thread, this one does it all.
            let _ = Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.sort_unstable_by_key(|(at, _)| *at);
    results.into_iter().map(|(_, result)| result).collect()
}

/// Hands all that `make` makes to `take`, in that order, on another thread where there can be one.
pub(crate) fn hand_over<T: Send>(make: impl FnOnce(&mut dyn FnMut(T)), take: impl FnMut(T) + Send) {
    let take = Mutex::new(take);
    let give = |item| (take.lock().unwrap_or_else(PoisonError::into_inner))(item);
    scope(|scope| {
        let (send, items) = sync_channel(1);
        let _ = Builder::new().spawn_scoped(scope, || items.into_iter().for_each(give));
        make(&mut |item| {
            if let Err(SendError(item)) = send.send(item) {
                give(item);
            }
        });
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_items() {
        let items: Vec<u64> = (0..1000).collect();
        assert_eq!(map(&items, |item| item * 2), items.iter().map(|item| item * 2).collect::<Vec<u64>>());
        assert_eq!(map(&items[..1], |item| item + 1), [1]);
        let mut taken = Vec::new();
        hand_over(|give| items.iter().for_each(|item| give(*item)), |item| taken.push(item));
        assert_eq!(taken, items);
    }
}
