//! mdtest's table of rates over all iterations.
//!
//! A rate is all items of a phase over the time from the common start of all ranks to the end of the last one. As in
//! the original, the deviation is that of the iterations themselves (not of a sample), and what was not done has zeros.

use std::fmt::Write as _;

use explain::summary::{PhaseSummary, Summary};

/// Rows of directories, of files, and of the tree: mdtest's names, and the phases.
const DIRECTORIES: [(&str, &str); 3] = [
    ("Directory creation", "directory-creation"),
    ("Directory stat", "directory-stat"),
    ("Directory removal", "directory-removal"),
];
const FILES: [(&str, &str); 4] = [
    ("File creation", "file-creation"),
    ("File stat", "file-stat"),
    ("File read", "file-read"),
    ("File removal", "file-removal"),
];
const TREE: [(&str, &str); 2] = [("Tree creation", "tree-creation"), ("Tree removal", "tree-removal")];

/// The lines.
pub(super) fn lines(summary: &Summary) -> String {
    let mut text = format!("SUMMARY rate: (of {:.0} iterations)\n", variable(summary, "iterations").max(1.0));
    text += "   Operation                     Max            Min           Mean        Std Dev\n";
    text += "   ---------                     ---            ---           ----        -------\n";
    let only = |flag: &str, other: &str| variable(summary, flag) != 0.0 || variable(summary, other) == 0.0;
    let mut rows: Vec<(&str, &str)> = Vec::new();
    if only("directories_only", "files_only") {
        rows.extend(DIRECTORIES);
    }
    if only("files_only", "directories_only") {
        rows.extend(FILES);
    }
    rows.extend(TREE);
    for (label, phase) in rows {
        let rates: Vec<f64> = measured(summary, phase).filter_map(PhaseSummary::items_per_s).collect();
        let _ = writeln!(text, "   {label:<22} {}", figures(&rates));
    }
    text
}

/// Maximum, minimum, mean and deviation.
fn figures(rates: &[f64]) -> String {
    let count = rates.len().max(1) as f64;
    let most = rates.iter().copied().fold(0.0, f64::max);
    let least = rates.iter().copied().reduce(f64::min).unwrap_or(0.0);
    // The sum of nothing would be -0.
    let mean = rates.iter().fold(0.0, |sum, rate| sum + rate) / count;
    let deviation = (rates.iter().fold(0.0, |sum, rate| sum + (rate - mean).powi(2)) / count).sqrt();
    format!("{most:>14.3} {least:>14.3} {mean:>14.3} {deviation:>14.3}")
}

fn measured<'a>(summary: &'a Summary, name: &'a str) -> impl Iterator<Item = &'a PhaseSummary> {
    summary.phases.iter().filter(move |phase| phase.measured && phase.name == name)
}

fn variable(summary: &Summary, name: &str) -> f64 {
    let mut variables = summary.recipe.iter().flat_map(|recipe| &recipe.variables);
    variables.find(|(known, _)| known == name).map_or(0.0, |(_, value)| *value)
}

#[cfg(test)]
mod tests {
    use super::figures;

    #[test]
    fn the_figures_are_those_of_the_iterations() {
        assert_eq!(figures(&[2.0, 4.0, 6.0]), "         6.000          2.000          4.000          1.633");
        assert_eq!(figures(&[]), "         0.000          0.000          0.000          0.000");
    }
}
