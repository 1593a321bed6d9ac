//! The policies and parameters of a model, as text.

use simulate::parameter::Kind;
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
            "  {:<width$}  {} [{}, default {}]\n  {:<width$}  default: {}\n",
            parameter.name,
            parameter.about,
            kind(parameter.kind),
            parameter.default,
            "",
            parameter.source,
        ));
    }
    text
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
