//! Block requests: each device has as many tracks as requests were in flight at once.

use std::io::{self, Write};

use model::block::DeviceNumber;
use model::stall::{KindCounts, RequestRecord};

use super::PerfettoTrace;
use super::lanes::DisjointTracks;
use super::packet::{Note, Track};
use super::track_kind::TrackKind;

impl<W: Write> PerfettoTrace<W> {
    /// Finished requests: a slice from the first known moment, and in it the time in the queue and at the device.
    pub fn requests(&mut self, mut requests: Vec<RequestRecord>) -> io::Result<()> {
        requests.sort_by_key(RequestRecord::began_ns);
        requests.iter().try_for_each(|request| self.request(request))
    }

    fn request(&mut self, request: &RequestRecord) -> io::Result<()> {
        let span = (request.began_ns(), request.completed_ns);
        let track = self.row(request.device, span)?;
        let (in_flight, overtaken_by) = (counts(&request.in_flight), counts(&request.overtaken_by));
        let mut notes = vec![
            Note::Number("request", u64::from(request.request)),
            Note::Number("sector", request.sector),
            Note::Number("bytes", u64::from(request.bytes)),
            Note::Number("tid", u64::from(request.tid)),
            Note::Number("merges", u64::from(request.merges)),
        ];
        notes.extend(request.errno.map(|errno| Note::Signed("errno", i64::from(errno))));
        notes.extend(request.throttled.then_some(Note::Text("throttled", "by its cgroup")));
        for (name, counts) in [("in_flight", &in_flight), ("overtaken_by", &overtaken_by)] {
            notes.extend((!counts.is_empty()).then_some(Note::Text(name, counts)));
        }
        let kind = request.kind.to_string();
        let flows = [&[u64::from(request.request) + 1], self.chains.of_request(request.request)].concat();
        self.packets.slice(track, span, ("request", &kind), &flows, &notes)?;
        if let (Some(inserted_ns), Some(issued_ns)) = (request.inserted_ns, request.issued_ns) {
            self.packets.slice(track, (inserted_ns, issued_ns.max(inserted_ns)), ("request", "queue"), &[], &[])?;
        }
        if let Some(issued_ns) = request.issued_ns.filter(|issued_ns| *issued_ns <= span.1) {
            self.packets.slice(track, (issued_ns, span.1), ("request", "device"), &[], &[])?;
        }
        Ok(())
    }

    /// The device's first free track.
    fn row(&mut self, device: DeviceNumber, (start_ns, end_ns): (u64, u64)) -> io::Result<Track> {
        let name = self.device_names.get(&device).cloned().unwrap_or_else(|| device.to_string());
        if !self.devices.contains_key(&device) {
            let track = TrackKind::Device.track(u64::from(device.0));
            self.packets.track(track, None, &format!("requests of {name} ({device})"))?;
            self.devices.insert(device, (track, DisjointTracks::default(), Vec::new()));
        }
        let (parent, rows, tracks) = self.devices.get_mut(&device).expect("it was inserted above");
        let (row, parent) = (rows.place(start_ns, end_ns), *parent);
        if let Some(track) = tracks.get(row) {
            return Ok(*track);
        }
        let track = self.lane(parent, &name)?;
        self.devices.get_mut(&device).expect("it was inserted above").2.push(track);
        Ok(track)
    }
}

fn counts(counts: &KindCounts) -> String {
    let words: Vec<String> = counts.iter().map(|(kind, count)| format!("{kind}{count}")).collect();
    words.join(" ")
}
