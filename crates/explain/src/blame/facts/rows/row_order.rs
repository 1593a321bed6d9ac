//! The order of rows: by task and start.

use std::cmp::Ordering;

use crate::blame::facts::rows::Row;

/// Sorts rows in place: their numbers are sorted, then each row is moved once. Rows are large, and there are millions.
pub(crate) fn sort(rows: &mut [Row]) {
    let mut order: Vec<(u32, u32, u64)> = rows.iter().zip(0..).map(|(row, at)| (row.tid, at, row.start_ns)).collect();
    // Rows that were sorted are sorted again with others behind them: a stable sort makes use of that.
    order.sort_by(|a, b| {
        // Rows that nothing tells apart keep their order.
        let rest = || by_rest(&rows[a.1 as usize], &rows[b.1 as usize]).then_with(|| a.1.cmp(&b.1));
        (a.0, a.2).cmp(&(b.0, b.2)).then_with(rest)
    });
    let mut from: Vec<u32> = order.into_iter().map(|(_, at, _)| at).collect();
    for first in 0..rows.len() {
        if from[first] as usize == first {
            continue;
        }
        // Around a circle: each row is copied once, and the first one last.
        let (held, mut at) = (rows[first].clone(), first);
        while from[at] as usize != first {
            let next = from[at] as usize;
            rows[at] = rows[next].clone();
            from[at] = at as u32;
            at = next;
        }
        rows[at] = held;
        from[at] = at as u32;
    }
}

/// Also by all that tells equal times apart: the result does not depend on the order of arrival.
fn by_rest(a: &Row, b: &Row) -> Ordering {
    let rest = |row: &Row| {
        let what = (
            row.request.get(),
            row.stack.get(),
            row.noted.whom.get(),
            row.noted.whom_stack.get(),
            row.worker_tid.get(),
        );
        (row.end_ns, row.kind.name(), row.runnable_ns, what)
    };
    rest(a).cmp(&rest(b))
}

/// For each row, the latest end of it and those before it.
pub(crate) fn latest_ends_ns(rows: &[Row]) -> impl Iterator<Item = u64> {
    let mut latest_ns = 0;
    rows.iter().map(move |row| {
        latest_ns = row.end_ns.max(latest_ns);
        latest_ns
    })
}

#[cfg(test)]
mod tests {
    use model::stall::{StallKind, StallRecord};

    use super::*;
    use crate::blame::facts::names::Names;

    #[test]
    fn rows_are_by_task_and_start_and_equal_ones_keep_their_order() {
        let mut names = Names::default();
        let mut rows: Vec<Row> = (0..500_u64)
            .filter_map(|number| {
                let (tid, start_ns) = ((number * 7919 % 5) as u32, number * 104_729 % 61);
                let record = StallRecord {
                    // Of no meaning to the order.
                    bytes: Some(number),
                    waker_tid: Some((number % 3) as u32),
                    ..StallRecord::new(StallKind::OffCpu, tid, start_ns, start_ns + 1 + number % 4)
                };
                Row::new(&record, &mut names)
            })
            .collect();
        let mut expected = rows.clone();
        expected.sort_by(|a, b| (a.tid, a.start_ns).cmp(&(b.tid, b.start_ns)).then_with(|| by_rest(a, b)));
        sort(&mut rows);
        let numbers = |rows: &[Row]| rows.iter().map(|row| row.bytes).collect::<Vec<_>>();
        assert_eq!(numbers(&rows), numbers(&expected));
    }
}
