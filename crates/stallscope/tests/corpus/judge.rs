//! Whether an answer is right. It knows only JSON's names, never text for people.

use serde_json::Value;

use crate::document::{Said, causes, covered, list, ns, share_of, text, times};
use crate::truth::{Advice, Culprit, Part, Truth, fits, fits_text};

/// Least share of the measured time that is found, and most that the longest stall may be.
const FOUND: f64 = 0.8;
const TOO_LONG: f64 = 1.25;
/// Least part of a clock's operations that are found.
const OPERATIONS: f64 = 0.9;
/// A victim reads its clock outside of the call.
const SLACK_NS: u64 = 3_000_000;
const MOST_UNEXPLAINED: f64 = 0.1;
/// Most of an innocent victim's time that is blamed on storage.
const INNOCENT: f64 = 0.1;
/// Waits for the log of a file system.
const LOGS: [&str; 3] = ["journal", "fs_log", "fs_transaction"];
/// Least saving of advice.
const SAVED: f64 = 0.05;
const COMPUTING: [&str; 2] = ["running", "cpu_wait"];
const COMPUTING_EDGES: [&str; 2] = ["work", "cpu"];
const STORAGE: [&str; 18] = [
    "direct_reclaim",
    "reclaim_throttle",
    "shrinker",
    "compaction",
    "dirty_throttle",
    "writeback_wait",
    "journal",
    "fs_log",
    "fs_transaction",
    "request_wait",
    "scheduler_queue",
    "io_throttle",
    "device",
    "frozen",
    "page_fault",
    "swap",
    "io_worker",
    "network_fs",
];

/// What is wrong with an answer; nothing if it is right.
pub fn judge(truth: &Truth, said: &Said) -> Vec<String> {
    if truth.quiet {
        return quiet(truth, &said.all);
    }
    let says_so = said.all["complete"] == false;
    if truth.incomplete != says_so {
        return vec![if says_so { "is said to be incomplete" } else { "is not said to be incomplete" }.to_owned()];
    }
    let several = truth.part.len() > 1;
    let of = |part: &Part| {
        let wrong = judge_part(truth, part, said);
        wrong
            .into_iter()
            .map(move |wrong| if several { format!("{}: {wrong}", part.label) } else { wrong })
            .collect::<Vec<_>>()
    };
    truth.part.iter().flat_map(of).chain(alarm(truth, &said.all)).collect()
}

/// A stall of a thread that idled.
fn alarm(truth: &Truth, document: &Value) -> Option<String> {
    let is_of_idle = |stall: &&Value| stall["tid"].as_u64().is_some_and(|tid| truth.idle.contains(&tid));
    let stall = list(&document["stalls"]).iter().filter(|stall| !is_computing(stall)).find(is_of_idle)?;
    Some(format!("{} of {} is none", text(&stall["operation"]), text(&stall["task"])))
}

fn quiet(truth: &Truth, document: &Value) -> Vec<String> {
    let stalls = list(&document["stalls"]).iter().filter(|stall| !(truth.busy && is_computing(stall)));
    let of_stalls = stalls.map(|stall| format!("{} of {}", text(&stall["operation"]), text(&stall["task"])));
    let culprits = list(&document["culprits"]).iter().filter(|culprit| !COMPUTING.contains(&text(&culprit["cause"])));
    let of_culprits = culprits.map(|culprit| format!("culprit {}", text(&culprit["task"])));
    of_stalls.take(2).chain(of_culprits.take(1)).collect()
}

fn is_computing(stall: &Value) -> bool {
    let main = list(&stall["causes"]).iter().max_by_key(|cause| ns(&cause["time_ns"]));
    main.is_some_and(|cause| COMPUTING.contains(&text(&cause["cause"])))
}

fn judge_part(truth: &Truth, part: &Part, said: &Said) -> Vec<String> {
    let document = asked(part, said);
    let mine: Vec<&Value> = list(&document["stalls"]).iter().filter(|stall| is_victim(part, stall)).collect();
    let times = times_of(part, document, &mine);
    if part.causes.is_empty() {
        let of_storage =
            times.iter().filter(|(cause, _)| STORAGE.contains(&cause.as_str())).map(|(_, ns)| ns).sum::<u64>();
        let blamed = share_of(of_storage, measured(part));
        return (blamed > INNOCENT).then(|| format!("{:.0} % blamed on storage", blamed * 100.0)).into_iter().collect();
    }
    if times.is_empty() {
        return vec!["not found".to_owned()];
    }
    let judged = [
        found(part, document, &mine),
        cause(truth, part, &mine, &times),
        stranger(truth, part, document, &mine),
        named(part, document, &mine, &times),
        first(part, document, &mine),
        advice(truth, part, said.advice()),
    ];
    judged.into_iter().flatten().collect()
}

