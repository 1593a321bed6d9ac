//! Compares the explanation with the known truth.

use serde_json::Value;

use crate::victim::{ANY, Truth};

/// Minimum share of the slow time for the right cause.
const ENOUGH: f64 = 0.8;
/// Minimum share of a victim's time for the right culprit.
const BLAMED: f64 = 0.8;
/// Maximum share of a victim's time for an innocent process.
const INNOCENT: f64 = 0.02;
/// Maximum share of the slow time that may stay unexplained.
const TOO_MUCH_UNEXPLAINED: f64 = 0.1;
/// Minimum share of the victim's measured time that must be found. Its clock includes time before and after the call:
/// on busy CPUs a task is preempted as it returns to user space.
const FOUND: f64 = 0.75;
/// Causes whose times differ by less may swap ranks.
const APART: f64 = 1.25;
/// A victim reads its clock outside the call.
const SLACK_NS: u64 = 2_000_000;

/// One cause of one test: true and explained time.
#[derive(Debug, Clone)]
pub struct Line {
    pub cause: &'static str,
    /// Time measured by the victims.
    pub true_ns: u64,
    /// Time that the explanation gives to this cause.
    pub explained_ns: u64,
}

/// The result of one test.
#[derive(Debug, Clone)]
pub struct Verdict {
    pub lines: Vec<Line>,
    /// Time of the victims' slow operations in the explanation.
    pub wall_ns: u64,
    /// By cause; the largest first.
    pub causes: Vec<(String, u64)>,
    /// Violations.
    pub complaints: Vec<String>,
}

impl Verdict {
    pub fn new(explanation: &Value, truths: &[Truth]) -> Verdict {
        let stalls = explanation["stalls"].as_array().expect("stalls is an array");
        let stalls: Vec<&Value> =
            stalls.iter().filter(|stall| truths.iter().any(|truth| is_of(stall, truth))).collect();
        let wall_ns = stalls.iter().map(|stall| nanoseconds(&stall["duration_ns"])).sum();
        let causes = sums(&stalls);
        let mut lines: Vec<Line> = Vec::new();
        for &(cause, true_ns) in truths.iter().flat_map(|truth| &truth.parts) {
            let explained_ns = if cause == ANY { waits(&causes) } else { time_of(&causes, cause) };
            match lines.iter_mut().find(|line| line.cause == cause) {
                Some(line) => line.true_ns += true_ns,
                None => lines.push(Line { cause, true_ns, explained_ns }),
            }
        }
        lines.sort_by_key(|line| std::cmp::Reverse(line.true_ns));
        let mut verdict = Verdict { lines, wall_ns, causes, complaints: Vec::new() };
        verdict.complain();
        verdict.complaints.extend(sums_that_differ(&stalls));
        for truth in truths {
            verdict.complaints.extend(named(&stalls, truth));
            verdict.complaints.extend(overtaken(&stalls, truth));
            verdict.complaints.extend(blamed(explanation, truth));
            verdict.complaints.extend(started(explanation, truth));
            verdict.complaints.extend(followed(&stalls, truth));
            verdict.complaints.extend(held(&stalls, truth));
            verdict.complaints.extend(stopped(&stalls, truth));
            verdict.complaints.extend(folded(explanation, truth));
            verdict.complaints.extend(said(&stalls, truth));
            verdict.complaints.extend(called(&stalls, truth));
            verdict.complaints.extend(false_alarms(&stalls, truth));
        }
        verdict
    }

    pub fn unexplained_ns(&self) -> u64 {
        time_of(&self.causes, "unexplained")
    }

    /// What a line's time is compared with: the whole for a single cause, else its own time.
    fn base_ns(&self, line: &Line) -> u64 {
        if self.lines.len() == 1 { self.wall_ns } else { line.true_ns }
    }

    /// The share, in percent, that a cause was given of what it is judged by.
    pub fn share(&self, line: &Line) -> f64 {
        percent(line.explained_ns, self.base_ns(line))
    }

