//! The questions, one module each.

pub(crate) mod diff;
pub(crate) mod find;
pub(crate) mod grew;
pub(crate) mod sql;
pub(crate) mod top;
mod verdicts;

use crate::answer::Answer;
use crate::cli::Common;
use crate::error::FleetError;
use crate::lake::Lake;
use crate::template::Statement;

/// Share of false ones among those that count as different, on average.
pub(crate) const Q: f64 = 0.02;

/// Opens the lake of a question, unless only its SQL is wanted, which is then the output.
async fn lake_or_sql(common: &Common, statements: &[&Statement]) -> Result<Result<Lake, String>, FleetError> {
    if common.show_sql {
        let texts: Vec<String> =
            statements.iter().map(|statement| format!("{};\n", statement.sql().trim_end())).collect();
        return Ok(Err(texts.join("\n")));
    }
    Ok(Ok(Lake::open(&common.lake, common.memory as usize * 1024 * 1024).await?))
}

async fn answer(lake: &Lake, statement: &Statement) -> Result<Answer, FleetError> {
    Answer::from_batches(&lake.rows(statement.sql()).await?)
}
