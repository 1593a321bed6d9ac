//! The outcome of a model → what its run records.

use model::simulation::{Course, Figure, Hang, Histogram, HistogramForm, Simulation, Waiter};
use simulate::parameter::Settings;
use simulate::policy::{Form, Model, Outcome, Policy};

/// The course of the simulation.
pub(super) fn course(outcome: Outcome) -> Course {
    let figure = |figure: simulate::policy::Figure| Figure {
        name: figure.name.to_owned(),
        about: figure.about.to_owned(),
        value: figure.value,
        more_is_better: figure.more_is_better,
    };
    let histogram = |histogram: simulate::policy::Histogram| Histogram {
        name: histogram.name.to_owned(),
        form: match histogram.form {
            Form::RpcStats => HistogramForm::RpcStats,
            Form::Argdist => HistogramForm::Argdist,
        },
        rows: histogram.rows,
    };
    let waiter = |waiter: simulate::liveness::Waiter| Waiter {
        task: waiter.task,
        awaits: waiter.awaits,
        from: waiter.from,
        since_ns: waiter.since_ns,
    };
    Course {
        ended_ns: outcome.ended_ns,
        events: outcome.events,
        hang: outcome
            .hang
            .map(|hang| Hang { at_ns: hang.at_ns, waiters: hang.waiters.into_iter().map(waiter).collect() }),
        figures: outcome.figures.into_iter().map(figure).collect(),
        histograms: outcome.histograms.into_iter().map(histogram).collect(),
    }
}

/// What is simulated.
pub(super) fn simulation(model: &Model, policy: &Policy, settings: &Settings) -> Simulation {
    let mut simulation = Simulation {
        model: model.name.to_owned(),
        policy: policy.name.to_owned(),
        about: policy.about.to_owned(),
        parameters: Vec::new(),
        words: Vec::new(),
    };
    for (parameter, value) in settings.all() {
        let name = parameter.name.to_owned();
        match value {
            Ok(number) => simulation.parameters.push((name, number)),
            Err(word) => simulation.words.push((name, word.to_owned())),
        }
    }
    simulation
}
