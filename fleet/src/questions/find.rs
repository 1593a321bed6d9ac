//! `find`: one issue.

use serde_json::json;

use super::{answer, lake_or_sql};
use crate::cli::FindArgs;
use crate::error::FleetError;
use crate::output::{facts, json_text, table};
use crate::template::Statement;

/// Answers it.
pub(crate) async fn find(args: &FindArgs) -> Result<String, FleetError> {
    let wanted = args.fingerprint.to_ascii_lowercase();
    let wrong = |problem: &str| Err(FleetError::value("FINGERPRINT", &args.fingerprint, problem));
    if wanted.is_empty() || wanted.len() > 16 || !wanted.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return wrong("is not up to 16 hexadecimal digits; 'stallscope-fleet top LAKE --by issue' lists them");
    }
    let of = |text: &str, fingerprint: &str| {
        Statement::of(text).with("fingerprint", fingerprint).with("limit", &args.limit.to_string())
    };
    let issue = of(include_str!("../../sql/find.sql"), &wanted);
    let (days, runs) = (include_str!("../../sql/find_days.sql"), include_str!("../../sql/find_runs.sql"));
    let lake = match lake_or_sql(&args.common, &[&issue, &of(days, &wanted), &of(runs, &wanted)]).await? {
        Ok(lake) => lake,
        Err(sql) => return Ok(sql),
    };
    let found = answer(&lake, &issue).await?;
    let names: Vec<&str> = found.rows.iter().filter_map(|row| found.value(row, "fingerprint").as_str()).collect();
    let [fingerprint] = names[..] else {
        return match names.len() {
            0 => wrong("no such issue is in the lake; 'stallscope-fleet top LAKE --by issue' lists them"),
            _ => wrong(&format!("fits {} issues: {}; write more digits", names.len(), names.join(", "))),
        };
    };
    let days = answer(&lake, &of(days, fingerprint)).await?;
    let runs = answer(&lake, &of(runs, fingerprint)).await?;
    if args.common.json {
        let issue = &found.objects()[0];
        let whole = json!({ "question": "find", "issue": issue, "days": days.objects(), "longest": runs.objects() });
        return Ok(json_text(&whole));
    }
    Ok(format!(
        "{}\nBy day\n\n{}\nLongest stalls, and the runs that hold them\n\n{}",
        facts(&found),
        table(&days, &[]),
        table(&runs, &[])
    ))
}
