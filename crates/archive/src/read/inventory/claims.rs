//! What a journal and recent files claim of batches, where no writer would: many times the same bytes, or more rows
//! than a batch can hold. Reading all that they name would take days.

use std::collections::HashMap;

use crate::read::batch::Batch;
use crate::read::message::MAX_ROWS;
use model::damage::Damage;

/// Takes out the batches that claim the impossible, and returns their damage.
pub(super) fn take_impossible(parts: &mut Vec<(u32, Batch)>) -> Vec<Damage> {
    let mut by_file: HashMap<_, Vec<(u64, u64, usize)>> = HashMap::new();
    for (number, (_, batch)) in parts.iter().enumerate() {
        let end = batch.offset.saturating_add(batch.length);
        by_file.entry(batch.file.path.clone()).or_default().push((batch.offset, end, number));
    }
    let mut why = vec![None; parts.len()];
    for batches in by_file.values_mut() {
        batches.sort_unstable();
        let mut read_to = 0;
        for (offset, end, number) in batches {
            if *offset < read_to {
                why[*number] = Some("it shares its bytes with another batch");
            }
            read_to = read_to.max(*end);
        }
    }
    let mut reasons = why.into_iter();
    let mut damage = Vec::new();
    parts.retain(|(_, batch)| {
        let shared = reasons.next().flatten();
        let reason = if batch.rows > MAX_ROWS { Some("no batch has that many rows") } else { shared };
        damage.extend(reason.map(|why| Damage { rows: None, ..batch.damage(why) }));
        reason.is_none()
    });
    damage
}
