//! The sampler thread.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use explain::series::SeriesSet;
use model::event::RunEvent;
use model::loss_kind::UNWRITTEN_SAMPLES;
use model::metric::{MetricChange, MetricDescriptor, SampleHeader};
use record::{ClockWatch, Sample, SamplerSet, Ticker, clock};

use crate::recording::rotation::Rotation;
use crate::recording::row::Row;
use crate::recording::tap::Tap;

pub(super) struct Sampling {
    pub(super) samplers: SamplerSet,
    pub(super) renew: Option<fn() -> SamplerSet>,
    pub(super) interval_ns: u64,
    pub(super) rows: SyncSender<Row>,
    pub(super) stop: Arc<AtomicBool>,
    pub(super) watched: Arc<Mutex<SeriesSet>>,
    pub(super) watch: Option<fn(&MetricDescriptor) -> bool>,
    pub(super) tap: Option<Arc<dyn Tap>>,
    pub(super) rotation: Rotation,
    pub(super) has_tracer: bool,
    pub(super) archived_bytes: Arc<AtomicU64>,
}

impl Sampling {
    pub(super) fn run(mut self) {
        let begin = clock::now();
        let mut ticker = Ticker::new(begin.monotonic_ns, self.interval_ns);
        let mut wall = ClockWatch::new(begin, ClockWatch::DEFAULT_THRESHOLD_NS);
        let mut sample = Sample::default();
        let mut ordinal = 0;
        let mut dropped = Dropped::default();
        let mut waited = 0;
        loop {
            let now_ns = clock::monotonic_ns();
            let Some(tick) = ticker.fire(now_ns) else {
                // The last sample is taken at the end, so the run has the final counters.
                if self.stop.load(Ordering::Relaxed) {
                    self.samplers.request_all_sources();
                    self.take(ordinal, 0, &mut sample, &mut dropped);
                    return;
                }
                std::thread::park_timeout(Duration::from_nanos(ticker.next_ns() - now_ns));
                continue;
            };
            waited = if self.rotation.is_pending() { waited + 1 } else { 0 };
            if self.rotation.is_due(self.has_tracer, waited) && self.rows.try_send(Row::Border).is_ok() {
                self.rotation.done();
                self.emit_in_full();
                dropped.forget_values();
                ordinal = 0;
            }
            for event in tick.events(ordinal) {
                self.put(Row::Event(event));
            }
            let at = self.take(ordinal, tick.late_ns, &mut sample, &mut dropped);
            if let Some(step) = wall.observe(at) {
                self.put(Row::Event(step));
            }
            ordinal += 1;
        }
    }

    fn emit_in_full(&mut self) {
        match self.renew {
            Some(renew) if self.samplers.is_overgrown() => {
                self.samplers = renew();
                self.tap.iter().for_each(|tap| tap.renumbered());
            }
            _ => self.samplers.request_full_sample(),
        }
    }

    /// Takes a sample and hands it on.
    fn take(&mut self, ordinal: u32, late_ns: u64, sample: &mut Sample, dropped: &mut Dropped) -> model::time::Moment {
        self.samplers.set_archived_bytes(self.archived_bytes.load(Ordering::Relaxed));
        let header = SampleHeader { late_ns, ..self.samplers.sample(ordinal, sample) };
        let at = header.at;
        self.remember(header, sample);
        if let Some(tap) = &self.tap {
            tap.sample(&header, &sample.new_descriptors, &sample.changes);
        }
        for failure in &sample.failures {
            let text = format!("{}: {}", failure.source, failure.why);
            self.put(Row::Event(RunEvent::Note { at_ns: at.monotonic_ns, text }));
        }
        dropped.merge_into(sample, ordinal);
        let row = Row::Sample {
            header,
            descriptors: std::mem::take(&mut sample.new_descriptors),
            changes: sample.changes.clone(),
        };
        if let Err(TrySendError::Full(row)) = self.rows.try_send(row) {
            dropped.keep(row);
        } else if let Some(count) = dropped.take_count() {
            let what = UNWRITTEN_SAMPLES.name.to_owned();
            self.put(Row::Event(RunEvent::Loss { what, count, at_ns: at.monotonic_ns }));
        }
        at
    }

    fn remember(&self, header: SampleHeader, sample: &Sample) {
        let Some(watch) = self.watch else { return };
        let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        watched.describe(&sample.new_descriptors, watch);
        watched.sample(header);
        watched.feed(&sample.changes);
    }

    fn put(&self, row: Row) {
        let _ = self.rows.try_send(row);
    }
}

/// What must survive of dropped samples: the metrics they described, and the latest value of each that changed. Without
/// it, an unchanged metric would keep a wrong value.
#[derive(Default)]
struct Dropped {
    count: u64,
    descriptors: Vec<MetricDescriptor>,
    changes: Vec<MetricChange>,
}

impl Dropped {
    fn keep(&mut self, row: Row) {
        if let Row::Sample { descriptors, changes, .. } = row {
            self.count += 1;
            self.descriptors = descriptors;
            self.changes = changes;
        }
    }

    /// The next sample has all values, and the dropped ones may belong to metrics that no longer exist.
    fn forget_values(&mut self) {
        self.descriptors.clear();
        self.changes.clear();
    }

    /// Adds the dropped values to the next sample unless it has newer ones.
    fn merge_into(&mut self, sample: &mut Sample, ordinal: u32) {
        if self.count == 0 {
            return;
        }
        self.descriptors.append(&mut sample.new_descriptors);
        sample.new_descriptors = std::mem::take(&mut self.descriptors);
        let newer: std::collections::HashSet<_> = sample.changes.iter().map(|change| change.metric).collect();
        let older = self.changes.drain(..).filter(|change| !newer.contains(&change.metric));
        sample.changes.extend(older.map(|change| MetricChange { sample: ordinal, ..change }));
    }

    fn take_count(&mut self) -> Option<u64> {
        let count = std::mem::take(&mut self.count);
        (count > 0).then_some(count)
    }
}
