//! Service times of a device.

use crate::random::Random;

/// The distribution of a service time.
#[derive(Debug, Clone, PartialEq)]
pub enum Service {
    /// Always the same.
    Constant(u64),
    /// Exponential, with this mean.
    Exponential(u64),
    /// Uniform between two times, both included.
    Uniform(u64, u64),
    /// Measured: times in ascending order, all equally likely. Not empty.
    Measured(Vec<u64>),
}

impl Service {
    /// One service time, ns.
    pub fn draw_ns(&self, random: &mut Random) -> u64 {
        match self {
            Service::Constant(ns) => *ns,
            Service::Exponential(mean_ns) => random.time_ns(*mean_ns),
            Service::Uniform(least_ns, most_ns) => least_ns + random.below(most_ns - least_ns + 1),
            Service::Measured(times) => times[random.below(times.len() as u64) as usize],
        }
    }
}
