use model::operation::Fault;
use proptest::prelude::*;

use super::{BlockOwner, Damage, Expected, UNIT_BYTES, check, fits, put};
use crate::data::FileId;

const BLOCK: usize = 4096;
const AT: u64 = 3 * BLOCK as u64;

fn owner() -> BlockOwner {
    BlockOwner { run: 7, file: FileId::new(0, 0, 5) }
}

fn block(offset: u64, owner: BlockOwner, generation: u64) -> Vec<u8> {
    let mut block = vec![0; BLOCK];
    put(&mut block, offset, owner, generation);
    block
}

fn expected(least: u64, most: u64, whole: bool) -> Expected {
    Expected { owner: owner(), least, most, whole }
}

fn fault(block: &[u8]) -> Option<(Fault, u64)> {
    check(block, AT, &expected(4, 9, true)).err().map(|Damage { fault, offset_bytes }| (fault, offset_bytes - AT))
}

#[test]
fn a_block_at_its_location_is_valid() {
    for generation in 4..=9 {
        assert_eq!(check(&block(AT, owner(), generation), AT, &expected(4, 9, true)), Ok(generation));
    }
    assert!(fits(512) && fits(1 << 20) && !fits(0) && !fits(1000));
}

#[test]
fn an_older_write_is_stale_and_one_that_never_was_is_wrong() {
    assert_eq!(fault(&block(AT, owner(), 3)), Some((Fault::Stale, 0)));
    assert_eq!(fault(&block(AT, owner(), 10)), Some((Fault::Wrong, 0)));
    assert_eq!(fault(&block(AT, BlockOwner { run: 8, ..owner() }, 5)), Some((Fault::Stale, 0)), "of an earlier run");
    assert_eq!(fault(&[0; BLOCK]), Some((Fault::Wrong, 0)));
}

#[test]
fn a_block_of_another_location_is_misplaced() {
    assert_eq!(fault(&block(AT + UNIT_BYTES, owner(), 5)), Some((Fault::Misplaced, 0)));
    let other = BlockOwner { file: FileId::new(0, 0, 6), ..owner() };
    assert_eq!(fault(&block(AT, other, 5)), Some((Fault::Misplaced, 0)));
}

#[test]
fn a_block_of_two_writes_is_torn_where_the_second_begins() {
    let mut torn = block(AT, owner(), 5);
    torn[1024..].copy_from_slice(&block(AT, owner(), 4)[1024..]);
    assert_eq!(fault(&torn), Some((Fault::Torn, 1024)));
    assert_eq!(check(&torn, AT, &expected(4, 9, false)), Ok(4), "a write that was not acknowledged may be half done");
    assert_eq!(
        check(&torn, AT, &expected(5, 9, false)).unwrap_err().fault,
        Fault::Torn,
        "an acknowledged write may not be torn"
    );
    let half_a_unit = [&block(AT, owner(), 5)[..200], &block(AT, owner(), 4)[200..]].concat();
    assert_eq!(fault(&half_a_unit), Some((Fault::Torn, 0)));
}

proptest! {
    #[test]
    fn every_changed_bit_is_detected(byte in 0..BLOCK, bit in 0..8u32, generation in 4..=9u64) {
        let mut changed = block(AT, owner(), generation);
        changed[byte] ^= 1 << bit;
        let unit = (byte as u64 / UNIT_BYTES) * UNIT_BYTES;
        let (fault, at) = fault(&changed).expect("something is wrong");
        prop_assert!(matches!(fault, Fault::Wrong | Fault::Torn) && at == unit, "{fault:?} at {at}");
    }

    #[test]
    fn any_bytes_can_be_checked(bytes in proptest::collection::vec(any::<u8>(), 0..1500)) {
        prop_assert!(bytes.is_empty() || check(&bytes, AT, &expected(4, 9, true)).is_err());
    }
}
