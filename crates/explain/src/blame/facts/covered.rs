//! Which row counts at each moment, where rows overlap.

/// A time that a row covers: start, end, row.
pub(crate) type Covered = (u64, u64, u32);

/// The innermost row at each moment: of overlapping rows the last to start, and of those the first to end. The result
/// is in order of time and does not overlap.
pub(crate) fn innermost(mut rows: Vec<Covered>) -> Vec<Covered> {
    rows.sort_unstable_by_key(|&(start_ns, end_ns, row)| (start_ns, std::cmp::Reverse(end_ns), row));
    let mut covered: Vec<Covered> = Vec::with_capacity(rows.len());
    let mut open = std::collections::BinaryHeap::new();
    let mut upcoming = rows.into_iter().peekable();
    let mut now_ns = 0;
    loop {
        while open.peek().is_some_and(|&(_, std::cmp::Reverse(end_ns), _)| end_ns <= now_ns) {
            open.pop();
        }
        if open.is_empty() {
            let Some(&(start_ns, ..)) = upcoming.peek() else { return covered };
            now_ns = start_ns;
        }
        while let Some((start_ns, end_ns, row)) = upcoming.next_if(|&(start_ns, ..)| start_ns <= now_ns) {
            open.push((start_ns, std::cmp::Reverse(end_ns), row));
        }
        let Some(&(_, std::cmp::Reverse(end_ns), row)) = open.peek() else { continue };
        let until_ns = upcoming.peek().map_or(end_ns, |&(start_ns, ..)| start_ns.min(end_ns));
        if until_ns > now_ns {
            match covered.last_mut() {
                Some(last) if last.1 == now_ns && last.2 == row => last.1 = until_ns,
                _ => covered.push((now_ns, until_ns, row)),
            }
            now_ns = until_ns;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::innermost;

    /// One bar per row; each moment shows its innermost row.
    fn check(rows: &[&str], expected: &str) {
        let covered = rows
            .iter()
            .zip(0..)
            .filter_map(|(line, row)| Some((line.find('=')? as u64, line.rfind('=')? as u64 + 1, row)));
        let mut shown = vec![b' '; expected.len()];
        for (from, to, row) in innermost(covered.collect()) {
            shown[from as usize..to as usize].fill(b'0' + row as u8);
        }
        assert_eq!(String::from_utf8(shown).unwrap(), expected, "of {rows:?}");
    }

    #[test]
    fn the_innermost_row_covers_the_moment() {
        check(&["==========", "   ===    ", "    =     "], "0001210000");
        check(&["=====     ", "   =======", "          "], "0001111111");
        check(&["==   ", "  == "], "0011 ");
        check(&["====", "====", "== "], "2211");
        check(&[" =  ", "   = "], " 0 1");
    }
}