/// The document that knows the victim: what may have been idle is listed only where it is asked for, and so are the
/// sums of waits that are too short to be listed.
fn asked<'a>(part: &Part, said: &'a Said) -> &'a Value {
    let sums_up =
        |document: &Value| document["scope"].is_object() && part.tolerance_ms == 0 && short(document).is_some();
    let knows =
        |document: &&Value| list(&document["stalls"]).iter().any(|stall| is_victim(part, stall)) || sums_up(document);
    let of_victim = said.of_victim.as_ref().filter(|_| !part.causes.is_empty());
    [Some(&said.all), of_victim].into_iter().flatten().find(knows).unwrap_or(&said.all)
}

fn is_victim(part: &Part, stall: &Value) -> bool {
    if let Some(cgroup) = &part.victims {
        return fits(cgroup, &stall["cgroup"]);
    }
    let (start, end) = (ns(&stall["start_ns"]), ns(&stall["start_ns"]) + ns(&stall["duration_ns"]));
    let during = |from: u64, to: u64| start < to + SLACK_NS && end + SLACK_NS > from;
    let task = text(&stall["task"]);
    if stall["tid"].as_u64().is_some_and(|tid| part.threads.contains(&tid)) {
        return true;
    }
    part.operations.iter().filter(|(_, from, to)| part.tolerance_ms == 0 || during(*from, *to)).any(|(tid, ..)| {
        match &part.task {
            Some(begin) => task.starts_with(begin.as_str()) && text(&stall["path"]).starts_with(&part.path),
            // A worker of io_uring is a thread of its program.
            None => stall["tid"].as_u64() == Some(*tid) || task.starts_with(&format!("iou-wrk-{tid}/")),
        }
    })
}

/// Whether it is about a command, or about what is in scope.
fn is_asked(document: &Value) -> bool {
    document["command"].is_object() || document["scope"].is_object()
}

/// The shorter waits, if the headline is about these.
fn short(document: &Value) -> Option<&Value> {
    let (short, command) = (&document["short_waits"], &document["command"]);
    let matter = short["matter"] == true && ns(&short["time_ns"]) > ns(&command["wall_ns"]);
    (is_asked(document) && matter).then_some(short)
}

fn times_of(part: &Part, document: &Value, mine: &[&Value]) -> Vec<(String, u64)> {
    match short(document).filter(|_| part.tolerance_ms == 0) {
        Some(short) => times(list(&short["causes"]).iter()),
        None => causes(mine),
    }
}

fn measured(part: &Part) -> u64 {
    part.operations.iter().map(|(_, start, end)| end - start).sum()
}

fn found(part: &Part, document: &Value, mine: &[&Value]) -> Option<String> {
    let within = |felt: u64| part.within_ms.map_or(felt, |within| felt.min(within * 1_000_000));
    let operations = part.operations.iter();
    let seen: Vec<(u64, u64)> =
        operations.map(|(_, from, to)| (covered(mine, *from, *to), within(to - from))).collect();
    if part.tolerance_ms > 0 {
        let is_found = |(seen, felt): &&(u64, u64)| match part.composite {
            true => *seen as f64 >= *felt as f64 * FOUND,
            false => seen.abs_diff(*felt) <= (felt / 20).max(part.tolerance_ms * 1_000_000),
        };
        let count = seen.iter().filter(is_found).count();
        let of = seen.len();
        return ((count as f64) < OPERATIONS * of as f64).then(|| format!("{count} of {of} operations found"));
    }
    let shorter = short(document).map_or(0, |short| ns(&short["time_ns"]));
    let all = seen.iter().map(|(seen, _)| seen).sum::<u64>().max(shorter);
    if (all as f64) < FOUND * measured(part) as f64 {
        return Some(format!("{:.0} % of the time found", share_of(all, measured(part)) * 100.0));
    }
    let longest = mine.iter().map(|stall| ns(&stall["duration_ns"])).max().unwrap_or(0);
    let felt = seen.iter().map(|(_, felt)| *felt).max().unwrap_or(0);
    (longest as f64 > TOO_LONG * felt as f64).then(|| format!("too long: {:.2} s", longest as f64 / 1e9))
}

