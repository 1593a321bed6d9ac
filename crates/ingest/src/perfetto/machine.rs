//! The machine that a trace is of: how its kernel numbers states and system calls, names of tasks and functions.

use std::borrow::Cow;
use std::collections::HashMap;

use super::common_calls;
use crate::event_words::{one_line, state_letters};
use crate::protobuf::{Fields, Value};

/// Tasks and functions whose names are known.
const NAMES: usize = 1 << 20;
/// The kernel's limit for names of tasks.
const NAME_LETTERS: usize = 15;
/// Since Linux 4.14: a task that is preempted has a higher bit.
const STATES: [(u64, &str); 8] =
    [(0x01, "S"), (0x02, "D"), (0x04, "T"), (0x08, "t"), (0x10, "X"), (0x20, "Z"), (0x40, "P"), (0x80, "I")];
const OLD_STATES: [(u64, &str); 11] = [
    (0x01, "S"),
    (0x02, "D"),
    (0x04, "T"),
    (0x08, "t"),
    (0x10, "X"),
    (0x20, "Z"),
    (0x40, "x"),
    (0x80, "K"),
    (0x100, "W"),
    (0x200, "P"),
    (0x400, "N"),
];

/// What a trace says of its machine.
#[derive(Debug, Default)]
pub(super) struct Machine {
    has_old_states: bool,
    /// `None`: that of this program's architecture.
    other_architecture: Option<String>,
    names: HashMap<u32, String>,
    functions: HashMap<u64, String>,
}

impl Machine {
    /// Takes a `SystemInfo`.
    pub(super) fn describe(&mut self, info: &[u8]) {
        for (field, value) in Fields::find(info, 1).and_then(Value::bytes).map(Fields::new).into_iter().flatten() {
            let Some(text) = value.bytes().map(String::from_utf8_lossy) else { continue };
            match field {
                3 => self.has_old_states = version(&text).is_some_and(|version| version < (4, 14)),
                4 => self.other_architecture = (text != std::env::consts::ARCH).then(|| text.into_owned()),
                _ => {}
            }
        }
    }

    /// Takes a `ProcessTree`. Its names are those of programs' files; events have better ones.
    pub(super) fn add_tasks(&mut self, tree: &[u8]) {
        for (field, task) in Fields::new(tree) {
            let Some(task) = task.bytes() else { continue };
            let Some(tid) = Fields::find(task, 1).and_then(Value::number) else { continue };
            let name = match field {
                1 => Fields::find(task, 3).and_then(Value::bytes).map(program),
                2 => Fields::find(task, 2).and_then(Value::bytes),
                _ => None,
            };
            if let Some(name) = name.filter(|_| !self.names.contains_key(&(tid as u32))) {
                self.rename(tid as u32, &one_line(name));
            }
        }
    }

    /// Takes an `InternedData`: the functions of its kernel.
    pub(super) fn add_functions(&mut self, interned: &[u8]) {
        for (_, function) in Fields::new(interned).filter(|(field, _)| *field == 26) {
            let Some(function) = function.bytes() else { continue };
            let (number, name) = (Fields::find(function, 1), Fields::find(function, 2));
            if let (Some(Value::Number(number)), Some(Value::Bytes(name))) = (number, name)
                && self.functions.len() < NAMES
            {
                self.functions.insert(number, one_line(name));
            }
        }
    }

    pub(super) fn rename(&mut self, tid: u32, name: &str) {
        if tid == 0 || name.is_empty() || self.names.get(&tid).is_some_and(|known| known == name) {
            return;
        }
        if self.names.len() < NAMES || self.names.contains_key(&tid) {
            self.names.insert(tid, name.to_owned());
        }
    }

    pub(super) fn name(&self, tid: u32) -> &str {
        if tid == 0 { "swapper" } else { self.names.get(&tid).map_or("<...>", String::as_str) }
    }

    pub(super) fn function(&self, number: u64) -> Option<&str> {
        self.functions.get(&number).map(String::as_str)
    }

    pub(super) fn state(&self, bits: u64) -> String {
        let states = if self.has_old_states { &OLD_STATES[..] } else { &STATES[..] };
        state_letters(bits, states.iter().copied())
    }

    /// The event that a system call begins with, where its number is none of this architecture.
    pub(super) fn other_call(&self, number: i64) -> Option<Cow<'static, str>> {
        let machine = self.other_architecture.as_deref()?;
        let name = Some(number).filter(|_| common_calls::is_common(machine)).and_then(common_calls::name);
        Some(name.map_or(Cow::Borrowed("sys_enter_other"), |name| Cow::Owned(format!("sys_enter_{name}"))))
    }
}

fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|letter: char| !letter.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// The name that a program's task begins with.
fn program(command: &[u8]) -> &[u8] {
    let name = command.rsplit(|byte| *byte == b'/').next().unwrap_or(command);
    &name[..name.len().min(NAME_LETTERS)]
}

#[cfg(test)]
mod tests {
    use super::Machine;

    fn machine(release: &str, architecture: &str) -> Machine {
        let text = |field: u8, text: &str| [&[field << 3 | 2, text.len() as u8], text.as_bytes()].concat();
        let name = [text(3, release), text(4, architecture)].concat();
        let mut machine = Machine::default();
        machine.describe(&[&[1 << 3 | 2, name.len() as u8], &name[..]].concat());
        machine
    }

    #[test]
    fn states_have_the_bits_of_their_kernel() {
        let states = |release: &str| [0, 1, 2, 0x40, 0x80, 0x100, 0x800].map(|bits| machine(release, "").state(bits));
        assert_eq!(states("6.18.44-x"), ["R", "S", "D", "P", "I", "R", "R"]);
        assert_eq!(states("4.14.1"), states("6.18.44-x"));
        assert_eq!(states("4.4.302+"), ["R", "S", "D", "x", "K", "W", "R"]);
        assert_eq!(states(""), states("6.1"));
    }

    #[test]
    fn calls_have_the_numbers_of_their_machine() {
        assert_eq!(machine("6.1", std::env::consts::ARCH).other_call(82), None);
        assert_eq!(machine("6.1", "loongarch64").other_call(82).as_deref(), Some("sys_enter_fsync"));
        assert_eq!(machine("6.1", "armv8l").other_call(82).as_deref(), Some("sys_enter_other"));
        assert_eq!(machine("6.1", "").other_call(82).as_deref(), Some("sys_enter_other"));
    }

    #[test]
    fn tasks_keep_the_names_of_events() {
        let mut machine = Machine::default();
        machine.rename(7, "worker");
        // Process 7 `/usr/sbin/mysqld`, process 8 of the same program, thread 9 `io`.
        machine.add_tasks(b"\x0a\x14\x08\x07\x1a\x10/usr/sbin/mysqld\x0a\x14\x08\x08\x1a\x10/usr/sbin/mysqld\x12\x06\x08\x09\x12\x02io");
        assert_eq!([7, 8, 9, 10, 0].map(|tid| machine.name(tid)), ["worker", "mysqld", "io", "<...>", "swapper"]);
    }
}
