//! Man pages and shell completions, from the one definition of the command line.

use std::fs;
use std::io;
use std::path::Path;

use clap::Command;
use clap_complete::Shell;

use crate::failure::Failure;
use crate::workload::{self, Offer};

/// Writes a man page for the program and for each verb and workload, and completions for four shells.
pub fn generate(directory: &Path) -> Result<(), Failure> {
    write_all(directory)
        .map_err(|error| Failure::machine(format_args!("cannot write into {}: {error}", directory.display())))
}

fn write_all(directory: &Path) -> io::Result<()> {
    fs::create_dir_all(directory)?;
    let mut command = workload::command(&Offer::shipped());
    for shell in [Shell::Bash, Shell::Zsh, Shell::Fish, Shell::Elvish] {
        clap_complete::generate_to(shell, &mut command, "stallscope", directory)?;
    }
    // The shells' completions have built theirs, with that verb.
    let mut pages = without_help(workload::command(&Offer::shipped()));
    pages.build();
    clap_mangen::generate_to(pages, directory)
}

/// Without the verb `help` at each level: it would have a page for each other page.
fn without_help(command: Command) -> Command {
    command.disable_help_subcommand(true).mut_subcommands(without_help)
}