/// A stall of a program that waited for nothing, before those of the victim.
fn stranger(truth: &Truth, part: &Part, document: &Value, mine: &[&Value]) -> Option<String> {
    let longest = mine.iter().map(|stall| ns(&stall["duration_ns"])).max()?;
    let has_command = document["command"].is_object();
    let fits_key =
        |pattern: &Option<String>, value: &Value| pattern.as_ref().is_some_and(|pattern| fits(pattern, value));
    let is_of_culprit = |stall: &Value| {
        part.first
            .iter()
            .any(|wanted| fits_key(&wanted.task, &stall["task"]) || fits_key(&wanted.cgroup, &stall["cgroup"]))
    };
    let is_strange = |stall: &&Value| {
        let of_part = !has_command || stall["neighbour"] == false;
        let concerns = is_victim(part, stall) || is_of_culprit(stall) || (truth.busy && is_computing(stall));
        of_part && !concerns && ns(&stall["duration_ns"]) > longest
    };
    let strange = list(&document["stalls"]).iter().filter(|_| !part.first.is_empty()).filter(is_strange);
    let worst = strange.max_by_key(|stall| ns(&stall["duration_ns"]))?;
    Some(format!("the longest is {} of {}", text(&worst["operation"]), text(&worst["task"])))
}

fn cause(truth: &Truth, part: &Part, mine: &[&Value], times: &[(String, u64)]) -> Option<String> {
    let counts = |cause: &String| !truth.busy || part.causes.contains(cause) || !COMPUTING.contains(&cause.as_str());
    let whole = times.iter().filter(|(cause, _)| counts(cause)).map(|(_, ns)| ns).sum::<u64>();
    let right: u64 = times.iter().filter(|(cause, _)| part.causes.contains(cause)).map(|(_, ns)| ns).sum();
    let right = right + mine.iter().map(|stall| through_log_ns(part, stall)).sum::<u64>();
    let unexplained = times.iter().filter(|(cause, _)| cause == "unexplained").map(|(_, ns)| *ns).sum();
    // Two ways to judge were there before the corpus: of all time, and of what has a cause.
    let of_all = part.tolerance_ms > 0;
    let share = share_of(right, if of_all { whole } else { whole - unexplained });
    match () {
        () if share < part.least => Some(format!("right causes hold {:.0} %", share * 100.0)),
        () if of_all && share_of(unexplained, whole) > MOST_UNEXPLAINED => Some("too much is unexplained".to_owned()),
        () => None,
    }
}

/// Time in which a stall waited for the log of a file system, whose thread waited for a right cause, as the chain says:
/// it is right, as long as the log itself is not among the causes.
fn through_log_ns(part: &Part, stall: &Value) -> u64 {
    let [first, then @ ..] = list(&stall["chain"]) else { return 0 };
    let log = text(&first["waits_for"]);
    let leads_on = then.iter().any(|link| part.causes.iter().any(|cause| link["waits_for"] == cause.as_str()));
    if !LOGS.contains(&log) || part.causes.iter().any(|cause| cause == log) || !leads_on {
        return 0;
    }
    let of_log = list(&stall["causes"]).iter().filter(|time| time["cause"] == log);
    of_log.map(|time| ns(&time["time_ns"])).sum()
}

/// The chain of the longest stall, or one of the first culprits.
fn named(part: &Part, document: &Value, mine: &[&Value], times: &[(String, u64)]) -> Option<String> {
    if part.chain.is_none() && part.culprit.is_none() {
        return None;
    }
    let longest = mine.iter().max_by_key(|stall| ns(&stall["duration_ns"]));
    let chain = longest.map(|stall| chain_lines(stall)).unwrap_or_default();
    let in_chain = part.chain.as_ref().is_some_and(|pattern| chain.iter().any(|line| fits_text(pattern, line)));
    let is_cause = |culprit: &&Value| times.iter().any(|(cause, _)| culprit["cause"] == cause.as_str());
    let of = short(document).filter(|_| mine.is_empty()).unwrap_or(document);
    let mut culprits = list(&of["culprits"]).iter().filter(is_cause).take(3);
    let of_culprit =
        part.culprit.as_ref().is_some_and(|pattern| culprits.any(|culprit| fits_text(pattern, &culprit_line(culprit))));
    (!in_chain && !of_culprit).then(|| "the culprit is not named".to_owned())
}

