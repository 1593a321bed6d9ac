//! XFS inode reclaim: v4.8, which waits for dirty inodes while memory is short, against the patch that does not.
//!
//! Many tasks want memory; kswapd and, where it does not keep up, they themselves take it back: from the page cache, and
//! through the shrinkers from the caches of inodes. The shrinker of an XFS walks its allocation groups, one reclaimer each,
//! and v4.8 waits there for each inode that is not clean: for the log, for its cluster to be read and written, behind all
//! that is queued at the disk. A task that does so in a page fault keeps the whole program's address space with it.
//!
//! docs/models/RECLAIM.md says what is left out, and shows the document's figures beside the model's.

mod daemons;
mod disk;
mod du;
mod files;
mod inodes;
mod memory;
mod observation;
mod parameters;
mod pusher;
mod reclaimer;
mod simoop;
mod space;
mod stacks;
mod tally;
mod task;
#[cfg(test)]
mod tests;
mod vmscan;
mod waits;
mod walk;
mod walk_steps;
mod worker;
mod worker_part;
mod world;

use crate::observer::Observer;
use crate::parameter::{SettingError, Settings};
use crate::policy::{Model, Outcome, Policy};

/// The model.
pub const MODEL: Model = Model {
    name: "reclaim",
    about: "XFS inode reclaim under simoop: v4.8 waits for dirty inodes, the patch does not",
    policies: &[
        Policy { name: "wait", about: "the shrinker waits for each inode that is not clean (v4.8)" },
        Policy { name: "no-wait", about: "it leaves them to the background (the patch)" },
        Policy {
            name: "progress",
            about: "it leaves them; a direct reclaimer that left more than it freed pauses until one is written",
        },
    ],
    parameters: parameters::PARAMETERS,
    run,
};

fn run(policy: &str, settings: &Settings, seed: u64, observer: &mut dyn Observer) -> Result<Outcome, SettingError> {
    let setup = parameters::Setup::new(policy, settings)?;
    let warmup_ns = setup.warmup_ns;
    let mut world = world::World::new(setup, seed, observer);
    let hang = world.run();
    let ended_ns = world.now_ns();
    let figures = world.tally.figures(ended_ns.saturating_sub(warmup_ns));
    let histograms = vec![world.tally.histogram()];
    Ok(Outcome { ended_ns, hang, events: world.agenda.events(), figures, histograms })
}
