//! The first sentence: how many operations were slow, how long they took, and whose they are.

use explain::blame::{STOPPED, is_for_child};
use serde_json::Value;

use super::sentence::{Kind, LEAST, Sentence, Writer};
use super::unpredicted::to_look_at;

/// The command's part has `operations`; the whole document calls them `slow_operations`.
pub(super) fn count_path(part: &str) -> String {
    if part.is_empty() { "/slow_operations".to_owned() } else { format!("{part}/operations") }
}

/// `12 operations of the recorded command took at least 100 ms, 3.00 s in total; the longest, fsync by dd/93, took 1.20 s.`
pub(super) fn slow(document: &Value, part: &str) -> Option<Sentence> {
    let of_others = part.is_empty() && document["command"].is_object();
    if of_others {
        let mut writer = none_of_command(document)?;
        writer.say(". Of other programs, ");
        return operations(writer, document, part, " did");
    }
    operations(Writer::new(document), document, part, "")
}

/// `No operation of the recorded command took 100 ms, but it had 3 sleeps of at most 2.00 s in flock`
fn none_of_command(document: &Value) -> Option<Writer<'_>> {
    let mut writer = Writer::new(document);
    writer.say("No operation of the recorded command took ");
    writer.value("/slower_than_ns", Kind::Duration)?;
    slept(&mut writer, document);
    Some(writer)
}

/// The same as a sentence of its own.
pub(super) fn none(document: &Value) -> Option<Sentence> {
    none_of_command(document).map(Writer::end)
}

/// `Of other programs, 12 operations took at least 100 ms, 3.00 s in total`
pub(super) fn of_others(document: &Value) -> Option<Sentence> {
    let mut writer = Writer::new(document);
    writer.say("Of other programs, ");
    operations(writer, document, "", "")
}

/// `12 operations took at least 100 ms, 3.00 s in total; the longest, fsync by dd/93, took 1.20 s`; `verb` where the time was said before.
fn operations(mut writer: Writer<'_>, document: &Value, part: &str, verb: &str) -> Option<Sentence> {
    let count = count_path(part);
    writer.counted(&count, "operation")?;
    if !part.is_empty() {
        whose(&mut writer, document)?;
    }
    if verb.is_empty() {
        writer.say(" took at least ");
        writer.value("/slower_than_ns", Kind::Duration)?;
    }
    writer.say(verb);
    let Some(at) = longest(document, part) else {
        total(&mut writer, document, part)?;
        return Some(writer.end());
    };
    if document.pointer(&count).and_then(Value::as_u64) == Some(1) {
        writer.say(": ");
        named(&mut writer, document, at)?;
        writer.say(", ");
    } else {
        total(&mut writer, document, part)?;
        writer.say("; the longest, ");
        named(&mut writer, document, at)?;
        writer.say(", took ");
    }
    writer.value(&format!("/stalls/{at}/duration_ns"), Kind::Duration)?;
    Some(writer.end())
}

/// ` of the recorded command and of what --follow names (redis-server)`: these, too, count as the command.
fn whose(writer: &mut Writer<'_>, document: &Value) -> Option<()> {
    if document["operations"].is_u64() {
        writer.say(" of the load");
        return Some(());
    }
    writer.say(" of the recorded command");
    let count = document["followed"].as_array().map_or(0, Vec::len);
    for at in 0..count {
        writer.say(if at == 0 { " and of what --follow names (" } else { ", " });
        writer.value(&format!("/followed/{at}"), Kind::Name)?;
    }
    writer.say(if count > 0 { ")" } else { "" });
    Some(())
}

/// `, 3.00 s in total (2.00 s by dd/93, 1.00 s by tar/94)`. One that is followed may be what the others wait for: no sum of their times.
fn total(writer: &mut Writer<'_>, document: &Value, part: &str) -> Option<()> {
    let large = if part.is_empty() { Vec::new() } else { large_processes(document) };
    let follows = !part.is_empty() && document["followed"].get(0).is_some();
    if !large.is_empty() && follows {
        writer.say(": ");
        by_process(writer, &large);
        return Some(());
    }
    writer.say(", ");
    writer.value(&format!("{part}/wall_ns"), Kind::Duration)?;
    writer.say(if follows { " in total, in which one may wait for another" } else { " in total" });
    if !large.is_empty() {
        writer.say(" (");
        by_process(writer, &large);
        writer.say(")");
    }
    Some(())
}

