//! A large load in the current directory, which nobody named.

use std::path::Path;

use load::plan::Plan;
use model::quantity::{Bytes, Nanoseconds};

use super::request::RunRequest;
use crate::ui::failure::Failure;

/// Beyond these a load is large.
const LONG_NS: u64 = 120_000_000_000;
const LARGE_BYTES: u64 = 2 << 30;

/// Refuses a large load without a directory on the command line and without `--yes`.
pub fn require(plan: &Plan, request: &RunRequest) -> Result<(), Failure> {
    let args = &request.args;
    let lasts_ns = plan.warmup_ns().saturating_add(plan.measured_ns());
    let writes_bytes = plan.totals.bytes_to_write;
    if args.yes || !args.directories.is_empty() || (lasts_ns < LONG_NS && writes_bytes < LARGE_BYTES) {
        return Ok(());
    }
    let name = &plan.recipe;
    let directory = plan.directories.first().map_or(Path::new("."), |directory| directory);
    Err(Failure::usage(format_args!(
        "{name} would write {} to the current directory ({}) and run for {}; name a directory, or add --yes \
         ('stallscope run {name} --plan' has the details)",
        Bytes(writes_bytes),
        directory.display(),
        Nanoseconds(lasts_ns)
    )))
}
