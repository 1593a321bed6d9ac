//! What is left of waits for a device when one who used it is absent.

use std::collections::HashMap;

use model::block::DeviceNumber;
use model::cause::{Cause, traits};

use super::change::Change;
use crate::waits::{Path, Waiting, Waits};

/// Longest time that is left of an operation's waits for a device.
///
/// *Assumes* that the operation's own requests take about the same time each, so that what they waited for another's
/// lies in the longest waits: the cap above which the waits hold the other's share. A request that found the device
/// idle is not faster alone.
#[derive(Debug, Default)]
pub(super) struct Residuals {
    /// Number of the cap of each path that has one.
    of_path: Vec<Option<usize>>,
    cap_ns: Vec<f64>,
}

impl Residuals {
    /// `remaining`: the share of the time on each path that is left.
    pub(super) fn of<'a>(
        waits: &Waits,
        change: &Change,
        remaining: &[f64],
        operations: impl Iterator<Item = &'a Waiting>,
    ) -> Residuals {
        let Change::Absent(_) = change else { return Residuals::default() };
        let mut numbers: HashMap<(Cause, Option<DeviceNumber>), usize> = HashMap::new();
        let mut shares = Vec::new();
        let mut number = |(path, share): (&Path, &f64)| {
            let key = key(path)?;
            let new = numbers.len();
            let number = *numbers.entry(key).or_insert(new);
            if number == new {
                shares.push(*share);
            }
            Some(number)
        };
        let of_path: Vec<Option<usize>> = waits.paths.iter().zip(remaining).map(&mut number).collect();
        let mut residuals = Residuals { of_path, cap_ns: Vec::new() };
        let mut times: Vec<Vec<f64>> = vec![Vec::new(); shares.len()];
        for operation in operations {
            residuals.times(operation).into_iter().for_each(|(number, ns)| times[number].push(ns));
        }
        residuals.cap_ns = times.into_iter().zip(shares).map(|(times, share)| cap(times, share)).collect();
        residuals
    }

    /// Whether a path has a cap, instead of a share that is left.
    pub(super) fn has(&self, path: u32) -> bool {
        self.of_path.get(path as usize).is_some_and(Option::is_some)
    }

    /// What is left of an operation's time on paths that have a cap, ns.
    pub(super) fn left(&self, operation: &Waiting) -> f64 {
        self.times(operation).into_iter().map(|(number, ns)| ns.min(self.cap_ns[number])).sum()
    }

    fn times(&self, operation: &Waiting) -> HashMap<usize, f64> {
        let mut times = HashMap::new();
        for &(path, ns) in &operation.pieces {
            if let Some(number) = self.of_path.get(path as usize).copied().flatten() {
                *times.entry(number).or_default() += ns as f64;
            }
        }
        times
    }
}

/// Cause and disk of an operation's own wait for a device, by which shares are known.
fn key(path: &Path) -> Option<(Cause, Option<DeviceNumber>)> {
    let first = path.first()?;
    let is_of_device = first.cause.has(traits::AT_DISK);
    is_of_device.then_some((first.cause, first.blamed))
}

/// The time that must be cut from all longer ones so that this share of the sum is left.
fn cap(mut times: Vec<f64>, share: f64) -> f64 {
    times.sort_unstable_by(f64::total_cmp);
    let mut left = share * times.iter().sum::<f64>();
    for (at, ns) in times.iter().enumerate() {
        let each = left / (times.len() - at) as f64;
        if each <= *ns {
            return each;
        }
        left -= ns;
    }
    f64::INFINITY
}
