//! Counters: the samplers' metrics as the kernel gave them, and a load's rate and latency by interval.

use std::io::{self, Write};

use model::latency::range_of;
use model::metric::{MetricChange, MetricDescriptor, SampleHeader, Unit};
use model::operation::IntervalRecord;

use super::PerfettoTrace;
use super::packet::Track;
use super::track_kind::TrackKind;

impl<W: Write> PerfettoTrace<W> {
    /// Metrics that changes refer to.
    pub fn descriptors(&mut self, metrics: &[MetricDescriptor]) -> io::Result<()> {
        for metric in metrics {
            let (source, field) = metric.name.split_once('.').unwrap_or(("", &metric.name));
            let parent = self.source(source)?;
            let name = if metric.instance.is_empty() {
                field.to_owned()
            } else {
                format!("{field} {}", metric.shown_instance())
            };
            self.packets.counter(TrackKind::Metric.track(u64::from(metric.id.0)), parent, &name, metric.unit)?;
        }
        Ok(())
    }

    /// Samples that changes refer to.
    pub fn samples(&mut self, samples: &[SampleHeader]) {
        self.samples.extend(samples.iter().map(|header| (header.sample, header.at.monotonic_ns)));
    }

    /// New values. A value of a lost sample has no time and is left out.
    pub fn changes(&mut self, changes: &[MetricChange]) -> io::Result<()> {
        for change in changes {
            if let Some(at_ns) = self.samples.get(&change.sample) {
                self.packets.value(TrackKind::Metric.track(u64::from(change.metric.0)), *at_ns, change.value)?;
            }
        }
        Ok(())
    }

    /// A load's operations in each interval, from its start on.
    pub fn intervals(&mut self, intervals: &[IntervalRecord]) -> io::Result<()> {
        for interval in intervals {
            let seconds = interval.end_ns.saturating_sub(interval.start_ns) as f64 / 1e9;
            let per_second = |number: u64| (seconds > 0.0).then_some((number as f64 / seconds).round() as i64);
            let values = [
                ("operations/s", Unit::Count, per_second(interval.count)),
                ("bytes/s", Unit::Bytes, per_second(interval.bytes)),
                ("p50", Unit::Nanoseconds, percentile_ns(interval, 50)),
                ("p99", Unit::Nanoseconds, percentile_ns(interval, 99)),
                ("max", Unit::Nanoseconds, interval.max_ns.map(|ns| ns as i64)),
                ("stuck", Unit::Count, Some(interval.stuck as i64)),
            ];
            for (what, unit, value) in values {
                let track = self.class(&interval.class, what, unit)?;
                self.packets.value(track, interval.start_ns, value)?;
            }
        }
        Ok(())
    }

    fn source(&mut self, source: &str) -> io::Result<Track> {
        if let Some(track) = self.sources.get(source) {
            return Ok(*track);
        }
        let track = TrackKind::Source.track(self.sources.len() as u64);
        self.packets.track(track, None, source)?;
        self.sources.insert(source.to_owned(), track);
        Ok(track)
    }

    fn class(&mut self, class: &str, what: &'static str, unit: Unit) -> io::Result<Track> {
        if let Some(track) = self.classes.get(&(class.to_owned(), what)) {
            return Ok(*track);
        }
        let parent = self.source("load")?;
        let track = TrackKind::Load.track(self.classes.len() as u64);
        self.packets.counter(track, parent, &format!("{class} {what}"), unit)?;
        self.classes.insert((class.to_owned(), what), track);
        Ok(track)
    }
}

/// The upper bound of the bucket that reaches this percentage of the operations; `None` without operations.
fn percentile_ns(interval: &IntervalRecord, per_cent: u64) -> Option<i64> {
    let all: u64 = interval.buckets.iter().map(|bucket| bucket.count).sum();
    let wanted = all.saturating_mul(per_cent).div_ceil(100);
    let mut seen = 0;
    let reached = interval.buckets.iter().find(|bucket| {
        seen += bucket.count;
        seen >= wanted
    })?;
    Some(range_of(reached.index).1 as i64)
}
