//! What one task did at each moment, in disjoint segments without gaps.

use super::cause::{Cause, CausedTime, Evidence, Sums};

/// No row.
pub(super) const NO_ROW: u32 = u32::MAX;

/// A time with one cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Segment {
    pub(super) start_ns: u64,
    pub(super) end_ns: u64,
    pub(super) cause: Cause,
    pub(super) evidence: Evidence,
    /// The off-CPU row; [`NO_ROW`] where the task was running.
    pub(super) off: u32,
    /// The row that gives the cause, where it is a different row: a span, sums.
    pub(super) by: u32,
    /// The other task that ran in that time, which this one waited for: it has no row of its own then. 0: none.
    pub(super) ran: u32,
}

impl Segment {
    pub(super) fn ns(&self) -> u64 {
        self.end_ns - self.start_ns
    }

    /// Whether the task lost that time: it waited, also for another one that ran.
    pub(super) fn is_lost(&self) -> bool {
        self.cause.is_wait() || self.ran != 0
    }

    /// The most specific row.
    pub(super) fn row(&self) -> Option<u32> {
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
pub(super) struct TaskTimeline {
    segments: Vec<Segment>,
    /// Sums of all segments before each [`STRIDE`]th but the first, without the many zeros.
    before: Vec<CausedTime>,
    /// Where those of each end.
    ends: Vec<u32>,
}

impl TaskTimeline {
    /// Takes segments in order of time.
    pub(super) fn new(segments: Vec<Segment>) -> TaskTimeline {
        let mut joined: Vec<Segment> = Vec::with_capacity(segments.len());
        for segment in segments {
            match joined.last_mut() {
                Some(last) if last.continues(&segment) => last.end_ns = segment.end_ns,
                _ => joined.push(segment),
            }
        }
        let strides = joined.len().saturating_sub(1) / STRIDE;
        let (mut before, mut ends, mut sums) = (Vec::new(), Vec::with_capacity(strides), Sums::ZERO);
        for stride in joined.chunks_exact(STRIDE).take(strides) {
            stride.iter().for_each(|segment| sums.add(segment.cause, segment.evidence, segment.ns()));
            before.extend(sums.parts());
            ends.push(before.len() as u32);
        }
        joined.shrink_to_fit();
        before.shrink_to_fit();
        TaskTimeline { segments: joined, before, ends }
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
        let end = |stride: usize| stride.checked_sub(1).map_or(0, |at| self.ends[at] as usize);
        if stride == 0 { &[] } else { &self.before[end(stride - 1)..end(stride)] }
    }

    /// Time by cause between two moments.
    pub(super) fn sums(&self, from_ns: u64, to_ns: u64) -> Sums {
        self.until(to_ns).minus(&self.until(from_ns))
    }

    /// The same, added to a list. Most operations have few segments, and the sums of all causes are large.
    pub(super) fn times(&self, from_ns: u64, to_ns: u64, into: &mut Vec<CausedTime>) {
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
    pub(super) fn between(&self, from_ns: u64, to_ns: u64) -> impl Iterator<Item = Segment> + '_ {
        let first = self.segments.partition_point(|segment| segment.end_ns <= from_ns);
        let inside = self.segments[first..].iter().take_while(move |segment| segment.start_ns < to_ns);
        inside.map(move |segment| Segment {
            start_ns: segment.start_ns.max(from_ns),
            end_ns: segment.end_ns.min(to_ns),
            ..*segment
        })
    }

    /// The same, the latest first.
    pub(super) fn latest(&self, from_ns: u64, to_ns: u64) -> impl Iterator<Item = Segment> + '_ {
        let end = self.segments.partition_point(|segment| segment.start_ns < to_ns);
        let inside = self.segments[..end].iter().rev().take_while(move |segment| segment.end_ns > from_ns);
        inside.map(move |segment| Segment {
            start_ns: segment.start_ns.max(from_ns),
            end_ns: segment.end_ns.min(to_ns),
            ..*segment
        })
    }

    pub(super) fn segments(&self) -> &[Segment] {
        &self.segments
    }
}

/// A time that a row covers: start, end, row.
pub(super) type Covered = (u64, u64, u32);

/// The innermost row at each moment: of overlapping rows the last to start, and of those the first to end. The result is
/// in order of time and does not overlap.
pub(super) fn innermost(mut rows: Vec<Covered>) -> Vec<Covered> {
    rows.sort_unstable_by_key(|&(start_ns, end_ns, row)| (start_ns, std::cmp::Reverse(end_ns), row));
    let mut covered: Vec<Covered> = Vec::with_capacity(rows.len());
    let mut open = std::collections::BinaryHeap::new();
    let mut upcoming = rows.into_iter().peekable();
    let mut now_ns = 0;
    loop {
        while open.peek().is_some_and(|&(_, std::cmp::Reverse(end_ns), _)| end_ns <= now_ns) {
            open.pop();
        }
        if open.is_empty() {
            let Some(&(start_ns, ..)) = upcoming.peek() else { return covered };
            now_ns = start_ns;
        }
        while let Some((start_ns, end_ns, row)) = upcoming.next_if(|&(start_ns, ..)| start_ns <= now_ns) {
            open.push((start_ns, std::cmp::Reverse(end_ns), row));
        }
        let Some(&(_, std::cmp::Reverse(end_ns), row)) = open.peek() else { continue };
        let until_ns = upcoming.peek().map_or(end_ns, |&(start_ns, ..)| start_ns.min(end_ns));
        if until_ns > now_ns {
            match covered.last_mut() {
                Some(last) if last.1 == now_ns && last.2 == row => last.1 = until_ns,
                _ => covered.push((now_ns, until_ns, row)),
            }
            now_ns = until_ns;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::innermost;

    /// One bar per row; each moment shows its innermost row.
    fn check(rows: &[&str], expected: &str) {
        let covered = rows
            .iter()
            .zip(0..)
            .filter_map(|(line, row)| Some((line.find('=')? as u64, line.rfind('=')? as u64 + 1, row)));
        let mut shown = vec![b' '; expected.len()];
        for (from, to, row) in innermost(covered.collect()) {
            shown[from as usize..to as usize].fill(b'0' + row as u8);
        }
        assert_eq!(String::from_utf8(shown).unwrap(), expected, "of {rows:?}");
    }

    #[test]
    fn the_innermost_row_covers_the_moment() {
        check(&["==========", "   ===    ", "    =     "], "0001210000");
        check(&["=====     ", "   =======", "          "], "0001111111");
        check(&["==   ", "  == "], "0011 ");
        check(&["====", "====", "== "], "2211");
        check(&[" =  ", "   = "], " 0 1");
    }
}
