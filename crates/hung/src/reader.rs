//! Lines → a dump.

use std::collections::HashMap;

use model::kernel_function::sleeps;

use crate::dump::{Dump, Holder, Sign, Task};
use crate::frame::{Frame, frame};
use crate::header::{Header, header};
use crate::holder::{Held, held, holder};
use crate::journal::{continued, entry, interrupted};
use crate::prefix::message;
use crate::sign::sign_of;

/// Longer lines are no lines of a log.
const LONGEST: usize = 4096;
/// Lines that may stand between a task's line and its stack: registers, words of the stack.
const APART: u32 = 24;

/// Reads a dump, line by line. Memory is bounded by the limits of [`Dump`].
#[derive(Debug, Default)]
pub struct Reader {
    dump: Dump,
    /// A line that another message interrupted.
    begun: Option<String>,
    /// The task whose stack is read.
    task: Option<Task>,
    /// Functions that the unwinder does not vouch for, in place of a stack without others.
    guesses: Vec<(String, String)>,
    /// Lines since the last one that belonged to the task.
    apart: u32,
    /// Whose locks lockdep lists.
    lock_owner: Option<(u32, String)>,
    /// Of each lock: its holders, and the last lock of each task, which it may wait for.
    locks: Vec<(u32, String, String, String)>,
    by_tid: HashMap<u32, usize>,
}

impl Reader {
    /// Takes a line.
    pub fn line(&mut self, line: &str) {
        if line.len() > LONGEST {
            return;
        }
        let line = line.trim_end_matches(['\r', '\n']);
        if let Some(text) = entry(line) {
            return text.lines().for_each(|line| self.text(line));
        }
        if let Some((begun, other)) = interrupted(line) {
            self.begun = Some(begun.to_owned());
            return self.text(other);
        }
        let (begun, line) = continued(self.begun.take(), line, message(line) == line);
        begun.into_iter().for_each(|begun| self.text(&begun));
        self.text(&line);
    }

    fn text(&mut self, line: &str) {
        let message = message(line);
        if let Some(holder) = holder(message) {
            self.add_holder(holder);
        } else if let Some(held) = held(message) {
            self.lock(held);
        } else if let Some(frame) = frame(message) {
            self.frame(frame);
        } else if let Some(header) = header(message) {
            self.header(header);
        } else if message.trim().is_empty() || ends_stack(message) {
            // In a collection of /proc files, an empty line ends a stack; a log has none within one.
            if self.task.as_ref().is_some_and(|task| !task.frames.is_empty()) {
                self.finish_task();
            }
        } else {
            self.other(message);
        }
    }

    /// The dump.
    pub fn finish(mut self) -> Dump {
        self.begun.take().into_iter().for_each(|begun| self.text(&begun));
        self.finish_task();
        self.add_locks();
        self.dump
    }

    fn add_holder(&mut self, holder: Holder) {
        if self.dump.holders.len() < Dump::HOLDERS {
            self.dump.holders.push(holder);
        }
    }

    fn header(&mut self, header: Header) {
        self.apart = 0;
        match header {
            Header::Kernel(kernel) => {
                self.dump.kernel.get_or_insert(kernel);
            }
            Header::Work(work) => {
                if let Some(task) = self.task.as_mut() {
                    task.work = Some(work);
                }
            }
            Header::Hung(task) => {
                self.finish_task();
                self.task = Some(task);
            }
            Header::State(task) => self.state(task),
        }
    }

    /// The task's own line, which follows that of the report.
    fn state(&mut self, task: Task) {
        let is_same = |before: &Task| before.frames.is_empty() && before.blocked_s.is_some() && before.tid == task.tid;
        match self.task.as_mut().filter(|before| is_same(before)) {
            Some(before) => before.state = task.state,
            None => {
                self.finish_task();
                self.task = Some(task);
            }
        }
    }

    fn frame(&mut self, frame: Frame<'_>) {
        self.apart = 0;
        // A stack without a task of its own: of a program's report, or its line is cut off.
        let task = self.task.get_or_insert_with(Task::default);
        let called = frame.called.map(|called| (called.to_owned(), String::new()));
        let pair = (frame.function.to_owned(), frame.module.to_owned());
        let kept = if frame.is_guess { self.guesses.len() } else { task.frames.len() };
        for (function, module) in called.filter(|_| kept == 0).into_iter().chain([pair]) {
            if kept >= Dump::FRAMES {
                return;
            }
            if frame.is_guess {
                self.guesses.push((function, module));
            } else {
                task.frames.push(function);
                task.modules.push(module);
            }
        }
    }