    /// Causes ranked above larger ones, and other causes ranked above true ones.
    fn disorder(&self) -> Vec<String> {
        let mut disorder = Vec::new();
        for (at, larger) in self.lines.iter().enumerate() {
            let apart = |line: &&Line| larger.true_ns as f64 > line.true_ns as f64 * APART;
            for smaller in self.lines[at..].iter().filter(apart).filter(|line| line.explained_ns >= larger.explained_ns)
            {
                disorder.push(format!("{} ranks above {}", smaller.cause, larger.cause));
            }
        }
        let least_ns = self.lines.iter().map(|line| line.explained_ns).min().unwrap_or(0);
        let is_true = |cause: &str| self.lines.iter().any(|line| line.cause == cause || line.cause == ANY);
        let others = self.causes.iter().filter(|(cause, ns)| !is_true(cause) && *ns >= least_ns);
        disorder.extend(others.map(|(cause, _)| format!("{cause} ranks above a true cause")));
        disorder
    }

    fn complain(&mut self) {
        let mut complaints = Vec::new();
        let true_ns: u64 = self.lines.iter().map(|line| line.true_ns).sum();
        if (self.wall_ns as f64) < true_ns as f64 * FOUND {
            complaints.push(format!("only {} of {} ms were found", self.wall_ns / 1_000_000, true_ns / 1_000_000));
        }
        for line in &self.lines {
            if (line.explained_ns as f64) < self.base_ns(line) as f64 * ENOUGH {
                let all = self.causes.iter().map(|(cause, ns)| format!("{cause} {:.0} %", percent(*ns, self.wall_ns)));
                let all = all.collect::<Vec<_>>().join(", ");
                complaints.push(format!("{} has only {:.0} %: {all}", line.cause, self.share(line)));
            }
        }
        if self.unexplained_ns() as f64 > self.wall_ns as f64 * TOO_MUCH_UNEXPLAINED {
            complaints.push(format!("{:.0} % are unexplained", percent(self.unexplained_ns(), self.wall_ns)));
        }
        complaints.extend(self.disorder());
        self.complaints = complaints;
    }
}

/// Stalls whose causes do not sum to their duration.
fn sums_that_differ(stalls: &[&Value]) -> Vec<String> {
    let is_open = |stall: &&&Value| {
        let causes = stall["causes"].as_array().expect("causes is an array");
        let sum: u64 = causes.iter().map(|cause| nanoseconds(&cause["time_ns"])).sum();
        sum != nanoseconds(&stall["duration_ns"])
    };
    stalls.iter().filter(is_open).map(|stall| format!("the causes do not add up: {stall}")).collect()
}

/// A victim has the name that it gave itself.
fn named(stalls: &[&Value], truth: &Truth) -> Option<String> {
    let name = format!("{}/{}", truth.name.unwrap_or("victim"), truth.tid);
    let other = stalls.iter().find(|stall| is_of(stall, truth) && stall["task"] != name.as_str())?;
    Some(format!("the victim is called {}", other["task"]))
}

/// Most of the time that the victim lost to its cause is blamed on the process that used what it lacked, and none on an
/// innocent one.
fn blamed(explanation: &Value, truth: &Truth) -> Option<String> {
    let culprit = truth.culprit?;
    let shares = blamed_shares(explanation, truth);
    let share_of = |whom: &str| {
        let share: f64 = shares.iter().filter(|(task, _)| task.starts_with(whom)).map(|(_, share)| share).sum();
        println!("        {whom} is blamed for {:.1} % of the time of victim/{}", share * 100.0, truth.tid);
        share
    };
    let is_blamed = share_of(culprit) >= BLAMED;
    let is_wrong = |innocent: &str| share_of(innocent) > INNOCENT;
    let is_right = is_blamed && !truth.innocent.is_some_and(is_wrong);
    let all = || shares.iter().map(|(task, share)| format!("{task} {:.1} %", share * 100.0)).collect::<Vec<_>>();
    (!is_right).then(|| format!("not {culprit}, but blamed are: {}", all().join(", ")))
}

