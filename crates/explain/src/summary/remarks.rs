//! Remarks on a run as a whole: all counted, a readable number kept.

use model::event::RunEvent;

use super::findings::{Recording, TraceCosts};

/// Maximum number of late samples and of gaps kept; a machine under pressure has thousands.
const KEPT: usize = 10;

/// Collects losses, late samples, gaps, clock steps, notes and costs.
#[derive(Debug, Default)]
pub(super) struct Remarks {
    kept: Vec<RunEvent>,
    late_samples: u64,
    gaps: usize,
    missing_samples: u64,
    lost_events: u64,
    left_out: u64,
    trace: Option<TraceCosts>,
}

impl Remarks {
    /// Adds an event.
    pub(super) fn add(&mut self, event: &RunEvent) {
        match event {
            RunEvent::LateSample { .. } => {
                self.late_samples += 1;
                self.keep_if(self.late_samples <= KEPT as u64, event);
            }
            RunEvent::Gap { samples, .. } => {
                (self.gaps, self.missing_samples) = (self.gaps + 1, self.missing_samples + u64::from(*samples));
                self.keep_if(self.gaps <= KEPT, event);
            }
            RunEvent::Loss { what, count, at_ns } => self.lost(what, *count, *at_ns),
            RunEvent::TraceCost { at_ns, events, consumer_cpu_ns, programs_cpu_ns, .. } => {
                let none_yet = TraceCosts { programs_cpu_ns: Some(0), ..TraceCosts::default() };
                let trace = self.trace.get_or_insert(none_yet);
                trace.events += events;
                trace.consumer_cpu_ns += consumer_cpu_ns;
                trace.programs_cpu_ns = trace.programs_cpu_ns.zip(*programs_cpu_ns).map(|(a, b)| a + b);
                trace.span_ns = *at_ns;
            }
            other => self.kept.push(other.clone()),
        }
    }

    fn keep_if(&mut self, wanted: bool, event: &RunEvent) {
        match wanted {
            true => self.kept.push(event.clone()),
            false => self.left_out += 1,
        }
    }

    /// Losses of one kind are reported repeatedly while they last; they are one remark.
    fn lost(&mut self, lost: &str, more: u64, noticed_ns: u64) {
        self.lost_events += more;
        for remark in &mut self.kept {
            if let RunEvent::Loss { what, count, at_ns } = remark
                && what == lost
            {
                (*count, *at_ns) = (*count + more, noticed_ns);
                return;
            }
        }
        self.kept.push(RunEvent::Loss { what: lost.to_owned(), count: more, at_ns: noticed_ns });
    }

    /// The kept remarks, in order.
    pub(super) fn kept(&self) -> &[RunEvent] {
        &self.kept
    }

    /// Fills in the counts. The run started at `started_ns`.
    pub(super) fn enter(&self, started_ns: u64, recording: &mut Recording) {
        recording.late_samples = self.late_samples;
        recording.missing_samples = self.missing_samples;
        recording.lost_events = self.lost_events;
        recording.remarks_left_out = self.left_out;
        let since_start = |trace: TraceCosts| TraceCosts { span_ns: trace.span_ns.saturating_sub(started_ns), ..trace };
        recording.trace = self.trace.map(since_start);
    }
}

#[cfg(test)]
mod tests {
    use model::event::RunEvent;

    use super::{KEPT, Remarks};
    use crate::summary::findings::{Recording, TraceCosts};

    #[test]
    fn all_late_samples_are_counted_and_a_few_kept() {
        let mut remarks = Remarks::default();
        (0..500).for_each(|sample| remarks.add(&RunEvent::LateSample { sample, late_ns: 1 }));
        (0..30).for_each(|from_ns| remarks.add(&RunEvent::Gap { from_ns, to_ns: from_ns + 1, samples: 2 }));
        remarks.add(&RunEvent::Note { at_ns: 1, text: "note".into() });
        let mut recording = Recording::default();
        remarks.enter(0, &mut recording);
        assert_eq!((recording.late_samples, recording.missing_samples), (500, 60));
        assert_eq!(recording.remarks_left_out, 490 + 20);
        assert_eq!(remarks.kept().len(), 2 * KEPT + 1);
    }

    #[test]
    fn losses_of_one_kind_are_one_remark() {
        let mut remarks = Remarks::default();
        let loss = |what: &str, count, at_ns| RunEvent::Loss { what: what.into(), count, at_ns };
        [loss("waits", 2, 5), loss("requests", 1, 6), loss("waits", 3, 7)].iter().for_each(|event| remarks.add(event));
        assert_eq!(remarks.kept(), [loss("waits", 5, 7), loss("requests", 1, 6)]);
    }

    #[test]
    fn costs_are_summed_and_unknown_if_any_is() {
        let cost = |at_ns, programs_cpu_ns| RunEvent::TraceCost {
            at_ns,
            events: 10,
            consumer_cpu_ns: 100,
            programs_cpu_ns,
            measured_ns: 1,
        };
        let summed = |costs: &[RunEvent]| {
            let (mut remarks, mut recording) = (Remarks::default(), Recording::default());
            costs.iter().for_each(|event| remarks.add(event));
            remarks.enter(1_000, &mut recording);
            recording.trace
        };
        let known = TraceCosts { events: 20, consumer_cpu_ns: 200, programs_cpu_ns: Some(7), span_ns: 2_000 };
        assert_eq!(summed(&[cost(2_000, Some(3)), cost(3_000, Some(4))]), Some(known));
        let unknown = TraceCosts { programs_cpu_ns: None, ..known };
        assert_eq!(summed(&[cost(2_000, None), cost(3_000, Some(4))]), Some(unknown));
        assert_eq!(summed(&[]), None);
    }
}
