//! Attempts to connect to a server that does not listen yet.

use model::signal::Signal;
use model::stall::Awaits;

use crate::blame::facts::intent::Intent;
use crate::blame::facts::maybe::Maybe;
use crate::blame::facts::rows::Row;
use crate::blame::facts::run_index::RunIndex;
use crate::blame::rule::{Example, Rule};

pub(crate) const RULE: Rule = Rule {
    id: "refused-until-server-listens",
    concludes: "A task that sleeps between refused attempts to connect waits for the task that then begins to listen \
                there.",
    from: "The kernel refuses the connection; the sleep begins at once. The first task that listens at that address or \
           port after it.",
    because: "An attempt succeeds as soon as a server listens, and not before.",
    unless: "The address belongs to another machine, or the server was started because of the attempts: then it is \
             new, and has done nothing that the chain could lead to.",
    example: Example {
        timeline: "
            off  7 | sssss            | call=clock_nanosleep stack=hrtimer_nanosleep state=1 tp=connection_refused \
            lock=1
            off  7 |       sssss      | call=clock_nanosleep stack=hrtimer_nanosleep state=1 tp=connection_refused \
            lock=1
            off  9 |sssssssss         | stack=xfs_log_force
            freed 9 |         =        | lock=1",
        causes: "fs_log 7, unexplained 4",
        chain: "thread 7: fs_log 7 < thread 9: fs_log 7",
    },
};

pub(crate) fn find(index: &RunIndex) -> Vec<(u32, Intent)> {
    let refused = index.rows.iter().filter(|row| is_refused_connection(row));
    let listener = |row: &Row| {
        let (_, server) = index.releases.first_after(row.lock.get()?, row.start_ns)?;
        Some(Intent {
            what: Some(Awaits::Answer),
            whom: Maybe::from(Some(server)),
            whom_stack: Maybe::NONE,
            ..*index.intent(row)
        })
    };
    refused
        .filter_map(|row| Some((row.at, listener(row).filter(|intent| intent.whom.get() != Some(row.tid))?)))
        .collect()
}

/// Whether a row is a sleep between two attempts to connect: its lock is an address.
pub(crate) fn is_refused_connection(row: &Row) -> bool {
    row.announced.is_some_and(|announced| announced.signal == Signal::ConnectionRefused)
}
