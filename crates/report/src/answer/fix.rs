//! What would help: the change, the command to type, and the predicted effect.

use explain::blame::{Cause, Culprit};
use explain::whatif::{Advice, Change, Choice, KnownLimit};
use model::cause::traits as traits_of_cause;
use model::effect::Edge;
use remedy::{RemedyAction, Target};
use serde_json::{Value, json};

use super::command::command_of;
use super::line::Line;
use super::names::short_cgroup;
use super::part::Part;
use super::reason::{LEAST, Reason};
use super::title::title;

/// What would help.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Fix {
    /// What to change, and the other choice.
    pub lines: Vec<Line>,
    /// A command for a shell that changes it, where there is one.
    pub command: Option<String>,
    /// It can be tried while the load runs, and reverted at once.
    pub is_live: bool,
    /// What the operations would have taken; `None` where that cannot be predicted.
    pub predicted: Option<Predicted>,
}

/// The predicted effect of a change on the slow operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Predicted {
    /// What they took, ns.
    pub recorded_ns: u64,
    /// What they would have taken, ns.
    pub total_ns: u64,
    /// How many would still be slow.
    pub still_slow: u64,
    /// It is the best case.
    pub at_best: bool,
    /// It is of shorter waits that were recorded individually.
    pub of_short_waits: bool,
    /// Operations of what would be absent are left out.
    pub of_others: bool,
}

impl Fix {
    /// Without a command or a prediction.
    pub(super) fn words(line: Line) -> Fix {
        Fix { lines: vec![line], ..Fix::default() }
    }

    /// Without a prediction.
    pub(super) fn command(line: Line, command: Option<String>) -> Fix {
        Fix { lines: vec![line], command, ..Fix::default() }
    }

    pub(super) fn json(&self) -> Value {
        let predicted = self.predicted.map(|predicted| {
            let Predicted { recorded_ns, total_ns, still_slow, at_best, of_short_waits, of_others } = predicted;
            json!({
                "recorded_ns": recorded_ns,
                "total_ns": total_ns,
                "still_slow": still_slow,
                "at_best": at_best,
                "of_short_waits": of_short_waits,
                "of_others": of_others,
                "line": predicted.line().json(),
            })
        });
        let lines: Vec<Value> = self.lines.iter().map(Line::json).collect();
        json!({"lines": lines, "command": self.command, "live": self.is_live, "predicted": predicted})
    }
}

impl Predicted {
    /// `predicted: 1.40 s instead of 80.5 s, 5 operations still slow`
    pub(super) fn line(&self) -> Line {
        let line = Line::of(if self.at_best { "predicted, at best: " } else { "predicted: " });
        let line = match self.total_ns {
            0 => line.say("none of the ").time(self.recorded_ns).say(" would be left"),
            total_ns => line.time(total_ns).say(" instead of ").time(self.recorded_ns),
        };
        let line = if self.of_others { line.say(" of the others") } else { line };
        match self.still_slow {
            _ if self.of_short_waits => line.say(", of the waits recorded individually"),
            0 if self.total_ns == 0 => line,
            0 => line.say("; nothing would still be slow"),
            count => line.say("; ").counted(count, "operation").say(" still slow"),
        }
    }
}

/// The first change that saves enough to be named.
pub(super) fn predicted(part: &Part<'_>, advice: &Advice, reason: Option<&Reason<'_>>) -> Option<Fix> {
    let at = advice.choices.iter().position(|choice| choice.saved() >= LEAST)?;
    let choice = &advice.choices[at];
    let whom = whom(part, advice, choice, reason);
    let target = Target {
        pid: choice.target.pid.clone().or(whom.as_ref().and_then(|(_, pid)| pid.clone())),
        ..choice.target.clone()
    };
    let command = choice.remedies.first().and_then(|remedy| command_of(remedy, &target, limit_of(choice, advice)));
    let line = Line::new().name(without_command(&title(choice), command.as_deref()));
    let line = match (&whom, place(choice, advice)) {
        (Some((name, _)), _) => line.say(" (").name(name).say(")"),
        (None, Some(place)) => line.say(" (").and(Some(place)).say(")"),
        (None, None) => line,
    };
    let prediction = &choice.prediction;
    let predicted = Predicted {
        recorded_ns: prediction.recorded.total_ns,
        total_ns: prediction.total_ns.value,
        still_slow: prediction.slow.value,
        at_best: choice.is_bound(),
        of_short_waits: advice.of_short_waits,
        of_others: prediction.recorded.durations_ns() < advice.recorded.durations_ns(),
    };
    let or = evicted(advice, at).map(|other| Line::of("or ").name(title(other)));
    let lines = [Some(line), or].into_iter().flatten().collect();
    let is_live = choice.remedies.first().is_some_and(|remedy| remedy.live);
    Some(Fix { lines, command, is_live, predicted: Some(predicted) })
}

/// A title that ends with its command, without it.
fn without_command(title: &str, command: Option<&str>) -> String {
    let before = command.and_then(|command| title.strip_suffix(command)?.trim_end().strip_suffix(':'));
    before.unwrap_or(title).to_owned()
}

/// Where a memory limit evicts what is read again, the choice that raises it, if that may save a third of what the best
/// one does.
fn evicted(advice: &Advice, best: usize) -> Option<&Choice> {
    let least = advice.choices[best].saved() / 3.0;
    let is_of_eviction = |change: &Change| match change {
        Change::Edge { effect, .. } => effect.edge == Edge::Refault,
        Change::Refaults(_) => true,
        Change::Absent(absence) => absence.evicts.is_some(),
    };
    let at = advice.choices.iter().position(|choice| is_of_eviction(&choice.change) && choice.saved() >= least)?;
    (at != best).then(|| &advice.choices[at])
}

