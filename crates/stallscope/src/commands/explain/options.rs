//! Options of `explain`.

use std::path::PathBuf;

use clap::Args;

use crate::reading::scope::ScopeArgs;
use crate::ui::args::positive_duration;

/// Options of `explain`.
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// Run directory.
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    /// Explain operations of at least T [default: those recorded individually].
    #[arg(long, value_name = "T", value_parser = positive_duration)]
    pub slower_than: Option<u64>,
    /// Show the N worst stalls in detail [default: 5; with --json: 200].
    #[arg(long, value_name = "N")]
    pub worst: Option<usize>,
    /// Predict the effect of each applicable remedy, and rank them.
    #[arg(long)]
    pub what_if: bool,
    /// Name the rules that each stall shown rests on (docs/RULES.md); --json always names them.
    #[arg(long, conflicts_with = "json")]
    pub why: bool,
    /// Add the remedies in a TOML file to the built-in ones (docs/WHATIF.md).
    #[arg(long, value_name = "FILE")]
    pub remedies: Option<PathBuf>,
    /// Print a single JSON document to standard output.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub scope: ScopeArgs,
}
