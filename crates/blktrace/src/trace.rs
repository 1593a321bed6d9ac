//! A whole trace: its inputs merged by time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::io::Read;
use std::path::Path;

use model::block::BlockEvent;

use crate::error::TraceError;
use crate::notes::Notes;
use crate::source;
use crate::stream::Stream;

/// Events returned at once.
const BATCH: usize = 1024;
/// Events read ahead of each input when several are merged.
const LOOK_AHEAD: usize = 256;
/// Least number of events held back per input with several CPUs; see [`Trace::HELD_BACK`].
const HELD_BACK_LEAST: usize = 1024;
/// Total size of all inputs' read buffers, in addition to each one's minimum.
const BUFFERS_BYTES: usize = 4 << 20;
/// Largest read buffer of an input.
const BUFFER_BYTES: usize = 512 << 10;
/// A smaller step back of the clock is jitter between CPUs.
const STEP_NS: u64 = 1_000_000;
/// How long an input whose clock stepped waits for the other inputs to step.
const HOLD_NS: u64 = 10_000_000_000;

struct Input {
    stream: Stream,
    ahead: Vec<BlockEvent>,
    next: usize,
    ended: bool,
    /// Number of steps back of its clock, and the time before the last one.
    steps: u32,
    stepped_from_ns: u64,
}

/// Order of the merge: an input whose clock stepped back waits for the others to step as well.
type MergeKey = Reverse<(u32, u64, u32)>;

/// A trace being read.
///
/// Where events of an input are missing, a mark ([`model::block::Action::Lost`]) stands at the earliest place of the
/// loss. In an input of several CPUs, only the same CPU's next event shows the loss. The events of such an input are
/// returned only when [`Trace::HELD_BACK`] later ones have been read, so a mark can go back that far. A loss that began
/// even earlier is marked as early as possible, and counted ([`Notes::noticed_late`]).
pub struct Trace {
    names: Vec<String>,
    inputs: Vec<Input>,
    order: BinaryHeap<MergeKey>,
    started: bool,
    steps_differ: bool,
    batch: Vec<BlockEvent>,
    notes: Notes,
}

impl Trace {
    /// Number of events held back of an input with several CPUs; several such inputs share it. This takes 2 MiB in
    /// total.
    pub const HELD_BACK: usize = 32 << 10;

    /// Opens the named inputs; see the crate's documentation. Several inputs are merged by time.
    pub fn open<P: AsRef<Path>>(names: impl IntoIterator<Item = P>) -> Result<Trace, TraceError> {
        let mut files = Vec::new();
        for name in names {
            files.extend(source::expand(name.as_ref())?);
        }
        let mut sources = Vec::with_capacity(files.len());
        for file in files {
            let path = file.display().to_string();
            match source::open(&file) {
                Ok(source) => sources.push((path, source)),
                Err(source) => return Err(TraceError::Io { path, source }),
            }
        }
        Trace::from_sources(sources, Trace::HELD_BACK)
    }

    /// Reads from memory, a socket, or another reader. The name is for messages.
    pub fn from_reader(name: &str, source: impl Read + Send + 'static) -> Result<Trace, TraceError> {
        let path = name.to_owned();
        match source::decompress(Box::new(source)) {
            Ok(source) => Trace::from_sources(vec![(path, source)], Trace::HELD_BACK),
            Err(source) => Err(TraceError::Io { path, source }),
        }
    }