/// The two processes of the command, or that it followed, whose operations took longest: their places in the list. A client and the server
/// that it waits for both count, each with its own.
fn large_processes(document: &Value) -> Vec<usize> {
    let list = document["processes"].as_array().map_or(&[][..], Vec::as_slice);
    let wall_ns = |process: &Value| process["wall_ns"].as_f64().unwrap_or(0.0);
    let own =
        || list.iter().enumerate().filter(|(_, process)| process["neighbour"] == false && process["pid"].is_u64());
    let all_ns: f64 = own().map(|(_, process)| wall_ns(process)).sum();
    let mut large: Vec<_> = own().filter(|(_, process)| wall_ns(process) >= all_ns * LEAST).collect();
    large.sort_by(|(_, one), (_, other)| wall_ns(other).total_cmp(&wall_ns(one)));
    if large.len() < 2 { Vec::new() } else { large.into_iter().take(2).map(|(at, _)| at).collect() }
}

/// `2.00 s by dd/93, 1.00 s by tar/94`
fn by_process(writer: &mut Writer<'_>, processes: &[usize]) {
    for (number, at) in processes.iter().enumerate() {
        writer.say(if number == 0 { "" } else { ", " });
        let _ = writer.value(&format!("/processes/{at}/wall_ns"), Kind::Duration);
        writer.say(" by ");
        let _ = writer.value(&format!("/processes/{at}/process"), Kind::Name);
        writer.say("/");
        let _ = writer.value(&format!("/processes/{at}/pid"), Kind::Number);
    }
}

/// `fsync by dd/93`
fn named(writer: &mut Writer<'_>, document: &Value, at: usize) -> Option<()> {
    if document["stalls"][at]["operation"] == STOPPED {
        writer.say("a stop of ");
    } else {
        writer.value(&format!("/stalls/{at}/operation"), Kind::Name)?;
        writer.say(" by ");
    }
    writer.value(&format!("/stalls/{at}/task"), Kind::Name)
}

/// `, but it had 3 sleeps of at most 2.00 s in flock`: those that are no operations. Else `; 2 sleeps, 2.40 s in total, may have been
/// idle (poll)`: a receive that runs into its timeout looks the same.
fn slept(writer: &mut Writer<'_>, document: &Value) {
    if has_sleeps(document) {
        writer.say(", but it had ");
        let _ = listed(writer, document);
    } else if may_have_idled(document) {
        writer.say("; ");
        let _ = idled(writer, document);
    }
}

/// The same where no operation was slow: `The recorded command had 3 sleeps of at most 2.00 s in flock.` Of others that hang, the only one begins the
/// sentence: `psql/7 has slept in poll for more than 3.00 s, throughout the recording, for postgres/8.`
pub(super) fn sleeps(document: &Value) -> Option<Sentence> {
    let mut writer = Writer::new(document);
    let is_command = document["command"].is_object();
    let longest = &document["sleeps"]["longest"][0];
    if !is_command && document["sleeps"]["count"] == 1 && longest["task"].is_string() && longest["call"].is_string() {
        writer.value("/sleeps/longest/0/task", Kind::Name)?;
        writer.say(if longest["unfinished"] == true { " has slept in " } else { " slept in " });
        writer.value("/sleeps/longest/0/call", Kind::Name)?;
        writer.say(if longest["throughout"] == true { " for more than " } else { " for " });
        writer.value("/sleeps/longest/0/duration_ns", Kind::Duration)?;
        what_for(&mut writer, longest)?;
    } else if has_sleeps(document) {
        writer.say(if is_command { "The recorded command had " } else { "Programs that were there before had " });
        listed(&mut writer, document)?;
    } else {
        may_have_idled(document).then_some(())?;
        writer.say(if is_command { "Of the recorded command, " } else { "Of programs that were there before, " });
        idled(&mut writer, document)?;
    }
    Some(writer.end())
}

