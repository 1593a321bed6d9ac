//! The arithmetic of recipes: `min(80m, 60% * free_space / 16)`.
//!
//! Numbers may have a unit (`64k`, `250ms`, `60%`); names are other variables or facts of the machine. Sizes and
//! durations keep their dimension: adding 64 to a size is an error, not 64 bytes.

mod mistake;
mod token;

use std::ops::Range;

pub(crate) use mistake::Mistake;
use token::{Token, tokenize};

use crate::value::{DimensionedValue, ValueKind};

/// A parsed formula. Evaluating it again costs no parsing.
#[derive(Debug, Clone, PartialEq)]
pub struct Expression {
    root: Node,
}

#[derive(Debug, Clone, PartialEq)]
struct Node {
    span: Range<usize>,
    what: NodeKind,
}

#[derive(Debug, Clone, PartialEq)]
enum NodeKind {
    Literal(DimensionedValue),
    Name(String),
    Negate(Box<Node>),
    Binary(char, Box<Node>, Box<Node>),
    Call(Function, Vec<Node>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Function {
    Min,
    Max,
    Clamp,
}

/// Looks up the value of a name at a byte range of the formula.
pub(crate) type Lookup<'a, E> = &'a mut dyn FnMut(&str, &Range<usize>) -> Result<DimensionedValue, E>;

/// Maximum nesting of a formula; deeper parsing could overflow the stack.
const MAX_DEPTH: usize = 64;
/// Longest formula: a sum nests as deeply as it is long.
const MAX_TOKENS: usize = 2000;

impl Expression {
    /// Parses a formula for a value of `kind`, which decides what a bare `m` unit means: minutes where a duration is
    /// expected, mebibytes everywhere else.
    pub(crate) fn parse(text: &str, kind: ValueKind) -> Result<Expression, Mistake> {
        let tokens = tokenize(text, kind)?;
        if let Some((_, span)) = tokens.get(MAX_TOKENS) {
            return Err(Mistake::new(span.clone(), "the formula is too long"));
        }
        let mut parser = Parser { tokens: &tokens, next: 0, end: text.len(), depth: 0 };
        let root = parser.expression(0)?;
        match parser.peek() {
            None => Ok(Expression { root }),
            Some((_, span)) => Err(Mistake::new(span.clone(), "an operator is missing here")),
        }
    }

    /// Every name in the formula and its byte range.
    pub(crate) fn names(&self) -> Vec<(&str, Range<usize>)> {
        let mut found = Vec::new();
        self.root.collect_names(&mut found);
        found
    }

    /// Computes the value. `lookup` gives the value of a name; its errors are passed through, mistakes of this formula
    /// go through `mistake`.
    pub(crate) fn evaluate<E>(
        &self,
        lookup: Lookup<'_, E>,
        mistake: &dyn Fn(Mistake) -> E,
    ) -> Result<DimensionedValue, E> {
        self.root.evaluate(lookup, mistake)
    }
}

impl Node {
    fn collect_names<'a>(&'a self, found: &mut Vec<(&'a str, Range<usize>)>) {
        match &self.what {
            NodeKind::Literal(_) => {}
            NodeKind::Name(name) => found.push((name, self.span.clone())),
            NodeKind::Negate(inner) => inner.collect_names(found),
            NodeKind::Binary(_, left, right) => [left, right].into_iter().for_each(|node| node.collect_names(found)),
            NodeKind::Call(_, arguments) => arguments.iter().for_each(|node| node.collect_names(found)),
        }
    }

    fn evaluate<E>(&self, lookup: Lookup<'_, E>, mistake: &dyn Fn(Mistake) -> E) -> Result<DimensionedValue, E> {
        let here = |message: String| mistake(Mistake::new(self.span.clone(), message));
        match &self.what {
            NodeKind::Literal(value) => Ok(*value),
            NodeKind::Name(name) => lookup(name, &self.span),
            NodeKind::Negate(inner) => {
                inner.evaluate(lookup, mistake)?.times(DimensionedValue::plain(-1.0)).map_err(here)
            }
            NodeKind::Binary(operator, left, right) => {
                let (left, right) = (left.evaluate(lookup, mistake)?, right.evaluate(lookup, mistake)?);
                let result = match operator {
                    '+' => left.plus(right),
                    '-' => left.minus(right),
                    '*' => left.times(right),
                    _ => left.over(right),
                };
                result.map_err(here)
            }
            NodeKind::Call(function, arguments) => {
                let values =
                    arguments.iter().map(|node| node.evaluate(lookup, mistake)).collect::<Result<Vec<_>, _>>()?;
                function.apply(&values).map_err(here)
            }
        }
    }
}

impl Function {
    fn named(name: &str) -> Option<Function> {
        match name {
            "min" => Some(Function::Min),
            "max" => Some(Function::Max),
            "clamp" => Some(Function::Clamp),
            _ => None,
        }
    }

    fn apply(self, values: &[DimensionedValue]) -> Result<DimensionedValue, String> {
        match (self, values) {
            (Function::Min, [first, rest @ ..]) => rest.iter().try_fold(*first, |so_far, value| so_far.smaller(*value)),
            (Function::Max, [first, rest @ ..]) => rest.iter().try_fold(*first, |so_far, value| so_far.larger(*value)),
            (Function::Clamp, [value, low, high]) => value.larger(*low)?.smaller(*high),
            (Function::Clamp, _) => Err("clamp takes three values: clamp(value, lowest, highest)".to_owned()),
            (_, []) => Err("min and max take at least one value".to_owned()),
        }
    }
}

struct Parser<'a> {
    tokens: &'a [(Token, Range<usize>)],
    next: usize,
    end: usize,
    depth: usize,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<&'a (Token, Range<usize>)> {
        self.tokens.get(self.next)
    }