    /// Merges several readers by time. Each has a name, for messages. `held_back`: how many events of an input with
    /// several CPUs are held back, so that a mark of a loss can go back that far; usually [`Trace::HELD_BACK`].
    ///
    /// ```
    /// use blktrace::{Trace, encode};
    /// use model::block::{Action, BlockEvent, DeviceNumber};
    ///
    /// let mut sources = Vec::new();
    /// for (cpu, time_ns) in [(0, 20), (1, 10)] {
    ///     let event = BlockEvent { cpu, ..BlockEvent::new(time_ns, Action::Plug, DeviceNumber::new(8, 0)) };
    ///     let mut bytes = Vec::new();
    ///     encode::line(&event, 1, "dd", &mut bytes);
    ///     sources.push((format!("cpu {cpu}"), std::io::Cursor::new(bytes)));
    /// }
    /// let mut trace = Trace::from_readers(sources, Trace::HELD_BACK)?;
    /// let times: Vec<u64> = trace.next_batch()?.unwrap_or_default().iter().map(|event| event.time_ns).collect();
    /// assert_eq!(times, [10, 20]);
    /// # Ok::<(), blktrace::TraceError>(())
    /// ```
    pub fn from_readers<R: Read + Send + 'static>(
        sources: impl IntoIterator<Item = (String, R)>,
        held_back: usize,
    ) -> Result<Trace, TraceError> {
        let mut opened: Vec<(String, Box<dyn Read + Send>)> = Vec::new();
        for (path, source) in sources {
            match source::decompress(Box::new(source)) {
                Ok(source) => opened.push((path, source)),
                Err(source) => return Err(TraceError::Io { path, source }),
            }
        }
        Trace::from_sources(opened, held_back)
    }

    fn from_sources(sources: Vec<(String, Box<dyn Read + Send>)>, held_back: usize) -> Result<Trace, TraceError> {
        if sources.is_empty() {
            return Err(TraceError::Nothing);
        }
        let buffer = (BUFFERS_BYTES / sources.len()).min(BUFFER_BYTES);
        let delay = (held_back / sources.len()).max(HELD_BACK_LEAST.min(held_back)) as u64;
        let mut trace = Trace {
            names: Vec::new(),
            inputs: Vec::new(),
            order: BinaryHeap::new(),
            started: false,
            steps_differ: false,
            batch: Vec::with_capacity(BATCH + 2),
            notes: Notes::default(),
        };
        for (number, (path, source)) in sources.into_iter().enumerate() {
            match Stream::detect(source, buffer, delay, number as u32) {
                Ok(Some(stream)) => trace.inputs.push(Input::new(stream)),
                Ok(None) => return Err(TraceError::Unrecognised { path }),
                Err(source) => return Err(TraceError::Io { path, source }),
            }
            trace.names.push(path);
        }
        Ok(trace)
    }

    /// The next events in time order; `None` at the end.
    pub fn next_batch(&mut self) -> Result<Option<&[BlockEvent]>, TraceError> {
        self.batch.clear();
        if self.inputs.len() == 1 {
            let input = &mut self.inputs[0];
            while !input.ended && self.batch.is_empty() {
                let more = input.stream.read(&mut self.batch, BATCH, &mut self.notes);
                input.ended = !more.map_err(|source| TraceError::Io { path: self.names[0].clone(), source })?;
            }
        } else {
            self.merge_batch()?;
        }
        Ok(if self.batch.is_empty() { None } else { Some(&self.batch) })
    }

    /// The events that [`Trace::next_batch`] returned last.
    pub(crate) fn batch(&self) -> &[BlockEvent] {
        &self.batch
    }

    /// The same, to keep. The next ones are put into the memory of `empty`.
    pub(crate) fn take_batch(&mut self, empty: Vec<BlockEvent>) -> Vec<BlockEvent> {
        std::mem::replace(&mut self.batch, empty)
    }

    fn merge_batch(&mut self) -> Result<(), TraceError> {
        if !self.started {
            self.started = true;
            for number in 0..self.inputs.len() {
                if let Some(time_ns) = self.fill(number)? {
                    self.order.push(Reverse((0, time_ns, number as u32)));
                }
            }
        }
        while self.batch.len() < BATCH {
            if self.steps_differ {
                self.release_held();
            }
            let Some(&Reverse((_, time_ns, number))) = self.order.peek() else { break };
            let input = &mut self.inputs[number as usize];
            self.batch.push(input.ahead[input.next]);
            input.next += 1;
            let following = match input.ahead.get(input.next) {
                Some(event) => Some(event.time_ns),
                None => self.fill(number as usize)?,
            };
            self.advance(time_ns, number, following);
        }
        Ok(())
    }

    /// Puts the input whose event at `time_ns` was taken back into the merge order with its next event.
    fn advance(&mut self, time_ns: u64, number: u32, following: Option<u64>) {
        let top = self.order.peek_mut().expect("the input whose event was taken");
        let Some(following_ns) = following else {
            PeekMut::pop(top);
            return;
        };
        let input = &mut self.inputs[number as usize];
        if following_ns.saturating_add(STEP_NS) < time_ns {
            input.steps += 1;
            input.stepped_from_ns = time_ns;
            self.steps_differ = true;
        }
        let mut top = top;
        *top = Reverse((input.steps, following_ns, number));
    }

    /// Releases inputs whose clock stepped back alone: the others are far beyond that time and did not step.
    fn release_held(&mut self) {
        let Some(&Reverse((lowest, time_ns, _))) = self.order.peek() else { return };
        let held = |input: &Input| input.steps > lowest && time_ns > input.stepped_from_ns.saturating_add(HOLD_NS);
        if !self.inputs.iter().any(held) {
            self.steps_differ = self.order.iter().any(|Reverse((steps, ..))| *steps != lowest);
            return;
        }
        for input in &mut self.inputs {
            if held(input) {
                input.steps = lowest;
            }
        }
        let order = std::mem::take(&mut self.order);
        self.order = order
            .into_iter()
            .map(|Reverse((_, time_ns, number))| Reverse((self.inputs[number as usize].steps, time_ns, number)))
            .collect();
    }

    /// Reads ahead. Returns the time of the input's next event, or `None` at its end.
    fn fill(&mut self, number: usize) -> Result<Option<u64>, TraceError> {
        let input = &mut self.inputs[number];
        input.ahead.clear();
        input.next = 0;
        while !input.ended && input.ahead.is_empty() {
            let more = input.stream.read(&mut input.ahead, LOOK_AHEAD, &mut self.notes);
            input.ended = !more.map_err(|source| TraceError::Io { path: self.names[number].clone(), source })?;
        }
        Ok(input.ahead.first().map(|event| event.time_ns))
    }

    /// The notes so far.
    pub fn notes(&self) -> &Notes {
        &self.notes
    }

    /// Names of the inputs, in the order of [`crate::Anomaly::input`].
    pub fn inputs(&self) -> &[String] {
        &self.names
    }
}

impl Input {
    fn new(stream: Stream) -> Input {
        Input { stream, ahead: Vec::new(), next: 0, ended: false, steps: 0, stepped_from_ns: 0 }
    }
}
