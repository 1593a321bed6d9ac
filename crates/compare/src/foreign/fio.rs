//! fio's output: JSON, the normal report, and terse lines. Each form is read into the same reports, which become runs
//! in one place ([`figures`]).

mod figures;
mod json;
mod normal;
mod report;
mod series;
mod terse;

use super::error::{ForeignError, Runs, malformed};
use report::{Report, TOOL};

pub(super) fn runs(text: &str) -> Runs {
    let forms = [json::reports, normal::reports, terse::reports];
    let found = forms.into_iter().find_map(|reports| reports(text))?;
    Some(found.and_then(|(reports, cautions)| to_runs(reports, &cautions)))
}

fn to_runs(reports: Vec<Report>, cautions: &[String]) -> Result<Vec<crate::figures::RunFigures>, ForeignError> {
    if reports.iter().all(|report| report.jobs.is_empty()) {
        return Err(malformed(TOOL, "it has no 'jobs'; was it interrupted before the first report?"));
    }
    let mut runs: Vec<_> = series::last_of_each(reports).into_iter().map(|last| figures::run(&last)).collect();
    runs.iter_mut().for_each(|run| run.cautions.extend_from_slice(cautions));
    Ok(runs)
}
