//! A request to simulate a model, and the options of `simulate MODEL`.

use std::path::PathBuf;

use clap::{ArgMatches, Args, Command, FromArgMatches};
use model::quantity::parse_duration;
use model::run::Configuration;
use simulate::models;
use simulate::parameter::Settings;
use simulate::policy::{Model, Policy};

use super::table;
use crate::recording::args::{Requests, configuration};
use crate::recording::sharing::SharingArgs;
use crate::ui::args::{OutputArgs, positive_duration};
use crate::ui::failure::Failure;

/// A request to simulate a model.
#[derive(Debug)]
pub struct SimulationRequest {
    /// The model.
    pub model: &'static Model,
    /// The options common to all models.
    pub options: Options,
}

/// Options common to all models.
#[derive(Debug, Args, Clone)]
pub struct Options {
    /// Kernel policies to simulate, one run each [default: all policies of the model].
    #[arg(long, short = 'p', value_name = "POLICY", num_args = 1.., value_delimiter = ',')]
    pub policy: Vec<String>,
    /// Set parameters; --list prints them.
    #[arg(long, short = 's', value_name = "NAME=VALUE", num_args = 1..)]
    pub set: Vec<String>,
    /// Seed of the model's random choices; the same seed gives the same result.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Run directory; with several policies, the parent of their run directories [default:
    /// ./stallscope-runs/<UTC time>-<model>-<policy>].
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub sharing: SharingArgs,
    /// Sampling interval in simulated time.
    #[arg(long, value_name = "T", default_value = "100ms", value_parser = interval)]
    pub interval: u64,
    /// Record operations slower than T individually.
    #[arg(long, value_name = "T", default_value = "100ms", value_parser = positive_duration)]
    pub slower_than: u64,
    /// Block requests to record individually: slow ones and those that a task waits for, or all.
    #[arg(long, value_name = "WHICH", default_value = "slow")]
    pub requests: Requests,
    /// Configuration label; runs with the same label are repetitions [default: the policy's name].
    #[arg(long, value_name = "NAME", value_parser = configuration)]
    pub configuration: Option<Configuration>,
    /// Print the plan and exit.
    #[arg(long, conflicts_with_all = ["group", "mode"])]
    pub plan: bool,
    /// Model 'sched' only: replay the block requests of a run (preferably recorded with --requests all) or a block
    /// trace, and predict their latencies under each policy.
    #[arg(long, value_name = "RUN|TRACE", conflicts_with_all = ["out", "configuration", "group", "mode"])]
    pub trace: Option<PathBuf>,
    /// With --trace: the device, such as 7:0 [default: the device with the most requests].
    #[arg(long, value_name = "MAJOR:MINOR", requires = "trace")]
    pub device: Option<String>,
    /// Print the model's policies and parameters, their defaults and sources, and exit.
    #[arg(long)]
    pub list: bool,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub output: OutputArgs,
}

/// `simulate`, with a subcommand for each model.
pub fn command() -> Command {
    let mut simulate = Command::new("simulate")
        .about("Simulate a kernel policy (seeded, deterministic): the pathology and its fix")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand_value_name("MODEL")
        .subcommand_help_heading("Models")
        .after_help("See docs/MODELS.md for the limits of each model.");
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
                return Err(Failure::usage(format_args!("--set {text}: expected NAME=VALUE")));
            };
            settings.set(name.trim(), value.trim()).map_err(|error| Failure::usage(format_args!("--set: {error}")))?;
        }
        Ok(settings)
    }

    /// The policies to simulate, each once, in the given order.
    pub fn policies(&self) -> Result<Vec<Policy>, Failure> {
        let mut found: Vec<Policy> = Vec::new();
        for name in &self.options.policy {
            let Some(policy) = self.model.policies.iter().find(|policy| policy.name == name) else {
                let names: Vec<&str> = self.model.policies.iter().map(|policy| policy.name).collect();
                return Err(Failure::usage(format_args!(
                    "{} has no policy '{name}'; policies: {}",
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
        _ => Err(format!("{text}: the sampling interval must be 1us to 1h")),
    }
}
