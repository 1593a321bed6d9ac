//! Compiles the BPF programs, which the library carries within it.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use model::signal::{SIGNALS, SignalKind};
use model::stall::{REQUEST_BUCKET_BITS, REQUEST_BUCKETS};

const FOLDER: &str = "src/bpf";
const PROGRAMS: [&str; 4] = ["early", "floor", "funclat", "stall"];
/// The first with the compare-and-exchange that the table of requests needs (Linux 5.12).
const PROCESSOR: &str = "-mcpu=v3";
/// `-g` adds the types that libbpf adapts the programs by. The kernel accepts no code of a stack protector. Some
/// kernels refuse a program that takes a pointer for a number, and others calculate with it. A function that is not
/// declared is a missing include.
const FLAGS: [&str; 8] = [
    "-g",
    "-O2",
    "-target",
    "bpf",
    PROCESSOR,
    "-fno-stack-protector",
    "-Werror=int-conversion",
    "-Werror=implicit-function-declaration",
];
const NEEDED: &str = "It needs clang and a C compiler (Debian: apt-get install clang gcc libelf-dev zlib1g-dev)";

/// What the programs share with the model, generated from it.
const HEADER: &str = "model.h";
/// The compiler's arguments, one on each line, for `tests/bpf_headers.rs`.
const ARGUMENTS: &str = "arguments";
/// What removes the debugger's part of an object.
const STRIP: &str = "src/bpf/strip.c";

fn main() {
    println!("cargo::rerun-if-changed={FOLDER}");
    println!("cargo::rerun-if-env-changed=CC");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    std::fs::write(out.join(HEADER), header()).unwrap_or_else(|error| panic!("{HEADER} cannot be written: {error}"));
    let libbpf = PathBuf::from(env::var_os("DEP_BPF_INCLUDE").expect("libbpf-sys says where its headers are"));
    let strip = out.join("strip");
    let arguments = arguments(&libbpf, &out);
    std::fs::write(out.join(ARGUMENTS), arguments.join("\n")).expect("the output folder is writable");
    let mut started = vec![start(&mut compiler_of_strip(&libbpf, &strip))];
    for name in PROGRAMS {
        started.push(start(&mut compiler_of_program(name, &arguments, &out)));
    }
    started.into_iter().for_each(finish);
    for name in PROGRAMS {
        let result = |ending: &str| out.join(format!("{name}.{ending}"));
        finish(start(Command::new(&strip).arg(unstripped(name, &out)).arg(result("bpf.o")).arg(result("types"))));
    }
}

/// It is linked with the libbpf that the library is linked with, and runs here: nothing is built for another processor.
fn compiler_of_strip(libbpf: &Path, strip: &Path) -> Command {
    let mut command = Command::new(env::var_os("CC").unwrap_or_else(|| "cc".into()));
    let library = libbpf.parent().expect("libbpf's headers lie beside the library").join("libbpf.a");
    command.arg("-I").arg(libbpf).arg(STRIP).arg(library).args(["-lelf", "-lz", "-o"]).arg(strip);
    command
}

fn arguments(libbpf: &Path, out: &Path) -> Vec<String> {
    // The programs carry the names of their sources: not where those lie here, so that they are the same wherever they
    // are built.
    let here = env::current_dir().expect("cargo starts it in the crate's folder");
    let map = |folder: &Path| format!("-ffile-prefix-map={}=record", folder.display());
    let mut arguments = FLAGS.map(str::to_owned).to_vec();
    arguments.extend([format!("-D__TARGET_ARCH_{}", architecture()), map(&here), map(out)]);
    arguments.extend([out, libbpf].map(|folder| format!("-I{}", folder.display())));
    arguments
}

fn compiler_of_program(name: &str, arguments: &[String], out: &Path) -> Command {
    let mut command = Command::new("clang");
    command.args(arguments).arg("-I").arg(FOLDER).arg("-c").arg(Path::new(FOLDER).join(format!("{name}.bpf.c")));
    command.arg("-o").arg(unstripped(name, out));
    command
}

fn unstripped(name: &str, out: &Path) -> PathBuf {
    out.join(format!("{name}.unstripped.o"))
}

/// The name that libbpf's headers have for the processor whose registers the programs read.
fn architecture() -> String {
    let name = env::var("CARGO_CFG_TARGET_ARCH").expect("cargo sets it");
    match name.as_str() {
        "x86_64" => "x86".to_owned(),
        "aarch64" => "arm64".to_owned(),
        _ => name,
    }
}

fn start(command: &mut Command) -> (String, Child) {
    let line = format!("{command:?}");
    match command.spawn() {
        Ok(child) => (line, child),
        Err(error) => panic!("{line}: {error}\n{NEEDED}"),
    }
}

fn finish((line, mut child): (String, Child)) {
    let status = child.wait().unwrap_or_else(|error| panic!("{line}: {error}"));
    assert!(status.success(), "{line}: {status}\n{NEEDED}");
}

/// Numbers of spans and marks, by the names of their signals, and the layout of histograms.
fn header() -> String {
    let count = |fits: fn(SignalKind) -> bool| SIGNALS.iter().filter(|signal| fits(signal.kind)).count();
    let numbers = |fits: fn(SignalKind) -> bool| {
        let fitting = SIGNALS.iter().filter(move |definition| fits(definition.kind));
        let line = |name: &str, code| format!("\t{} = {code},\n", name.to_uppercase());
        fitting.map(|definition| line(definition.name, definition.signal.code())).collect::<String>()
    };
    let (spans, marks) = (numbers(|kind| kind != SignalKind::Mark), numbers(|kind| kind == SignalKind::Mark));
    let (paired, all) = (count(|kind| kind == SignalKind::Pair), count(|kind| kind != SignalKind::Mark));
    format!(
        "/* Generated by build.rs from model::signal and model::stall. */\n#pragma once\n\n\
         /* What a span lies between; the first PAIRED have a begin and an end. */\n\
         enum span {{\n{spans}\tPAIRED = {paired},\n\tSPANS = {all},\n}};\n\n\
         /* What announces a wait. */\nenum mark {{\n\tNO_MARK = 0,\n{marks}}};\n\n\
         #define BUCKETS {REQUEST_BUCKETS}\n#define BUCKET_BITS {REQUEST_BUCKET_BITS}\n"
    )
}
