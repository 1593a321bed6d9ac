//! Time that slow operations lost, by where their tasks were: stacks with weights, as [`crate::folded`],
//! [`crate::pprof`] and [`crate::speedscope`] write them.

use std::collections::{BTreeMap, HashMap};

use model::cause::Cause;

/// A function of a stack, or what stands for one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Frame {
    /// The function; of an unknown one `PROGRAM+0xOFFSET`.
    pub name: String,
    /// Its source file.
    pub file: Option<String>,
    /// The line in it.
    pub line: Option<u32>,
    /// The program or library.
    pub module: Option<String>,
    /// The module's build id.
    pub build_id: Option<String>,
}

impl Frame {
    /// One of which the name is all.
    pub fn named(name: impl Into<String>) -> Frame {
        Frame { name: name.into(), ..Frame::default() }
    }
}

/// What samples are added up by.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The thread's name.
    pub task: String,
    /// Class of the load, or system call.
    pub operation: String,
    /// What the time was lost to.
    pub cause: Cause,
    /// Numbers of the frames, the outermost first: the task, the operation, functions of the program, `-`, functions of
    /// the kernel, and the cause in brackets.
    pub frames: Vec<u32>,
}

/// What was lost in one place.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Lost {
    /// Pieces of time.
    pub pieces: u64,
    /// Their sum, ns.
    pub time_ns: u64,
}

/// All of a run. It holds each frame and each place once.
#[derive(Debug, Default)]
pub struct OffCpuProfile {
    frames: Vec<Frame>,
    numbers: HashMap<Frame, u32>,
    places: BTreeMap<Place, Lost>,
}

impl OffCpuProfile {
    /// Adds a time. `stack`: functions of program and kernel, the outermost first.
    pub fn add(&mut self, (task, operation): (&str, &str), cause: Cause, stack: Vec<Frame>, time_ns: u64) {
        let own = [Frame::named(task), Frame::named(operation)];
        let leaf = Frame::named(format!("[{}]", cause.words()));
        let frames = own.into_iter().chain(stack).chain([leaf]).map(|frame| self.number(frame)).collect();
        let place = Place { task: task.to_owned(), operation: operation.to_owned(), cause, frames };
        let lost = self.places.entry(place).or_default();
        lost.pieces += 1;
        lost.time_ns = lost.time_ns.saturating_add(time_ns);
    }

    /// The frames by number.
    pub fn frames(&self) -> &[Frame] {
        &self.frames
    }

    /// The places in a fixed order.
    pub fn places(&self) -> impl Iterator<Item = (&Place, Lost)> {
        self.places.iter().map(|(place, lost)| (place, *lost))
    }

    /// All time, ns.
    pub fn time_ns(&self) -> u64 {
        self.places.values().fold(0, |sum, lost| sum.saturating_add(lost.time_ns))
    }

    fn number(&mut self, frame: Frame) -> u32 {
        let next = self.frames.len() as u32;
        let number = *self.numbers.entry(frame.clone()).or_insert(next);
        if number == next {
            self.frames.push(frame);
        }
        number
    }
}