/// Where a change is one of another program, whose: the root blocker of most of the waits that it changes, with its id.
fn whom(
    part: &Part<'_>,
    advice: &Advice,
    choice: &Choice,
    reason: Option<&Reason<'_>>,
) -> Option<(String, Option<String>)> {
    let Change::Edge { effect, .. } = &choice.change else { return None };
    let named = |name: String| {
        let pid = name.rsplit_once('/').map(|(_, pid)| pid.to_owned());
        (name, pid)
    };
    let end = match effect.edge {
        Edge::Cpu => Some(Cause::CpuWait),
        Edge::Work => Some(Cause::Running),
        Edge::Stopped => Some(Cause::Stopped),
        _ => None,
    };
    // Who asked for the work is to blame; who does it can change it.
    if let Some(end) = end {
        let is_it = |one: &&explain::waits::Behind| one.end == end && one.share >= choice.saved() / 2.0;
        let behind = advice.behind.iter().find(is_it).filter(|_| !advice.of_short_waits)?;
        return behind.tasks.first().map(|(task, _)| named(task.clone()));
    }
    let cause = match effect.edge {
        // Who used what the holder waits for is to blame; who holds the lock can hold it for a shorter time.
        Edge::Lock => match reason.and_then(Reason::releaser) {
            Some(task) => return Some(named(task.to_string())),
            None => Cause::Lock,
        },
        Edge::Timer => Cause::Sleep,
        Edge::Server => Cause::NetworkFs,
        Edge::SchedulerQueue if is_of_process(choice) => Cause::SchedulerQueue,
        _ => return None,
    };
    most_of(part.culprits, cause).and_then(|culprit| culprit.task.as_ref()).map(|task| named(task.to_string()))
}

/// The root blocker of most of the time with a cause.
fn most_of(culprits: &[Culprit], cause: Cause) -> Option<&Culprit> {
    let of = || culprits.iter().filter(|culprit| culprit.cause == cause);
    let all_ns: u64 = of().map(|culprit| culprit.time_ns).sum();
    of().next().filter(|first| first.time_ns > all_ns / 2)
}

/// Whether what is to be done is done to a process.
fn is_of_process(choice: &Choice) -> bool {
    matches!(choice.remedies.first().map(|remedy| &remedy.change),
        Some(RemedyAction::Manual { command: Some(command), .. }) if command.contains("{pid}"))
}

/// Where a setting is: of which cgroup, and on which disk.
fn place(choice: &Choice, advice: &Advice) -> Option<Line> {
    let RemedyAction::Setting(setting) = &choice.remedies.first()?.change else { return None };
    let is_of = |placeholder: &str| setting.path.contains(placeholder);
    let cgroup = choice.target.cgroup.as_deref().filter(|_| is_of("{cgroup}"));
    let has_disk = is_of("{device}") || is_of("{number}") || setting.is_per_device();
    let disk = choice.target.device.as_deref().filter(|_| has_disk);
    let cgroup = cgroup.map(|cgroup| Line::new().name(short_cgroup(cgroup, &advice.containers)));
    let disk = disk.map(|disk| Line::new().name(disk));
    match (cgroup, disk) {
        (Some(cgroup), Some(disk)) => Some(cgroup.say(", ").and(Some(disk))),
        (one, other) => one.or(other),
    }
}

/// The limit that a choice changes, if its rate is known.
fn limit_of(choice: &Choice, advice: &Advice) -> Option<KnownLimit> {
    let number = choice.target.number.as_deref()?;
    let is_it = |limit: &&KnownLimit| format!("{}:{}", limit.device.major(), limit.device.minor()) == number;
    let mut of_disk = advice.limits.iter().filter(is_it);
    of_disk.next().copied().filter(|_| of_disk.next().is_none())
}

/// What to do against a cause where the effect of no change can be predicted; `None` where nothing is known.
pub(super) fn unpredicted(cause: Cause) -> Option<Line> {
    Some(Line::of(match cause {
        _ if cause.has(traits_of_cause::MEMORY) && cause != Cause::OutOfMemory => {
            "give it more memory, or run less beside it"
        }
        Cause::OutOfMemory => "raise the limit of its memory cgroup, or let the OOM killer end a task of it",
        Cause::DirtyThrottle | Cause::WritebackWait => "write less at once, or to a faster disk",
        Cause::Journal | Cause::FsLog | Cause::FsTransaction => {
            "make fewer changes of metadata and fewer syncs, or make them on another file system"
        }
        Cause::RequestWait | Cause::SchedulerQueue | Cause::Device | Cause::PageFault => {
            "send the disk fewer requests at once, or use a faster one"
        }
        Cause::DeviceError => {
            "look at the kernel's log and at the disk, its cable and its controller (smartctl -a): requests fail there"
        }
        Cause::IoThrottle => "raise the limit of the cgroup, or of one above it",
        Cause::Frozen => "thaw the file system",
        Cause::Lock => "let its holder hold the lock for a shorter time",
        Cause::CpuWait => "give it more CPU time, or run less beside it",
        Cause::CpuThrottle => "raise the CPU quota of the cgroup, or of one above it",
        Cause::IoWorker => "find out what the asynchronous requests wait for: the kernel does not say whose they are",
        Cause::NetworkFs | Cause::Fanotify => "find out what the server waits for: record its processes, too",
        Cause::Peer => "make the other end accept, read or answer sooner: record its process, too",
        Cause::Stopped => "continue the stopped task",
        Cause::Sleep => "shorten the program's sleep on its own timer, or wake it by an event",
        Cause::Running => "reduce the computation (perf record shows it)",
        _ => return None,
    }))
}
