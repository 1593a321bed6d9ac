//! Man pages and shell completions, from the one definition of the command line.

use std::io;
use std::path::Path;

use clap::Command;
use clap_complete::{Generator as _, Shell};
use clap_mangen::Man;
use jiff::Timestamp;

use crate::recording::output_file::{refuse_stored, write_public};
use crate::recording::own_path::make_public_directory;
use crate::ui::failure::{Exit, Failure};

/// Seconds since 1970 for reproducible output, set per commit.
const EPOCH: &str = "SOURCE_DATE_EPOCH";

/// Writes a man page for the program, each command and each workload, and completions for four shells.
pub fn generate(directory: &Path, command: Command) -> Result<Exit, Failure> {
    refuse_stored(&directory.join("stallscope.1"))?;
    let is_new = make_public_directory(directory)?;
    write_all(directory, command).map(|()| Exit::Done).inspect_err(|_| {
        if is_new {
            let _ = std::fs::remove_dir_all(directory);
        }
    })
}

fn write_all(directory: &Path, command: Command) -> Result<(), Failure> {
    for shell in [Shell::Bash, Shell::Zsh, Shell::Fish, Shell::Elvish] {
        let mut script = Vec::new();
        // Generating builds a command with its subcommand `help`, so that each takes a copy.
        clap_complete::generate(shell, &mut command.clone(), "stallscope", &mut script);
        write_public(&directory.join(shell.file_name("stallscope")), &script)?;
    }
    let date = date();
    for (name, command) in pages(command) {
        let page = page(&name, command, &date).map_err(Failure::machine)?;
        write_public(&directory.join(format!("{name}.1")), page.as_bytes())?;
    }
    Ok(())
}

/// Name and command of each page.
fn pages(command: Command) -> Vec<(String, Command)> {
    fn below(command: &Command, pages: &mut Vec<(String, Command)>) {
        let name = command.get_display_name().unwrap_or_else(|| command.get_name());
        pages.push((name.to_owned(), command.clone()));
        command.get_subcommands().filter(|command| !command.is_hide_set()).for_each(|command| below(command, pages));
    }
    let mut command = without_help(command);
    command.build();
    let mut pages = Vec::new();
    below(&command, &mut pages);
    pages
}

/// Removes the subcommand `help` at each level: it would duplicate every page.
fn without_help(command: Command) -> Command {
    command.disable_help_subcommand(true).mut_subcommands(without_help)
}

fn page(name: &str, command: Command, date: &str) -> io::Result<String> {
    let mut bytes = Vec::new();
    Man::new(command).render(&mut bytes)?;
    let text = String::from_utf8(bytes).map_err(io::Error::other)?;
    // clap_mangen's header has no date and names each command like a program; its blank lines are three requests.
    let head =
        format!(".TH {} 1 \"{date}\" \"stallscope {}\" \"Stallscope\"", name.to_uppercase(), env!("CARGO_PKG_VERSION"));
    let lines = text.lines().map(|line| if line.starts_with(".TH ") { head.as_str() } else { line.trim_end() });
    let text = lines.collect::<Vec<_>>().join("\n");
    Ok(text.replace("\n.br\n\n.br\n", "\n.sp\n") + "\n")
}

/// The date from `SOURCE_DATE_EPOCH` if set, otherwise today.
fn date() -> String {
    let epoch = std::env::var(EPOCH).ok().and_then(|seconds| seconds.parse().ok());
    let at = epoch.and_then(|seconds| Timestamp::from_second(seconds).ok()).unwrap_or_else(Timestamp::now);
    at.strftime("%Y-%m-%d").to_string()
}

#[cfg(test)]
mod tests {
    use super::{page, pages, without_help};
    use crate::cli;
    use crate::commands::run::workload::Offer;

    #[test]
    fn every_command_and_workload_has_a_page_that_names_all_its_options() {
        let pages = pages(cli::command(&Offer::shipped()));
        let names: Vec<&str> = pages.iter().map(|(name, _)| name.as_str()).collect();
        let offers = Offer::shipped();
        let command = without_help(cli::command(&offers));
        for subcommand in command.get_subcommands().filter(|subcommand| !subcommand.is_hide_set()) {
            let name = subcommand.get_name();
            assert!(names.contains(&format!("stallscope-{name}").as_str()), "no page of {name}: {names:?}");
        }
        assert!(names.contains(&"stallscope-run-simoop") && names.contains(&"stallscope-recipes-show"), "{names:?}");
        for (name, command) in &pages {
            let text = page(name, command.clone(), "2026-01-02").unwrap();
            let title = format!(".TH {} 1 \"2026-01-02\" \"stallscope ", name.to_uppercase());
            assert_eq!(text.lines().filter(|line| line.starts_with(&title)).count(), 1, "{name}");
            let options = command.get_arguments().filter(|option| !option.is_hide_set());
            for long in options.filter_map(|option| option.get_long()) {
                let written = format!("\\-\\-{}", long.replace('-', "\\-"));
                assert!(text.contains(&written), "{name}: no --{long}");
            }
        }
    }
}