    fn other(&mut self, message: &str) {
        self.apart += 1;
        if self.apart > APART {
            self.finish_task();
        }
        let Some(of) = sign_of(message) else { return };
        if let Some(sign) = self.dump.signs.iter_mut().find(|sign| sign.of == of) {
            sign.count += 1;
        } else if self.dump.signs.len() < Dump::SIGNS {
            self.dump.signs.push(Sign { of, text: message.trim().to_owned(), count: 1 });
        }
    }

    fn finish_task(&mut self) {
        let guesses = std::mem::take(&mut self.guesses);
        let Some(mut task) = self.task.take() else { return };
        // Without frame pointers the unwinder vouches for nothing, or for the outermost function alone.
        if task.frames.len() < 2 && guesses.len() > task.frames.len() {
            (task.frames, task.modules) = without_stale(guesses).into_iter().unzip();
        }
        if task.frames.is_empty() || (task.tid.is_none() && task.name.is_empty()) {
            return;
        }
        task.reports = 1;
        let known = task.tid.and_then(|tid| self.by_tid.get(&tid).copied());
        let is_same = |at: &usize| task.name.is_empty() || self.dump.tasks[*at].name == task.name;
        match known.filter(is_same) {
            Some(at) => {
                let known = &mut self.dump.tasks[at];
                task.reports = known.reports.saturating_add(1);
                task.blocked_s = task.blocked_s.max(known.blocked_s);
                task.name.clone_from(&known.name);
                task.state = task.state.or(known.state);
                *known = task;
            }
            None if self.dump.tasks.len() >= Dump::TASKS => self.dump.more_tasks += 1,
            None => {
                if let Some(tid) = task.tid {
                    self.by_tid.insert(tid, self.dump.tasks.len());
                }
                self.dump.tasks.push(task);
            }
        }
    }

    fn lock(&mut self, held: Held) {
        self.finish_task();
        match held {
            Held::By { name, tid } => self.lock_owner = Some((tid, name)),
            Held::Lock { instance, class } => {
                if let Some((tid, name)) = self.lock_owner.clone().filter(|_| self.locks.len() < Dump::HOLDERS) {
                    self.locks.push((tid, name, instance, class));
                }
            }
        }
    }

    /// lockdep lists a lock once a task asks for it: the last one of a task that sleeps on a lock is what it waits for,
    /// and another task that has the same lock holds it.
    fn add_locks(&mut self) {
        let locks = std::mem::take(&mut self.locks);
        let sleeps = |tid: u32| self.by_tid.get(&tid).is_some_and(|at| self.dump.tasks[*at].sleeps_on_lock());
        let is_last = |at: usize| locks.get(at + 1).is_none_or(|next| next.0 != locks[at].0);
        let asks: Vec<bool> = (0..locks.len()).map(|at| is_last(at) && sleeps(locks[at].0)).collect();
        let mut holders: HashMap<&str, usize> = HashMap::new();
        for at in (0..locks.len()).filter(|at| !asks[*at]) {
            holders.entry(&locks[at].2).or_insert(at);
        }
        for (waiter, _, instance, class) in (0..locks.len()).filter(|at| asks[*at]).map(|at| &locks[at]) {
            let Some((tid, name, ..)) = holders.get(instance.as_str()).map(|at| &locks[*at]) else { continue };
            if tid != waiter && self.dump.holders.len() < Dump::HOLDERS {
                let (waiter, holder) = (*waiter, *tid);
                self.dump.holders.push(Holder {
                    waiter,
                    holder,
                    name: name.clone(),
                    lock: class.clone(),
                    is_last: false,
                });
            }
        }
    }
}

/// Among addresses that the unwinder does not vouch for, functions that put a task to sleep are its last; one between
/// two of them is left over from an earlier call.
fn without_stale(guesses: Vec<(String, String)>) -> Vec<(String, String)> {
    let is_sleeping = |(frame, _): &(String, String)| sleeps(frame);
    let mut end = 0;
    for at in (0..guesses.len()).filter(|at| is_sleeping(&guesses[*at])) {
        if at <= end + 1 {
            end = at + 1;
        }
    }
    guesses.into_iter().enumerate().filter(|(at, pair)| *at >= end || is_sleeping(pair)).map(|(_, pair)| pair).collect()
}

/// Lines after which no function of the stack follows.
fn ends_stack(message: &str) -> bool {
    let text = message.trim();
    text == "</TASK>" || text.starts_with("RIP: 0033:") || text.starts_with("RIP  [<")
}

#[cfg(test)]
mod tests;
