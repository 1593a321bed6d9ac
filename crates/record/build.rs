//! Compiles the tracer's BPF programs, which the library carries within it.

use std::env;
use std::path::PathBuf;

use libbpf_cargo::SkeletonBuilder;

const SOURCE: &str = "src/bpf/stall.bpf.c";

fn main() {
    let object = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it")).join("stall.bpf.o");
    println!("cargo::rerun-if-changed=src/bpf");
    if let Err(error) = SkeletonBuilder::new().source(SOURCE).obj(&object).build() {
        panic!(
            "{SOURCE} cannot be compiled: {error:#}\nIt needs clang (Debian: apt-get install clang libelf-dev zlib1g-dev)"
        );
    }
}
