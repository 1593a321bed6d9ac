//! The CPU time of the programs. The kernel measures it on request. Measuring costs time itself, and is thus done only
//! a part of the time.

use std::os::fd::{AsFd, OwnedFd};

use libbpf_rs::Object;

use crate::sys;

/// Time from one measurement to the next.
const PERIOD_NS: u64 = 30_000_000_000;
/// Length of a measurement; the first begins at once.
const MEASURED_NS: u64 = 1_000_000_000;

/// What tracing cost since this was last asked: the fields of [`model::event::RunEvent::TraceCost`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceCost {
    /// Events taken from the kernel.
    pub events: u64,
    /// CPU time of the thread that took them, within [`super::Tracing`]'s functions.
    pub consumer_cpu_ns: u64,
    /// CPU time of the programs in the kernel, on all CPUs, measured for `measured_ns` and scaled up. `None` where the
    /// kernel does not report it.
    pub programs_cpu_ns: Option<u64>,
    /// For how long the programs' time was measured.
    pub measured_ns: u64,
}

/// Measures the programs' time from time to time.
pub(super) struct CostMeter {
    /// The kernel measures while it is open.
    running: Option<OwnedFd>,
    began_ns: u64,
    began_run_ns: u64,
    taken_ns: u64,
    next_ns: u64,
    measured_ns: u64,
    run_ns: u64,
    refused: bool,
}

/// A measurement, scaled to the time since the one before.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Measured {
    pub(super) programs_cpu_ns: Option<u64>,
    pub(super) measured_ns: u64,
}

impl CostMeter {
    pub(super) fn new(now_ns: u64) -> CostMeter {
        CostMeter {
            running: None,
            began_ns: now_ns,
            began_run_ns: 0,
            taken_ns: now_ns,
            next_ns: now_ns,
            measured_ns: 0,
            run_ns: 0,
            refused: false,
        }
    }

    /// Call this every second or so.
    pub(super) fn tick(&mut self, objects: &[Object], now_ns: u64) {
        if self.running.is_some() && now_ns - self.began_ns >= MEASURED_NS {
            self.stop(objects, now_ns);
        } else if self.running.is_none() && now_ns >= self.next_ns && !self.refused {
            match sys::measure_bpf_programs() {
                Ok(running) => self.running = Some(running),
                Err(_) => self.refused = true,
            }
            self.began_ns = now_ns;
            self.began_run_ns = run_ns(objects).unwrap_or(0);
            self.next_ns = now_ns + PERIOD_NS;
        }
    }

    fn stop(&mut self, objects: &[Object], now_ns: u64) {
        if let Some(run_ns) = run_ns(objects) {
            self.run_ns += run_ns.saturating_sub(self.began_run_ns);
            self.measured_ns += now_ns - self.began_ns;
        }
        self.running = None;
    }

    /// The measurement since the last call. The programs' time is `None` if nothing was measured since.
    pub(super) fn take(&mut self, objects: &[Object], now_ns: u64) -> Measured {
        if self.running.is_some() {
            self.stop(objects, now_ns);
        }
        let passed_ns = now_ns.saturating_sub(std::mem::replace(&mut self.taken_ns, now_ns));
        let (run_ns, measured_ns) = (std::mem::take(&mut self.run_ns), std::mem::take(&mut self.measured_ns));
        Measured { programs_cpu_ns: scaled(run_ns, measured_ns, passed_ns), measured_ns }
    }
}

/// Extrapolates from the measured part to the whole time.
fn scaled(run_ns: u64, measured_ns: u64, passed_ns: u64) -> Option<u64> {
    let scaled = u128::from(run_ns) * u128::from(passed_ns) / u128::from(Some(measured_ns).filter(|ns| *ns > 0)?);
    u64::try_from(scaled).ok()
}

/// CPU time of all programs of the objects so far.
fn run_ns(objects: &[Object]) -> Option<u64> {
    runs(objects).map(|runs| Some(runs?.run_ns)).sum()
}

/// Runs of all programs of the objects that the kernel skipped so far.
pub(super) fn skipped(objects: &[Object]) -> u64 {
    runs(objects).flatten().map(|runs| runs.skipped).sum()
}

fn runs(objects: &[Object]) -> impl Iterator<Item = Option<sys::ProgramRuns>> {
    let programs = objects.iter().flat_map(Object::progs_mut).filter(|program| program.autoload());
    programs.map(|program| sys::bpf_program_runs(program.as_fd()))
}

#[cfg(test)]
mod tests {
    use super::scaled;

    #[test]
    fn a_part_stands_for_the_whole_and_nothing_for_nothing() {
        assert_eq!(scaled(5, 100, 3000), Some(150));
        assert_eq!(scaled(u64::MAX, 1, 1), Some(u64::MAX));
        assert_eq!(scaled(5, 0, 3000), None);
    }
}
