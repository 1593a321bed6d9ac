//! The requests that rows name. A long run has millions: none is an allocation of its own.

use model::block::Kind;
use model::stall::{KindCounts, RequestRecord};

use crate::hashing::FastMap;

/// The place of a request that was named, and not added.
const MISSING: u32 = u32::MAX;

/// Requests by number.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    places: FastMap<u32, u32>,
    /// Without the counts of others.
    records: Vec<RequestRecord>,
    /// For each record, the begin of its counts, that of those that overtook it, and their end.
    counted: Vec<[u32; 3]>,
    counts: Vec<(Kind, u32)>,
}

impl Requests {
    /// A row names it.
    pub(crate) fn name(&mut self, number: u32) {
        self.places.entry(number).or_insert(MISSING);
    }

    pub(crate) fn is_named(&self, number: u32) -> bool {
        self.places.contains_key(&number)
    }

    /// Adds one. Of several with one number the last counts.
    pub(crate) fn add(&mut self, record: &RequestRecord) {
        let counts = [&record.in_flight, &record.overtaken_by];
        let mut counted = [self.counts.len() as u32; 3];
        for (counts, end) in counts.into_iter().zip(&mut counted[1..]) {
            self.counts.extend(counts);
            *end = self.counts.len() as u32;
        }
        let parts = record.parts.clone();
        let kept = RequestRecord { parts, in_flight: Vec::new(), overtaken_by: Vec::new(), ..*record };
        let place = self.places.entry(record.request).or_insert(MISSING);
        if let Some(known) = self.records.get_mut(*place as usize) {
            (*known, self.counted[*place as usize]) = (kept, counted);
        } else {
            *place = self.records.len() as u32;
            self.records.push(kept);
            self.counted.push(counted);
        }
    }

    /// A limit held the one at a place since then.
    pub(crate) fn hold(&mut self, place: u32, since_ns: u64) {
        if let Some(record) = self.records.get_mut(place as usize) {
            (record.throttled, record.queued_ns) = (true, Some(since_ns));
        }
    }

    /// Without what [`Requests::in_flight`] and [`Requests::overtaken_by`] say of it.
    pub(crate) fn get(&self, number: u32) -> Option<&RequestRecord> {
        self.at(self.place(number)?)
    }

    /// Where one is among them, once all are added.
    pub(crate) fn place(&self, number: u32) -> Option<u32> {
        self.places.get(&number).copied().filter(|&place| place != MISSING)
    }

    /// The one at a place, without what others were there, as from [`Requests::get`].
    pub(crate) fn at(&self, place: u32) -> Option<&RequestRecord> {
        self.records.get(place as usize)
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &RequestRecord> {
        self.records.iter()
    }

    /// The requests of its device when it arrived.
    pub(crate) fn in_flight(&self, record: &RequestRecord) -> KindCounts {
        self.counts_of(record.request, 0)
    }

    /// Those that arrived after it and completed before it.
    pub(crate) fn overtaken_by(&self, record: &RequestRecord) -> KindCounts {
        self.counts_of(record.request, 1)
    }

    fn counts_of(&self, number: u32, which: usize) -> KindCounts {
        let counted = self.places.get(&number).and_then(|place| self.counted.get(*place as usize));
        counted.map_or_else(Vec::new, |of| self.counts[of[which] as usize..of[which + 1] as usize].to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(request: u32, sector: u64, overtaken: u32) -> RequestRecord {
        RequestRecord {
            request,
            device: model::block::DeviceNumber(1),
            sector,
            bytes: 512,
            kind: Kind::default(),
            tid: 1,
            merges: 0,
            queued_ns: None,
            got_ns: None,
            inserted_ns: None,
            issued_ns: None,
            completed_ns: 10,
            errno: None,
            throttled: false,
            parts: None,
            in_flight: vec![(Kind::default(), 3)],
            overtaken_by: vec![(Kind::default(), overtaken); 2],
        }
    }

    #[test]
    fn a_request_that_was_named_is_known_once_it_is_added_and_the_last_of_a_number_counts() {
        let mut requests = Requests::default();
        requests.name(7);
        assert!(requests.is_named(7) && requests.get(7).is_none());
        for (number, sector, overtaken) in [(7, 1, 5), (8, 2, 6), (7, 3, 9)] {
            requests.add(&record(number, sector, overtaken));
        }
        let (of_7, of_8) = (requests.get(7).unwrap(), requests.get(8).unwrap());
        assert_eq!((of_7.sector, of_8.sector, requests.all().count()), (3, 2, 2));
        assert_eq!(requests.overtaken_by(of_7), [(Kind::default(), 9); 2]);
        assert_eq!(requests.in_flight(of_8), [(Kind::default(), 3)]);
    }
}
