//! `simulate MODEL`: the command line, with a subcommand for each model.

use std::path::PathBuf;

use clap::{ArgMatches, Args, Command, FromArgMatches};
use model::quantity::parse_duration;
use model::run::Configuration;
use simulate::models;
use simulate::parameter::Settings;
use simulate::policy::{Model, Policy};

use super::table;
use crate::recording::args::{Requests, configuration};
use crate::ui::args::OutputArgs;
use crate::ui::failure::Failure;

/// What `simulate` is asked to do.
#[derive(Debug)]
pub struct SimulationRequest {
    /// The model.
    pub model: &'static Model,
    /// The options that every model has.
    pub options: Options,
}

/// Options of every model.
#[derive(Debug, Args, Clone)]
pub struct Options {
    /// What the kernel does: one run for each of them, side by side [default: all that the model has].
    #[arg(long, short = 'p', value_name = "POLICY", num_args = 1.., value_delimiter = ',')]
    pub policy: Vec<String>,
    /// Set parameters; --list shows them.
    #[arg(long, short = 's', value_name = "NAME=VALUE", num_args = 1..)]
    pub set: Vec<String>,
    /// Seed of the model's random choices: the same seed, the same course.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// The run directory; of several policies, the folder that holds a run directory of each [default:
    /// ./stallscope-runs/<UTC time>-<model>-<policy>].
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Simulated time between samples.
    #[arg(long, value_name = "T", default_value = "100ms", value_parser = interval)]
    pub interval: u64,
    /// Keep each operation slower than this by itself, to be explained.
    #[arg(long, value_name = "T", default_value = "100ms", value_parser = parse_duration)]
    pub slower_than: u64,
    /// Block requests to keep one by one: those that are slow or that a task waits for, or all.
    #[arg(long, value_name = "WHICH", default_value = "slow")]
    pub requests: Requests,
    /// Name what is tried here: `compare` takes runs of one name for repetitions of the same [default: the policy's].
    #[arg(long, value_name = "NAME", value_parser = configuration)]
    pub configuration: Option<Configuration>,
    /// Say what would be played, and stop.
    #[arg(long)]
    pub plan: bool,
    /// Model 'sched' only: replay the block requests of a run (best recorded with --requests all) or of a block trace, and
    /// predict their latencies under each policy.
    #[arg(long, value_name = "RUN|TRACE", conflicts_with_all = ["out", "configuration"])]
    pub trace: Option<PathBuf>,
    /// With --trace: the device, as 7:0 [default: the one with most requests].
    #[arg(long, value_name = "MAJOR:MINOR", requires = "trace")]
    pub device: Option<String>,
    /// Show the model's policies and parameters, with their defaults and where these come from, and stop.
    #[arg(long)]
    pub list: bool,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub output: OutputArgs,
}

/// The verb with its models.
pub fn command() -> Command {
    let mut simulate = Command::new("simulate")
        .about("Play a kernel's policy as a model, from a seed: the pathology and its fix, in seconds, as runs like any other")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand_value_name("MODEL")
        .subcommand_help_heading("Models")
        .after_help("What each model leaves out stands in docs/MODELS.md.");
    for model in models::ALL {
        let shaped = Options::augment_args(Command::new(model.name))
            .about(model.about)
            .long_about(None::<&str>)
            .after_help(table::of(model));
        simulate = simulate.subcommand(shaped);
    }
    simulate
}

impl SimulationRequest {
    /// From the parsed arguments of `simulate`.
    pub fn from_matches(matches: &ArgMatches) -> Result<SimulationRequest, Failure> {
        let (name, matches) = matches.subcommand().expect("simulate requires a model");
        let model = models::find(name).expect("each subcommand is a model");
        let options = Options::from_arg_matches(matches).map_err(Failure::usage)?;
        Ok(SimulationRequest { model, options })
    }

    /// The parameters as set.
    pub fn settings(&self) -> Result<Settings, Failure> {
        let mut settings = Settings::new(self.model.parameters);
        for text in &self.options.set {
            let Some((name, value)) = text.split_once('=') else {
                return Err(Failure::usage(format_args!("--set {text}: write NAME=VALUE")));
            };
            settings.set(name.trim(), value.trim()).map_err(|error| Failure::usage(format_args!("--set: {error}")))?;
        }
        Ok(settings)
    }

    /// The policies to play, each once, in the order asked for.
    pub fn policies(&self) -> Result<Vec<Policy>, Failure> {
        let mut found: Vec<Policy> = Vec::new();
        for name in &self.options.policy {
            let Some(policy) = self.model.policies.iter().find(|policy| policy.name == name) else {
                let names: Vec<&str> = self.model.policies.iter().map(|policy| policy.name).collect();
                return Err(Failure::usage(format_args!(
                    "{} has no policy '{name}'; there are: {}",
                    self.model.name,
                    names.join(", ")
                )));
            };
            if !found.contains(policy) {
                found.push(*policy);
            }
        }
        Ok(if found.is_empty() { self.model.policies.to_vec() } else { found })
    }
}

fn interval(text: &str) -> Result<u64, String> {
    match parse_duration(text).map_err(|error| error.to_string())? {
        ns @ 1_000..=3_600_000_000_000 => Ok(ns),
        _ => Err(format!("{text}: samples of simulated time can be 1us to 1h apart")),
    }
}
