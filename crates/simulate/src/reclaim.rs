//! XFS inode reclaim: v4.8, which waits for dirty inodes under memory pressure, against the patch that does not.
//!
//! Many tasks allocate memory. kswapd reclaims it, and where kswapd does not keep up, the tasks reclaim directly: from
//! the page cache, and through the shrinkers from the inode caches. XFS's shrinker walks the allocation groups, one
//! reclaimer per group. In v4.8 it waits there for each inode that is not clean: for the log, and for the inode's
//! cluster to be read and written, behind everything queued at the disk. A task that does so in a page fault holds
//! mmap_sem all that time.
//!
//! docs/models/RECLAIM.md says what is left out, and compares the document's figures with the model's.

mod daemons;
mod disk;
mod du;
mod files;
mod inodes;
mod io_thread;
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
        Policy { name: "no-wait", about: "the shrinker skips them; xfsaild writes them (the patch)" },
        Policy {
            name: "progress",
            about: "the shrinker skips them; a direct reclaimer that skipped more than it freed pauses until one is \
                    written",
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
