//! `run WORKLOAD`: a command line that the recipe extends.
//!
//! Each variable of a recipe is a flag, with the recipe's short letter and help. A built-in recipe is a subcommand of
//! `run`; a user's recipe file becomes one when the command line names it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, Args, Command, FromArgMatches};
use load::recipe::Recipe;
use load::value::ValueKind;

use crate::commands::run::native_flags;
use crate::commands::run::request::{DIRECTORY_FLAG, RunArgs, RunRequest};
use crate::ui::failure::Failure;

/// A recipe that a command line may name.
#[derive(Debug)]
pub struct Offer {
    recipe: Recipe,
    /// The argument after `run`: the recipe's name, or the path of its file.
    word: String,
}

impl Offer {
    /// Whether the recipe is built in. A user's file is named by its path, which has a dot or a slash.
    fn is_shipped(&self) -> bool {
        self.word == self.recipe.name
    }

    /// The built-in recipes.
    pub fn shipped() -> Vec<Offer> {
        let offer = |recipe: Recipe| Offer { word: recipe.name.clone(), recipe };
        load::catalogue::catalogue().into_iter().map(offer).collect()
    }
}

/// `run`, with a subcommand for each recipe.
pub fn command(offers: &[Offer]) -> Command {
    let mut run = Command::new("run")
        .about("Run a workload, record the machine while it runs, and print a summary")
        .subcommand_required(true)
        .subcommand_value_name("WORKLOAD")
        .subcommand_help_heading("Workloads")
        .after_help("WORKLOAD may be the path of a recipe file. Start from `stallscope recipes show NAME`.");
    for offer in offers {
        run = run.subcommand(workload(offer));
    }
    run
}

fn workload(offer: &Offer) -> Command {
    let recipe = &offer.recipe;
    // `augment_args` sets `about`, so set it afterwards.
    let mut command = RunArgs::augment_args(Command::new(offer.word.clone()))
        .about(recipe.about.clone())
        .long_about(None::<&str>)
        .after_help(recipe.origin.clone());
    if let Some(flag) = &recipe.directories {
        let help = "Directory under test; may be repeated, like DIR";
        command = command.arg(path_arg(DIRECTORY_FLAG, flag, help, "DIR").action(ArgAction::Append));
    }
    if let Some(flag) = &recipe.log {
        let help = "Append the results to FILE, in the format of the tool that the workload reproduces";
        command = command.arg(path_arg(LOG_FLAG, flag, help, "FILE"));
    }
    for variable in &recipe.variables {
        let mut arg = Arg::new(variable_id(&variable.name))
            .long(variable.flag.clone())
            .help(help(variable))
            .value_name(value_name(variable))
            .help_heading("Workload")
            .action(ArgAction::Set);
        if variable.kind == ValueKind::Flag {
            // `-k` and `--keep` alone mean yes; `--keep=false` means no where the recipe's default is yes.
            arg = arg.num_args(0..=1).require_equals(true).default_missing_value("true");
        }
        if let Some(short) = variable.short {
            arg = arg.short(short);
        }
        command = command.arg(arg);
    }
    if offer.is_shipped() { native_flags::extend(&recipe.name, command) } else { command }
}

fn path_arg(id: &'static str, flag: &load::recipe::PathFlag, help: &'static str, value: &'static str) -> Arg {
    let arg = Arg::new(id).long(flag.flag.clone()).help(help).value_name(value).help_heading("Workload");
    let arg = arg.value_parser(clap::value_parser!(PathBuf));
    if let Some(short) = flag.short { arg.short(short) } else { arg }
}

fn help(variable: &load::recipe::Variable) -> String {
    match variable.kind {
        ValueKind::Word => {
            format!("{}: {} [default: {}]", variable.help, variable.words.join(", "), variable.default.text)
        }
        ValueKind::Flag if variable.default.text == "0" => variable.help.clone(),
        ValueKind::Flag => format!("{} [default: yes]", variable.help),
        _ => format!("{} [default: {}]", variable.help, variable.default.text),
    }
}

fn value_name(variable: &load::recipe::Variable) -> String {
    match (variable.kind, variable.plain.as_deref()) {
        (ValueKind::Size, Some("m")) => "MB".to_owned(),
        (ValueKind::Duration, Some("s")) => "SECONDS".to_owned(),
        (ValueKind::Size, _) => "SIZE".to_owned(),
        (ValueKind::Duration, _) => "T".to_owned(),
        (ValueKind::Percent, _) => "PERCENT".to_owned(),
        (ValueKind::Count | ValueKind::Number, _) => "N".to_owned(),
        (ValueKind::Flag, _) => "BOOL".to_owned(),
        (ValueKind::Word, _) => "WORD".to_owned(),
    }
}

/// Argument id of the flag that names a log file.
const LOG_FLAG: &str = "log flag";

