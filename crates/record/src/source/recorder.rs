//! The cost of the recording itself.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use model::metric::{MetricId, Semantics, Unit};

use crate::bytes::{number, words};
use crate::clock;
use crate::file::TextFile;
use crate::last_values::SampleWriter;
use crate::source::MetricSource;
use crate::source_error::SourceError;

struct Metrics {
    cpu: MetricId,
    thread_cpu: MetricId,
    resident: MetricId,
    archived: MetricId,
}

/// CPU time and memory of this process, and the bytes that it has archived.
pub(crate) struct Recorder {
    statm: TextFile,
    page_kib: i64,
    archived_bytes: Arc<AtomicU64>,
    metrics: Option<Metrics>,
}

impl Recorder {
    pub(crate) fn new(statm: PathBuf, archived_bytes: Arc<AtomicU64>) -> Recorder {
        let page_kib = (rustix::param::page_size() / 1024) as i64;
        Recorder { statm: TextFile::new(statm), page_kib, archived_bytes, metrics: None }
    }
}

impl MetricSource for Recorder {
    fn sample(&mut self, writer: &mut SampleWriter<'_>) -> Result<(), SourceError> {
        let metrics = self.metrics.get_or_insert_with(|| {
            use Semantics::{Counter, Gauge};
            let mut metric = |name: &str, unit, semantics| writer.metric(name.to_owned(), "", unit, semantics);
            Metrics {
                cpu: metric("recorder.cpu_ns", Unit::Nanoseconds, Counter),
                thread_cpu: metric("recorder.thread_cpu_ns", Unit::Nanoseconds, Counter),
                resident: metric("recorder.resident_kib", Unit::Kibibytes, Gauge),
                archived: metric("recorder.archived_bytes", Unit::Bytes, Counter),
            }
        });
        let statm = self.statm.read();
        let pages = statm.as_deref().ok().and_then(|text| words(text).nth(1)).and_then(number);
        writer.set(metrics.resident, pages.and_then(|pages| pages.checked_mul(self.page_kib)));
        writer.set(metrics.cpu, i64::try_from(clock::process_cpu_ns()).ok());
        writer.set(metrics.thread_cpu, i64::try_from(clock::thread_cpu_ns()).ok());
        writer.set(metrics.archived, i64::try_from(self.archived_bytes.load(Ordering::Relaxed)).ok());
        statm.map(|_| ())
    }
}
