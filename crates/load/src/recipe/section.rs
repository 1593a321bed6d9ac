//! Access to a TOML table by key, with errors that point into the file.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::error::LoadError;
use crate::expression::{Expression, Mistake};
use crate::source_text::{Diagnostic, SourceText};
use crate::suggestion::nearest;
use crate::value::ValueKind;

/// A value and its location in the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LocatedText<T> {
    /// The value.
    pub value: T,
    /// Byte range in the source.
    pub span: Range<usize>,
}

/// A formula and its location in the source.
#[derive(Debug, Clone, PartialEq)]
pub struct Formula {
    /// As written.
    pub text: String,
    /// Parsed.
    pub expression: Expression,
    /// The kind of its value.
    pub kind: ValueKind,
    /// Location in the source, without quotes.
    pub span: Range<usize>,
}

impl Formula {
    /// Parses the text at `span` of a source.
    pub(crate) fn parse(
        source: &SourceText,
        text: &str,
        kind: ValueKind,
        span: Range<usize>,
    ) -> Result<Formula, LoadError> {
        let here = |mistake| Formula::point(source, &span, mistake);
        let expression = Expression::parse(text, kind).map_err(here)?;
        Ok(Formula { text: text.to_owned(), expression, kind, span })
    }

    /// Locates a mistake of the formula in its source.
    pub(crate) fn mistake(&self, source: &SourceText, mistake: Mistake) -> Box<Diagnostic> {
        Formula::point(source, &self.span, mistake)
    }

    fn point(source: &SourceText, span: &Range<usize>, mistake: Mistake) -> Box<Diagnostic> {
        let place = |at: usize| (span.start + at).min(span.end);
        source.diagnostic(place(mistake.span.start)..place(mistake.span.end), mistake.message)
    }
}

/// One table of a recipe file, and its name for messages.
#[derive(Clone)]
pub(crate) struct Section<'a> {
    source: &'a SourceText,
    table: &'a DeTable<'a>,
    /// For messages: `actor 'worker'`.
    pub(crate) what: String,
    /// Location of the table's beginning.
    pub(crate) span: Range<usize>,
}

impl<'a> Section<'a> {
    pub(crate) fn new(source: &'a SourceText, what: String, table: &'a DeTable<'a>, span: Range<usize>) -> Section<'a> {
        Section { source, table, what, span }
    }

    pub(crate) fn error(&self, span: Range<usize>, message: impl Into<String>) -> LoadError {
        self.source.diagnostic(span, message).into()
    }

    /// Refuses the first key that is not in `known`.
    pub(crate) fn only(self, known: &[&str]) -> Result<Section<'a>, LoadError> {
        let mut keys: Vec<_> = self.table.keys().collect();
        keys.sort_by_key(|key| key.span().start);
        let Some(key) = keys.into_iter().find(|key| !known.contains(&key.get_ref().as_ref())) else { return Ok(self) };
        let remedy = match nearest(key.get_ref(), known.iter().copied()) {
            Some(near) => format!("did you mean '{near}'?"),
            None => format!("known are {}", known.join(", ")),
        };
        Err(self.error(key.span(), format!("unknown key '{}' in {}; {remedy}", key.get_ref(), self.what)))
    }

