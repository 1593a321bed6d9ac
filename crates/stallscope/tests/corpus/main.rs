//! The corpus: recordings of stalls of known cause, packed in corpus/runs, which the program explains without a kernel.
//!
//! Without a command, each run is explained and compared with corpus/answers.toml, which holds what was accepted; a
//! word chooses among the runs. corpus/README.md has the commands.
#![allow(unreachable_pub)]

mod add;
mod answer;
mod document;
mod judge;
mod pack;
mod program;
mod runs;
mod truth;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use anonymize::Substitution;
use answer::Answer;
use program::Program;
use runs::{Corpus, Packed};

/// Options of cargo's own test harness that have a value.
const WITH_VALUE: [&str; 5] = ["--test-threads", "--color", "--format", "--skip", "--logfile"];
/// Most of the packed runs together.
const MOST_BYTES: u64 = 40 << 20;
/// Larger runs were explained by other names when they were added.
const MOST_RENAMED: u64 = 64 << 10;
/// Differences of one run that `compare` prints.
const SHOWN: usize = 40;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let corpus = Corpus::open();
    let outcome = match words.as_slice() {
        ["accept"] => accept(&corpus),
        ["wrong"] => wrong(&corpus),
        ["add", name, run, truth, options @ ..] => add::add(&corpus, name, Path::new(run), Path::new(truth), options),
        ["compare", old, new] => compare(&corpus, &Program::at(old), &Program::at(new)),
        _ if words.contains(&"--list") => {
            corpus.runs.iter().for_each(|run| println!("{}: test", run.name));
            Ok(true)
        }
        words => test(&corpus, words),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            eprintln!("corpus: {why}");
            ExitCode::from(2)
        }
    }
}

/// The answers of this build's program.
fn answers(corpus: &Corpus, runs: &[&Packed]) -> Vec<Answer> {
    let program = Program::built();
    runs::each(runs, |run| {
        let truth = corpus.truths.of(&run.name);
        let said = run.unpacked(|directory| program.said(directory, truth)).and_then(|said| said);
        match said {
            Ok(said) => Answer::of(&said, corpus.verdict(&run.name, &said)),
            Err(why) => Answer::failed(&why),
        }
    })
}

/// Each run is one test: its answer is that of the file, it is neutral, and it is the same by any other names.
fn test(corpus: &Corpus, words: &[&str]) -> Result<bool, String> {
    let runs = corpus.chosen(&chosen(words));
    println!("\nrunning {} tests", runs.len());
    let accepted = corpus.accepted()?;
    let answers = answers(corpus, &runs);
    let others = runs::each(&runs, by_other_names);
    let mut failed = Vec::new();
    for ((run, answer), other) in runs.iter().zip(&answers).zip(others) {
        let mut complaints = match accepted.get(&run.name) {
            Some(accepted) => answer.drift(accepted),
            None => vec!["is not in corpus/answers.toml".to_owned()],
        };
        complaints.extend(other);
        complaints.extend(corpus.truths.of(&run.name).is_none().then(|| "is not in corpus/truth.toml".to_owned()));
        println!("test {} ... {}", run.name, if complaints.is_empty() { "ok" } else { "FAILED" });
        if !complaints.is_empty() {
            failed.push((&run.name, complaints));
        }
    }
    let bytes: u64 = corpus.runs.iter().map(|run| run.bytes).sum();
    println!("\n{}; {:.1} MiB packed", summary(&answers), bytes as f64 / (1 << 20) as f64);
    println!("\nfailures:\n");
    for (name, complaints) in &failed {
        println!("---- {name} stdout ----\n{}\n", complaints.join("\n"));
    }
    if !failed.is_empty() {
        println!(
            "'make corpus' accepts the answers; look at each change of corpus/answers.toml, and give its reason in the \
             commit"
        );
    }
    let is_small = bytes <= MOST_BYTES;
    let (word, count) = (if failed.is_empty() && is_small { "ok" } else { "FAILED" }, failed.len());
    println!(
        "\ntest result: {word}. {} passed; {count} failed; 0 ignored; 0 measured; 0 filtered out\n",
        runs.len() - count
    );
    Ok(failed.is_empty() && is_small)
}

/// What changes if the run's names are replaced again, by others: nothing but the names should.
fn by_other_names(run: &Packed) -> Vec<String> {
    if run.bytes > MOST_RENAMED {
        return Vec::new();
    }
    let program = Program::built();
    let checked = run.unpacked(|directory| program.renamed(directory, &[], "zz"));
    match checked.and_then(|renamed| renamed) {
        Ok(renamed) => {
            renamed.differences.into_iter().map(|difference| format!("by other names: {difference}")).collect()
        }
        Err(why) => vec![why],
    }
}

fn chosen<'a>(words: &[&'a str]) -> Vec<&'a str> {
    let mut chosen = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if WITH_VALUE.contains(word) {
            words.next();
        } else if !word.starts_with('-') {
            chosen.push(*word);
        }
    }
    chosen
}

fn summary(answers: &[Answer]) -> String {
    let right = answers.iter().filter(|answer| answer.is_right()).count();
    format!("{right} of {} answers are right", answers.len())
}

/// Writes what the program answers now.
fn accept(corpus: &Corpus) -> Result<bool, String> {
    let runs = corpus.chosen(&[]);
    let answers = answers(corpus, &runs);
    let named: BTreeMap<String, Answer> =
        runs.iter().map(|run| run.name.clone()).zip(answers.iter().cloned()).collect();
    corpus.write(&named)?;
    println!("{}", summary(&answers));
    Ok(true)
}

/// The answers that are wrong, with what is known of them.
fn wrong(corpus: &Corpus) -> Result<bool, String> {
    let accepted = corpus.accepted()?;
    for (name, answer) in accepted.iter().filter(|(_, answer)| !answer.is_right()) {
        let truth = corpus.truths.of(name);
        println!("{name}: {}\n    {}", answer.verdict, truth.map_or("-", |truth| truth.what.as_str()));
        truth.and_then(|truth| truth.wrong.as_deref()).iter().for_each(|known| println!("    known: {known}"));
    }
    println!("{}", summary(&accepted.into_values().collect::<Vec<_>>()));
    Ok(true)
}

/// All differences between what two programs answer.
fn compare(corpus: &Corpus, old: &Program, new: &Program) -> Result<bool, String> {
    let runs = corpus.chosen(&[]);
    let differences = runs::each(&runs, |run| {
        run.unpacked(|directory| (old.explain(directory), new.explain(directory))).map(|answers| match answers {
            (Ok(old), Ok(new)) => Substitution::default().differences(&old, &new),
            (old, new) => {
                vec![("".to_owned(), said(old), said(new))].into_iter().filter(|(_, old, new)| old != new).collect()
            }
        })
    });
    let mut changed = 0;
    for (run, differences) in runs.iter().zip(differences) {
        let differences = differences?;
        changed += usize::from(!differences.is_empty());
        println!(
            "{}: {}",
            run.name,
            if differences.is_empty() { "same".to_owned() } else { format!("{} differences", differences.len()) }
        );
        for (path, old, new) in differences.iter().take(SHOWN) {
            println!("    {path}\n        - {old}\n        + {new}");
        }
    }
    println!("\n{changed} of {} runs have another answer", runs.len());
    Ok(changed == 0)
}

fn said(answer: Result<serde_json::Value, String>) -> String {
    answer.map_or_else(|why| why, |_| "an answer".to_owned())
}
