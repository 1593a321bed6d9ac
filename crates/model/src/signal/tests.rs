use super::{SIGNALS, SOURCES, Signal, SignalKind};

#[test]
fn names_and_codes_read_back() {
    for definition in SIGNALS {
        let signal = definition.signal;
        assert_eq!(Signal::from_name(definition.name), Some(signal));
        let from_code = match definition.kind {
            SignalKind::Pair | SignalKind::Span => Signal::from_span(signal.code()),
            SignalKind::Mark => Signal::from_mark(signal.code()),
        };
        assert_eq!(from_code, Some(signal));
    }
    assert_eq!(Signal::from_mark(0), None);
    assert_eq!(Signal::from_span(99), None);
}

#[test]
fn a_pair_is_known_by_its_ends_and_an_unknown_name_is_no_error() {
    assert_eq!(Signal::from_name("mm_shrink_slab_start"), Some(Signal::ShrinkSlab));
    assert_eq!(Signal::from_name("contention"), Some(Signal::Contention));
    assert_eq!(Signal::from_name("a_later_kernels"), None);
    assert_eq!(Signal::from_name(""), None);
}

#[test]
fn each_signal_has_one_source_and_each_program_one_name() {
    for definition in SIGNALS {
        let sources = SOURCES.iter().filter(|source| source.signals.contains(&definition.signal));
        assert_eq!(sources.count(), 1, "{}", definition.name);
    }
    let mut programs: Vec<&str> =
        SOURCES.iter().flat_map(|source| source.programs).map(|program| program.name).collect();
    let all = programs.len();
    programs.sort_unstable();
    programs.dedup();
    assert_eq!(programs.len(), all);
}
