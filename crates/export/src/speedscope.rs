//! speedscope's own format: one profile of all time, and one for each cause.

use std::io::{self, Write};

use model::cause::Cause;
use model::run::RunDescription;
use serde_json::{Value, json};

use crate::off_cpu::{Frame, OffCpuProfile};

/// The schema that the file follows.
const SCHEMA: &str = "https://www.speedscope.app/file-format-schema.json";

/// Writes the file.
pub fn write(profile: &OffCpuProfile, run: &RunDescription, mut sink: impl Write) -> io::Result<()> {
    let causes = Cause::ALL.into_iter().filter(|cause| profile.places().any(|(place, _)| place.cause == *cause));
    let all = part(profile, "all causes", |_| true);
    let of_each = causes.map(|cause| part(profile, cause.words(), move |of| of == cause));
    let document = json!({
        "$schema": SCHEMA,
        "exporter": format!("stallscope {}", run.version),
        "name": run.workload,
        "activeProfileIndex": 0,
        "shared": {"frames": profile.frames().iter().map(frame).collect::<Vec<Value>>()},
        "profiles": std::iter::once(all).chain(of_each).collect::<Vec<Value>>(),
    });
    serde_json::to_writer(&mut sink, &document)?;
    sink.flush()
}

fn frame(frame: &Frame) -> Value {
    let mut value = json!({"name": frame.name});
    if let Some(file) = &frame.file {
        value["file"] = json!(file);
    }
    if let Some(line) = frame.line {
        value["line"] = json!(line);
    }
    value
}

/// The places of some causes, end to end: their order means nothing.
fn part(profile: &OffCpuProfile, name: &str, is_wanted: impl Fn(Cause) -> bool) -> Value {
    let places = || profile.places().filter(|(place, _)| is_wanted(place.cause));
    let samples: Vec<&[u32]> = places().map(|(place, _)| &place.frames[..]).collect();
    let weights: Vec<u64> = places().map(|(_, lost)| lost.time_ns).collect();
    let end = weights.iter().fold(0_u64, |sum, weight| sum.saturating_add(*weight));
    json!({
        "type": "sampled",
        "name": name,
        "unit": "nanoseconds",
        "startValue": 0,
        "endValue": end,
        "samples": samples,
        "weights": weights,
    })
}

#[cfg(test)]
mod tests {
    use model::cause::Cause;
    use model::run::RunDescription;
    use model::time::Moment;
    use serde_json::Value;

    use super::write;
    use crate::off_cpu::{Frame, OffCpuProfile};

    #[test]
    fn profiles_of_the_causes_sum_to_that_of_all() {
        let mut profile = OffCpuProfile::default();
        for (cause, time_ns) in [(Cause::Device, 30), (Cause::Lock, 5), (Cause::Device, 7)] {
            let file = Some(format!("{time_ns}.c"));
            profile.add(("db", "fsync"), cause, vec![Frame { file, ..Frame::named("f") }], time_ns);
        }
        let mut bytes = Vec::new();
        write(&profile, &RunDescription::new("x", Moment::default()), &mut bytes).unwrap();
        let document: Value = serde_json::from_slice(&bytes).unwrap();
        let profiles = document["profiles"].as_array().unwrap();
        let ends: Vec<(&str, u64)> =
            profiles.iter().map(|one| (one["name"].as_str().unwrap(), one["endValue"].as_u64().unwrap())).collect();
        assert_eq!(ends, [("all causes", 42), ("device", 37), ("lock", 5)]);
        let frames = document["shared"]["frames"].as_array().unwrap();
        for one in profiles {
            let (samples, weights) = (one["samples"].as_array().unwrap(), one["weights"].as_array().unwrap());
            assert_eq!(samples.len(), weights.len());
            let known = |frame: &Value| (frame.as_u64().unwrap() as usize) < frames.len();
            assert!(samples.iter().flat_map(|sample| sample.as_array().unwrap()).all(known));
        }
    }
}
