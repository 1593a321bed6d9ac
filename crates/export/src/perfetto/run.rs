//! The events of the run: phases as slices, all others as marks.

use std::io::{self, Write};

use model::event::RunEvent;

use super::PerfettoTrace;
use super::packet::Note;
use super::track_kind::TrackKind;

impl<W: Write> PerfettoTrace<W> {
    /// Events in the order of writing.
    pub fn events(&mut self, events: &[RunEvent]) -> io::Result<()> {
        for event in events {
            match event {
                RunEvent::PhaseStarted { phase, at_ns, .. } => self.open_phases.push((phase.clone(), *at_ns)),
                RunEvent::PhaseEnded { phase, at_ns, bytes } => self.phase(phase, *at_ns, *bytes)?,
                other => self.mark(other)?,
            }
        }
        Ok(())
    }

    fn phase(&mut self, phase: &str, end_ns: u64, bytes: u64) -> io::Result<()> {
        let Some(place) = self.open_phases.iter().rposition(|(open, _)| open == phase) else { return Ok(()) };
        let (_, start_ns) = self.open_phases.remove(place);
        let row = self.phases.place(start_ns, end_ns);
        if self.phase_tracks.len() <= row {
            let track = self.lane(TrackKind::Run.track(0), "phases")?;
            self.phase_tracks.push(track);
        }
        let span = (start_ns, end_ns.max(start_ns));
        self.packets.slice(self.phase_tracks[row], span, ("phase", phase), &[], &[Note::Number("bytes", bytes)])
    }

    fn mark(&mut self, event: &RunEvent) -> io::Result<()> {
        let value = serde_json::to_value(event).unwrap_or_default();
        let moment = value["at_ns"].as_u64().or(value["from_ns"].as_u64());
        let sample = value["sample"].as_u64().and_then(|sample| self.samples.get(&(sample as u32)).copied());
        let (Some(at_ns), Some(name)) = (moment.or(sample), value["event"].as_str()) else { return Ok(()) };
        let detail = value.to_string();
        self.packets.instant(TrackKind::Run.track(0), at_ns, ("run", name), &[Note::Text("detail", &detail)])
    }
}