fn chain_lines(stall: &Value) -> Vec<String> {
    let line = |(at, link): (usize, &Value)| {
        let task = if at == 0 { "victim" } else { text(&link["task"]) };
        format!(
            "{task}: {} ms {}: {}",
            ns(&link["time_ns"]) / 1_000_000,
            text(&link["waits_for"]),
            text(&link["detail"])
        )
    };
    let mut lines: Vec<String> = list(&stall["chain"]).iter().enumerate().map(line).collect();
    let request = &stall["request"];
    if request.is_object() {
        let throttled = if request["throttled"] == true { ", throttled" } else { "" };
        lines.push(format!(
            "request {} on {} by {}{throttled}",
            text(&request["rwbs"]),
            text(&request["device"]),
            text(&request["task"])
        ));
    }
    lines
}

fn culprit_line(culprit: &Value) -> String {
    let of = |key: &str| text(&culprit[key]);
    format!("{} of {} on {} ({}): {}", of("task"), of("cgroup"), of("device"), of("file_system"), of("cause"))
}

/// The first culprit that one of the victims waited for.
fn first(part: &Part, document: &Value, mine: &[&Value]) -> Option<String> {
    if part.first.is_empty() {
        return None;
    }
    let command = &document["command"];
    let is_victim = |culprit: &&Value| {
        list(&culprit["victims"]).iter().any(|victim| mine.iter().any(|stall| stall["task"] == victim["task"]))
    };
    let first = match short(document) {
        Some(short) => list(&short["culprits"]).first(),
        None if command["operations"].as_u64() > Some(0) => list(&command["culprits"]).first(),
        None => list(&document["culprits"]).iter().find(is_victim),
    };
    let Some(first) = first else { return Some("no culprit".to_owned()) };
    let is_right = part.first.iter().any(|wanted| is_culprit(wanted, first));
    let named = |key: &str| text(&first[key]);
    (!is_right)
        .then(|| format!("culprit {} of {} on {}: {}", named("task"), named("cgroup"), named("device"), named("cause")))
}

fn is_culprit(wanted: &Culprit, culprit: &Value) -> bool {
    let is = |pattern: &Option<String>, value: &Value| pattern.as_ref().is_none_or(|pattern| fits(pattern, value));
    // A limit or a freezer has no task of its own.
    let has_none = culprit["task"].is_null() && wanted.cgroup.is_some();
    (has_none || is(&wanted.task, &culprit["task"]))
        && is(&wanted.cgroup, &culprit["cgroup"])
        && is(&wanted.disk, &culprit["device_name"])
        && wanted.any.as_ref().is_none_or(|pattern| fits_text(pattern, &culprit.to_string()))
}

/// The first choice that saves enough.
fn advice(truth: &Truth, part: &Part, document: &Value) -> Option<String> {
    if part.advice.is_empty() {
        return None;
    }
    let saves = |choice: &&Value| choice["saved_share"].as_f64() >= Some(SAVED);
    let is_judged = |choice: &&Value| {
        part.advice.iter().any(|wanted| is_advice(wanted, choice)) || !(truth.busy && is_of_cpu(document, choice))
    };
    let first = list(&document["what_if"]["choices"]).iter().filter(saves).find(is_judged);
    let Some(first) = first else { return Some("no advice".to_owned()) };
    let is_right = part.advice.iter().any(|wanted| is_advice(wanted, first));
    (!is_right).then(|| format!("advice: {}", text(&first["title"])))
}

/// Whether advice is about CPUs, or about a program that used these only.
fn is_of_cpu(document: &Value, choice: &Value) -> bool {
    let change = &choice["change"];
    let gone = &change["absent"]["task"];
    let is_gone = |culprit: &&Value| {
        let task = text(&culprit["task"]);
        gone.is_string() && task.rsplit_once('/').map_or(task, |(name, _)| name) == text(gone)
    };
    let mut of_gone = list(&document["culprits"]).iter().filter(is_gone).peekable();
    let uses_cpus = of_gone.peek().is_some() && of_gone.all(|culprit| COMPUTING.contains(&text(&culprit["cause"])));
    COMPUTING_EDGES.contains(&text(&change["edge"])) || uses_cpus
}

fn is_advice(wanted: &Advice, choice: &Value) -> bool {
    let change = &choice["change"];
    if let Some(absent) = &wanted.absent {
        let gone = &change["absent"];
        return gone.is_object() && ["task", "cgroup"].iter().any(|key| fits(absent, &gone[*key]));
    }
    let of_cgroup = wanted.cgroup.as_ref().is_none_or(|cgroup| fits(cgroup, &choice["target"]["cgroup"]));
    let is = match &wanted.remedy {
        Some(remedy) => choice["remedies"][0]["id"] == remedy.as_str(),
        None => wanted.edge.as_deref() == change["edge"].as_str(),
    };
    of_cgroup && is
}
