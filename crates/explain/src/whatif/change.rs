//! A change, and what it makes of a piece of time.

use model::block::DeviceNumber;
use model::cause::Cause;
use model::effect::{Edge, Effect};

use crate::waits::{Path, Step};

/// What is changed.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// The waits of an edge.
    Edge {
        /// Which, and how.
        effect: Effect,
        /// Only those whose kind ([`crate::waits::Step::kind`]) begins with one of these; empty: all.
        of: Vec<String>,
    },
    /// A process or cgroup is absent.
    Absent(Absence),
}

/// The absence of a process or cgroup.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Absence {
    /// Name of the process.
    pub task: Option<String>,
    /// Its cgroup.
    pub cgroup: Option<String>,
    /// Its share, 0 to 1, of the time that operations lost to a cause on a disk.
    pub shares: Vec<(Cause, Option<DeviceNumber>, f64)>,
}

/// The part of a piece's time that remains, 0 to 1.
pub(super) fn remains(change: &Change, path: &Path) -> f64 {
    match change {
        Change::Edge { effect, of } => {
            if path.iter().any(|step| is_changed(*effect, of, step)) {
                rest(*effect)
            } else {
                1.0
            }
        }
        Change::Absent(absence) => 1.0 - absence.share(path),
    }
}

/// How many times as high the limit becomes that an operation itself waited for. Where one who used a part of a limit is absent, that
/// part is left to others.
pub(super) fn raised_limit(change: &Change, path: &Path) -> Option<f64> {
    let [only] = path.as_slice() else { return None };
    match change {
        Change::Edge { effect, of } if effect.edge == Edge::IoLimit && is_changed(*effect, of, only) => effect.factor,
        Change::Absent(absence) if only.cause == Cause::IoThrottle => {
            Some(1.0 / (1.0 - absence.share(path))).filter(|factor| *factor > 1.0 && factor.is_finite())
        }
        _ => None,
    }
}

/// Whether a step is one of the waits that are changed. One of an unknown kind counts as such.
pub(super) fn is_changed(effect: Effect, of: &[String], step: &Step) -> bool {
    let is_of = |kind: &String| step.kind.starts_with(kind.as_str());
    effect.edge.changes(step.cause) && (of.is_empty() || step.kind.is_empty() || of.iter().any(is_of))
}

fn rest(effect: Effect) -> f64 {
    effect.factor.map_or(0.0, |factor| 1.0 / factor)
}

impl Absence {
    /// By the operation's own cause and the last disk of the path, as root blockers are.
    fn share(&self, path: &Path) -> f64 {
        let device = path.iter().rev().find_map(|step| step.device);
        let Some(first) = path.first() else { return 0.0 };
        let of = |(cause, of, _): &&(Cause, Option<DeviceNumber>, f64)| *cause == first.cause && *of == device;
        self.shares.iter().find(of).map_or(0.0, |(.., share)| share.clamp(0.0, 1.0))
    }
}

/// Whether a change shortens service in front of a limit: a closed loop under that limit waits for as much longer.
pub(super) fn is_absorbed_by_limit(change: &Change) -> bool {
    match change {
        Change::Edge { effect, .. } => matches!(effect.edge, Edge::Device | Edge::SchedulerQueue | Edge::RequestWait),
        Change::Absent(_) => false,
    }
}
