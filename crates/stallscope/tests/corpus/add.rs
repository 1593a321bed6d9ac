//! A recording becomes a run of the corpus: without names, packed, with its truth and today's answer.

use std::fs;
use std::path::Path;

use crate::answer::Answer;
use crate::pack;
use crate::program::Program;
use crate::runs::Corpus;
use crate::truth::Truths;

/// Adds a recording under a name. The file has its truth, one `[[run]]` as in corpus/truth.toml; the options are those
/// of `anonymize`.
pub fn add(corpus: &Corpus, name: &str, run: &Path, truth: &Path, options: &[&str]) -> Result<bool, String> {
    let failed = |what: &Path, error: &dyn std::fmt::Display| format!("{}: {error}", what.display());
    let text = fs::read_to_string(truth).map_err(|error| failed(truth, &error))?;
    let truths: Truths = toml::from_str(&text).map_err(|error| failed(truth, &error))?;
    if truths.run.len() != 1 || truths.run[0].name != name || corpus.truths.of(name).is_some() {
        return Err(format!(
            "{}: expected one [[run]] named {name}, which corpus/truth.toml does not have",
            truth.display()
        ));
    }
    let program = Program::built();
    let renamed = program.renamed(run, options, "n")?;
    let copy = renamed.copy.path().join("run");
    if !renamed.differences.is_empty() {
        return Err(format!(
            "{name}: without its names it is explained otherwise:\n{}",
            renamed.differences.join("\n")
        ));
    }
    let packed = pack::packed(&copy).map_err(|error| failed(&copy, &error))?;
    let known = Corpus { truths, home: corpus.home.clone(), runs: Vec::new() };
    let mut answers = corpus.accepted()?;
    let said = program.said(&copy, known.truths.of(name))?;
    let answer = Answer::of(&said, known.verdict(name, &said));
    println!("{name}: {} KiB; {}", packed.len() >> 10, answer.verdict);
    for kept in crate::document::list(&renamed.left["kept"]) {
        if ["names of programs and threads", "cgroups of the system, and of users by number"]
            .contains(&crate::document::text(&kept["kind"]))
        {
            println!("    still in it: {}", kept["names"]);
        }
    }
    answers.insert(name.to_owned(), answer);
    fs::create_dir_all(corpus.home.join("runs")).map_err(|error| failed(&corpus.home, &error))?;
    let all = corpus.home.join("truth.toml");
    let before = fs::read_to_string(&all).map_err(|error| failed(&all, &error))?;
    fs::write(corpus.file(name), packed).map_err(|error| failed(run, &error))?;
    fs::write(&all, format!("{}\n\n{}\n", before.trim_end(), text.trim())).map_err(|error| failed(&all, &error))?;
    corpus.write(&answers)?;
    Ok(true)
}
