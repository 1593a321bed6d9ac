//! Values of variables and formulas, given the facts of a machine and what the user set.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Range;

use crate::error::LoadError;
use crate::expression::Mistake;
use crate::facts::MachineFacts;
use crate::recipe::{Formula, Recipe, Variable, unknown_name};
use crate::source_text::SourceText;
use crate::value::{Dimension, DimensionedValue, ValueKind};

/// Larger counts are not exact in an `f64`.
const MAX_WHOLE: f64 = 9_007_199_254_740_992.0;

enum Resolution {
    /// In progress: meeting it again is a cycle.
    Open,
    Known(DimensionedValue),
}

pub(super) struct Scope<'a> {
    recipe: &'a Recipe,
    facts: &'a MachineFacts,
    settings: HashMap<&'a str, (SourceText, Formula)>,
    state: RefCell<HashMap<String, Resolution>>,
}

impl<'a> Scope<'a> {
    pub(super) fn new(
        recipe: &'a Recipe,
        facts: &'a MachineFacts,
        settings: &[(String, String)],
    ) -> Result<Scope<'a>, LoadError> {
        let mut parsed = HashMap::new();
        for (name, text) in settings {
            let variable = recipe.variable(name)?;
            let source = SourceText::new(format!("--{}", variable.flag), text.as_str());
            let formula = variable.setting(&source)?;
            parsed.insert(variable.name.as_str(), (source, formula));
        }
        Ok(Scope { recipe, facts, settings: parsed, state: RefCell::default() })
    }

    /// The value of a variable, in base units.
    pub(super) fn variable(&self, variable: &'a Variable) -> Result<DimensionedValue, LoadError> {
        let (source, formula) = match self.settings.get(variable.name.as_str()) {
            Some((source, formula)) => (source, formula),
            None => (&*self.recipe.source, &variable.default),
        };
        if let Some(Resolution::Known(value)) = self.state.borrow().get(&variable.name) {
            return Ok(*value);
        }
        if self.state.borrow_mut().insert(variable.name.clone(), Resolution::Open).is_some() {
            let message = format!("the value of '{}' depends on itself", variable.name);
            return Err(source.diagnostic(formula.span.clone(), message).into());
        }
        let value = self.evaluate(source, formula, &variable.name)?;
        self.check_range(variable, value, source, formula)?;
        self.state.borrow_mut().insert(variable.name.clone(), Resolution::Known(value));
        Ok(value)
    }

    fn check_range(
        &self,
        variable: &Variable,
        value: DimensionedValue,
        source: &SourceText,
        formula: &Formula,
    ) -> Result<(), LoadError> {
        let kind = variable.kind;
        let refuse = |relation: &str, limit: f64| {
            let message = format!(
                "'{}' is {}, but must be {relation} {}",
                variable.name,
                kind.show(value.amount),
                kind.show(limit)
            );
            Err(LoadError::from(source.diagnostic(formula.span.clone(), message)))
        };
        if let Some(min) = &variable.min {
            let min = self.evaluate(&self.recipe.source, min, &variable.name)?.amount;
            if value.amount < min {
                return refuse("at least", min);
            }
        }
        if let Some(max) = &variable.max {
            let max = self.evaluate(&self.recipe.source, max, &variable.name)?.amount;
            if value.amount > max {
                return refuse("at most", max);
            }
        }
        Ok(())
    }

    /// The value of a formula of the recipe file; `what` names it in messages.
    pub(super) fn value(&self, formula: &Formula, what: &str) -> Result<f64, LoadError> {
        self.evaluate(&self.recipe.source, formula, what).map(|value| value.amount)
    }

    /// Like [`Scope::value`], as a whole number of at least `least`.
    pub(super) fn whole(&self, formula: &Formula, what: &str, least: u64) -> Result<u64, LoadError> {
        let value = self.value(formula, what)? as u64;
        match value >= least {
            true => Ok(value),
            false => Err(self.refuse(formula, format!("{what} is {value}; it must be at least {least}"))),
        }
    }

    /// An error at a formula of the recipe file. If the formula is just a variable that the user set, the error is at
    /// the user's value.
    pub(super) fn refuse(&self, formula: &Formula, message: impl Into<String>) -> LoadError {
        match self.settings.get(formula.text.trim()) {
            Some((source, formula)) => source.diagnostic(formula.span.clone(), message).into(),
            None => self.recipe.source.diagnostic(formula.span.clone(), message).into(),
        }
    }

    fn evaluate(&self, source: &SourceText, formula: &Formula, what: &str) -> Result<DimensionedValue, LoadError> {
        let mistake = |mistake: Mistake| LoadError::from(formula.mistake(source, mistake));
        let mut lookup = |name: &str, span: &Range<usize>| self.name(source, formula, name, span);
        let value = formula.expression.evaluate(&mut lookup, &mistake)?;
        let wrong = |message: String| Err(LoadError::from(source.diagnostic(formula.span.clone(), message)));
        let (kind, amount) = (formula.kind, value.amount);
        if value.dimension != kind.dimension() {
            let remedy = match (value.dimension, kind.dimension()) {
                (Dimension::Plain, Dimension::Bytes | Dimension::Nanoseconds) => format!("; write {}", kind.example()),
                _ => String::new(),
            };
            return wrong(format!("{what} must be a {}, not {}{remedy}", kind.name(), value.dimension.noun()));
        }
        if !amount.is_finite() || amount > MAX_WHOLE * 1024.0 {
            return wrong(format!("{what} is too large"));
        }
        if amount < 0.0 {
            return wrong(format!("{what} is negative"));
        }
        if kind == ValueKind::Percent && amount > 1.0 {
            return wrong(format!("{what} is {}, but a percentage is at most 100 %", kind.show(amount)));
        }
        let whole = matches!(kind, ValueKind::Count | ValueKind::Size | ValueKind::Duration);
        // The addend prevents rounding 0.1 * 30 down to 2.
        Ok(DimensionedValue { amount: if whole { (amount + 1e-6).floor() } else { amount }, ..value })
    }

    fn name(
        &self,
        source: &SourceText,
        formula: &Formula,
        name: &str,
        span: &Range<usize>,
    ) -> Result<DimensionedValue, LoadError> {
        if let Some(value) = self.facts.value(name) {
            return Ok(value);
        }
        match self.recipe.variables.iter().find(|variable| variable.name == name) {
            Some(variable) => self.variable(variable),
            None => Err(unknown_name(self.recipe, source, formula, name, span.clone())),
        }
    }
}
