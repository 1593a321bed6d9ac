//! `stallscope-fleet`: questions to a lake of stalls. `docs/FLEET.md` describes it.
#![forbid(unsafe_code)]

mod answer;
mod bucket;
mod cli;
mod columns;
mod days;
mod error;
mod footer;
mod growth;
mod lake;
mod marker;
mod output;
mod place;
mod put;
mod questions;
mod template;

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;

use crate::cli::{Cli, Question};
use crate::error::FleetError;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let text = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(FleetError::io(std::path::Path::new("threads"), "start"))
        .and_then(|runtime| runtime.block_on(answered(&cli.question)));
    match text {
        // A pipe that was closed wants no more.
        Ok(text) => match std::io::stdout().write_all(text.as_bytes()) {
            Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
                eprintln!("stallscope-fleet: standard output: cannot be written: {error}");
                ExitCode::from(3)
            }
            _ => ExitCode::SUCCESS,
        },
        Err(error) => {
            eprintln!("stallscope-fleet: {error}");
            ExitCode::from(error.exit_code())
        }
    }
}

async fn answered(question: &Question) -> Result<String, FleetError> {
    match question {
        Question::Top(args) => questions::top::top(args).await,
        Question::Grew(args) => questions::grew::grew(args).await,
        Question::Diff(args) => questions::diff::diff(args).await,
        Question::Find(args) => questions::find::find(args).await,
        Question::Sql(args) => questions::sql::sql(args).await,
        Question::Put(args) => put::put(args).await,
    }
}
