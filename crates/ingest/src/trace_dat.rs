//! `trace.dat` → the text that perf makes of such events, as far as importers need it: tracepoints with their kernel
//! stacks, in the order of their times.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt::Write as _;
use std::io::{self, Read, Seek};

use crate::event_formats::{EventFormat, number};
use crate::event_text::Event;
use crate::event_words::{EventFields, UnreadText, write_line};
use crate::perf_check::damaged;

mod codec;
mod head;
mod page;
mod pages;
mod parts;

use page::Page;
use pages::{PageReader, Pages};
use parts::Parts;

/// Functions of a stack.
const FRAMES: usize = 128;
/// Tasks whose names are known.
const TASKS: usize = 1 << 20;
/// Every event has its number, two bytes of flags, and from here on its task.
const TASK_AT: usize = 4;

/// A recording of trace-cmd as text, line by line.
pub struct TraceDatText<R> {
    source: R,
    parts: Parts,
    reader: PageReader,
    cpus: Vec<CpuEvents>,
    /// CPUs with an event, by its time.
    next: BinaryHeap<Reverse<(u64, usize)>>,
    text: UnreadText,
}

/// The events of a CPU.
struct CpuEvents {
    cpu: u32,
    pages: Pages,
    page: Option<Page>,
    event: Option<RawEvent>,
}

struct RawEvent {
    at: u64,
    bytes: Vec<u8>,
    /// Events before it that are lost.
    lost: u64,
}

impl<R: Read + Seek> TraceDatText<R> {
    /// Opens a recording.
    ///
    /// # Errors
    ///
    /// It cannot be read, or it is no whole `trace.dat`, or one with a clock or a compression that is not known.
    pub fn open(mut source: R) -> io::Result<TraceDatText<R>> {
        let mut parts = head::read(&mut source)?;
        if let Some(refusal) = parts.refusal() {
            return Err(damaged(refusal));
        }
        parts.names.entry(0).or_insert_with(|| "swapper".to_owned());
        let reader = PageReader::new(parts.codec.clone(), parts.is_big_endian, parts.cpus.len());
        let mut cpus = Vec::new();
        for part in &parts.cpus {
            let layout = parts.layout(part.page_bytes).ok_or_else(|| damaged("the layout of its pages is damaged"))?;
            cpus.push(CpuEvents { cpu: part.cpu, pages: Pages::new(*part, layout), page: None, event: None });
        }
        let (next, text) = (BinaryHeap::new(), UnreadText::default());
        let mut events = TraceDatText { source, parts, reader, cpus, next, text };
        for at in 0..events.cpus.len() {
            events.advance(at)?;
            events.wait_for(at);
        }
        Ok(events)
    }

    /// Whether functions of the kernel can be named.
    pub fn names_functions(&self) -> bool {
        self.parts.symbols.text_begin().is_some()
    }

    /// Makes the lines of the next event. `false`: there is none.
    fn make(&mut self) -> io::Result<bool> {
        let Some(Reverse((_, at))) = self.next.pop() else { return Ok(false) };
        let Some(event) = self.cpus[at].event.take() else { return Ok(true) };
        self.advance(at)?;
        // A stack follows its event on the same CPU; events of other CPUs may have happened in between.
        let stack = self.cpus[at].event.take_if(|next| is_stack_of(&self.parts, next, &event));
        if stack.is_some() {
            self.advance(at)?;
        }
        self.wait_for(at);
        let cpu = self.cpus[at].cpu;
        self.write(cpu, &event, stack.as_ref());
        Ok(true)
    }

    /// Reads the next event of a CPU.
    fn advance(&mut self, at: usize) -> io::Result<()> {
        let cpu = &mut self.cpus[at];
        let mut lost = 0;
        loop {
            if let Some(page) = &mut cpu.page {
                lost += std::mem::take(&mut page.lost);
                if let Some((at, range)) = page.next() {
                    cpu.event = Some(RawEvent { at, bytes: page.bytes(range).to_vec(), lost });
                    return Ok(());
                }
            }
            cpu.page = cpu.pages.next(&mut self.source, &self.reader)?;
            if cpu.page.is_none() {
                return Ok(());
            }
        }
    }

    fn wait_for(&mut self, at: usize) {
        self.next.extend(self.cpus[at].event.as_ref().map(|event| Reverse((event.at, at))));
    }

    fn write(&mut self, cpu: u32, raw: &RawEvent, stack: Option<&RawEvent>) {
        if raw.lost > 0 {
            let _ = writeln!(self.text.text, "LOST {} events!", raw.lost);
        }
        let Some(event) = Event::new(&raw.bytes, &self.parts.formats) else { return };
        if is_stack(event.format()) {
            return;
        }
        let names = &mut self.parts.names;
        if event.name() == "sched_switch" {
            for (tid, name) in [("prev_pid", "prev_comm"), ("next_pid", "next_comm")] {
                if let Some((tid, name)) = event.unsigned(tid).zip(event.text(name)).filter(|_| names.len() < TASKS) {
                    names.insert(tid as u32, name);
                }
            }
        }
        let tid = task(&raw.bytes, self.parts.is_big_endian).unwrap_or(0);
        let name = self.parts.names.get(&tid).map_or("<...>", String::as_str);
        let at_ns = self.parts.nanoseconds(raw.at);
        if write_line(&mut self.text.text, name, tid as i32, cpu, at_ns, &event).is_some()
            && let Some(stack) = stack
        {
            write_stack(&self.parts, &stack.bytes, &mut self.text.text);
        }
    }
}

/// The kernel's stack; `user_stack` has that of the program.
fn is_stack(format: &EventFormat) -> bool {
    ["kernel_stack", "user_stack"].contains(&format.name.as_str())
}

fn is_stack_of(parts: &Parts, next: &RawEvent, event: &RawEvent) -> bool {
    let format = |event: &RawEvent| parts.formats.get(number(event.bytes.get(..2)?, parts.is_big_endian) as u16);
    let task = |event: &RawEvent| task(&event.bytes, parts.is_big_endian);
    next.lost == 0
        && format(next).is_some_and(|format| format.name == "kernel_stack")
        && !format(event).is_some_and(is_stack)
        && task(next) == task(event)
}

fn task(event: &[u8], is_big_endian: bool) -> Option<u32> {
    Some(number(event.get(TASK_AT..TASK_AT + 4)?, is_big_endian) as u32)
}

/// A stack has the number of its addresses, and these, which may be more than its format says.
fn write_stack(parts: &Parts, bytes: &[u8], text: &mut String) {
    let Some(event) = Event::new(bytes, &parts.formats) else { return };
    let Some(long_bytes) = parts.layout(parts.page_bytes).map(|layout| layout.long_bytes) else { return };
    let (count, begin) = (event.unsigned("size").unwrap_or(u64::MAX), event.offset("caller"));
    let addresses = begin.and_then(|begin| bytes.get(begin..)).unwrap_or_default().chunks_exact(long_bytes);
    for address in addresses.take(FRAMES.min(usize::try_from(count).unwrap_or(FRAMES))) {
        let address = number(address, parts.is_big_endian);
        if let Some((function, offset)) = parts.symbols.function(address, 0) {
            let _ = writeln!(text, "\t{address:016x} {function}+{offset:#x} ([kernel.kallsyms])");
        }
    }
}

impl<R: Read + Seek> Read for TraceDatText<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.text.is_read() {
            self.text.clear();
            if !self.make()? {
                return Ok(0);
            }
        }
        Ok(self.text.read(buffer))
    }
}
