//! Numbers, letters and sizes of events.

use super::{Action, BlockEvent, DeviceNumber, Kind, Operation};

#[test]
fn an_event_fits_a_cache_line() {
    assert!(size_of::<BlockEvent>() <= 64);
}

#[test]
fn device_numbers() {
    for (major, minor) in [(7, 2), (259, 3), (4095, 1_048_575)] {
        let device = DeviceNumber::new(major, minor);
        assert_eq!((device.major(), device.minor()), (major, minor));
    }
    assert_eq!(DeviceNumber::new(8, 16).to_string(), "8,16");
    assert_eq!(
        ["8,16", "8:16", "8", "btrfs-1", "8:x"].map(DeviceNumber::parse),
        [Some(DeviceNumber::new(8, 16)), Some(DeviceNumber::new(8, 16)), None, None, None]
    );
}

#[test]
fn kinds_read_and_written() {
    for text in ["R", "RA", "WS", "FWS", "FWFSM", "WFSM", "FN", "N", "D", "DS", "RSM"] {
        assert_eq!(Kind::from_rwbs(text.as_bytes()).unwrap().to_string(), text);
    }
    assert_eq!(Kind::from_rwbs(b"Q"), None);
    let journal = Kind::from_rwbs(b"FWFSM").unwrap();
    assert_eq!(journal.operation(), Operation::Write);
    assert!(journal.has(Kind::PREFLUSH) && journal.has(Kind::FUA) && !journal.has(Kind::AHEAD));
}

#[test]
fn actions_by_number_and_letters() {
    for number in 0..64 {
        let Some(action) = Action::from_number(number) else { continue };
        assert_eq!(action as u32, number);
        if !matches!(action, Action::Abort | Action::DriverData) {
            assert_eq!(Action::from_letters(action.letters().as_bytes()), Some(action));
        }
    }
    assert_eq!(Action::from_number(0), None);
    assert_eq!(Action::from_number(20), None);
}
