//! Runs with mutations that know the format: values of the journal, of headers of flushes, of the watermark and of
//! `run.json`, and bytes of Arrow messages, with all checksums made right again, so that the mutation gets as far as it
//! can. Whatever it is, the run is read or refused, and nothing panics.
//!
//! `MUTATIONS=100000 SEED=7 cargo test -p archive --test read_back mutated` tries more.

use std::fs;
use std::path::{Path, PathBuf};

use crate::parts::{Bytes, Choose, Parts};
use crate::scenario::{count_rows, moment, options, rows_in, write_steps};
use archive::Run;
use tempfile::tempdir;

const MUTATIONS: u64 = 300;

/// SplitMix64 (Steele et al. 2014).
struct Random(u64);

impl Choose for Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % limit.max(1) as u64) as usize
    }
}

/// A cut-off run and a closed one.
fn originals(base: &Path) -> [PathBuf; 2] {
    let [cut_off, closed] = ["cut-off", "closed"].map(|name| base.join(name));
    drop(write_steps(&cut_off, 3, options(2)));
    write_steps(&closed, 3, options(2)).close(moment(3)).unwrap();
    [cut_off, closed]
}

/// Reads it as far as it can be read; `None`: refused.
fn read(dir: &Path, parts: &Parts) -> Option<bool> {
    let _ = fs::remove_dir_all(dir);
    fs::create_dir(dir).unwrap();
    parts.write(dir);
    let run = Run::open(dir).ok()?;
    run.verify();
    let rows = if parts.has_other_rows { count_rows(&run) } else { rows_in(&run).count() };
    assert!(rows <= 100_000, "{rows} rows");
    Some(run.check().whole)
}

/// What the fuzzer found once.
#[test]
fn inputs_of_the_fuzzer_are_read_or_refused() {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/archive");
    let base = tempdir().unwrap();
    let originals = originals(base.path()).map(|dir| Parts::of(&dir));
    for seed in fs::read_dir(seeds).unwrap() {
        let bytes = fs::read(seed.unwrap().path()).unwrap();
        let mut bytes = Bytes(&bytes);
        let mut parts = originals[bytes.below(2)].clone();
        parts.mutate_by(&mut bytes);
        read(&base.path().join("mutated"), &parts);
    }
}

#[test]
fn a_mutated_run_is_read_or_refused() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let mut random = Random(number("SEED").unwrap_or(20));
    let base = tempdir().unwrap();
    let originals = originals(base.path()).map(|dir| Parts::of(&dir));
    let dir = base.path().join("mutated");
    let (mut refused, mut damaged) = (0, 0);
    let mutations = number("MUTATIONS").unwrap_or(MUTATIONS);
    for _ in 0..mutations {
        let mut parts = originals[random.below(originals.len())].clone();
        (0..=random.below(3)).for_each(|_| parts.mutate(&mut random));
        match read(&dir, &parts) {
            Some(is_whole) => damaged += u64::from(!is_whole),
            None => refused += 1,
        }
    }
    println!("{mutations} mutated runs: {refused} refused, {damaged} damaged");
    assert!(damaged > mutations / 10, "mutations reach the reader");
}
