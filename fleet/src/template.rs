//! The statements of the questions. Each is a file of plain SQL with `${name}` where a value goes.

/// A statement and its values, which must be safe: columns and dates are checked, texts are quoted where they are made.
#[derive(Debug)]
pub(crate) struct Statement {
    text: String,
}

impl Statement {
    /// A statement without values.
    pub(crate) fn of(template: &str) -> Statement {
        Statement { text: template.to_owned() }
    }

    /// Fills in a value.
    pub(crate) fn with(self, name: &str, value: &str) -> Statement {
        Statement { text: self.text.replace(&format!("${{{name}}}"), value) }
    }

    /// The SQL, as any engine runs it.
    pub(crate) fn sql(&self) -> &str {
        debug_assert!(!self.text.contains("${"), "a value is missing: {}", self.text);
        &self.text
    }
}

/// Text as SQL writes it.
pub(crate) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::{Statement, quoted};

    #[test]
    fn values_are_filled_in_and_text_cannot_leave_its_quotes() {
        let statement = Statement::of("select ${a} where b = ${b}").with("a", "1").with("b", &quoted("x' or 'y"));
        assert_eq!(statement.sql(), "select 1 where b = 'x'' or ''y'");
    }
}
