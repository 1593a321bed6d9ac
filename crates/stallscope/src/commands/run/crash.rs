//! What a run that is killed leaves to be verified: its data, and the ledger of what it wrote and what was acknowledged.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use load::data::{self, DirectoryLock};
use load::plan::Plan;
use load::write_ledger::{LEDGER, WriteLedger};

use crate::commands::run::request::RunRequest;
use crate::ui::failure::Failure;
use crate::ui::screen::Screen;

/// Keeps the data that is to be verified from being removed as the leftover that it is, for as long as the answer lives.
pub(super) fn spare(request: &RunRequest) -> Vec<DirectoryLock> {
    if !request.args.verify_after_crash {
        return Vec::new();
    }
    let here = [PathBuf::from(".")];
    let directories = if request.args.directories.is_empty() { &here[..] } else { &request.args.directories };
    let data = |directory: &PathBuf| directory.join(data::directory_name(&request.recipe.name));
    directories.iter().filter_map(|directory| DirectoryLock::take(&data(directory)).ok().flatten()).collect()
}

/// Finds the ledger of the run that wrote the data, where that is to be verified.
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
                "these directories were not written by one run; verify those of each by themselves",
            ));
        }
    }
    Ok(())
}

/// Decides where a run that stamps its data keeps its ledger; says what is known where one is to be verified.
pub(super) fn keep_ledger(plan: &mut Plan, run: &Path, screen: &Screen) -> Result<(), Failure> {
    if let (true, Some(path)) = (plan.after_crash, &plan.ledger) {
        return tell(path, plan, screen);
    }
    if !plan.file_sets.iter().any(|set| set.stamped) {
        return Ok(());
    }
    let path = std::path::absolute(run.join(LEDGER)).map_err(Failure::machine)?;
    let device = |path: &Path| std::fs::metadata(path).map(|metadata| metadata.dev()).ok();
    if plan.directories.iter().any(|directory| device(directory) == device(run)) {
        screen.warning(
            "the ledger of what was written lies on the file system under test, in the run directory: what that loses, it \
             may lose as well; name another place with --out",
        );
    }
    plan.ledger = Some(path);
    Ok(())
}

fn tell(path: &Path, plan: &Plan, screen: &Screen) -> Result<(), Failure> {
    let ledger = WriteLedger::open(path).map_err(Failure::machine)?;
    let shape = ledger.shape();
    if shape.directories != plan.directories.len() as u64 {
        return Err(Failure::usage(format_args!(
            "the data was written to {} directories; give them all, in the order of then",
            shape.directories
        )));
    }
    let known = ledger.totals();
    screen.remark(&match ledger.is_filled() {
        false => "the run was cut off while it made its files: nothing had been promised, and nothing is verified".to_owned(),
        true => format!(
            "{} blocks in {} files: {} hold writes that had been acknowledged as durable, {} had later writes that had not",
            known.blocks, shape.files, known.acknowledged, known.open
        ),
    });
    Ok(())
}
