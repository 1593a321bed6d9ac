//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::columns::By;

/// Ask a lake of stalls (see 'stallscope lake add') about many machines and days.
#[derive(Debug, Parser)]
#[command(name = "stallscope-fleet", version, max_term_width = 100)]
pub(crate) struct Cli {
    /// Question.
    #[command(subcommand)]
    pub(crate) question: Question,
}

/// Questions.
#[derive(Debug, Subcommand)]
pub(crate) enum Question {
    /// Where most time is lost: by cause, kernel, disk model, host and others.
    Top(TopArgs),
    /// Which issue or cause grew between two periods, and on which hosts.
    Grew(GrewArgs),
    /// What differs between two sets of hosts or stalls.
    Diff(DiffArgs),
    /// What an issue is, where and since when it happens, and which runs hold it.
    Find(FindArgs),
    /// Run a query: tables stalls, runs, intervals and counters, as docs/FLEET.md describes them.
    Sql(SqlArgs),
    /// Put the runs of a lake in a directory into one in S3, which 'stallscope lake add --to s3://...' does with each
    /// run.
    Put(PutArgs),
}

/// Options of all questions.
#[derive(Debug, Args)]
pub(crate) struct Common {
    /// Lake: a directory, or s3://BUCKET/PREFIX with credentials in the environment.
    #[arg(value_name = "LAKE")]
    pub(crate) lake: PathBuf,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Memory of the engine in MiB; beyond it, sorting and grouping use temporary files.
    #[arg(long, value_name = "MIB", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(16..))]
    pub(crate) memory: u32,
    /// Print the SQL, for DuckDB, Spark and others, instead of running it.
    #[arg(long)]
    pub(crate) show_sql: bool,
}

/// Options of `top`.
#[derive(Debug, Args)]
pub(crate) struct TopArgs {
    /// Common options.
    #[command(flatten)]
    pub(crate) common: Common,
    /// Group by this.
    #[arg(long, value_name = "COLUMN", default_value = "cause")]
    pub(crate) by: By,
    /// First day, such as 2026-11-01.
    #[arg(long, value_name = "DATE")]
    pub(crate) since: Option<String>,
    /// Last day.
    #[arg(long, value_name = "DATE")]
    pub(crate) until: Option<String>,
    /// Number of rows.
    #[arg(long, short = 'n', value_name = "N", default_value_t = 10)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) limit: u32,
}

/// Options of `grew`.
#[derive(Debug, Args)]
pub(crate) struct GrewArgs {
    /// Common options.
    #[command(flatten)]
    pub(crate) common: Common,
    /// Days before this day, or FROM..TO. Compare whole weeks where load depends on the weekday.
    #[arg(long, value_name = "DATE")]
    pub(crate) before: String,
    /// This day and those after it, or FROM..TO.
    #[arg(long, value_name = "DATE")]
    pub(crate) after: String,
    /// Group by this.
    #[arg(long, value_name = "COLUMN", default_value = "issue")]
    pub(crate) by: By,
    /// Also list what did not grow.
    #[arg(long)]
    pub(crate) all: bool,
}

/// Options of `diff`.
#[derive(Debug, Args)]
pub(crate) struct DiffArgs {
    /// Common options.
    #[command(flatten)]
    pub(crate) common: Common,
    /// Set A, such as kernel=6.11* or device_model=X,cause=lock or date=2026-11-01..2026-11-07.
    #[arg(long = "where", value_name = "CONDITIONS")]
    pub(crate) a: String,
    /// Set B.
    #[arg(long = "and", value_name = "CONDITIONS")]
    pub(crate) b: String,
    /// Group by this.
    #[arg(long, value_name = "COLUMN", default_value = "cause")]
    pub(crate) by: By,
    /// Also list what does not differ.
    #[arg(long)]
    pub(crate) all: bool,
}

/// Options of `find`.
#[derive(Debug, Args)]
pub(crate) struct FindArgs {
    /// Common options.
    #[command(flatten)]
    pub(crate) common: Common,
    /// Fingerprint of an issue, or its first digits.
    #[arg(value_name = "FINGERPRINT")]
    pub(crate) fingerprint: String,
    /// Number of runs.
    #[arg(long, short = 'n', value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) limit: u32,
}

/// Options of `sql`.
#[derive(Debug, Args)]
pub(crate) struct SqlArgs {
    /// Common options.
    #[command(flatten)]
    pub(crate) common: Common,
    /// Query.
    #[arg(value_name = "SELECT")]
    pub(crate) sql: String,
}

/// Options of `put`.
#[derive(Debug, Args)]
pub(crate) struct PutArgs {
    /// Directory of the lake.
    #[arg(value_name = "LAKE")]
    pub(crate) lake: PathBuf,
    /// Where to, as s3://BUCKET/PREFIX, with credentials in the environment.
    #[arg(long, value_name = "URL")]
    pub(crate) to: PathBuf,
    /// Suppress notes.
    #[arg(long, short = 'q')]
    pub(crate) quiet: bool,
}
