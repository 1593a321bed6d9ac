//! The table of campaigns in docs/journal/campaigns.md is the sum of their ledger.

use std::collections::BTreeMap;
use std::path::Path;

use super::finding::Finding;
use super::tree::Tree;

const LEDGER: &str = "docs/campaigns.tsv";
const PAGE: &str = "docs/journal/campaigns.md";
const HEADER: &str = "date\tcommit\tcampaign\ttarget\tseed\ttried\tfindings\tcpu_s";
const BEGIN: &str = "<!-- the sum of campaigns.tsv, by `cargo xtask campaigns` -->\n";
const END: &str = "<!-- end of the sum -->\n";
const HEAD: &str = "| campaign | target | rounds | tried | findings | CPU time |\n|---|---|---|---|---|---|\n";

/// What the ledger has of one target of a campaign.
#[derive(Debug, Default)]
struct Sum {
    rounds: u64,
    tried: u64,
    findings: u64,
    /// Rounds without a known CPU time are left out.
    cpu_s: Option<u64>,
}

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let text = |path: &str| tree.files().iter().find(|file| file.path == Path::new(path)).map(|file| &file.text);
    let (Some(ledger), Some(page)) = (text(LEDGER), text(PAGE)) else { return Vec::new() };
    match with_table(page, ledger) {
        Err((path, line, what)) => vec![Finding::new(path, line, what)],
        Ok(expected) if expected != *page => {
            let what = format!("the table is not the sum of {LEDGER}; run `cargo xtask campaigns`");
            vec![Finding::new(PAGE, 1, what)]
        }
        Ok(_) => Vec::new(),
    }
}

/// Writes the sum of the ledger into the page.
pub(crate) fn update(root: &Path) -> Result<bool, String> {
    let read = |path: &str| std::fs::read_to_string(root.join(path)).map_err(|error| format!("{path}: {error}"));
    let page = with_table(&read(PAGE)?, &read(LEDGER)?);
    let page = page.map_err(|(path, line, what)| format!("{path}:{line}: {what}"))?;
    std::fs::write(root.join(PAGE), page).map_err(|error| format!("{PAGE}: {error}"))?;
    Ok(true)
}

type Fault = (&'static str, usize, String);

/// The page with the sum of the ledger.
fn with_table(page: &str, ledger: &str) -> Result<String, Fault> {
    let parts = page.split_once(BEGIN).and_then(|(before, rest)| Some((before, rest.split_once(END)?.1)));
    let (before, after) = parts.ok_or_else(|| (PAGE, 1, format!("{} is missing; add it", BEGIN.trim_end())))?;
    Ok(format!("{before}{BEGIN}{}{END}{after}", table(ledger)?))
}

fn table(ledger: &str) -> Result<String, Fault> {
    let mut sums: BTreeMap<(&str, &str), Sum> = BTreeMap::new();
    if ledger.lines().next() != Some(HEADER) {
        return Err((LEDGER, 1, format!("the header is not {HEADER:?}; write that")));
    }
    for (at, line) in ledger.lines().enumerate().skip(1) {
        let fields: Vec<&str> = line.split('\t').collect();
        let added = match fields.as_slice() {
            [_, _, campaign, target, _, tried, findings, cpu_s] => {
                sums.entry((campaign, target)).or_default().add(tried, findings, cpu_s)
            }
            _ => None,
        };
        added.ok_or_else(|| (LEDGER, at + 1, "a line has 8 fields, the last three of them numbers; fix it".into()))?;
    }
    let rows = sums.iter().map(|((campaign, target), sum)| sum.row(campaign, target));
    Ok(HEAD.to_owned() + &rows.collect::<String>())
}

impl Sum {
    fn add(&mut self, tried: &str, findings: &str, cpu_s: &str) -> Option<()> {
        self.rounds += 1;
        self.tried += tried.parse::<u64>().ok()?;
        self.findings += findings.parse::<u64>().ok()?;
        if cpu_s != "-" {
            *self.cpu_s.get_or_insert(0) += cpu_s.parse::<u64>().ok()?;
        }
        Some(())
    }

    fn row(&self, campaign: &str, target: &str) -> String {
        let Sum { rounds, tried, findings, cpu_s } = self;
        let cpu = cpu_s.map_or_else(|| "-".into(), |seconds| format!("{} min", grouped(seconds.div_ceil(60))));
        format!("| `{campaign}` | {target} | {rounds} | {} | {findings} | {cpu} |\n", grouped(*tried))
    }
}

/// `1,234,567`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let grouped = digits.char_indices().map(|(at, digit)| {
        let separates = at > 0 && (digits.len() - at).is_multiple_of(3);
        format!("{}{digit}", if separates { "," } else { "" })
    });
    grouped.collect()
}

#[cfg(test)]
mod tests {
    use super::{BEGIN, END, HEADER, PAGE, check, table};
    use crate::tidy::findings;

    #[test]
    fn rounds_of_a_target_are_added() {
        let rows = "2026-11-28\ta\tfuzz\telf\t1\t1000000\t0\t61\n2026-11-29\tb\tfuzz\telf\t2\t234567\t1\t-\n";
        let sum = table(&format!("{HEADER}\n{rows}")).unwrap();
        assert!(sum.ends_with("| `fuzz` | elf | 2 | 1,234,567 | 1 | 2 min |\n"), "{sum}");
    }

    #[test]
    fn a_page_with_another_sum_and_a_broken_line_are_found() {
        let row = "2026-11-28\ta\tkill\tall\t1\t200\t0\t-";
        let page = |table: &str| format!("Text\n{BEGIN}{table}{END}more\n");
        let check = |ledger: String, page: String| findings(check, &[("docs/campaigns.tsv", &ledger), (PAGE, &page)]);
        let right = table(&format!("{HEADER}\n{row}\n")).unwrap();
        assert!(check(format!("{HEADER}\n{row}\n"), page(&right)).is_empty());
        assert!(check(format!("{HEADER}\n{row}\n"), page(&right.replace("200", "300")))[0].contains("is not the sum"));
        assert!(check(format!("{HEADER}\n{row}x\n"), page(&right))[0].starts_with("docs/campaigns.tsv:2: "));
        assert!(check(format!("{HEADER}\n{row}\n"), "Text\n".into())[0].contains("is missing"));
    }
}
