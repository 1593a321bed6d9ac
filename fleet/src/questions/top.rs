//! `top`: where most time is lost.

use serde_json::json;

use super::{answer, lake_or_sql};
use crate::cli::TopArgs;
use crate::days::Day;
use crate::error::FleetError;
use crate::output::{json_text, table};
use crate::template::Statement;

/// Answers it.
pub(crate) async fn top(args: &TopArgs) -> Result<String, FleetError> {
    let since = day("--since", args.since.as_deref(), Day::FIRST)?;
    let until = day("--until", args.until.as_deref(), Day::LAST)?;
    if since > until {
        return Err(FleetError::value("--since", &since.to_string(), format!("is after --until {until}")));
    }
    let statement = Statement::of(include_str!("../../sql/top.sql"))
        .with("column", args.by.column())
        .with("since", &since.to_string())
        .with("until", &until.to_string())
        .with("limit", &args.limit.to_string());
    let lake = match lake_or_sql(&args.common, &[&statement]).await? {
        Ok(lake) => lake,
        Err(sql) => return Ok(sql),
    };
    let answer = answer(&lake, &statement).await?;
    if args.common.json {
        return Ok(json_text(&json!({ "question": "top", "by": args.by.name(), "rows": answer.objects() })));
    }
    if answer.rows.is_empty() {
        return Ok("No stalls in these days.\n".into());
    }
    Ok(table(&answer, &[("name", &args.by.name())]))
}

fn day(flag: &'static str, text: Option<&str>, without: &str) -> Result<Day, FleetError> {
    let Some(text) = text else { return Ok(Day::constant(without)) };
    Day::parse(text).ok_or_else(|| FleetError::value(flag, text, "is no day; write it as 2026-11-23"))
}
