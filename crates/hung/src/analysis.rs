//! Who waits for whom, and what is likely at the root.

use std::collections::{BTreeMap, HashMap, HashSet};

use model::kernel_function::sleeps;
use model::quantity::counted;
use model::wait_kind::WaitKind;

use crate::class::Class;
use crate::dump::{Dump, Task};
use crate::relation::servers;
use crate::sign::class_of_sign;
use crate::wait::{Wait, wait_of};

/// A task that is blocked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blocked {
    /// Its position in [`Dump::tasks`].
    pub task: usize,
    /// What it waits for.
    pub wait: Wait,
    /// The task that it waits for, in words, where the dump shows it, and its position there; a holder may have no
    /// stack.
    pub behind: Option<(String, Option<usize>)>,
    /// The kernel itself names that task.
    pub is_named: bool,
}

/// Tasks that wait for the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// What they wait for.
    pub wait: Wait,
    /// Positions in [`Analysis::blocked`].
    pub members: Vec<usize>,
    /// Whom they wait for, in words, where it is one.
    pub behind: Option<String>,
}

/// What is likely at the root of a hang.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    /// Where to look.
    pub class: Class,
    /// What is waited for there.
    pub what: String,
    /// Positions in [`Analysis::blocked`] of the tasks that wait there.
    pub tasks: Vec<usize>,
    /// How many tasks wait behind these.
    pub behind: usize,
    /// A holder without a stack in the dump.
    pub holder: Option<String>,
    /// Its tasks sleep until a lock is released.
    pub for_lock: bool,
}

/// What a dump means.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Analysis {
    /// Blocked tasks.
    pub blocked: Vec<Blocked>,
    /// The same by what they wait for, the largest group first.
    pub groups: Vec<Group>,
    /// Likely roots, the likeliest first.
    pub roots: Vec<Root>,
}

/// Says who waits for whom.
pub fn analyze(dump: &Dump) -> Analysis {
    let mut blocked: Vec<Blocked> = (0..dump.tasks.len()).filter_map(|at| blocked(at, &dump.tasks[at])).collect();
    link(&mut blocked, dump);
    let groups = groups(&blocked);
    let mut roots = roots(&blocked);
    if let Some(root) = of_signs(dump, roots.first()) {
        roots.insert(0, root);
    }
    Analysis { blocked, groups, roots }
}

/// A task that sleeps without being interruptible, or of unknown state and not idle.
fn blocked(at: usize, task: &Task) -> Option<Blocked> {
    let wait = wait_of(task)?;
    let is_known = !matches!(wait.class, Class::Unknown | Class::Other);
    let is_blocked = match task.state {
        Some('D') => true,
        Some(_) => is_known && matches!(wait.class, Class::Program | Class::Server | Class::Halted),
        None => is_known && !may_idle(task, &wait),
    };
    is_blocked.then_some(Blocked { task: at, wait, behind: None, is_named: false })
}

/// Whether a task of unknown state more likely idles: a thread of the kernel in its own loop, or one of a program that
/// sleeps until another thread has something for it.
fn may_idle(task: &Task, wait: &Wait) -> bool {
    let mut callers = task.frames.iter().skip_while(|frame| sleeps(frame));
    let is_in_loop = callers.next().is_some() && callers.next().is_some_and(|caller| caller == "kthread");
    is_in_loop || wait.what == WaitKind::AnotherThread.words()
}

/// Links each task with the one that it waits for: as the kernel says, or as their stacks show.
fn link(blocked: &mut [Blocked], dump: &Dump) {
    let tasks: HashMap<u32, usize> =
        dump.tasks.iter().enumerate().filter_map(|(at, task)| Some((task.tid?, at))).collect();
    let holders: HashMap<u32, _> = dump.holders.iter().map(|holder| (holder.waiter, holder)).collect();
    // Only who serves others is looked for: the quadratic part stays small.
    let waiting: Vec<Task> = blocked.iter().map(|one| dump.tasks[one.task].clone()).collect();
    let positions: Vec<usize> = blocked.iter().map(|one| one.task).collect();
    for at in 0..blocked.len() {
        let tid = waiting[at].tid;
        if let Some(holder) = tid.and_then(|tid| holders.get(&tid)) {
            let name = format!("{}/{}", holder.name, holder.holder);
            blocked[at].behind = Some((name, tasks.get(&holder.holder).copied()));
            blocked[at].is_named = true;
        } else if blocked[at].wait.class == Class::FileSystem {
            let serving = servers(at, &waiting);
            if let Some(first) = serving.first() {
                let others = serving.len() as u64 - 1;
                let more = if others > 0 { format!(" or {}", counted(others, "other")) } else { String::new() };
                blocked[at].behind = Some((waiting[*first].title() + &more, Some(positions[*first])));
            }
        }
    }
}