/// By task and cgroup: the part of the time that the victim lost to its cause, or to any.
fn blamed_shares(explanation: &Value, truth: &Truth) -> Vec<(String, f64)> {
    let victim = format!("victim/{}", truth.tid);
    let culprits = explanation["culprits"].as_array().expect("culprits is an array");
    let is_of_it = |culprit: &&Value| truth.parts.iter().any(|part| part.0 == ANY || culprit["cause"] == part.0);
    let of = |culprit: &Value| {
        let victims = culprit["victims"].as_array().expect("victims is an array");
        let ns: u64 = victims.iter().filter(|one| one["task"] == *victim).map(|one| nanoseconds(&one["time_ns"])).sum();
        let text = |key: &str| culprit[key].as_str().unwrap_or("-").to_owned();
        (format!("{} in {} on {}", text("task"), text("cgroup"), text("device")), ns)
    };
    let times: Vec<(String, u64)> = culprits.iter().filter(is_of_it).map(of).filter(|(_, ns)| *ns > 0).collect();
    let all_ns: u64 = times.iter().map(|(_, ns)| ns).sum();
    times.into_iter().map(|(task, ns)| (task, ns as f64 / all_ns as f64)).collect()
}

/// The culprit is said to be started by that script.
fn started(explanation: &Value, truth: &Truth) -> Option<String> {
    let (script, whom) = (truth.culprit_started_by?, truth.culprit?);
    let culprits = explanation["culprits"].as_array().expect("culprits is an array");
    let starts = |one: &Value, key: &str, with: &str| one[key].as_str().is_some_and(|task| task.starts_with(with));
    let is_said = culprits.iter().any(|one| starts(one, "task", whom) && starts(one, "started_by", script));
    (!is_said).then(|| format!("{whom} is not said to be started by {script}: {culprits:#?}"))
}

/// The chain of the longest stall leads to the task that the victim waited for.
fn followed(stalls: &[&Value], truth: &Truth) -> Option<String> {
    let whom = truth.waited_for?;
    let longest = longest(stalls, truth)?;
    let tasks = longest["chain"].as_array().expect("chain is an array").iter().map(|link| &link["task"]);
    let is_followed = tasks.skip(1).any(|task| task.as_str().is_some_and(|task| task.starts_with(whom)));
    (!is_followed).then(|| format!("the chain does not lead to {whom}: {:#}", longest["chain"]))
}

/// The longest stall names the holder of the lock, and says that it is the holder.
fn held(stalls: &[&Value], truth: &Truth) -> Option<String> {
    let holder = format!("/{}", truth.held_by?);
    let chain = &longest(stalls, truth)?["chain"];
    let is_holder = chain[1]["task"].as_str().is_some_and(|task| task.ends_with(&holder));
    let is_right = is_holder && chain[1]["holds_lock"] == "yes";
    (!is_right).then(|| format!("the holder is not said to be {holder}: {chain:#}"))
}

/// The longest stall names who stopped the victim, or froze its file system.
fn stopped(stalls: &[&Value], truth: &Truth) -> Option<String> {
    let by = truth.stopped_by?;
    let chain = &longest(stalls, truth)?["chain"];
    let is_it =
        |link: &Value| link["stopped_it"] == true && link["task"].as_str().is_some_and(|task| task.starts_with(by));
    let is_right = chain.as_array().is_some_and(|chain| chain.iter().any(is_it));
    (!is_right).then(|| format!("{by} is not said to have stopped it: {chain:#}"))
}

/// One finding holds that many tasks that waited for the holder.
fn folded(explanation: &Value, truth: &Truth) -> Option<String> {
    let (least, holder) = (truth.convoy?, format!("/{}", truth.held_by?));
    let is_it = |convoy: &&Value| convoy["holder"].as_str().is_some_and(|task| task.ends_with(&holder));
    let convoys = explanation["convoys"].as_array().into_iter().flatten();
    let victims = convoys.filter(is_it).filter_map(|convoy| convoy["victims"].as_u64()).max();
    (victims < Some(least)).then(|| format!("{victims:?} of {least} victims: {:#}", explanation["convoys"]))
}

