//! Steps of a chain of waits in the words of its output.

use model::stall::RequestRecord;

use crate::blame::facts::cause::{Cause, traits};
use crate::blame::facts::run_index::RunIndex;
use crate::blame::facts::run_index::lock_turns::Held;
use crate::blame::facts::storage::request;
use crate::blame::intents::locks::holder;
use crate::blame::verdict::explanation::{Holds, Link};
use crate::blame::verdict::request_life::lifecycle;
use crate::blame::verdict::wording::{describe, kind, request_words};

/// A task's wait in a row.
pub(crate) fn wait(index: &RunIndex, row: u32, cause: Cause, time_ns: u64) -> Link {
    let (at, mut detail) = (index.row(row), describe(index, index.row(row), cause));
    if let Some(holder) = Some(at).filter(|_| cause == Cause::Lock).and_then(|at| holder::deadlock(index, at)) {
        let holder = index.tasks.thread(holder, at.end_ns, &index.names);
        detail = detail.map(|detail| format!("{detail}; a deadlock: {holder} waits for it in turn"));
    }
    let is_object = !cause.has(traits::FOR_CPU) && !index.is_of_request(at, cause);
    let functions = index.stack(at.stack.get()).map_or("", |stack| index.names.get(stack.top)).split(" < ");
    Link {
        task: Some(index.tasks.thread(at.tid, at.end_ns, &index.names)),
        detail,
        object: is_object.then(|| kind(index, at, cause)),
        span_ns: Some((at.start_ns, at.end_ns)),
        kernel_stack: functions.filter(|name| !name.is_empty()).map(str::to_owned).collect(),
        ..bare(cause, time_ns)
    }
}

/// Work, as far as it is known, of a task and time to be filled in.
pub(crate) fn work(on_cpu: bool) -> Link {
    let unknown = (Cause::Unexplained, "what it did was not recorded");
    let (cause, words) = if on_cpu { (Cause::Running, "no long wait seen") } else { unknown };
    Link { detail: Some(words.to_owned()), ..bare(cause, 0) }
}

/// Work for another client.
pub(crate) fn work_for(index: &RunIndex, client: u32, at_ns: u64) -> Link {
    let client = index.tasks.thread(client, at_ns, &index.names);
    Link { detail: Some(format!("it worked for its client {client}")), ..bare(Cause::Running, 0) }
}

/// The task that stopped the one before, or froze its cgroup or file system.
pub(crate) fn stopped(index: &RunIndex, tid: u32, at_ns: u64, (cause, time_ns): (Cause, u64)) -> Link {
    let task = Some(index.tasks.thread(tid, at_ns, &index.names));
    Link { task, holds: Some(Holds::Stopped), ..bare(cause, time_ns) }
}

/// A request as a step, within the time of the wait for it.
pub(crate) fn request(index: &RunIndex, request: &RequestRecord, waited_ns: u64) -> Link {
    let time_ns = if request.throttled { waited_ns } else { request.lived_ns().min(waited_ns) };
    let (task, detail) = (lifecycle(index, request).task, Some(request_words(index, request)));
    let span_ns = Some((request.began_ns(), request.completed_ns));
    Link { task, detail, span_ns, request: Some(request.request), ..bare(request::main_cause(request), time_ns) }
}

/// A step of a chain, with where its task was in its program if it held the lock that the step before waited for.
pub(crate) fn with_holder(index: &RunIndex, held: Option<Held>, link: Link) -> Link {
    let Some(held) = held else { return link };
    Link {
        holds: Some(if held.is_hint { Holds::Perhaps } else { Holds::Exactly }),
        user_stack: index.user_stacks.within(held.tid, held.from_ns, held.to_ns),
        ..link
    }
}

fn bare(cause: Cause, time_ns: u64) -> Link {
    Link {
        task: None,
        cause,
        detail: None,
        object: None,
        time_ns,
        span_ns: None,
        request: None,
        holds: None,
        kernel_stack: Vec::new(),
        user_stack: None,
    }
}
