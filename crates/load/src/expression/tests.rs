use proptest::prelude::*;

use super::{Expression, Mistake};
use crate::value::{Dimension, DimensionedValue, ValueKind};

fn evaluate(text: &str, kind: ValueKind) -> Result<DimensionedValue, Mistake> {
    Expression::parse(text, kind)?.evaluate(
        &mut |name, span| match name {
            "cpus" => Ok(DimensionedValue::plain(2.0)),
            "memory" => Ok(DimensionedValue::bytes(1024.0 * 1024.0)),
            _ => Err(Mistake { span: span.clone(), message: "unknown".to_owned() }),
        },
        &|mistake| mistake,
    )
}

#[test]
fn arithmetic() {
    for (text, amount, dimension) in [
        ("1 + 2 * 3", 7.0, Dimension::Plain),
        ("(1 + 2) * 3", 9.0, Dimension::Plain),
        ("8 - 2 - 1", 5.0, Dimension::Plain),
        ("-2 * -3", 6.0, Dimension::Plain),
        ("60% * memory / cpus", 0.3 * 1024.0 * 1024.0, Dimension::Bytes),
        ("max(1, cpus / 5)", 1.0, Dimension::Plain),
        ("min(64k, memory, 2m)", 65536.0, Dimension::Bytes),
        ("clamp(9, 1, 4)", 4.0, Dimension::Plain),
        ("memory / 64k", 16.0, Dimension::Plain),
        ("2min", 120e9, Dimension::Nanoseconds),
    ] {
        assert_eq!(evaluate(text, ValueKind::Size), Ok(DimensionedValue { amount, dimension }), "{text}");
    }
}

#[test]
fn a_bare_m_is_minutes_where_a_duration_is_expected() {
    assert_eq!(evaluate("5m", ValueKind::Duration), Ok(DimensionedValue::nanoseconds(300e9)));
    assert_eq!(evaluate("5m", ValueKind::Size), Ok(DimensionedValue::bytes(5.0 * 1048576.0)));
}

#[test]
fn mistakes_point_into_the_text() {
    for (text, start, end) in [
        ("1 +", 3, 3),
        ("1 2", 2, 3),
        ("(1", 2, 2),
        ("1 + 64q", 4, 7),
        ("memory + 1", 0, 10),
        ("cpus / (cpus - 2)", 0, 17),
        ("min()", 4, 5),
        ("1.2.3", 0, 5),
        ("2 $ 3", 2, 3),
        ("nothing", 0, 7),
        ("clamp(1, 2)", 0, 11),
        ("", 0, 0),
    ] {
        let mistake = evaluate(text, ValueKind::Size).unwrap_err();
        assert_eq!(mistake.span, start..end, "{text}: {}", mistake.message);
    }
}

#[test]
fn deep_nesting_is_an_error_and_not_a_stack_overflow() {
    assert!(Expression::parse(&"(".repeat(100_000), ValueKind::Number).is_err());
    assert!(Expression::parse(&"-".repeat(100_000), ValueKind::Number).is_err());
    assert!(Expression::parse(&vec!["1"; 100_000].join("+"), ValueKind::Number).is_err());
    let long_sum = vec!["1"; 500].join(" + ");
    assert_eq!(evaluate(&long_sum, ValueKind::Number), Ok(DimensionedValue::plain(500.0)));
}

proptest! {
    #[test]
    fn any_text_is_evaluated_or_refused_without_panic(text in "[-+*/(), a-z0-9.%_µé]{0,40}") {
        for kind in ValueKind::ALL {
            let _ = evaluate(&text, kind);
        }
    }
}
