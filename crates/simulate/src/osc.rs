//! How Lustre's client forms write RPCs (LU-8515): when an object gets an RPC, and which of its extents go into it.
//! docs/models/OSC.md says what is modelled, what is left out, and where each figure comes from.
//!
//! The names are Lustre's: an *OSC* is a client's connection to one storage target (OST). An *object* is a file's part
//! on one target, as one client sees it. An *extent* is a run of its dirty pages within one RPC's size.

mod account;
mod cache;
mod client;
mod extent;
mod flush;
mod formation;
mod hang;
mod lock;
mod locking;
mod parameters;
mod plan;
mod rpc;
mod sampling;
mod sending;
mod simulation;
mod writer;
mod writing;

#[cfg(test)]
mod tests;

use crate::observer::Observer;
use crate::parameter::{SettingError, Settings};
use crate::policy::{Model, Outcome, Policy};

use self::plan::{Plan, Trigger};
use self::simulation::Simulation;

/// LU-8515.
pub const MODEL: Model = Model {
    name: "osc",
    about: "Lustre's write RPCs: triggered by an object's count of dirty pages, or by full extents (LU-8515)",
    policies: &[
        Policy {
            name: "old",
            about: "an RPC when the object has enough pages for one, first extents first (2.7 to 2.9)",
        },
        Policy { name: "full", about: "an RPC when an extent is full, full extents first (the patch, 2.10)" },
        Policy {
            name: "both",
            about: "an RPC when the object has enough pages for one, full extents first (proposed in review)",
        },
    ],
    parameters: parameters::TABLE,
    run,
};

fn run(policy: &str, settings: &Settings, seed: u64, observer: &mut dyn Observer) -> Result<Outcome, SettingError> {
    let trigger = match policy {
        "old" => Trigger::Old,
        "full" => Trigger::Full,
        "both" => Trigger::Both,
        other => return Err(SettingError::unknown_policy("osc", other)),
    };
    let plan = Plan::new(settings)?;
    Ok(Simulation::new(plan, trigger, seed, observer).run())
}
