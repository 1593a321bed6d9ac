//! The packed runs, what is true of them, and what was accepted as the answer.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::answer::{self, Answer};
use crate::document::Said;
use crate::judge::judge;
use crate::pack;
use crate::truth::Truths;

const SUFFIX: &str = ".run.tar.zst";
const HEADER: &str = "\
# What the program answers of each run of the corpus, in short: names with shares in percent. `make corpus` writes it; \
corpus/README.md.
# `verdict` is `right`, or what is wrong by corpus/truth.toml.
";

/// A packed run.
#[derive(Debug, Clone)]
pub struct Packed {
    pub name: String,
    pub file: PathBuf,
    pub bytes: u64,
}

impl Packed {
    /// Does something with the unpacked run, which is then removed.
    pub fn unpacked<T>(&self, with: impl FnOnce(&Path) -> T) -> Result<T, String> {
        let directory = tempfile::tempdir().map_err(|error| error.to_string())?;
        let run = directory.path().join("run");
        pack::unpack(&self.file, &run).map_err(|error| error.to_string())?;
        Ok(with(&run))
    }
}

/// All of it.
pub struct Corpus {
    pub home: PathBuf,
    pub runs: Vec<Packed>,
    pub truths: Truths,
}

impl Corpus {
    pub fn open() -> Corpus {
        let home = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus");
        let truths = fs::read_to_string(home.join("truth.toml")).expect("corpus/truth.toml is there");
        let truths = toml::from_str(&truths).unwrap_or_else(|error| panic!("corpus/truth.toml: {error}"));
        let entries = fs::read_dir(home.join("runs")).into_iter().flatten().flatten();
        let packed = entries.filter_map(|entry| {
            let name = entry.file_name().to_str()?.strip_suffix(SUFFIX)?.to_owned();
            Some(Packed { name, file: entry.path(), bytes: entry.metadata().ok()?.len() })
        });
        let mut runs: Vec<Packed> = packed.collect();
        runs.sort_by(|a, b| a.name.cmp(&b.name));
        Corpus { home, runs, truths }
    }

    /// Where a run of that name is packed.
    pub fn file(&self, name: &str) -> PathBuf {
        self.home.join("runs").join(format!("{name}{SUFFIX}"))
    }

    /// Those whose name holds one of the words; all without any.
    pub fn chosen(&self, words: &[&str]) -> Vec<&Packed> {
        let is_chosen = |run: &&Packed| words.is_empty() || words.iter().any(|word| run.name.contains(word));
        self.runs.iter().filter(is_chosen).collect()
    }

    /// `right`, or what is wrong.
    pub fn verdict(&self, name: &str, said: &Said) -> String {
        let Some(truth) = self.truths.of(name) else { return "unknown".to_owned() };
        let wrong = judge(truth, said);
        if wrong.is_empty() { "right".to_owned() } else { wrong.join("; ") }
    }

    pub fn accepted(&self) -> Result<BTreeMap<String, Answer>, String> {
        let text = fs::read_to_string(self.home.join("answers.toml")).unwrap_or_default();
        answer::read(&text).map_err(|error| format!("corpus/answers.toml: {error}"))
    }

    pub fn write(&self, answers: &BTreeMap<String, Answer>) -> Result<(), String> {
        let text: Vec<String> = answers.iter().map(|(name, answer)| answer.toml(name)).collect();
        fs::write(self.home.join("answers.toml"), format!("{HEADER}\n{}", text.join("\n")))
            .map_err(|error| error.to_string())
    }
}

/// Does something with each run, on all CPUs, and returns the results in their order.
pub fn each<T: Send>(runs: &[&Packed], with: impl Fn(&Packed) -> T + Sync) -> Vec<T> {
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(run) = runs.get(at) else { return };
            let result = with(run);
            done.lock().expect("no other thread panics with it").push((at, result));
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
    let mut done = done.into_inner().expect("no other thread panics with it");
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}
