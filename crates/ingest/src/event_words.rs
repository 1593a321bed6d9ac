//! An event's fields → its line, in the words of ftrace and perf, which [`crate::import_text`] and the readers of block
//! traces know.

use std::fmt::Write as _;

use model::block::DeviceNumber;

/// The fields of an event, whatever holds them.
pub(crate) trait EventFields {
    fn system(&self) -> &str;
    fn name(&self) -> &str;
    fn signed(&self, field: &str) -> Option<i64>;
    fn text(&self, field: &str) -> Option<String>;
    fn device(&self, field: &str) -> Option<DeviceNumber>;
    /// The letters of a task's state.
    fn state(&self, bits: u64) -> String;
    /// Writes `key=value` of all fields that are numbers or text.
    fn pairs(&self, text: &mut String);

    fn unsigned(&self, field: &str) -> Option<u64> {
        self.signed(field).map(|value| value as u64)
    }
}

/// Writes the line of an event. `None`, and no line: it lacks a field.
pub(crate) fn write_line(
    text: &mut String,
    name: &str,
    tid: i32,
    cpu: u32,
    at_ns: u64,
    event: &impl EventFields,
) -> Option<()> {
    let mut fields = String::new();
    write_fields(event, &mut fields)?;
    let (seconds, rest_ns) = (at_ns / 1_000_000_000, at_ns % 1_000_000_000);
    let (system, event) = (event.system(), event.name());
    writeln!(text, "{name} {tid} [{cpu:03}] {seconds}.{rest_ns:09}: {system}:{event}: {fields}").ok()
}

/// Writes the fields. `None` where one is missing that the event must have.
pub(crate) fn write_fields(event: &impl EventFields, text: &mut String) -> Option<()> {
    match (event.system(), event.name()) {
        ("sched", "sched_switch") => switch(event, text),
        ("block", name) => block(event, name, text),
        ("raw_syscalls", "sys_enter") => write!(text, "NR {} ()", event.signed("id")?).ok(),
        ("raw_syscalls", "sys_exit") => write!(text, "NR {} = {}", event.signed("id")?, event.signed("ret")?).ok(),
        _ => {
            event.pairs(text);
            Some(())
        }
    }
}

fn switch(event: &impl EventFields, text: &mut String) -> Option<()> {
    let (prev, prev_pid, prev_prio) = (event.text("prev_comm")?, event.signed("prev_pid")?, event.signed("prev_prio")?);
    let (next, next_pid, next_prio) = (event.text("next_comm")?, event.signed("next_pid")?, event.signed("next_prio")?);
    let state = event.state(event.signed("prev_state")? as u64);
    write!(
        text,
        "prev_comm={prev} prev_pid={prev_pid} prev_prio={prev_prio} prev_state={state} ==> \
         next_comm={next} next_pid={next_pid} next_prio={next_prio}"
    )
    .ok()
}

/// The letters of the bits that are set. A bit without a letter: the task was preempted.
pub(crate) fn state_letters<'a>(bits: u64, letters: impl IntoIterator<Item = (u64, &'a str)>) -> String {
    let set = letters.into_iter().filter(|(bit, _)| *bit != 0 && bits & bit == *bit);
    let letters: Vec<&str> = set.map(|(_, letter)| letter).collect();
    if letters.is_empty() { "R".to_owned() } else { letters.join("|") }
}

/// `8,0 WS 4096 () 2048 + 8 [dd]`; the completion of a request has its error in place of the name.
fn block(event: &impl EventFields, name: &str, text: &mut String) -> Option<()> {
    // Those of plugs have no device, those of buffers no direction.
    let Some((device, direction)) = event.device("dev").zip(event.text("rwbs")) else {
        event.pairs(text);
        return Some(());
    };
    let _ = write!(text, "{device} {direction} ");
    if let Some(bytes) = event.unsigned("bytes") {
        let _ = write!(text, "{bytes} ");
    }
    if name.starts_with("block_rq_") {
        text.push_str("() ");
    }
    let _ = write!(text, "{} ", event.unsigned("sector")?);
    if let Some(new_sector) = event.unsigned("new_sector") {
        let _ = write!(text, "/ {new_sector} [{}]", event.text("comm")?);
        return Some(());
    }
    let _ = write!(text, "+ {} ", event.unsigned("nr_sector")?);
    if let (Some(device), Some(sector)) = (event.device("old_dev"), event.unsigned("old_sector")) {
        let _ = write!(text, "<- ({device}) {sector}");
        return Some(());
    }
    match event.signed("error").or_else(|| event.signed("errors")) {
        Some(error) => write!(text, "[{error}]").ok(),
        None if name == "block_rq_requeue" => write!(text, "[0]").ok(),
        None => write!(text, "[{}]", event.text("comm")?).ok(),
    }
}

/// Text without what would end a line.
pub(crate) fn one_line(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).chars().map(|letter| if letter.is_control() { '?' } else { letter }).collect()
}

/// Lines that were made of events, and are read in parts.
#[derive(Default)]
pub(crate) struct UnreadText {
    /// The lines, to which more are added once they are read.
    pub text: String,
    at: usize,
}

impl UnreadText {
    pub(crate) fn is_read(&self) -> bool {
        self.at == self.text.len()
    }

    /// Makes room for the next lines in the same memory.
    pub(crate) fn clear(&mut self) {
        self.at = 0;
        self.text.clear();
    }

    /// Fills the buffer as far as there is text. Returns the bytes.
    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> usize {
        let rest = &self.text.as_bytes()[self.at..];
        let length = buffer.len().min(rest.len());
        buffer[..length].copy_from_slice(&rest[..length]);
        self.at += length;
        length
    }
}
