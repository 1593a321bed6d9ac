//! Compiles the BPF programs, which the library carries within it.

use std::env;
use std::path::{Path, PathBuf};

use libbpf_cargo::SkeletonBuilder;

const FOLDER: &str = "src/bpf";
const PROGRAMS: [&str; 3] = ["floor", "funclat", "stall"];
/// The first with the compare-and-exchange that the table of requests needs (Linux 5.12).
const PROCESSOR: &str = "-mcpu=v3";

fn main() {
    println!("cargo::rerun-if-changed={FOLDER}");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    // The programs carry the names of their sources: not where those lie here, so that they are the same wherever they are built.
    let here = env::current_dir().expect("cargo starts it in the crate's folder");
    let map = format!("-ffile-prefix-map={}=record", here.display());
    for name in PROGRAMS {
        let source = Path::new(FOLDER).join(format!("{name}.bpf.c"));
        let object = out.join(format!("{name}.bpf.o"));
        if let Err(error) = SkeletonBuilder::new().source(&source).clang_args([PROCESSOR, &map]).obj(&object).build() {
            panic!(
                "{} cannot be compiled: {error:#}\nIt needs clang (Debian: apt-get install clang libelf-dev zlib1g-dev)",
                source.display()
            );
        }
    }
}
