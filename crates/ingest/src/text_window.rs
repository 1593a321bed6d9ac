//! Events whose stacks may follow. ftrace and trace-cmd write a stack as an event of its own, and between an event and
//! its stack there may be events of other CPUs.

use std::collections::VecDeque;

use crate::text_line::TextLine;

/// Events that may come between an event and its stack.
const EVENTS: usize = 64;
/// Functions of a stack.
const FRAMES: usize = 64;

/// An event whose stack may follow.
#[derive(Debug)]
pub(crate) struct Pending {
    pub(crate) at_ns: u64,
    pub(crate) cpu: u32,
    pub(crate) tid: u32,
    pub(crate) name: String,
    pub(crate) comm: String,
    pub(crate) fields: String,
    pub(crate) frames: Vec<String>,
}

impl Pending {
    /// An event at that moment of the run.
    pub(crate) fn new(event: &TextLine<'_>, at_ns: u64) -> Pending {
        Pending {
            at_ns,
            cpu: event.cpu,
            tid: event.tid,
            name: event.name.to_owned(),
            comm: event.comm.to_owned(),
            fields: event.fields.to_owned(),
            frames: Vec::new(),
        }
    }

    pub(crate) fn line(&self) -> TextLine<'_> {
        let Pending { at_ns, cpu, tid, .. } = *self;
        TextLine { at_ns, cpu, tid, comm: &self.comm, name: &self.name, fields: &self.fields }
    }
}

/// The latest events, in their order.
#[derive(Debug, Default)]
pub(crate) struct TextWindow {
    events: VecDeque<Pending>,
    /// Whose functions follow, counted from the last event.
    of: Option<usize>,
}

impl TextWindow {
    /// Adds an event. Returns the one whose stack is not to come any more.
    pub(crate) fn push(&mut self, event: Pending) -> Option<Pending> {
        self.events.push_back(event);
        self.of = Some(0);
        if self.events.len() > EVENTS { self.events.pop_front() } else { None }
    }

    /// A stack begins: that of the last event of its CPU, if that is one of the same task without a stack.
    pub(crate) fn stack(&mut self, cpu: u32, tid: u32) {
        let last = self.events.iter().rev().position(|event| event.cpu == cpu);
        self.of = last.filter(|at| {
            let event = &self.events[self.events.len() - 1 - at];
            event.tid == tid && event.frames.is_empty()
        });
    }

    /// A function of the stack that has begun, or of the last event's.
    pub(crate) fn frame(&mut self, function: &str) {
        let event = self.of.and_then(|at| self.events.len().checked_sub(at + 1)).map(|at| &mut self.events[at]);
        if let Some(event) = event.filter(|event| event.frames.len() < FRAMES) {
            event.frames.push(function.to_owned());
        }
    }

    /// Takes the oldest event: no stack is to come any more.
    pub(crate) fn pop(&mut self) -> Option<Pending> {
        self.of = None;
        self.events.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::{Pending, TextWindow};
    use crate::text_line::event;

    fn window(lines: &[&str]) -> Vec<(u32, Vec<String>)> {
        let mut window = TextWindow::default();
        for line in lines {
            match event(line) {
                Some(event) if event.name.starts_with("<stack") => window.stack(event.cpu, event.tid),
                Some(event) => drop(window.push(Pending::new(&event, 0))),
                None => window.frame(line),
            }
        }
        std::iter::from_fn(|| window.pop()).map(|event| (event.tid, event.frames)).collect()
    }

    #[test]
    fn a_stack_is_that_of_its_cpus_last_event() {
        let (dd, other) = ("dd-7 [001] 1.000001: a: x", "cc-8 [000] 1.000002: b: x");
        let (stack, of_other) = ("dd-7 [001] 1.000003: <stack trace>", "cc-8 [000] 1.000004: <stack trace>");
        let frames = |of: &[&str]| -> Vec<String> { of.iter().map(|&frame| frame.to_owned()).collect() };
        let both = [(7, frames(&["f", "g"])), (8, frames(&["h"]))];
        assert_eq!(window(&[dd, other, stack, "f", "g", of_other, "h"]), both);
        // perf writes it below its event.
        assert_eq!(window(&[dd, "f", "g", other, "h"]), both);
        // Of an event that is missing, and of one that has a stack.
        assert_eq!(window(&[dd, "f", "g", other, "h", stack, "x"]), both);
        assert_eq!(window(&[dd, "cc-9 [001] 1.000004: <stack trace>", "x"]), [(7, frames(&[]))]);
    }
}
