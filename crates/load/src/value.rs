//! Values of recipe variables: amounts with a dimension.

use model::quantity::{Bytes, Nanoseconds};

/// What a variable or a key of a recipe expects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ValueKind {
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
    /// One of a list of words, as its index.
    Word,
}

/// The dimension of an amount.
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
pub struct DimensionedValue {
    /// Bytes, nanoseconds or a plain number.
    pub amount: f64,
    /// Its dimension.
    pub dimension: Dimension,
}

impl ValueKind {
    /// All kinds, in the order in which messages list them.
    pub const ALL: [ValueKind; 7] = [
        ValueKind::Count,
        ValueKind::Number,
        ValueKind::Size,
        ValueKind::Duration,
        ValueKind::Percent,
        ValueKind::Flag,
        ValueKind::Word,
    ];

    /// The name in recipes.
    pub fn name(self) -> &'static str {
        match self {
            ValueKind::Count => "count",
            ValueKind::Number => "number",
            ValueKind::Size => "size",
            ValueKind::Duration => "duration",
            ValueKind::Percent => "percent",
            ValueKind::Flag => "flag",
            ValueKind::Word => "word",
        }
    }

    /// The dimension that a value of this kind must have.
    pub(crate) fn dimension(self) -> Dimension {
        match self {
            ValueKind::Count | ValueKind::Number | ValueKind::Percent | ValueKind::Flag | ValueKind::Word => {
                Dimension::Plain
            }
            ValueKind::Size => Dimension::Bytes,
            ValueKind::Duration => Dimension::Nanoseconds,
        }
    }

    /// An example of such a value.
    pub fn example(self) -> &'static str {
        match self {
            ValueKind::Count => "8",
            ValueKind::Number => "2.5",
            ValueKind::Size => "64k or 1.5g",
            ValueKind::Duration => "250ms or 10s",
            ValueKind::Percent => "60%",
            ValueKind::Flag => "true",
            ValueKind::Word => "a word",
        }
    }

    /// Formats an amount of this kind, given in base units.
    pub fn show(self, amount: f64) -> String {
        match self {
            ValueKind::Count => format!("{amount:.0}"),
            ValueKind::Number | ValueKind::Word => format!("{amount}"),
            ValueKind::Flag => (if amount == 0.0 { "no" } else { "yes" }).to_owned(),
            ValueKind::Size => Bytes(amount as u64).to_string(),
            ValueKind::Duration => Nanoseconds(amount as u64).to_string(),
            ValueKind::Percent => format!("{:.3} %", amount * 100.0),
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

impl DimensionedValue {
    /// A number without a dimension.
    pub fn plain(amount: f64) -> DimensionedValue {
        DimensionedValue { amount, dimension: Dimension::Plain }
    }

    /// A size.
    pub fn bytes(amount: f64) -> DimensionedValue {
        DimensionedValue { amount, dimension: Dimension::Bytes }
    }

    /// A duration.
    pub fn nanoseconds(amount: f64) -> DimensionedValue {
        DimensionedValue { amount, dimension: Dimension::Nanoseconds }
    }

    fn like(self, amount: f64) -> DimensionedValue {
        DimensionedValue { amount, ..self }
    }

    fn same(self, other: DimensionedValue, verb: &str) -> Result<(), String> {
        if self.dimension == other.dimension {
            return Ok(());
        }
        Err(format!("cannot {verb} {} and {}", self.dimension.noun(), other.dimension.noun()))
    }

    /// `self + other`; both must have the same dimension.
    pub fn plus(self, other: DimensionedValue) -> Result<DimensionedValue, String> {
        self.same(other, "add")?;
        Ok(self.like(self.amount + other.amount))
    }

    /// `self - other`; both must have the same dimension.
    pub fn minus(self, other: DimensionedValue) -> Result<DimensionedValue, String> {
        self.same(other, "subtract")?;
        Ok(self.like(self.amount - other.amount))
    }

    /// `self * other`; one of them must be plain.
    pub fn times(self, other: DimensionedValue) -> Result<DimensionedValue, String> {
        match (self.dimension, other.dimension) {
            (_, Dimension::Plain) => Ok(self.like(self.amount * other.amount)),
            (Dimension::Plain, _) => Ok(other.like(self.amount * other.amount)),
            (a, b) => Err(format!("cannot multiply {} by {}", a.noun(), b.noun())),
        }
    }

    /// `self / other`; equal dimensions cancel.
    pub fn over(self, other: DimensionedValue) -> Result<DimensionedValue, String> {
        if other.amount == 0.0 {
            return Err("division by zero".to_owned());
        }
        let quotient = self.amount / other.amount;
        match (self.dimension, other.dimension) {
            (a, b) if a == b => Ok(DimensionedValue::plain(quotient)),
            (_, Dimension::Plain) => Ok(self.like(quotient)),
            (a, b) => Err(format!("cannot divide {} by {}", a.noun(), b.noun())),
        }
    }

    /// The smaller of two.
    pub fn smaller(self, other: DimensionedValue) -> Result<DimensionedValue, String> {
        self.same(other, "compare")?;
        Ok(self.like(self.amount.min(other.amount)))
    }

    /// The larger of two.
    pub fn larger(self, other: DimensionedValue) -> Result<DimensionedValue, String> {
        self.same(other, "compare")?;
        Ok(self.like(self.amount.max(other.amount)))
    }
}
