use model::block::DeviceNumber;
use model::stall::{StallKind, Traced};

use super::calls;
use super::event::{Event, LOSSES, OFF_CPU};
use super::requests::kind_of;
use super::symbols::Symbols;
use super::wording::{Wording, memory_cgroup};

const KALLSYMS: &str = "0000000000000000 A fixed_percpu_data
ffffffff81000000 T _stext
ffffffff81000100 t folio_wait_bit_common.isra.0
ffffffff81000100 t __pfx_folio_wait_bit_common
ffffffff81000200 d data
ffffffff81000300 T filemap_read	[xfs]
";

#[test]
fn addresses_become_plain_names() {
    let mut symbols = Symbols::parse(KALLSYMS);
    assert_eq!(symbols.name(0xffff_ffff_8100_0110), "folio_wait_bit_common");
    assert_eq!(symbols.name(0xffff_ffff_8100_0300), "filemap_read");
    assert_eq!(symbols.name(0x10), "0x10");
    assert_eq!(symbols.address("filemap_read"), Some(0xffff_ffff_8100_0300));
    assert_eq!(Symbols::parse("0000000000000000 T hidden").address("hidden"), None);
}

#[test]
fn what_is_too_short_is_no_event() {
    for length in 0..328 {
        assert_eq!(Event::parse(&vec![0; length]), None, "{length}");
    }
    let mut bytes = vec![0u8; 328 + 320 + 192];
    bytes[0] = OFF_CPU as u8;
    (bytes[80], bytes[84]) = (2, 3);
    let event = Event::parse(&bytes).unwrap();
    assert_eq!((event.kind, event.stack.len(), event.waker_stack.len()), (OFF_CPU, 2, 3));
}

#[test]
fn a_stack_and_a_request_are_told_once() {
    let mut wording = Wording::new("/nonexistent".into(), Symbols::parse(KALLSYMS), false);
    let mut event =
        Event { kind: OFF_CPU, end_ns: 5, call: -1, stack: vec![0xffff_ffff_8100_0110], ..Event::default() };
    event.request.key = 7;
    event.request.device = 7 << 20 | 3;
    let mut traced = Traced::default();
    wording.tell(&event, &mut traced);
    wording.tell(&event, &mut traced);
    assert_eq!((traced.stalls.len(), traced.stacks.len(), traced.requests.len()), (2, 1, 1));
    assert_eq!(traced.stalls[1].kind, StallKind::OffCpu);
    assert_eq!(traced.stalls[1].stack, Some(0));
    assert_eq!(traced.requests[0].device, DeviceNumber::new(7, 3));
    assert_eq!(traced.stacks[0].frames, ["folio_wait_bit_common"]);
    wording.retell();
    wording.tell(&event, &mut traced);
    assert_eq!((traced.stacks.len(), traced.tasks.len()), (2, 2));
    assert_eq!(traced.stacks[0], traced.stacks[1]);
}

#[test]
fn letters_of_requests() {
    let letters = |flags: u32| kind_of(flags).to_string();
    assert_eq!([0, 1 | 1 << 11, 1 | 1 << 17 | 1 << 18, 2].map(letters), ["R", "WS", "FWF", "FN"]);
}

#[test]
fn each_kind_has_a_name_and_each_call_its_number() {
    assert!(LOSSES.iter().all(|name| !name.is_empty()));
    let followed = calls::table().iter().filter(|how| **how != 0).count();
    assert!(followed >= 28, "{followed}");
    let call = calls::of(libc::SYS_pread64 as i32).unwrap();
    assert!(call.name == "pread64" && call.by_descriptor && call.gives_bytes);
    assert!(calls::of(-1).is_none());
}

#[test]
fn the_cgroup_is_that_of_memory_or_the_only_one() {
    let both = "4:blkio:/slow\n3:cpu,memory:/box:1\n0::/user\n";
    assert_eq!(memory_cgroup(both), Some("/box:1"));
    assert_eq!(memory_cgroup("0::/user.slice\n"), Some("/user.slice"));
    assert_eq!(memory_cgroup("4:blkio:/slow\n"), None);
}
