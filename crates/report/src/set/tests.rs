use super::ranks;

#[test]
fn ranks_are_ranges() {
    for (of, text) in [
        (vec![], ""),
        (vec![0], "0"),
        (vec![0, 1, 2, 5], "0-2, 5"),
        (vec![0, 2, 4, 6, 8, 9], "0, 2, 4, 6, ... (6 ranks)"),
        (vec![u64::MAX - 1, u64::MAX], "18446744073709551614-18446744073709551615"),
    ] {
        assert_eq!(ranks(&of), text);
    }
}
