//! The events of a run as a table: phases, losses, clock steps, the end.

use std::io;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StringArray, UInt64Array};
use arrow_schema::{DataType, Schema};
use model::event::RunEvent;
use serde_json::Value;

use crate::column::column;

/// The table's name.
pub const EVENTS: &str = "events";

/// One row for each event: its time (absent for an event without one), its name, its phase, and all of it as a JSON
/// object.
pub fn table(events: &[RunEvent]) -> io::Result<RecordBatch> {
    let values: Vec<Value> = events.iter().map(|event| serde_json::to_value(event).unwrap_or_default()).collect();
    let text =
        |key: &str| -> ArrayRef { Arc::new(values.iter().map(|event| event[key].as_str()).collect::<StringArray>()) };
    let at_ns: UInt64Array = values.iter().map(|event| event["at_ns"].as_u64().or(event["from_ns"].as_u64())).collect();
    let detail: StringArray = values.iter().map(|event| Some(event.to_string())).collect();
    let schema = Schema::new(vec![
        column("at_ns", DataType::UInt64, "nanoseconds", true),
        column("event", DataType::Utf8, "text", false),
        column("phase", DataType::Utf8, "text", true),
        column("detail", DataType::Utf8, "json", false),
    ]);
    RecordBatch::try_new(Arc::new(schema), vec![Arc::new(at_ns), text("event"), text("phase"), Arc::new(detail)])
        .map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use arrow_array::Array;
    use arrow_array::cast::AsArray;
    use model::event::{Ending, RunEvent};

    use super::table;

    #[test]
    fn an_event_without_a_moment_has_none() {
        let events = [
            RunEvent::PhaseStarted { phase: "run".into(), measured: true, at_ns: 7 },
            RunEvent::LateSample { sample: 3, late_ns: 9 },
            RunEvent::Ended { at_ns: 11, how: Ending::Done },
        ];
        let table = table(&events).unwrap();
        assert_eq!(table.num_rows(), 3);
        assert!(table.column(0).is_null(1) && table.column(2).is_null(2));
        assert_eq!(table.column(1).as_string::<i32>().value(1), "late_sample");
        assert_eq!(table.column(2).as_string::<i32>().value(0), "run");
        assert!(table.column(3).as_string::<i32>().value(2).contains("\"how\":\"done\""));
    }
}
