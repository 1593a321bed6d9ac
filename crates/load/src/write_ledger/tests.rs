use super::{HEADER_WORDS, LedgerShape, WriteLedger};
use crate::data::FileId;

const SHAPE: LedgerShape = LedgerShape { run: 9, set: 1, files: 3, directories: 2, blocks: 5, block_bytes: 4096 };

fn in_file() -> (tempfile::TempDir, std::path::PathBuf, WriteLedger) {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("ledger");
    let ledger = WriteLedger::create(Some(&path), SHAPE).unwrap();
    (home, path, ledger)
}

#[test]
fn entries_survive_reopening() {
    let (_home, path, ledger) = in_file();
    ledger.set_filled();
    let account = ledger.file_ledger(2);
    assert_eq!((account.issue(4), account.issue(4), account.issue(3)), (1, 2, 1));
    account.acknowledge(4, 1);
    let again = WriteLedger::open(&path).unwrap();
    assert_eq!((again.shape(), again.is_filled()), (SHAPE, true));
    let expected = again.file_ledger(2).expected_after_crash(4);
    assert_eq!((expected.least, expected.most, expected.whole), (1, 2, false));
    let untouched = again.file_ledger(1).expected_after_crash(4);
    assert_eq!((untouched.least, untouched.most, untouched.whole), (0, 0, true));
    assert_eq!(expected.owner.file, FileId::new(0, 1, 1), "the third of the files over two directories");
}

#[test]
fn a_failed_write_leaves_a_block_in_doubt_until_the_next() {
    let ledger = WriteLedger::create(None, SHAPE).unwrap();
    let account = ledger.file_ledger(0);
    account.issue(0);
    assert_eq!(account.expected_now(0).map(|expected| (expected.least, expected.most)), Some((1, 1)));
    account.doubt(0);
    assert_eq!(account.expected_now(0), None);
    assert_eq!(account.issue(0), 2);
    assert!(account.expected_now(0).is_some());
}

#[test]
fn acknowledgements_never_go_back() {
    let ledger = WriteLedger::create(None, SHAPE).unwrap();
    let account = ledger.file_ledger(0);
    [7, 5].into_iter().for_each(|generation| account.acknowledge(0, generation));
    assert_eq!(account.expected_after_crash(0).least, 7);
}

#[test]
fn other_files_are_refused() {
    let (home, path, ledger) = in_file();
    drop(ledger);
    let refused = |bytes: &[u8]| {
        let other = home.path().join("other");
        std::fs::write(&other, bytes).unwrap();
        WriteLedger::open(&other).err().expect("it is no ledger").to_string()
    };
    assert!(refused(b"").contains("too short"));
    assert!(refused(&[7; HEADER_WORDS * 8]).contains("not a ledger"));
    let whole = std::fs::read(&path).unwrap();
    assert!(refused(&whole[..whole.len() - 1]).contains("does not match"));
    assert!(WriteLedger::create(Some(&path), SHAPE).is_err(), "an existing ledger is not overwritten");
}
