//! What operations waited for, as one cause: a lock that is held because of a limit is a wait for the limit.

use explain::blame::{Cause, Culprit, Holds, Link, Stall, TaskId};
use explain::whatif::Advice;
use model::cause::traits;
use model::wait_kind::WaitKind;

use super::names::program_of;
pub(super) use super::part::LEAST;
use super::part::Part;

/// Part of a time that is called most of it.
pub(super) const MOST: f64 = 0.8;

/// Time that went to one cause in the end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ended {
    pub(super) cause: Cause,
    pub(super) time_ns: u64,
    /// Each wait counted once.
    pub(super) once_ns: u64,
    /// Of that, the time in which another task waited for it.
    pub(super) through_ns: u64,
    /// The operations' own wait for most of that.
    pub(super) through: Option<Cause>,
}

/// The reason of most of the time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reason<'a> {
    part: Part<'a>,
    pub(super) cause: Cause,
    pub(super) time_ns: u64,
    /// Each wait counted once.
    pub(super) once_ns: u64,
    /// The operations' own wait, where most of the time is behind it.
    pub(super) through: Option<Cause>,
    /// Who used what they lacked, or kept them waiting.
    pub(super) culprit: Option<&'a Culprit>,
    /// A stall that is typical of it: the longest.
    pub(super) example: Option<&'a Stall>,
}

/// Time by the cause that chains end with, the most first. `advice` says what is behind waits, of the operations that
/// it is for.
pub(super) fn ended(part: &Part<'_>, advice: Option<&Advice>) -> Vec<Ended> {
    let mut all: Vec<Ended> = Vec::new();
    let mut add = |cause: Cause, (time_ns, once_ns): (u64, u64), through: Option<Cause>| {
        let at = all.iter().position(|ended| ended.cause == cause).unwrap_or_else(|| {
            all.push(Ended { cause, time_ns: 0, once_ns: 0, through_ns: 0, through: None });
            all.len() - 1
        });
        let ended = &mut all[at];
        ended.time_ns += time_ns;
        ended.once_ns += once_ns;
        if through.is_some() {
            // Lists of what is behind waits begin with the most time.
            ended.through = ended.through.or(through);
            ended.through_ns += once_ns;
        }
    };
    let behind = advice.map_or(&[][..], |advice| &advice.behind);
    for time in part.causes {
        let (mut left_ns, mut left_once_ns) = (time.time_ns, time.once_ns());
        // Which of it counts once is known of the cause alone.
        let once = left_once_ns as f64 / left_ns.max(1) as f64;
        for one in behind.iter().filter(|one| one.cause == time.cause && one.end != time.cause) {
            let ns = ((one.share * part.wall_ns as f64) as u64).min(left_ns);
            let once_ns = ((ns as f64 * once) as u64).min(left_once_ns);
            (left_ns, left_once_ns) = (left_ns - ns, left_once_ns - once_ns);
            add(one.end, (ns, once_ns), Some(time.cause));
        }
        add(time.cause, (left_ns, left_once_ns), None);
    }
    all.retain(|ended| ended.time_ns > 0);
    all.sort_by_key(|ended| std::cmp::Reverse(ended.once_ns));
    all
}

/// The reason of most of the time that is explained.
pub(super) fn reason<'a>(part: &Part<'a>, ended: &[Ended]) -> Option<Reason<'a>> {
    let most = ended.iter().find(|ended| ended.cause != Cause::Unexplained)?;
    let through = most.through.filter(|_| most.through_ns > most.once_ns / 2);
    let own = through.unwrap_or(most.cause);
    let culprit = culprit(part, own, most.cause);
    let example = example(part, own, most.cause);
    Some(Reason {
        part: *part,
        cause: most.cause,
        time_ns: most.time_ns,
        once_ns: most.once_ns,
        through,
        culprit,
        example,
    })
}

/// The root blocker of most of the operations' own wait: `None` where that is a small part of it.
fn culprit<'a>(part: &Part<'a>, own: Cause, end: Cause) -> Option<&'a Culprit> {
    let of = |cause: Cause| part.culprits.iter().find(move |culprit| culprit.cause == cause);
    let known = of(own).or_else(|| of(end))?;
    (known.time_ns as f64 >= LEAST * part.wall_ns as f64).then_some(known)
}

/// The longest stall with mostly that cause, whose chain leads to that end if one does.
fn example<'a>(part: &Part<'a>, own: Cause, end: Cause) -> Option<&'a Stall> {
    let has = |stall: &&Stall| stall.causes.first().is_some_and(|most| most.cause == own);
    let leads_there = |stall: &&Stall| stall.chain.iter().any(|link| link.cause == end);
    let first = part.stalls().find(|stall| has(stall) && leads_there(stall));
    first.or_else(|| part.stalls().find(has)).or_else(|| part.stalls().find(leads_there))
}