/// The details of the longest stall, or the causes of its chain, say it.
fn said(stalls: &[&Value], truth: &Truth) -> Option<String> {
    let words = truth.says?;
    let longest = longest(stalls, truth)?;
    let of = |part: &str, key: &str| {
        longest[part].as_array().into_iter().flatten().map(|step| step[key].clone()).collect::<Vec<_>>()
    };
    let details = [of("causes", "detail"), of("chain", "detail"), of("chain", "waits_for")].concat();
    let is_said = details.iter().any(|detail| detail.as_str().is_some_and(|detail| detail.contains(words)));
    (!is_said).then(|| format!("nothing says {words:?}: {longest:#}"))
}

/// The longest stall has the name of its call and of its file.
fn called(stalls: &[&Value], truth: &Truth) -> Option<String> {
    let longest = longest(stalls, truth)?;
    let is_it = |key: &str, end: Option<&str>| {
        end.is_none_or(|end| longest[key].as_str().is_some_and(|text| text.ends_with(end)))
    };
    let is_right = is_it("operation", truth.operation) && is_it("path", truth.path);
    let has_ended = truth.finished.is_none_or(|finished| longest["finished"] == finished);
    let has_ended = has_ended && truth.cut.is_none_or(|cut| longest["began_before"] == cut);
    let (operation, path, finished) = (&longest["operation"], &longest["path"], &longest["finished"]);
    (!is_right || !has_ended).then(|| format!("it is {operation} of {path}, finished: {finished}"))
}

/// Stalls reported of a task that had none.
fn false_alarms(stalls: &[&Value], truth: &Truth) -> Option<String> {
    let reported = stalls.iter().find(|stall| truth.quiet && is_of(stall, truth))?;
    Some(format!("reported without a stall: {reported:#}"))
}

fn longest<'a>(stalls: &[&'a Value], truth: &Truth) -> Option<&'a Value> {
    let own = stalls.iter().filter(|stall| is_of(stall, truth));
    own.max_by_key(|stall| nanoseconds(&stall["duration_ns"])).copied()
}

/// The longest stall of a victim with overtaken requests names the overtaking ones.
fn overtaken(stalls: &[&Value], truth: &Truth) -> Option<String> {
    let kind = truth.overtaken_by?;
    let longest = longest(stalls, truth)?;
    let overtook = longest["request"]["overtaken_by"].as_object();
    let all: u64 = overtook.iter().flat_map(|kinds| kinds.values()).filter_map(Value::as_u64).sum();
    let of_kind = overtook.and_then(|kinds| kinds.get(kind)).and_then(Value::as_u64).unwrap_or(0);
    (of_kind == 0 || of_kind * 10 < all * 9).then(|| format!("overtaken by {}", longest["request"]))
}

/// Whether a stall lies within what a victim did.
fn is_of(stall: &Value, truth: &Truth) -> bool {
    let start_ns = nanoseconds(&stall["start_ns"]);
    let end_ns = start_ns + nanoseconds(&stall["duration_ns"]);
    let is_within = |&(from_ns, to_ns): &(u64, u64)| start_ns + SLACK_NS >= from_ns && end_ns <= to_ns + SLACK_NS;
    stall["tid"].as_u64() == Some(truth.tid.into()) && truth.spans.iter().any(is_within)
}

fn sums(stalls: &[&Value]) -> Vec<(String, u64)> {
    let mut sums: Vec<(String, u64)> = Vec::new();
    for cause in stalls.iter().flat_map(|stall| stall["causes"].as_array().expect("causes is an array")) {
        let name = cause["cause"].as_str().expect("a cause has a name");
        let time_ns = nanoseconds(&cause["time_ns"]);
        match sums.iter_mut().find(|(known, _)| known == name) {
            Some((_, sum)) => *sum += time_ns,
            None => sums.push((name.to_owned(), time_ns)),
        }
    }
    sums.sort_by_key(|&(_, sum)| std::cmp::Reverse(sum));
    sums
}

fn waits(causes: &[(String, u64)]) -> u64 {
    let waits = causes.iter().filter(|(cause, _)| cause != "running" && cause != "unexplained");
    waits.map(|(_, sum)| sum).sum()
}

fn time_of(causes: &[(String, u64)], name: &str) -> u64 {
    causes.iter().find(|(cause, _)| cause == name).map_or(0, |&(_, sum)| sum)
}

fn nanoseconds(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("no time: {value}"))
}

pub fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 * 100.0 / whole as f64 }
}
