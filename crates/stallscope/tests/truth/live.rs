//! What earlier runs of these tests saw: corpus/live.toml (corpus/README.md).

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::cgroups;
use crate::drift::{Accepted, Seen};
use crate::judge::{Verdict, percent};
use crate::victim::ANY;

const ACCEPT: &str = "STALLSCOPE_TRUTH_ACCEPT";
const HEADER: &str = "\
# What runs of the ground truth saw on a real machine: of each test the lowest share of each true cause, the highest \
of each other one and of
# what is unexplained, in percent. `STALLSCOPE_TRUTH_ACCEPT=1 cargo test -p stallscope --test truth` adds a run; \
corpus/README.md.
";

#[derive(Debug, Default, Deserialize)]
struct File {
    /// The version of cgroups that the runs had.
    cgroups: u32,
    #[serde(default)]
    test: BTreeMap<String, Accepted>,
}

/// What is done with what an attempt sees.
#[derive(Debug, PartialEq)]
enum Use {
    Compared,
    Accepted,
    /// An emulator has another clock, and the other version of cgroups other limits: shares differ without a fault.
    Ignored,
}

#[derive(Debug)]
pub struct Live {
    path: PathBuf,
    file: File,
    used: Use,
}

impl Live {
    pub fn open(is_emulated: bool) -> Live {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/live.toml");
        let version = if cgroups::is_version_2() { 2 } else { 1 };
        if is_emulated {
            return Live { path, file: File::default(), used: Use::Ignored };
        }
        let mut file: File = match fs::read_to_string(&path) {
            Ok(text) => toml::from_str(&text).unwrap_or_else(|error| panic!("corpus/live.toml: {error}")),
            Err(_) => File { cgroups: version, ..File::default() },
        };
        let accepts = std::env::var_os(ACCEPT).is_some();
        let used = if file.cgroups != version {
            println!("not compared with corpus/live.toml, which is from cgroups of version {}", file.cgroups);
            file.test.clear();
            Use::Ignored
        } else if accepts {
            Use::Accepted
        } else {
            Use::Compared
        };
        Live { path, file, used }
    }

    /// What is wrong with an attempt that is right by itself. Accepts it, if that is asked.
    pub fn complaints(&mut self, name: &str, verdict: &Verdict) -> Vec<String> {
        let seen = seen(verdict);
        match (&self.used, self.file.test.get(name)) {
            (Use::Ignored, _) => Vec::new(),
            (Use::Accepted, _) => {
                self.file.test.entry(name.to_owned()).or_default().merge(&seen);
                Vec::new()
            }
            (Use::Compared, Some(accepted)) => accepted.drift(&seen),
            (Use::Compared, None) => vec![format!(
                "is not in corpus/live.toml: {ACCEPT}=1 STALLSCOPE_TRUTH_REPEAT=3 cargo test -p stallscope --test \
                 truth -- {name}"
            )],
        }
    }

    /// Keeps what was accepted.
    pub fn close(self) {
        if self.used != Use::Accepted {
            return;
        }
        let tests: Vec<String> = self.file.test.iter().map(|(name, accepted)| accepted.toml(name)).collect();
        let text = format!("{HEADER}cgroups = {}\n\n{}", self.file.cgroups, tests.join("\n"));
        fs::write(&self.path, text).unwrap_or_else(|error| panic!("corpus/live.toml: {error}"));
    }
}

fn seen(verdict: &Verdict) -> Seen {
    let is_true = |cause: &str| verdict.lines.iter().any(|line| line.cause == cause);
    // Where any wait will do, no wait is another cause.
    let is_other = |cause: &str| cause != "unexplained" && !is_true(cause) && (cause == "running" || !is_true(ANY));
    let others = verdict.causes.iter().filter(|(cause, _)| is_other(cause));
    Seen {
        causes: verdict.lines.iter().map(|line| (line.cause.to_owned(), verdict.share(line))).collect(),
        unexplained: percent(verdict.unexplained_ns(), verdict.wall_ns),
        others: others.map(|(cause, ns)| (cause.clone(), percent(*ns, verdict.wall_ns))).collect(),
    }
}