    /// All keys, in the order of the file.
    pub(crate) fn keys(&self) -> Vec<LocatedText<String>> {
        let located = |key: &Spanned<std::borrow::Cow<'_, str>>| LocatedText {
            value: key.get_ref().to_string(),
            span: key.span(),
        };
        let mut keys: Vec<_> = self.table.keys().map(located).collect();
        keys.sort_by_key(|key| key.span.start);
        keys
    }

    fn get(&self, key: &str) -> Option<&'a Spanned<DeValue<'a>>> {
        self.table.get(key)
    }

    pub(crate) fn missing(&self, key: &str) -> LoadError {
        self.error(self.span.clone(), format!("{} needs '{key}'", self.what))
    }

    fn wrong_type(&self, key: &str, value: &Spanned<DeValue<'_>>, expected: &str) -> LoadError {
        let found = value.get_ref().type_str();
        self.error(value.span(), format!("'{key}' of {} must be {expected}, not a {found}", self.what))
    }

    pub(crate) fn text(&self, key: &str) -> Result<Option<LocatedText<String>>, LoadError> {
        let Some(value) = self.get(key) else { return Ok(None) };
        match value.get_ref() {
            DeValue::String(text) => Ok(Some(LocatedText { value: text.to_string(), span: value.span() })),
            _ => Err(self.wrong_type(key, value, "text in quotes")),
        }
    }

    pub(crate) fn required_text(&self, key: &str) -> Result<LocatedText<String>, LoadError> {
        self.text(key)?.ok_or_else(|| self.missing(key))
    }

    pub(crate) fn flag(&self, key: &str) -> Result<bool, LoadError> {
        match self.get(key) {
            None => Ok(false),
            Some(value) => value.get_ref().as_bool().ok_or_else(|| self.wrong_type(key, value, "true or false")),
        }
    }

    /// One word of a fixed list.
    pub(crate) fn word<T: Copy>(&self, key: &str, words: &[(&str, T)]) -> Result<Option<T>, LoadError> {
        let Some(text) = self.text(key)? else { return Ok(None) };
        if let Some((_, value)) = words.iter().find(|(word, _)| *word == text.value) {
            return Ok(Some(*value));
        }
        let list: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        let remedy = nearest(&text.value, list.iter().copied()).map(|near| format!("did you mean '{near}'? "));
        let message = format!(
            "'{key}' of {} cannot be '{}'; {}known are {}",
            self.what,
            text.value,
            remedy.unwrap_or_default(),
            list.join(", ")
        );
        Err(self.error(text.span, message))
    }

    pub(crate) fn required_word<T: Copy>(&self, key: &str, words: &[(&str, T)]) -> Result<T, LoadError> {
        self.word(key, words)?.ok_or_else(|| self.missing(key))
    }

    /// A formula: text, or a bare number.
    pub(crate) fn formula(&self, key: &str, kind: ValueKind) -> Result<Option<Formula>, LoadError> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let span = value.span();
        let (text, span) = match value.get_ref() {
            DeValue::String(text) => (text.to_string(), self.inside_quotes(span)),
            DeValue::Integer(number) if number.radix() == 10 => (number.as_str().to_owned(), span),
            DeValue::Float(number) => (number.as_str().to_owned(), span),
            DeValue::Boolean(set) if kind == ValueKind::Flag => (u8::from(*set).to_string(), span),
            _ => return Err(self.wrong_type(key, value, &format!("a {}, such as {}", kind.name(), kind.example()))),
        };
        Formula::parse(self.source, &text, kind, span).map(Some)
    }

    /// A formula whose text replaces the text at `span`.
    pub(crate) fn parse(&self, text: &str, kind: ValueKind, span: Range<usize>) -> Result<Formula, LoadError> {
        Formula::parse(self.source, text, kind, span)
    }

    pub(crate) fn required_formula(&self, key: &str, kind: ValueKind) -> Result<Formula, LoadError> {
        self.formula(key, kind)?.ok_or_else(|| self.missing(key))
    }

    fn inside_quotes(&self, span: Range<usize>) -> Range<usize> {
        let written = &self.source.text[span.clone()];
        let quotes = if written.starts_with("\"\"\"") || written.starts_with("'''") { 3 } else { 1 };
        if span.len() >= 2 * quotes { span.start + quotes..span.end - quotes } else { span }
    }

    /// A list of texts.
    pub(crate) fn texts(&self, key: &str) -> Result<Option<Vec<LocatedText<String>>>, LoadError> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let wrong = |value: &Spanned<DeValue<'_>>| self.wrong_type(key, value, "a list of texts");
        let list = value.get_ref().as_array().ok_or_else(|| wrong(value))?;
        let text = |item: &Spanned<DeValue<'_>>| match item.get_ref() {
            DeValue::String(text) => Ok(LocatedText { value: text.to_string(), span: item.span() }),
            _ => Err(wrong(item)),
        };
        list.iter().map(text).collect::<Result<_, _>>().map(Some)
    }

    /// A single table.
    pub(crate) fn table(&self, key: &str) -> Result<Option<Section<'a>>, LoadError> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let table = value.get_ref().as_table().ok_or_else(|| self.wrong_type(key, value, "a table"))?;
        Ok(Some(Section::new(self.source, format!("[{key}]"), table, value.span())))
    }

    /// A table with named tables inside, in the file's order.
    pub(crate) fn named_tables(
        &self,
        key: &str,
        what: &str,
    ) -> Result<Vec<(LocatedText<String>, Section<'a>)>, LoadError> {
        let Some(value) = self.get(key) else { return Ok(Vec::new()) };
        let table = value.get_ref().as_table().ok_or_else(|| self.wrong_type(key, value, "a table"))?;
        let mut entries: Vec<_> = table.iter().collect();
        entries.sort_by_key(|(name, _)| name.span().start);
        let section = |(name, value): (&Spanned<_>, &'a Spanned<DeValue<'a>>)| {
            let name: LocatedText<String> =
                LocatedText { value: AsRef::<str>::as_ref(name.get_ref()).to_owned(), span: name.span() };
            let wrong = || self.wrong_type(&name.value, value, "a table");
            let table = value.get_ref().as_table().ok_or_else(wrong)?;
            let what = format!("{what} '{}'", name.value);
            let span = name.span.clone();
            Ok((name, Section::new(self.source, what, table, span)))
        };
        entries.into_iter().map(section).collect()
    }

    /// A list of tables, each named by its `title` key or by its ordinal.
    pub(crate) fn tables(&self, key: &str, title: &str) -> Result<Vec<Section<'a>>, LoadError> {
        let Some(value) = self.get(key) else { return Ok(Vec::new()) };
        let wrong = |value: &Spanned<DeValue<'_>>| self.wrong_type(key, value, &format!("a list of tables: [[{key}]]"));
        let list = value.get_ref().as_array().ok_or_else(|| wrong(value))?;
        let section = |(ordinal, item): (usize, &'a Spanned<DeValue<'a>>)| {
            let table = item.get_ref().as_table().ok_or_else(|| wrong(item))?;
            let title = table.get(title).and_then(|title| title.get_ref().as_str());
            let within = if self.span.is_empty() { String::new() } else { format!(" of {}", self.what) };
            let what = title.map_or(format!("{key} {}", ordinal + 1), |title| format!("{key} '{title}'")) + &within;
            Ok(Section::new(self.source, what, table, item.span()))
        };
        list.iter().enumerate().map(section).collect()
    }
}