    fn expect(&mut self, symbol: char) -> Result<usize, Mistake> {
        match self.peek() {
            Some((Token::Symbol(found), span)) if *found == symbol => {
                self.next += 1;
                Ok(span.end)
            }
            Some((_, span)) => Err(Mistake::new(span.clone(), format!("'{symbol}' expected"))),
            None => Err(Mistake::new(self.end..self.end, format!("'{symbol}' expected"))),
        }
    }

    /// Operators binding at least as tightly as `binding`: 1 for sums, 3 for products.
    fn expression(&mut self, binding: u8) -> Result<Node, Mistake> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(Mistake::new(self.end..self.end, "nested too deeply"));
        }
        let mut left = self.operand()?;
        while let Some((Token::Symbol(operator @ ('+' | '-' | '*' | '/')), _)) = self.peek() {
            let strength = if matches!(operator, '+' | '-') { 1 } else { 3 };
            if strength < binding {
                break;
            }
            self.next += 1;
            let right = self.expression(strength + 1)?;
            let span = left.span.start..right.span.end;
            left = Node { span, what: NodeKind::Binary(*operator, Box::new(left), Box::new(right)) };
        }
        self.depth -= 1;
        Ok(left)
    }

    fn operand(&mut self) -> Result<Node, Mistake> {
        let Some((token, span)) = self.peek() else {
            return Err(Mistake::new(self.end..self.end, "a value is missing at the end"));
        };
        self.next += 1;
        let what = match token {
            Token::Number(value) => NodeKind::Literal(*value),
            Token::Name(name) => match (Function::named(name), self.peek()) {
                (Some(function), Some((Token::Symbol('('), _))) => return self.call(function, span.start),
                _ => NodeKind::Name(name.clone()),
            },
            Token::Symbol('-') => NodeKind::Negate(Box::new(self.expression(5)?)),
            Token::Symbol('(') => {
                let inner = self.expression(0)?;
                let end = self.expect(')')?;
                return Ok(Node { span: span.start..end, ..inner });
            }
            Token::Symbol(other) => {
                return Err(Mistake::new(span.clone(), format!("a value is missing before '{other}'")));
            }
        };
        Ok(Node { span: span.start..self.tokens[self.next - 1].1.end, what })
    }

    fn call(&mut self, function: Function, start: usize) -> Result<Node, Mistake> {
        self.expect('(')?;
        let mut arguments = vec![self.expression(0)?];
        while let Some((Token::Symbol(','), _)) = self.peek() {
            self.next += 1;
            arguments.push(self.expression(0)?);
        }
        let end = self.expect(')')?;
        Ok(Node { span: start..end, what: NodeKind::Call(function, arguments) })
    }
}

#[cfg(test)]
mod tests;
