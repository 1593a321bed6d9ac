//! The variables of a recipe file.

use super::plain_name::{plain_name, short_flag};
use super::section::{Formula, LocatedText, Section};
use super::variable::Variable;
use crate::error::LoadError;
use crate::facts;
use crate::value::{Dimension, ValueKind};

const VARIABLE: [&str; 10] = ["default", "help", "kind", "words", "names", "flag", "short", "plain", "min", "max"];

pub(super) fn variables(top: &Section<'_>) -> Result<Vec<Variable>, LoadError> {
    let kinds = ValueKind::ALL.map(|kind| (kind.name(), kind));
    let mut variables: Vec<Variable> = Vec::new();
    for (name, section) in top.named_tables("variables", "variable")? {
        let section = section.only(&VARIABLE)?;
        let span = name.span.clone();
        let variable = variable(&section, name, section.required_word("kind", &kinds)?)?;
        let twice = |what: String| Err(section.error(span.clone(), what));
        if let Some(other) = variables.iter().find(|other| other.flag == variable.flag) {
            return twice(format!("flag '--{}' is already that of variable '{}'", variable.flag, other.name));
        }
        if let Some(other) = variables.iter().find(|other| other.short.is_some() && other.short == variable.short) {
            return twice(format!("the short flag of '{}' is already that of '{}'", variable.name, other.name));
        }
        variables.push(variable);
    }
    Ok(variables)
}

fn variable(section: &Section<'_>, name: LocatedText<String>, kind: ValueKind) -> Result<Variable, LoadError> {
    if facts::NAMES.contains(&name.value.as_str()) {
        return Err(section.error(name.span, format!("'{}' is a machine property; choose another name", name.value)));
    }
    let name = plain_name(section, name)?;
    let flag = match section.text("flag")? {
        Some(flag) => plain_name(section, flag)?,
        None => name.replace('_', "-"),
    };
    let words = words(section, kind)?;
    let default = match kind {
        ValueKind::Word => word_formula(section, section.required_text("default")?, &words)?,
        _ => section.required_formula("default", kind)?,
    };
    Ok(Variable {
        flag,
        names: names(section, kind)?,
        words,
        short: short_flag(section)?,
        help: section.required_text("help")?.value,
        plain: plain_unit(section, kind)?,
        default,
        min: section.formula("min", kind)?,
        max: section.formula("max", kind)?,
        kind,
        name,
    })
}

fn words(section: &Section<'_>, kind: ValueKind) -> Result<Vec<String>, LoadError> {
    let words = section.texts("words")?;
    match (kind, words) {
        (ValueKind::Word, Some(words)) if !words.is_empty() => {
            words.into_iter().map(|word| plain_name(section, word)).collect()
        }
        (ValueKind::Word, _) => Err(section.missing("words")),
        (_, Some(_)) => Err(section.error(section.span.clone(), "only a variable of kind 'word' has 'words'")),
        (_, None) => Ok(Vec::new()),
    }
}

/// Named values: `names = { all = "100%" }`.
fn names(section: &Section<'_>, kind: ValueKind) -> Result<Vec<(String, Formula)>, LoadError> {
    let Some(table) = section.table("names")? else { return Ok(Vec::new()) };
    if matches!(kind, ValueKind::Word | ValueKind::Flag) {
        return Err(section.error(table.span.clone(), "a variable of this kind cannot have 'names'"));
    }
    let named = |key: LocatedText<String>| {
        let formula = table.required_formula(&key.value, kind)?;
        Ok((plain_name(section, key)?, formula))
    };
    table.keys().into_iter().map(named).collect()
}

/// A word as the number that formulas use: its index among the variable's words.
fn word_formula(section: &Section<'_>, text: LocatedText<String>, words: &[String]) -> Result<Formula, LoadError> {
    let Some(place) = words.iter().position(|word| *word == text.value) else {
        let message = format!("'default' cannot be '{}'; known are {}", text.value, words.join(", "));
        return Err(section.error(text.span, message));
    };
    let formula = section.parse(&place.to_string(), ValueKind::Word, text.span)?;
    Ok(Formula { text: text.value, ..formula })
}

fn plain_unit(section: &Section<'_>, kind: ValueKind) -> Result<Option<String>, LoadError> {
    let Some(unit) = section.text("plain")? else { return Ok(None) };
    let known = match kind.dimension() {
        Dimension::Bytes => model::quantity::size_unit(&unit.value).is_some(),
        Dimension::Nanoseconds => model::quantity::duration_unit(&unit.value).is_some(),
        Dimension::Plain => kind == ValueKind::Percent && unit.value == "%",
    };
    match known {
        true => Ok(Some(unit.value)),
        false => Err(section.error(unit.span, format!("'{}' is not the unit of a {}", unit.value, kind.name()))),
    }
}
