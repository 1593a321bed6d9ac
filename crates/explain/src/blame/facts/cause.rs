//! The causes of lost time, and the evidence for each.

pub use model::cause::Cause;
pub(crate) use model::cause::traits;

/// Whether a cause is a conclusion that does not hold without block requests ([`crate::blame::verdict::untraced`]).
pub(crate) fn is_hidden(cause: Cause, evidence: Evidence) -> bool {
    cause.has(traits::ENDS_WITH_REQUEST) && evidence != Evidence::Correlation
}

/// How a time got its cause, the best evidence first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Evidence {
    /// The kernel recorded it at the time: tracepoints, the scheduler, the lifecycle of the request that ended the
    /// wait.
    Event,
    /// The kernel stack of the sleep.
    Stack,
    /// Sums of short waits in the same time.
    Correlation,
    /// No evidence.
    None,
}

impl Evidence {
    /// All kinds of evidence.
    pub const ALL: [Evidence; 4] = [Evidence::Event, Evidence::Stack, Evidence::Correlation, Evidence::None];

    /// The name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Evidence::Event => "event",
            Evidence::Stack => "stack",
            Evidence::Correlation => "correlation",
            Evidence::None => "none",
        }
    }
}

/// Time by evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EvidenceTimes([u64; Evidence::ALL.len()]);

impl EvidenceTimes {
    /// Time with that evidence, ns.
    pub fn of(&self, evidence: Evidence) -> u64 {
        self.0[evidence as usize]
    }

    /// Total time, ns.
    pub fn total_ns(&self) -> u64 {
        self.0.iter().sum()
    }

    /// The evidence for most of the time.
    pub fn main(&self) -> Evidence {
        let most = Evidence::ALL.into_iter().rev().max_by_key(|&evidence| self.of(evidence));
        most.unwrap_or(Evidence::None)
    }

    /// Adds time with that evidence, ns.
    pub fn add(&mut self, evidence: Evidence, ns: u64) {
        self.0[evidence as usize] += ns;
    }
}

/// Time that operations lost to one cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CauseTime {
    /// The cause.
    pub cause: Cause,
    /// Duration, ns.
    pub time_ns: u64,
    /// Operations that lost any time to it.
    pub operations: u64,
    /// Operations that lost more time to it than to any other cause. Over all causes these sum to the number of
    /// operations.
    pub most_of: u64,
    /// By evidence; sums to the time.
    pub evidence: EvidenceTimes,
    /// The part of it that counts for a client as well as for its server, by evidence: of the same slow operations.
    pub again: EvidenceTimes,
}

impl CauseTime {
    /// Duration in which each wait counts once, ns.
    pub fn once_ns(&self) -> u64 {
        self.time_ns.saturating_sub(self.again.total_ns())
    }
}

/// Time with a cause, and with the evidence for it. Of several, in order of both.
pub(crate) type CausedTime = (Cause, Evidence, u64);

/// Time by cause and evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sums([EvidenceTimes; Cause::ALL.len()]);

impl Sums {
    pub(crate) const ZERO: Sums = Sums([EvidenceTimes([0; Evidence::ALL.len()]); Cause::ALL.len()]);

    pub(crate) fn add(&mut self, cause: Cause, evidence: Evidence, ns: u64) {
        self.0[cause as usize].add(evidence, ns);
    }

    pub(crate) fn of(&self, cause: Cause) -> &EvidenceTimes {
        &self.0[cause as usize]
    }

    /// The difference to an earlier state of the same sums.
    pub(crate) fn minus(&self, earlier: &Sums) -> Sums {
        let mut since = *self;
        for (later, earlier) in since.0.iter_mut().zip(&earlier.0) {
            later.0.iter_mut().zip(earlier.0).for_each(|(later, earlier)| *later -= earlier);
        }
        since
    }

    /// All parts that are not zero.
    pub(crate) fn parts(&self) -> impl Iterator<Item = CausedTime> + '_ {
        Cause::ALL
            .into_iter()
            .flat_map(move |cause| {
                Evidence::ALL.into_iter().map(move |evidence| (cause, evidence, self.of(cause).of(evidence)))
            })
            .filter(|(.., ns)| *ns > 0)
    }
}
