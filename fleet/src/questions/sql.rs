//! `sql`: a query of the user's own.

use serde_json::json;

use super::{answer, lake_or_sql};
use crate::cli::SqlArgs;
use crate::error::FleetError;
use crate::output::{json_text, table};
use crate::template::Statement;

/// Answers it.
pub(crate) async fn sql(args: &SqlArgs) -> Result<String, FleetError> {
    let statement = Statement::of(&args.sql);
    let lake = match lake_or_sql(&args.common, &[&statement]).await? {
        Ok(lake) => lake,
        Err(sql) => return Ok(sql),
    };
    let answer = answer(&lake, &statement).await?;
    if args.common.json {
        return Ok(json_text(&json!({ "question": "sql", "rows": answer.objects() })));
    }
    Ok(if answer.rows.is_empty() { "No rows.\n".into() } else { table(&answer, &[]) })
}
