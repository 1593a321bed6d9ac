//! Failed operations, counted by kind.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use model::operation::{Fault, IntervalRecord, OperationRecord, ROUND};

/// Maximum number of kinds of failure; a run has few.
const MOST_KINDS: usize = 256;
/// Maximum number of files counted per kind of failure.
const MOST_FILES: usize = 1 << 16;

/// Operations of a class that failed in the same way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailureCount {
    /// The class.
    pub class: String,
    /// Whether they count in the run's figures; those in a warm-up do not.
    pub measured: bool,
    /// The kernel's error number. Where this and `fault` are `None`, the failure is unknown, because there were too
    /// many to record each.
    pub errno: Option<i32>,
    /// How they failed without an error number.
    pub fault: Option<Fault>,
    /// Count.
    pub count: u64,
    /// Whether unknown failures may include more of them.
    pub at_least: bool,
    /// Number of files; `None` if unknown, or above the maximum.
    pub files: Option<u64>,
    /// The first of them; `None` for unknown failures.
    pub first: Option<OperationRecord>,
}

impl FailureCount {
    /// The failure's name: `EIO`, `short_read`; `None` if it is unknown, or its number has no name here.
    pub fn error(&self) -> Option<&'static str> {
        self.fault.map(Fault::name).or_else(|| model::errno::name(self.errno?))
    }
}

/// Collects failures. Counts of intervals are exact; individual records may be lost.
#[derive(Debug, Default)]
pub(super) struct Failures {
    kinds: Vec<Kind>,
    totals: Vec<Total>,
}

/// Operations of a class that failed in the same way. Arrays hold measured, then unmeasured.
#[derive(Debug, Clone)]
struct Kind {
    like: OperationRecord,
    count: [u64; 2],
    first: [Option<OperationRecord>; 2],
    /// Hashes of their paths.
    files: HashSet<u64>,
}

#[derive(Debug)]
struct Total {
    class: String,
    errors: [u64; 2],
}

impl Failures {
    /// Adds the failures of an interval.
    pub(super) fn interval(&mut self, record: &IntervalRecord, measured: bool) {
        if record.errors == 0 || record.class == ROUND {
            return;
        }
        let side = usize::from(!measured);
        match self.totals.iter_mut().find(|total| total.class == record.class) {
            Some(total) => total.errors[side] += record.errors,
            None => {
                let mut total = Total { class: record.class.clone(), errors: [0; 2] };
                total.errors[side] = record.errors;
                self.totals.push(total);
            }
        }
    }

    /// Adds an individually recorded failed operation.
    pub(super) fn operation(&mut self, failed: &OperationRecord, measured: bool) {
        let same = |kind: &&mut Kind| {
            let like = &kind.like;
            (like.errno, like.fault) == (failed.errno, failed.fault) && like.class == failed.class
        };
        if self.kinds.iter_mut().find(same).is_none() && self.kinds.len() < MOST_KINDS {
            let (like, files) = (failed.clone(), HashSet::new());
            self.kinds.push(Kind { like, count: [0; 2], first: [None, None], files });
        }
        let Some(kind) = self.kinds.iter_mut().find(same) else { return };
        let side = usize::from(!measured);
        kind.count[side] += 1;
        kind.first[side].get_or_insert_with(|| failed.clone());
        if let Some(path) = failed.path.as_ref().filter(|_| kind.files.len() < MOST_FILES) {
            let mut hasher = DefaultHasher::new();
            path.hash(&mut hasher);
            kind.files.insert(hasher.finish());
        }
    }

    /// All kinds: measured first, then the most frequent first. Per class they sum to the number of its failures.
    pub(super) fn counts(&self) -> Vec<FailureCount> {
        let mut counts: Vec<FailureCount> = self.totals.iter().flat_map(|total| self.of_class(total)).collect();
        counts.sort_by_key(|failure| (!failure.measured, failure.first.is_none(), std::cmp::Reverse(failure.count)));
        counts
    }

    fn of_class(&self, total: &Total) -> Vec<FailureCount> {
        let mut kinds: Vec<Kind> = self.kinds.iter().filter(|kind| kind.like.class == total.class).cloned().collect();
        settle(&mut kinds, total.errors);
        let sum = |side: usize| kinds.iter().map(|kind| kind.count[side]).sum::<u64>();
        let unknown = [0, 1].map(|side| total.errors[side].saturating_sub(sum(side)));
        let mut counts = Vec::new();
        for (side, &rest) in unknown.iter().enumerate() {
            let count = |count: u64, at_least: bool, kind: Option<&Kind>| FailureCount {
                class: total.class.clone(),
                measured: side == 0,
                errno: kind.and_then(|kind| kind.like.errno),
                fault: kind.and_then(|kind| kind.like.fault),
                count,
                at_least,
                files: kind.and_then(Kind::files),
                first: kind.and_then(|kind| kind.first[side].clone().or_else(|| kind.first[1 - side].clone())),
            };
            let of_kind = |kind: &Kind| count(kind.count[side], rest > 0, Some(kind));
            counts.extend(kinds.iter().filter(|kind| kind.count[side] > 0).map(of_kind));
            counts.extend((rest > 0).then(|| count(rest, false, None)));
        }
        counts
    }
}

impl Kind {
    fn files(&self) -> Option<u64> {
        (1..MOST_FILES).contains(&self.files.len()).then_some(self.files.len() as u64)
    }
}

/// An operation that ends with a phase may be in the phase's histogram but recorded just after its end, or vice versa.
/// The histograms decide: individual operations move to the other side, or are dropped.
fn settle(kinds: &mut [Kind], totals: [u64; 2]) {
    for (from, to) in [(1, 0), (0, 1)] {
        let sum = |kinds: &[Kind], side: usize| kinds.iter().map(|kind| kind.count[side]).sum::<u64>();
        let mut spare = sum(kinds, from).saturating_sub(totals[from]);
        let mut wanted = totals[to].saturating_sub(sum(kinds, to));
        kinds.sort_by_key(|kind| std::cmp::Reverse(kind.count[from]));
        for kind in &mut *kinds {
            let taken = spare.min(kind.count[from]);
            let given = taken.min(wanted);
            kind.count[from] -= taken;
            kind.count[to] += given;
            (spare, wanted) = (spare - taken, wanted - given);
        }
    }
}
