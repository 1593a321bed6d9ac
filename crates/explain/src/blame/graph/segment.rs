//! Times with one cause, and those of one task in order, without gaps.

use crate::blame::facts::cause::{Cause, CausedTime, Evidence, Sums};

/// No row.
pub(crate) const NO_ROW: u32 = u32::MAX;

/// A time with one cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
    pub(crate) cause: Cause,
    pub(crate) evidence: Evidence,
    /// The off-CPU row; [`NO_ROW`] where the task was running.
    pub(crate) off: u32,
    /// The row that gives the cause, where it is a different row: a span, sums.
    pub(crate) by: u32,
    /// The other task that ran in that time, which this one waited for: it has no row of its own then. 0: none.
    pub(crate) ran: u32,
    /// How its wait led there, where it is the time of another task.
    pub(crate) via: Option<Via>,
}

/// How a wait leads to another task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Via {
    /// That task ended it, or ended what the one before waited for.
    Waker,
    /// It kept a server from receiving the request.
    NotReceived,
    /// It served what a proxy passed on.
    Proxy,
    /// It started one that began meanwhile.
    Starter,
    /// It slept because it wanted to.
    Choice,
    /// It held a lock of user space.
    Holder,
}

impl Segment {
    pub(crate) fn ns(&self) -> u64 {
        self.end_ns - self.start_ns
    }

    /// Whether the task lost that time: it waited, also for another one that ran.
    pub(crate) fn is_lost(&self) -> bool {
        self.cause.is_wait() || self.ran != 0
    }

    /// The most specific row.
    pub(crate) fn row(&self) -> Option<u32> {
        [self.by, self.off].into_iter().find(|&row| row != NO_ROW)
    }

    fn continues(&self, next: &Segment) -> bool {
        let same = |a: &Segment| (a.cause, a.evidence, a.off, a.by, a.ran);
        self.end_ns == next.start_ns && same(self) == same(next)
    }
}

/// Segments between two stored states of the running sums.
const STRIDE: usize = 64;

/// The segments of one task, in order of time, with running sums that make any range cheap to sum.
#[derive(Debug, Default)]
pub(crate) struct TaskTimeline {
    segments: Box<[Segment]>,
    /// Most timelines are of one asynchronous operation, and have few segments.
    strides: Option<Box<Strides>>,
}

/// The running sums.
#[derive(Debug)]
struct Strides {
    /// Sums of all segments before each [`STRIDE`]th but the first, without the many zeros.
    before: Vec<CausedTime>,
    /// Where those of each end.
    ends: Vec<u32>,
}

impl Strides {
    /// `None`: there are so few segments that none is needed.
    fn of(segments: &[Segment]) -> Option<Box<Strides>> {
        let strides = segments.len().saturating_sub(1) / STRIDE;
        let (mut before, mut ends, mut sums) = (Vec::new(), Vec::with_capacity(strides), Sums::ZERO);
        for stride in segments.chunks_exact(STRIDE).take(strides) {
            stride.iter().for_each(|segment| sums.add(segment.cause, segment.evidence, segment.ns()));
            before.extend(sums.parts());
            ends.push(before.len() as u32);
        }
        before.shrink_to_fit();
        (strides > 0).then(|| Box::new(Strides { before, ends }))
    }
}

impl TaskTimeline {
    /// Takes segments in order of time.
    pub(crate) fn new(mut segments: Vec<Segment>) -> TaskTimeline {
        segments.dedup_by(|next, last| {
            let continues = last.continues(next);
            if continues {
                last.end_ns = next.end_ns;
            }
            continues
        });
        TaskTimeline { strides: Strides::of(&segments), segments: segments.into_boxed_slice() }
    }

    /// Sums of the time before a moment.
    fn until(&self, at_ns: u64) -> Sums {
        let after = self.segments.partition_point(|segment| segment.start_ns < at_ns);
        let Some(stride) = after.checked_sub(1).map(|last| last / STRIDE) else { return Sums::ZERO };
        let mut sums = Sums::ZERO;
        self.before(stride).iter().for_each(|&(cause, evidence, ns)| sums.add(cause, evidence, ns));
        for segment in &self.segments[stride * STRIDE..after] {
            sums.add(segment.cause, segment.evidence, segment.end_ns.min(at_ns) - segment.start_ns);
        }
        sums
    }

    /// Sums of all segments before that stride.
    fn before(&self, stride: usize) -> &[CausedTime] {
        let Some(Strides { before, ends }) = self.strides.as_deref().filter(|_| stride > 0) else { return &[] };
        let end = |stride: usize| stride.checked_sub(1).map_or(0, |at| ends[at] as usize);
        &before[end(stride - 1)..end(stride)]
    }

    /// Time by cause between two moments.
    pub(crate) fn sums(&self, from_ns: u64, to_ns: u64) -> Sums {
        self.until(to_ns).minus(&self.until(from_ns))
    }

    /// The same, added to a list. Most operations have few segments, and the sums of all causes are large.
    pub(crate) fn times(&self, from_ns: u64, to_ns: u64, into: &mut Vec<CausedTime>) {
        let begin = into.len();
        let first = self.segments.partition_point(|segment| segment.end_ns <= from_ns);
        if self.segments.get(first + STRIDE).is_some_and(|segment| segment.start_ns < to_ns) {
            return into.extend(self.sums(from_ns, to_ns).parts());
        }
        for segment in self.between(from_ns, to_ns) {
            let is_same = |time: &&mut CausedTime| (time.0, time.1) == (segment.cause, segment.evidence);
            match into[begin..].iter_mut().find(is_same) {
                Some(time) => time.2 += segment.ns(),
                None => into.push((segment.cause, segment.evidence, segment.ns())),
            }
        }
        into[begin..].sort_unstable();
    }

    /// The segments between two moments, clipped to them.
    pub(crate) fn between(&self, from_ns: u64, to_ns: u64) -> impl Iterator<Item = Segment> + '_ {
        let first = self.segments.partition_point(|segment| segment.end_ns <= from_ns);
        let inside = self.segments[first..].iter().take_while(move |segment| segment.start_ns < to_ns);
        inside.map(move |segment| Segment {
            start_ns: segment.start_ns.max(from_ns),
            end_ns: segment.end_ns.min(to_ns),
            ..*segment
        })
    }

    /// The same, the latest first.
    pub(crate) fn latest(&self, from_ns: u64, to_ns: u64) -> impl Iterator<Item = Segment> + '_ {
        let end = self.segments.partition_point(|segment| segment.start_ns < to_ns);
        let inside = self.segments[..end].iter().rev().take_while(move |segment| segment.end_ns > from_ns);
        inside.map(move |segment| Segment {
            start_ns: segment.start_ns.max(from_ns),
            end_ns: segment.end_ns.min(to_ns),
            ..*segment
        })
    }

    pub(crate) fn segments(&self) -> &[Segment] {
        &self.segments
    }
}
