//! Text as people paste it: quoted in a mail, with a byte-order mark, with the line ends of another system.

use std::borrow::Cow;

/// The text without what a mail program or an editor added. The indentation stays.
pub(super) fn unquoted(text: &str) -> Cow<'_, str> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let is_plain = |line: &str| !line.trim_start().starts_with('>') && !line.ends_with('\r');
    if text.split('\n').all(is_plain) && !text.contains('\u{a0}') {
        return Cow::Borrowed(text);
    }
    let lines = text.split('\n').map(|line| unquoted_line(line).replace('\u{a0}', " "));
    Cow::Owned(lines.collect::<Vec<_>>().join("\n"))
}

/// `> > text` is `text`: each mark takes one space with it.
fn unquoted_line(line: &str) -> &str {
    let mut line = line.trim_end_matches('\r');
    while let Some(rest) = line.trim_start().strip_prefix('>') {
        line = rest.strip_prefix(' ').unwrap_or(rest);
    }
    line
}

/// The number at the start of a text, and what follows it.
pub(super) fn leading_number(text: &str) -> Option<(f64, &str)> {
    let text = text.trim_start();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    Some((finite(&text[..end])?, &text[end..]))
}

/// A finite number that is not negative.
pub(super) fn finite(word: &str) -> Option<f64> {
    if !word.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None;
    }
    word.parse::<f64>().ok().filter(|value| value.is_finite() && *value >= 0.0)
}

/// Steadiness of interval rates; `None` of too few to say anything.
pub(super) fn steady(rates: &[f64]) -> Option<statistics::Steadiness> {
    (rates.len() > 1).then(|| statistics::steadiness(rates))
}

#[cfg(test)]
mod tests {
    use super::{leading_number, unquoted};

    #[test]
    fn marks_of_mails_and_editors_are_removed() {
        let check = |text: &str, expected: &str| assert_eq!(unquoted(text), expected);
        check("a\n  b > c\n", "a\n  b > c\n");
        check("> a\n>\n> >   b\r\n>> c", "a\n\n  b\nc");
        check("\u{feff}{\r\n}", "{\n}");
        check("a\u{a0}b", "a b");
    }

    #[test]
    fn a_number_and_its_unit() {
        assert_eq!(leading_number(" 12.5ms x"), Some((12.5, "ms x")));
        assert_eq!(leading_number("-1"), None);
        assert_eq!(leading_number("1.2.3"), None);
    }
}
