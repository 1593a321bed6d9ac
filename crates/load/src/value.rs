//! Values of recipe variables: amounts that know whether they are bytes, nanoseconds or plain.

use model::quantity::{Bytes, Nanoseconds};

/// What a variable or a key of a recipe expects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A whole number of things; results are rounded down.
    Count,
    /// Any plain number, such as a rate per second.
    Number,
    /// Bytes.
    Size,
    /// Time.
    Duration,
    /// A share between 0 % and 100 %, as a number between 0 and 1.
    Percent,
    /// Yes or no, as 1 or 0.
    Flag,
    /// One of some words, as its place among them.
    Word,
}

/// What an amount is measured in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dimension {
    /// Nothing.
    Plain,
    /// Bytes.
    Bytes,
    /// Nanoseconds.
    Nanoseconds,
}

/// An amount with its dimension, in base units.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Value {
    /// Bytes, nanoseconds or a plain number.
    pub amount: f64,
    /// Which of them.
    pub dimension: Dimension,
}

impl Kind {
    /// All kinds, in the order in which messages list them.
    pub const ALL: [Kind; 7] =
        [Kind::Count, Kind::Number, Kind::Size, Kind::Duration, Kind::Percent, Kind::Flag, Kind::Word];

    /// The name in recipes.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Count => "count",
            Kind::Number => "number",
            Kind::Size => "size",
            Kind::Duration => "duration",
            Kind::Percent => "percent",
            Kind::Flag => "flag",
            Kind::Word => "word",
        }
    }

    /// The dimension that a value of this kind must have.
    pub(crate) fn dimension(self) -> Dimension {
        match self {
            Kind::Count | Kind::Number | Kind::Percent | Kind::Flag | Kind::Word => Dimension::Plain,
            Kind::Size => Dimension::Bytes,
            Kind::Duration => Dimension::Nanoseconds,
        }
    }

    /// How such a value is written.
    pub fn example(self) -> &'static str {
        match self {
            Kind::Count => "8",
            Kind::Number => "2.5",
            Kind::Size => "64k or 1.5g",
            Kind::Duration => "250ms or 10s",
            Kind::Percent => "60%",
            Kind::Flag => "true",
            Kind::Word => "a word",
        }
    }

    /// Shows an amount of this kind, in base units, as people read it.
    pub fn show(self, amount: f64) -> String {
        match self {
            Kind::Count => format!("{amount:.0}"),
            Kind::Number | Kind::Word => format!("{amount}"),
            Kind::Flag => (if amount == 0.0 { "no" } else { "yes" }).to_owned(),
            Kind::Size => Bytes(amount as u64).to_string(),
            Kind::Duration => Nanoseconds(amount as u64).to_string(),
            Kind::Percent => format!("{:.3} %", amount * 100.0),
        }
    }
}

impl Dimension {
    /// For messages: `a size`.
    pub fn noun(self) -> &'static str {
        match self {
            Dimension::Plain => "a plain number",
            Dimension::Bytes => "a size",
            Dimension::Nanoseconds => "a duration",
        }
    }
}

impl Value {
    /// A number without a dimension.
    pub fn plain(amount: f64) -> Value {
        Value { amount, dimension: Dimension::Plain }
    }

    /// A size.
    pub fn bytes(amount: f64) -> Value {
        Value { amount, dimension: Dimension::Bytes }
    }

    /// A duration.
    pub fn nanoseconds(amount: f64) -> Value {
        Value { amount, dimension: Dimension::Nanoseconds }
    }

    fn like(self, amount: f64) -> Value {
        Value { amount, ..self }
    }

    fn same(self, other: Value, verb: &str) -> Result<(), String> {
        if self.dimension == other.dimension {
            return Ok(());
        }
        Err(format!("cannot {verb} {} and {}", self.dimension.noun(), other.dimension.noun()))
    }

    /// `self + other`; both must have one dimension.
    pub fn plus(self, other: Value) -> Result<Value, String> {
        self.same(other, "add")?;
        Ok(self.like(self.amount + other.amount))
    }

    /// `self - other`; both must have one dimension.
    pub fn minus(self, other: Value) -> Result<Value, String> {
        self.same(other, "subtract")?;
        Ok(self.like(self.amount - other.amount))
    }

    /// `self * other`; one of them must be plain.
    pub fn times(self, other: Value) -> Result<Value, String> {
        match (self.dimension, other.dimension) {
            (_, Dimension::Plain) => Ok(self.like(self.amount * other.amount)),
            (Dimension::Plain, _) => Ok(other.like(self.amount * other.amount)),
            (a, b) => Err(format!("cannot multiply {} by {}", a.noun(), b.noun())),
        }
    }

    /// `self / other`; like dimensions cancel.
    pub fn over(self, other: Value) -> Result<Value, String> {
        if other.amount == 0.0 {
            return Err("division by zero".to_owned());
        }
        let quotient = self.amount / other.amount;
        match (self.dimension, other.dimension) {
            (a, b) if a == b => Ok(Value::plain(quotient)),
            (_, Dimension::Plain) => Ok(self.like(quotient)),
            (a, b) => Err(format!("cannot divide {} by {}", a.noun(), b.noun())),
        }
    }

    /// The smaller of two.
    pub fn smaller(self, other: Value) -> Result<Value, String> {
        self.same(other, "compare")?;
        Ok(self.like(self.amount.min(other.amount)))
    }

    /// The larger of two.
    pub fn larger(self, other: Value) -> Result<Value, String> {
        self.same(other, "compare")?;
        Ok(self.like(self.amount.max(other.amount)))
    }
}
