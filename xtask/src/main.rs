//! Checks of this repository. `cargo xtask` lists them.
#![forbid(unsafe_code)]

mod deny;
mod tidy;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "usage: cargo xtask COMMAND

  tidy       check the code against docs/ARCHITECTURE.md and CONTRIBUTING.md; reads only, offline
  campaigns  write the sum of docs/campaigns.tsv into docs/journal/campaigns.md
  circles    list the import circles of every crate
  deny       check licences, bans, sources and advisories of all dependencies with cargo-deny";

fn main() -> ExitCode {
    let command: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match command.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["tidy"] => tidy::run(&root()),
        ["campaigns"] => tidy::sum_campaigns(&root()),
        ["circles"] => tidy::list_circles(&root()),
        ["deny"] => deny::run(&root()),
        _ => Err(USAGE.to_owned()),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::from(2)
        }
    }
}

/// The workspace root.
fn root() -> PathBuf {
    let here = std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| PathBuf::from("xtask"), PathBuf::from);
    here.parent().filter(|root| root.is_dir()).unwrap_or(Path::new(".")).to_owned()
}