/// A variable may share its name with an option (`interval`); their ids must differ.
fn variable_id(name: &str) -> String {
    format!("variable {name}")
}

/// All recipes that a command line may name: the built-in ones, and its recipe file, if any.
pub fn offers_for(words: &[OsString]) -> Result<Vec<Offer>, Failure> {
    let mut offers = Offer::shipped();
    // Only directly after the program: `record -- make run` names no workload.
    let named = words.get(1).filter(|command| *command == "run").and_then(|_| words.get(2));
    if let Some(path) = named.map(Path::new).filter(|path| looks_like_a_file(path)) {
        let recipe = Recipe::load(path).map_err(Failure::usage)?;
        refuse_taken_flags(&recipe, path)?;
        offers.push(Offer { recipe, word: path.to_string_lossy().into_owned() });
    } else if let Some(word) = named.map(|word| word.to_string_lossy()) {
        refuse_unknown(&word, &offers)?;
    }
    Ok(offers)
}

fn refuse_unknown(word: &str, offers: &[Offer]) -> Result<(), Failure> {
    let is_known = word.starts_with('-') || word == "help" || offers.iter().any(|offer| offer.word == word);
    let names: Vec<&str> = offers.iter().map(|offer| offer.word.as_str()).collect();
    if is_known {
        return Ok(());
    }
    Err(Failure::usage(format_args!(
        "no workload '{word}'; workloads: {}, or a recipe file (FILE.toml)",
        names.join(", ")
    )))
}

fn looks_like_a_file(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "toml") || path.components().count() > 1
}

/// Clap panics on a flag defined twice; report an error to the recipe's author instead.
fn refuse_taken_flags(recipe: &Recipe, path: &Path) -> Result<(), Failure> {
    let common = RunArgs::augment_args(Command::new("run"));
    let mut longs: Vec<String> = common.get_arguments().filter_map(|arg| arg.get_long().map(str::to_owned)).collect();
    let mut shorts: Vec<char> = common.get_arguments().filter_map(Arg::get_short).collect();
    longs.push("help".to_owned());
    shorts.push('h');
    let paths = [("directories", &recipe.directories), ("log", &recipe.log)];
    let paths = paths.into_iter().filter_map(|(name, flag)| flag.as_ref().map(|flag| (name, &flag.flag, flag.short)));
    let variables = recipe.variables.iter().map(|variable| (variable.name.as_str(), &variable.flag, variable.short));
    for (name, long, short) in paths.chain(variables) {
        let long_taken = longs.contains(long);
        let short_taken = short.filter(|short| shorts.contains(short));
        if long_taken || short_taken.is_some() {
            let flag = short_taken.map_or_else(|| format!("--{long}"), |short| format!("-{short}"));
            return Err(Failure::usage(format_args!(
                "{}: the flag {flag} of '{name}' is already in use; choose another with `flag = \"...\"` or `short \
                 = \"...\"`",
                path.display()
            )));
        }
        longs.push(long.clone());
        shorts.extend(short);
    }
    Ok(())
}

impl RunRequest {
    /// From the parsed arguments of `run`.
    pub fn from_matches(matches: &clap::ArgMatches, offers: Vec<Offer>) -> Result<RunRequest, Failure> {
        let (word, matches) = matches.subcommand().expect("run requires a workload");
        let offer = offers.into_iter().find(|offer| offer.word == word);
        let offer = offer.expect("each workload is the subcommand of an offer");
        let (is_shipped, recipe) = (offer.is_shipped(), offer.recipe);
        let given = |variable: &load::recipe::Variable| {
            let text = matches.get_one::<String>(&variable_id(&variable.name))?;
            Some((variable.name.clone(), text.clone()))
        };
        let settings = recipe.variables.iter().filter_map(given).collect();
        let mut args = RunArgs::from_arg_matches(matches).map_err(Failure::usage)?;
        if recipe.directories.is_some() {
            args.directories.extend(matches.get_many::<PathBuf>(DIRECTORY_FLAG).into_iter().flatten().cloned());
        }
        let log = if recipe.log.is_some() { matches.get_one::<PathBuf>(LOG_FLAG).cloned() } else { None };
        let mut request = RunRequest { recipe, settings, args, notes: Vec::new(), log };
        if is_shipped {
            native_flags::take(word, matches, &mut request)?;
        }
        Ok(request)
    }
}

#[cfg(test)]
mod tests {
    use super::offers_for;

    #[test]
    fn a_recorded_command_that_says_run_names_no_workload() {
        let offers = |words: &str| offers_for(&words.split(' ').map(Into::into).collect::<Vec<_>>());
        assert!(offers("stallscope record -- make run tests").is_ok());
        assert!(offers("stallscope record -- cargo run x.toml").is_ok());
        assert!(offers("stallscope run tests").is_err());
        assert!(offers("stallscope run x.toml").is_err());
    }
}