fn groups(blocked: &[Blocked]) -> Vec<Group> {
    let mut by_wait: BTreeMap<(Class, &str, Option<&str>), Vec<usize>> = BTreeMap::new();
    for (at, one) in blocked.iter().enumerate() {
        let behind = one.behind.as_ref().map(|(name, _)| name.as_str());
        by_wait.entry((one.wait.class, &one.wait.what, behind)).or_default().push(at);
    }
    let mut groups: Vec<Group> = by_wait
        .into_iter()
        .map(|((.., behind), members)| Group {
            wait: blocked[members[0]].wait.clone(),
            members,
            behind: behind.map(str::to_owned),
        })
        .collect();
    groups.sort_by_key(|group| std::cmp::Reverse(group.members.len()));
    groups
}

/// Where the chains end: waits whose cause is outside the dump, else what is nearest to that. Chains through tasks
/// without a known end count for the classes that can be a root, since a lock is held by someone who waits for
/// something.
fn roots(blocked: &[Blocked]) -> Vec<Root> {
    let by_task: HashMap<usize, usize> = blocked.iter().enumerate().map(|(at, one)| (one.task, at)).collect();
    let mut roots: BTreeMap<(Class, String, Option<String>), Root> = BTreeMap::new();
    for (at, _) in blocked.iter().enumerate() {
        let (end, holder) = end_of(at, blocked, &by_task);
        let wait = &blocked[end].wait;
        let (class, what) = match &holder {
            Some(holder) => (Class::Lock, format!("a lock that {holder} holds")),
            None => (wait.class, wait.what.clone()),
        };
        let root = roots.entry((class, what.clone(), holder.clone())).or_insert_with(|| Root {
            class,
            what,
            tasks: Vec::new(),
            behind: 0,
            holder,
            for_lock: wait.for_lock,
        });
        if end == at || root.holder.is_some() {
            root.tasks.push(at);
        } else {
            root.behind += 1;
        }
    }
    let mut roots: Vec<Root> = roots.into_values().collect();
    // What lies outside comes first, then what most wait behind.
    roots.sort_by_key(|root| (root.order(), root.for_lock, std::cmp::Reverse(root.behind + root.tasks.len())));
    roots
}

/// Where no stack shows what is outside, messages of the log may: requests that timed out, a disk that is gone, a
/// silent server.
fn of_signs(dump: &Dump, likeliest: Option<&Root>) -> Option<Root> {
    if likeliest?.class.is_root() {
        return None;
    }
    let (class, sign) = dump.signs.iter().find_map(|sign| Some((class_of_sign(sign.of)?, sign)))?;
    let what = format!("{}, as the log says", sign.of);
    Some(Root { class, what, tasks: Vec::new(), behind: 0, holder: None, for_lock: false })
}

impl Root {
    /// Outside the dump; a holder that the kernel names; the file system; locks; the rest.
    fn order(&self) -> u8 {
        match self.class {
            Class::Throttled => 1,
            class if class.is_root() => 0,
            _ if self.holder.is_some() => 2,
            Class::FileSystem => 3,
            Class::Lock => 4,
            Class::Other => 5,
            _ => 6,
        }
    }
}

/// The last task of a chain, and the holder without a stack that it waits for.
fn end_of(at: usize, blocked: &[Blocked], by_task: &HashMap<usize, usize>) -> (usize, Option<String>) {
    let (mut end, mut seen) = (at, HashSet::from([at]));
    while let Some((name, task)) = &blocked[end].behind {
        let next = task.and_then(|task| by_task.get(&task).copied());
        match next {
            Some(next) if seen.insert(next) => end = next,
            // A circle: a deadlock. It ends where it closes.
            Some(_) => break,
            None if blocked[end].is_named => return (end, Some(name.clone())),
            None => break,
        }
    }
    (end, None)
}
