//! The policies and parameters of a model, as text.

use model::quantity::grouped;
use model::quantity::{Bytes, Nanoseconds};
use simulate::parameter::{Kind, Settings};
use simulate::policy::Model;

/// The policies and parameters of a model.
pub(super) fn of(model: &Model) -> String {
    let mut text = "Policies:\n".to_owned();
    let width = model.policies.iter().map(|policy| policy.name.len()).max().unwrap_or(0);
    for policy in model.policies {
        text.push_str(&format!("  {:<width$}  {}\n", policy.name, policy.about));
    }
    text.push_str("\nParameters (--set NAME=VALUE):\n");
    let width = model.parameters.iter().map(|parameter| parameter.name.len()).max().unwrap_or(0);
    for parameter in model.parameters {
        text.push_str(&format!(
            "  {:<width$}  {}\n  {:<width$}  [{}, default {}; {}]\n",
            parameter.name,
            parameter.about,
            "",
            kind(parameter.kind),
            parameter.default,
            parameter.source,
        ));
    }
    text
}

/// The value of each parameter with its unit.
pub(super) fn values(settings: &Settings) -> String {
    let line = |(parameter, value): (&simulate::parameter::Parameter, Result<f64, &str>)| {
        let value = match (parameter.kind, value) {
            (_, Err(word)) => word.to_owned(),
            (Kind::Size, Ok(bytes)) => Bytes(bytes as u64).to_string(),
            (Kind::Duration, Ok(ns)) => Nanoseconds(ns as u64).to_string(),
            (Kind::Count, Ok(count)) => grouped(count as u64),
            (Kind::Share | Kind::Word(_), Ok(number)) => number.to_string(),
        };
        format!("  {} = {value}\n", parameter.name)
    };
    settings.all().map(line).collect()
}

fn kind(kind: Kind) -> String {
    match kind {
        Kind::Count => "a count".to_owned(),
        Kind::Size => "a size".to_owned(),
        Kind::Duration => "a duration".to_owned(),
        Kind::Share => "a fraction from 0 to 1".to_owned(),
        Kind::Word(words) => words.join(" or "),
    }
}
