//! Verification after a crash: the data of a killed run, and the ledger of what it wrote and what was acknowledged.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use load::data::{self, DirectoryLock};
use load::plan::Plan;
use load::write_ledger::{LEDGER, WriteLedger};
use model::quantity::counted;

use crate::commands::run::request::RunRequest;
use crate::ui::failure::Failure;
use crate::ui::screen::Screen;

/// Holds the data to verify, so it is not removed as a leftover while the result lives.
pub(super) fn spare(request: &RunRequest) -> Vec<DirectoryLock> {
    if !request.args.verify_after_crash {
        return Vec::new();
    }
    let data = |directory: &PathBuf| directory.join(data::directory_name(&request.recipe.name));
    request
        .args
        .directories()
        .iter()
        .filter_map(|directory| DirectoryLock::take(&data(directory)).ok().flatten())
        .collect()
}

/// Finds the ledger of the run that wrote the data to verify.
pub(super) fn find_ledger(plan: &mut Plan) -> Result<(), Failure> {
    if !plan.after_crash {
        return Ok(());
    }
    let mut found: Vec<PathBuf> = Vec::new();
    for directory in &plan.directories {
        found.push(data::ledger_of(&plan.recipe, directory).map_err(Failure::machine)?);
    }
    found.dedup();
    match &found[..] {
        [ledger] => plan.ledger = Some(ledger.clone()),
        _ => {
            return Err(Failure::usage(
                "these directories were written by different runs; verify the directories of each run separately",
            ));
        }
    }
    Ok(())
}

/// Chooses the ledger's location for a run that stamps its data; reports the ledger's contents when verifying.
pub(super) fn keep_ledger(plan: &mut Plan, run: &Path, screen: &Screen) -> Result<(), Failure> {
    if let (true, Some(path)) = (plan.after_crash, &plan.ledger) {
        return report(path, plan, screen);
    }
    if !plan.file_sets.iter().any(|set| set.stamped) {
        return Ok(());
    }
    let path = std::path::absolute(run.join(LEDGER)).map_err(Failure::machine)?;
    let device = |path: &Path| std::fs::metadata(path).map(|metadata| metadata.dev()).ok();
    if plan.directories.iter().any(|directory| device(directory) == device(run)) {
        screen.warning(
            "the ledger of writes is in the run directory, on the file system under test, which may lose it as well; \
             choose \
             another location with --out",
        );
    }
    plan.ledger = Some(path);
    Ok(())
}

fn report(path: &Path, plan: &Plan, screen: &Screen) -> Result<(), Failure> {
    let ledger = WriteLedger::open(path).map_err(Failure::machine)?;
    let shape = ledger.shape();
    if shape.directories != plan.directories.len() as u64 {
        return Err(Failure::usage(format_args!(
            "the data was written to {}; pass all of them, in the original order",
            counted(shape.directories, "directory")
        )));
    }
    let totals = ledger.totals();
    screen.remark(&match ledger.is_filled() {
        false => {
            "the run was cut off while creating its files: no write was acknowledged, nothing is verified".to_owned()
        }
        true => format!(
            "{} in {}: {} with writes acknowledged as durable, {} with later writes not acknowledged",
            counted(totals.blocks, "block"),
            counted(shape.files, "file"),
            totals.acknowledged,
            totals.open
        ),
    });
    Ok(())
}