fn is_any(count: &Value) -> bool {
    count.as_u64().is_some_and(|count| count > 0)
}

fn has_sleeps(document: &Value) -> bool {
    is_any(&document["sleeps"]["count"])
}

fn may_have_idled(document: &Value) -> bool {
    let idle = &document["sleeps"]["idle"];
    is_any(&idle["count"]) && idle["calls"].as_array().is_some_and(|calls| calls.iter().any(is_for_message))
}

/// `3 sleeps of at most 2.00 s in semop by tar/94, for a System V semaphore, woken by dd/93`, or `, throughout the recording`
fn listed(writer: &mut Writer<'_>, document: &Value) -> Option<()> {
    let longest = &document["sleeps"]["longest"][0];
    writer.counted("/sleeps/count", "sleep")?;
    writer.say(" of at most ");
    writer.value("/sleeps/longest/0/duration_ns", Kind::Duration)?;
    if longest["call"].is_string() {
        writer.say(" in ");
        writer.value("/sleeps/longest/0/call", Kind::Name)?;
    }
    if longest["task"].is_string() {
        writer.say(" by ");
        writer.value("/sleeps/longest/0/task", Kind::Name)?;
    }
    what_for(writer, longest)
}

/// `, throughout the recording, for a System V semaphore, woken by dd/93`
fn what_for(writer: &mut Writer<'_>, longest: &Value) -> Option<()> {
    if longest["throughout"] == true {
        writer.say(", throughout the recording");
    }
    if longest["waits_for"].is_string() {
        writer.say(", for ");
        writer.value("/sleeps/longest/0/waits_for", Kind::Name)?;
    }
    if longest["waker"].is_string() {
        writer.say(", woken by ");
        writer.value("/sleeps/longest/0/waker", Kind::Name)?;
    }
    let _ = for_other_end(writer, longest);
    Some(())
}

/// `, for redis/7, which is stopped`, or `, for pgbouncer/8, behind that perhaps for psql/9`
fn for_other_end(writer: &mut Writer<'_>, longest: &Value) -> Option<()> {
    let ends = longest["other_ends"].as_array().filter(|ends| !ends.is_empty())?;
    let last = to_look_at(longest)?;
    for at in if last > 0 { vec![0, last] } else { vec![0] } {
        let is_certain = ends[..=at].iter().all(|end| end["certain"] == true);
        let begin = if at == 0 { ", " } else { ", behind that " };
        writer.say(begin);
        writer.say(if is_certain { "for " } else { "perhaps for " });
        writer.value(&format!("/sleeps/longest/0/other_ends/{at}/task"), Kind::Name)?;
    }
    if ends[last]["state"].as_str().is_some_and(|state| !["asleep", "unknown"].contains(&state)) {
        writer.say(", which is ");
        writer.value(&format!("/sleeps/longest/0/other_ends/{last}/state"), Kind::Name)?;
    }
    Some(())
}

/// `2 sleeps, 2.40 s in total, may have been idle (poll), 1 of them throughout the recording`
fn idled(writer: &mut Writer<'_>, document: &Value) -> Option<()> {
    writer.counted("/sleeps/idle/count", "sleep")?;
    writer.say(", ");
    writer.value("/sleeps/idle/total_ns", Kind::Duration)?;
    writer.say(" in total, may have been idle (");
    writer.value("/sleeps/idle/calls/0", Kind::Name)?;
    writer.say(")");
    if is_any(&document["sleeps"]["idle"]["throughout"]) {
        writer.say(", ");
        writer.value("/sleeps/idle/throughout", Kind::Number)?;
        writer.say(" of them throughout the recording: one that hangs looks the same");
    }
    Some(())
}

fn is_for_message(call: &Value) -> bool {
    call.as_str().is_some_and(|call| !is_for_child(call))
}

/// The first stall of that part: neighbours' stalls are in the same list.
fn longest(document: &Value, part: &str) -> Option<usize> {
    document["stalls"].as_array()?.iter().position(|stall| part.is_empty() || stall["neighbour"] == false)
}