impl Reason<'_> {
    /// The operations' own wait.
    pub(super) fn own(&self) -> Cause {
        self.through.unwrap_or(self.cause)
    }

    /// What the typical operation waits for, more exactly than its cause.
    pub(super) fn kind(&self) -> Option<WaitKind> {
        let link = self.example?.chain.first()?;
        link.object.filter(|_| link.cause == self.own())
    }

    /// The task that held what the typical operation waited for, or had its other end.
    pub(super) fn holder(&self) -> Option<&TaskId> {
        let chain = &self.example?.chain;
        let waiter = chain.first()?.task.as_ref();
        let holds = if self.own() == Cause::Lock {
            lock_holder(chain)
        } else {
            chain.iter().skip(1).find(|link| matches!(link.holds, Some(Holds::Exactly | Holds::OtherEnd)))
        };
        let next =
            || chain.get(1).filter(|_| self.own().has(traits::FOR_TASK | traits::HALTED) && self.own() != Cause::Lock);
        holds.or_else(next)?.task.as_ref().filter(|task| Some(*task) != waiter)
    }

    /// The task that can release the lock that the typical operation waits for: its holder, or the task that keeps the
    /// holder waiting for a lock in turn. Within a server it may be known only that it ended that wait.
    pub(super) fn releaser(&self) -> Option<&TaskId> {
        let (holder, chain) = (self.holder()?, &self.example?.chain);
        let from = chain.iter().position(|link| link.task.as_ref() == Some(holder))?;
        let goes_on = |(link, next): &(&Link, &Link)| match link.cause {
            Cause::Lock => next.holds == Some(Holds::Exactly),
            Cause::Unexplained => {
                let name = |link: &Link| link.task.as_ref().and_then(|task| task.name.clone());
                name(next).is_some() && name(next) == name(link)
            }
            _ => false,
        };
        let further = chain[from..].iter().zip(&chain[from + 1..]).take_while(goes_on).last();
        further.and_then(|(_, next)| next.task.as_ref()).or(Some(holder))
    }

    /// The last task of the chain that was stopped, or frozen with its cgroup, unless it is the victim.
    pub(super) fn stopped(&self) -> Option<(&TaskId, bool)> {
        let of_chain = self.example?.chain.iter().rev();
        let mut stops = of_chain.filter(|link| link.cause == Cause::Stopped && link.holds != Some(Holds::Stopped));
        let last = stops.next()?;
        let waiter = self.example?.chain.first()?.task.as_ref();
        let task = last.task.as_ref().filter(|task| Some(*task) != waiter)?;
        Some((task, last.object == Some(WaitKind::FrozenCgroup)))
    }

    /// A task by its program, or by its number as well where a victim runs the same program.
    pub(super) fn name_of(&self, task: &TaskId) -> String {
        let is_victim = self.part.groups().iter().any(|group| group.name == task.name);
        if is_victim { task.to_string() } else { program_of(task) }
    }

    /// The root blocker's task, unless it is the victim.
    pub(super) fn other(&self) -> Option<String> {
        let culprit = self.culprit.filter(|_| !self.is_own_fault())?;
        culprit.task.as_ref().map(|task| self.name_of(task))
    }

    /// Whether the root blocker is the only victim, and lost that time to itself.
    pub(super) fn is_own_fault(&self) -> bool {
        // It is listed for each cause, and for the memory that it filled.
        let of_same = |culprit: &Culprit| {
            let same = self.part.culprits.iter().filter(|other| other.task == culprit.task);
            same.map(|other| other.own_ns).sum::<u64>()
        };
        let is_most = |culprit: &Culprit| of_same(culprit) as f64 >= self.time_ns as f64 * MOST;
        let is_only_victim = |culprit: &Culprit| {
            let groups = self.part.groups();
            let mut large = groups.iter().filter(|group| self.part.share_of(group.wall_ns) >= LEAST);
            large.all(|group| group.name == culprit.task.as_ref().and_then(|task| task.name.clone()))
        };
        self.culprit.is_some_and(|culprit| blames_itself(culprit) && is_most(culprit) && is_only_victim(culprit))
    }
}

/// The holder of the lock that a chain begins with. A server may wait for it in its client's place.
fn lock_holder(chain: &[Link]) -> Option<&Link> {
    let is_holder = |(before, link): &(&Link, &Link)| match link.holds {
        Some(Holds::Exactly) => true,
        Some(Holds::OtherEnd) => before.cause == Cause::Lock && link.cause != Cause::Lock,
        _ => false,
    };
    chain.iter().zip(&chain[1..]).find(is_holder).map(|(_, link)| link)
}

/// Whether a root blocker lost most of the time to itself.
pub(super) fn blames_itself(culprit: &Culprit) -> bool {
    culprit.task.is_some() && culprit.own_ns > 0 && culprit.own_ns as f64 >= culprit.time_ns as f64 * MOST
}
