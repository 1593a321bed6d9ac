use std::path::Path;

use libbpf_rs::Btf;
use libbpf_rs::btf::types::{MemberAttr, Struct, StructMember};

use super::{KernelTypes, RequestFlags, essential};

const MODULES: &str = "/sys/kernel/btf";

/// `None` where the kernel has none.
fn running() -> Option<KernelTypes> {
    let path = Path::new(MODULES).join("vmlinux");
    if !path.exists() {
        println!("skipped: this kernel has no BTF");
        return None;
    }
    Some(KernelTypes::read(&path).unwrap())
}

#[test]
fn names_without_the_ends_of_variants() {
    for (name, expected) in [
        ("file_lock___old", "file_lock"),
        ("task_struct", "task_struct"),
        ("a___b___c", "a___b"),
        ("a____b", "a____b"),
        ("___x", "___x"),
        ("", ""),
    ] {
        assert_eq!(essential(name.as_bytes()), expected.as_bytes(), "{name}");
    }
}

#[test]
fn tracepoints_have_their_arguments() {
    let Some(types) = running() else { return };
    let tracepoints = types.tracepoints();
    assert_eq!(tracepoints.get("block_rq_complete"), Some(&3));
    assert_eq!(tracepoints.get("no_such_tracepoint"), None);
}

/// libbpf is the judge of what is written.
#[test]
fn a_part_of_the_types_is_as_libbpf_reads_all_of_them() {
    let Some(types) = running() else { return };
    let part = types.for_programs("task_struct___old\nrequest\nno_such_type\n");
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), &part).unwrap();
    let (part, all) = (Btf::from_path(file.path()).unwrap(), Btf::from_vmlinux().unwrap());
    println!("{} of {} types", part.len(), all.len());
    assert!(part.len() * 20 < all.len());
    for name in ["task_struct", "request"] {
        let members = |btf: &Btf<'_>| {
            let found = btf.type_by_name::<Struct<'_>>(name).unwrap();
            found.iter().map(|member| format!("{:?} {:?}", member.name, member.attr)).collect::<Vec<_>>()
        };
        assert_eq!(members(&part), members(&all), "{name}");
    }
    assert_eq!(types.has_member("task_struct", "comm"), Some(true));
    assert_eq!(types.has_member("request", "comm"), Some(false));
    assert_eq!(types.has_member("no_such_type", "comm"), None);
}

#[test]
fn what_is_no_type_information_is_refused() {
    let mut short = vec![0x9f, 0xeb, 1, 0, 24, 0, 0, 0, 0, 0, 0, 0, 255];
    short.resize(24, 0);
    for bytes in [vec![], vec![0x9f, 0xeb], short] {
        assert!(KernelTypes::parse(bytes).is_none());
    }
}

/// The bits are those of the kernel's enumeration, named or not; of a structure libbpf is the judge.
#[test]
fn flags_and_places_are_found_by_name() {
    let Some(types) = running() else { return };
    let flags = types.request_flags();
    let older = RequestFlags::default();
    match types.enumerator("__RQF_STARTED") {
        Some(first) => assert_eq!(u32::from(flags.flush_bit), first + 1),
        None => assert_eq!((flags.flush_bit, flags.timed_out_bit), (older.flush_bit, older.timed_out_bit)),
    }
    let all = Btf::from_vmlinux().unwrap();
    let request: Struct<'_> = all.type_by_name("request").unwrap();
    let is_it = |member: &StructMember<'_>| member.name.is_some_and(|name| name == "start_time_ns");
    let MemberAttr::Normal { offset } = request.iter().find(is_it).unwrap().attr else { panic!("a bit field") };
    assert_eq!(types.offset("request", "start_time_ns").map(u32::from), Some(offset / 8));
    assert_eq!(types.offset("request", "no_such_member"), None);
}
