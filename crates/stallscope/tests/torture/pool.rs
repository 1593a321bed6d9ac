//! Points side by side: most of a victim's time is sleep, and each has a folder, cgroups and loop devices of its own.
//! The register is the machine's, so that starts also meet each other.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::report::Report;

/// Attacks that number of points at a time.
pub fn side_by_side<T: Sync>(
    at_a_time: usize,
    points: &[T],
    report: &mut Report,
    attack: impl Fn(&T) -> Report + Sync,
) {
    let (next, all) = (AtomicUsize::new(0), Mutex::new(report));
    std::thread::scope(|scope| {
        for _ in 0..at_a_time.clamp(1, points.len().max(1)) {
            scope.spawn(|| {
                while let Some((at, point)) = take(points, &next) {
                    if at % 100 == 0 {
                        println!("{at} of {}", points.len());
                    }
                    let one = attack(point);
                    all.lock().unwrap_or_else(PoisonError::into_inner).add(one);
                }
            });
        }
    });
}

fn take<'a, T>(points: &'a [T], next: &AtomicUsize) -> Option<(usize, &'a T)> {
    let at = next.fetch_add(1, Ordering::Relaxed);
    Some((at, points.get(at)?))
}
