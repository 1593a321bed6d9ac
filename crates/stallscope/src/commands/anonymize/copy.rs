//! Every row and event of a run → a new run, with its names replaced. One batch is in memory at a time.

use anonymize::Names;
use archive::{ArchiveError, Batches, FlushState, Run, RunState, Writer, WriterOptions};
use model::event::RunEvent;
use model::stall::Traced;
use model::time::Moment;

use crate::ui::interrupt::Interrupt;

/// Less than the writer's maximum of pending events.
const EVENTS_AT_ONCE: usize = 1024;
/// The original is there if the disk is full.
const RESERVE_BYTES: u64 = 64 << 10;

/// Rows come in batches that were accepted before, so that none is too large.
pub(super) fn options(run: &Run) -> WriterOptions {
    WriterOptions {
        reserve_bytes: RESERVE_BYTES,
        pending_limit_bytes: usize::MAX,
        trace_pending_limit_bytes: usize::MAX,
        sync: false,
        is_polled: run.has_trace(),
        ..WriterOptions::default()
    }
}

/// The new run while it is written.
pub(super) struct Copy<'a> {
    writer: Writer,
    names: Names,
    run: &'a Run,
    interrupt: &'a Interrupt,
    /// The end of the original, which is that of the copy, too.
    now: Moment,
    failure: Option<ArchiveError>,
    /// Why rows could not be written.
    degraded: Option<String>,
}

impl<'a> Copy<'a> {
    pub(super) fn new(writer: Writer, names: Names, run: &'a Run, interrupt: &'a Interrupt) -> Copy<'a> {
        Copy { writer, names, run, interrupt, now: run.last_flush(), failure: None, degraded: None }
    }

    /// Copies all, and returns the names that were replaced; `None`: interrupted. A run that was cut off has a copy
    /// that is cut off.
    pub(super) fn whole(mut self) -> Result<Option<Names>, ArchiveError> {
        self.tables();
        self.traced();
        self.events();
        if self.interrupt.requests() > 0 {
            return Ok(None);
        }
        if let Some(error) = self.failure.take() {
            return Err(error);
        }
        if self.run.state() == RunState::Closed {
            let closed = self.writer.close(self.now)?;
            self.degraded = self.degraded.or_else(|| why(&closed.state));
        }
        match self.degraded {
            Some(why) => Err(ArchiveError::Io {
                path: self.run.dir().to_owned(),
                what: "copy",
                source: std::io::Error::other(why),
            }),
            None => Ok(Some(self.names)),
        }
    }

    fn tables(&mut self) {
        let run = self.run;
        self.each(run.tasks(), anonymize::task, |writer, tasks| {
            writer.traced(&mut Traced { tasks, ..Traced::default() })
        });
        self.each(run.descriptors(), anonymize::descriptor, |writer, rows| writer.describe(&rows));
        self.each(run.samples(), |_, row| row, |writer, rows| rows.into_iter().for_each(|row| writer.sample(row, &[])));
        self.each(run.changes(), |_, row| row, |writer, rows| writer.changes(rows));
        self.each(run.intervals(), anonymize::interval, |writer, rows| writer.intervals(rows));
        self.each(run.operations(), anonymize::operation, |writer, rows| writer.operations(rows));
    }

    /// The tracer's tables but that of tasks.
    fn traced(&mut self) {
        let run = self.run;
        self.each(run.stalls(), anonymize::stall, |writer, stalls| {
            writer.traced(&mut Traced { stalls, ..Traced::default() })
        });
        self.each(run.stacks(), anonymize::stack, |writer, stacks| {
            writer.traced(&mut Traced { stacks, ..Traced::default() })
        });
        self.each(run.usage(), anonymize::usage, |writer, usage| {
            writer.traced(&mut Traced { usage, ..Traced::default() })
        });
        self.each(run.user_frames(), anonymize::user_frame, |writer, user_frames| {
            writer.traced(&mut Traced { user_frames, ..Traced::default() });
        });
        // Numbers only.
        self.each(
            run.user_stacks(),
            |_, row| row,
            |writer, user_stacks| {
                writer.traced(&mut Traced { user_stacks, ..Traced::default() });
            },
        );
        self.each(
            run.requests(),
            |_, row| row,
            |writer, requests| writer.traced(&mut Traced { requests, ..Traced::default() }),
        );
        self.each(
            run.request_intervals(),
            |_, row| row,
            |writer, request_intervals| {
                writer.traced(&mut Traced { request_intervals, ..Traced::default() });
            },
        );
    }

    /// Copies a table. What cannot be read of it is damage of the copy.
    fn each<Row>(
        &mut self,
        batches: Batches<Row>,
        changed: impl Fn(&mut Names, Row) -> Row,
        write: impl Fn(&mut Writer, Vec<Row>),
    ) {
        for batch in batches {
            if self.interrupt.requests() > 0 || self.failure.is_some() {
                return;
            }
            match batch {
                Ok(rows) => {
                    let rows = rows.into_iter().map(|row| changed(&mut self.names, row)).collect();
                    write(&mut self.writer, rows);
                    self.flush();
                }
                Err(ArchiveError::Damaged { .. }) => {}
                Err(error) => self.failure = Some(error),
            }
        }
    }

    fn events(&mut self) {
        let is_own = |event: &&RunEvent| !matches!(event, RunEvent::Damaged { .. });
        let events: Vec<RunEvent> = self.run.events().iter().filter(is_own).cloned().collect();
        let damage = self.run.damage().into_iter().map(|damage| RunEvent::Damaged { damage });
        let events: Vec<RunEvent> = events.into_iter().chain(damage).collect();
        for events in events.chunks(EVENTS_AT_ONCE) {
            for event in events {
                let event = anonymize::event(&mut self.names, event.clone());
                self.writer.event(event);
            }
            self.flush();
        }
    }

    fn flush(&mut self) {
        let state = self.writer.flush(self.now);
        if self.degraded.is_none() {
            self.degraded = why(&state);
        }
    }
}

/// Why not all was written.
fn why(state: &FlushState) -> Option<String> {
    (*state != FlushState::Whole).then(|| state.to_string())
}
