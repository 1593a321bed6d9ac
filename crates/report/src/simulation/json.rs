//! The JSON document of `simulate`.

use explain::summary::Simulated;
use model::simulation::{Course, Figure, Simulation};
use serde_json::{Map, Value, json};

use super::{PolicyRun, ratio};

/// All policies.
pub fn json(model: &str, seed: u64, runs: &[PolicyRun]) -> Value {
    let first = runs.first().map(|first| &first.course);
    json!({
        "simulated": true,
        "model": model,
        "seed": seed,
        "parameters": runs.first().map(|first| parameters(&first.simulation)),
        "policies": runs.iter().map(|one| policy(one, first)).collect::<Vec<_>>(),
    })
}

fn policy(one: &PolicyRun, first: Option<&Course>) -> Value {
    let of_first = |name: &str| first?.figures.iter().find(|figure| figure.name == name)?.value;
    let ratios = one.course.figures.iter().map(|figure| {
        let ratio = ratio(figure.value, of_first(&figure.name));
        (figure.name.clone(), json!(ratio))
    });
    let seconds = one.took.as_secs_f64();
    let mut document = course(&one.course);
    document["policy"] = json!(one.simulation.policy);
    document["run"] = json!(one.run);
    document["ratio_to_first"] = ratios.collect::<Map<_, _>>().into();
    document["took_s"] = json!(seconds);
    document["events_per_s"] = json!((seconds > 0.0).then(|| one.course.events as f64 / seconds));
    document
}

/// The simulation of a run, as in the run's summary.
pub(crate) fn of_run(simulated: &Simulated) -> Value {
    let mut document = simulated.course.as_ref().map_or_else(|| json!({}), course);
    if let Some(course) = &simulated.course {
        let each = |of: fn(&Figure) -> &str| -> Value {
            course.figures.iter().map(|figure| (figure.name.clone(), json!(of(figure)))).collect::<Map<_, _>>().into()
        };
        document["units"] = each(Figure::unit);
        document["about"] = each(|figure| &figure.about);
    }
    document["model"] = json!(simulated.origin.model);
    document["policy"] = json!(simulated.origin.policy);
    document["seed"] = json!(simulated.origin.seed);
    document["parameters"] = parameters(&simulated.simulation);
    document
}

/// Parameters by name: numbers in base units, and words.
fn parameters(simulation: &Simulation) -> Value {
    let numbers = simulation.parameters.iter().map(|(name, value)| (name.clone(), json!(value)));
    let words = simulation.words.iter().map(|(name, word)| (name.clone(), json!(word)));
    numbers.chain(words).collect::<Map<_, _>>().into()
}

/// Figures, histograms and end.
fn course(course: &Course) -> Value {
    let figures = course.figures.iter().map(|figure| (figure.name.clone(), json!(figure.value)));
    json!({
        "ended_ns": course.ended_ns,
        "events": course.events,
        "hang": course.hang,
        "figures": figures.collect::<Map<_, _>>(),
        "histograms": course.histograms,
    })
}
