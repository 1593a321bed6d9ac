//! Waits of threads, and a load's operations in them.

use std::cmp::Reverse;
use std::io::{self, Write};

use model::operation::{OperationKind, OperationRecord};
use model::stall::{StackRecord, StallKind, StallRecord};

use super::PerfettoTrace;
use super::packet::{Note, Track};

impl<W: Write> PerfettoTrace<W> {
    /// Kernel stacks that stalls refer to.
    pub fn stacks(&mut self, stacks: Vec<StackRecord>) {
        self.stacks.extend(stacks.into_iter().map(|stack| (stack.stack, stack.frames.join("\n"))));
    }

    /// Time that tasks lost. Sums of short losses have a separate track.
    pub fn stalls(&mut self, mut stalls: Vec<StallRecord>) -> io::Result<()> {
        stalls.sort_by_key(|stall| (stall.start_ns, Reverse(stall.end_ns())));
        for stall in &stalls {
            let thread = self.threads.at(&mut self.packets, stall.tid, stall.start_ns)?;
            let (start_ns, end_ns) = (stall.start_ns, stall.end_ns());
            let own = self.threads.get(thread).track;
            use StallKind::{Asynchronous, Blocked, OffCpu, OnCpu, Span, SystemCall};
            let single = matches!(stall.kind, SystemCall | OffCpu | OnCpu | Blocked | Span | Asynchronous);
            let known = self.threads.get(thread);
            let (lane, lanes, name) = match single {
                true => (known.nests.place(start_ns, end_ns), known.lanes.len(), "at the same time"),
                false => (known.sums.place(start_ns, end_ns), known.sum_lanes.len(), "short losses, aggregated"),
            };
            let begun = if lanes <= lane { Some(self.lane(own, name)?) } else { None };
            let known = self.threads.get(thread);
            let tracks = if single { &mut known.lanes } else { &mut known.sum_lanes };
            tracks.extend(begun);
            let track = tracks[lane];
            self.stall(track, stall)?;
        }
        Ok(())
    }

    fn stall(&mut self, track: Track, stall: &StallRecord) -> io::Result<()> {
        let tracepoint = stall.tracepoint.as_deref();
        let name = match stall.kind {
            StallKind::SystemCall | StallKind::Asynchronous => stall.call.as_deref(),
            StallKind::OffCpu if stall.state == Some(0) => tracepoint.or(Some("run queue")),
            StallKind::OffCpu => tracepoint.or(Some("off CPU")),
            StallKind::OnCpu => Some("on CPU"),
            _ => tracepoint,
        };
        let detail = stall.detail.as_ref().map(ToString::to_string);
        let texts = [
            ("detail", detail.as_deref()),
            ("call", stall.call.as_deref()),
            ("path", stall.path.as_deref()),
            ("stack", stall.stack.and_then(|stack| self.stacks.get(&stack)).map(String::as_str)),
            ("waker_stack", stall.waker_stack.and_then(|stack| self.stacks.get(&stack)).map(String::as_str)),
        ];
        let numbers = [
            ("busy_ns", (stall.busy_ns != stall.duration_ns).then_some(stall.busy_ns)),
            ("count", (stall.count != 1).then_some(stall.count)),
            ("waker_tid", stall.waker_tid.map(u64::from)),
            ("behind_tid", stall.behind_tid.map(u64::from)),
            ("worker_tid", stall.worker_tid.map(u64::from)),
            ("woken_ns", stall.woken_ns),
            ("request", stall.request.map(u64::from)),
            ("bytes", stall.bytes),
        ];
        let mut notes = Vec::with_capacity(13);
        notes.extend(texts.iter().filter_map(|(name, text)| Some(Note::Text(name, (*text)?))));
        notes.extend(numbers.iter().filter_map(|(name, number)| Some(Note::Number(name, (*number)?))));
        notes.extend(stall.errno.map(|errno| Note::Signed("errno", i64::from(errno))));
        let step = self.chains.of_wait(stall.tid, (stall.start_ns, stall.end_ns()));
        notes.extend(step.map(|step| Note::Text("why", &step.why)));
        let of_request = stall.request.map(|request| u64::from(request) + 1);
        let flows: Vec<u64> =
            of_request.into_iter().chain(step.into_iter().flat_map(|step| step.arrows.clone())).collect();
        let span = (stall.start_ns, stall.end_ns());
        self.packets.slice(track, span, (stall.kind.name(), name.unwrap_or(stall.kind.name())), &flows, &notes)
    }

    /// Operations of a load. A stuck one is a mark at the moment of observation: it ends later or never.
    pub fn operations(&mut self, mut operations: Vec<OperationRecord>) -> io::Result<()> {
        let end_ns = |operation: &OperationRecord| operation.start_ns.saturating_add(operation.duration_ns);
        operations.sort_by_key(|operation| (operation.start_ns, Reverse(end_ns(operation))));
        for operation in &operations {
            let span = (operation.start_ns, end_ns(operation));
            let thread = self.threads.at(&mut self.packets, operation.tid, span.0)?;
            let own = self.threads.get(thread).track;
            let stuck = operation.kind == OperationKind::Stuck;
            let lane = if stuck { 0 } else { self.threads.get(thread).operations.place(span.0, span.1) };
            while self.threads.get(thread).operation_lanes.len() <= lane {
                let track = self.lane(own, "operations of the load")?;
                self.threads.get(thread).operation_lanes.push(track);
            }
            let track = self.threads.get(thread).operation_lanes[lane];
            let mut notes = Vec::with_capacity(6);
            notes.extend(operation.path.as_deref().map(|path| Note::Text("path", path)));
            notes.extend(operation.bytes.map(|bytes| Note::Number("bytes", bytes)));
            notes.extend(operation.offset_bytes.map(|offset| Note::Number("offset_bytes", offset)));
            notes.extend(operation.errno.map(|errno| Note::Signed("errno", i64::from(errno))));
            notes.extend(operation.fault.map(|fault| Note::Text("fault", fault.name())));
            if stuck {
                notes.push(Note::Number("age_ns", operation.duration_ns));
                self.packets.instant(track, span.1, ("stuck", &operation.class), &notes)?;
            } else {
                let arrows = self.chains.of_wait(operation.tid, span).map_or(&[][..], |step| &step.arrows);
                self.packets.slice(track, span, (operation.kind.name(), &operation.class), arrows, &notes)?;
            }
        }
        Ok(())
    }
}
