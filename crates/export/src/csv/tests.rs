use std::sync::Arc;

use arrow_array::builder::{ListBuilder, StringBuilder, UInt32Builder};
use arrow_array::{ArrayRef, BooleanArray, Int64Array, RecordBatch, StringArray, UInt32Array};
use proptest::prelude::*;

use super::CsvTable;
use crate::table::TableWriter;

fn written(rows: &RecordBatch) -> String {
    let mut table = CsvTable::begin(Vec::new(), &rows.schema()).unwrap();
    table.write(rows).unwrap();
    String::from_utf8(table.finish().unwrap()).unwrap()
}

fn columns(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, column)| (name, column, true))).unwrap()
}

#[test]
fn absent_is_an_empty_cell_and_empty_text_is_not() {
    let names: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), Some(""), None]));
    let values: ArrayRef = Arc::new(Int64Array::from(vec![Some(0), None, Some(-5)]));
    let flags: ArrayRef = Arc::new(BooleanArray::from(vec![true, false, true]));
    let text = written(&columns(vec![("name", names), ("value_ns", values), ("flag", flags)]));
    assert_eq!(text, "name,value_ns,flag\na,0,true\n\"\",,false\n,-5,true\n");
}

#[test]
fn hostile_names_stay_in_their_cell_and_lists_are_json() {
    let names: ArrayRef = Arc::new(StringArray::from(vec!["a\"b,\nc"]));
    let mut frames = ListBuilder::new(StringBuilder::new());
    frames.append_value([Some("x\"y"), Some("z")]);
    let text = written(&columns(vec![("n,", names), ("frames", Arc::new(frames.finish()))]));
    assert_eq!(text, "\"n,\",frames\n\"a\"\"b,\nc\",\"[\"\"x\\\"\"y\"\",\"\"z\"\"]\"\n");
}

#[test]
fn no_text_is_a_formula_and_numbers_are_as_they_are() {
    let names: ArrayRef = Arc::new(StringArray::from(vec!["=1+1", "-x", "@a", "plain"]));
    let values: ArrayRef = Arc::new(Int64Array::from(vec![-5, 0, 1, -1]));
    let text = written(&columns(vec![("name", names), ("value", values)]));
    assert_eq!(text, "name,value\n'=1+1,-5\n'-x,0\n'@a,1\nplain,-1\n");
}

/// Frames of user stacks, the last of which stands for unknown callers.
#[test]
fn a_list_of_numbers_is_json_too() {
    let mut frames = ListBuilder::new(UInt32Builder::new());
    frames.append_value([Some(7), None]);
    assert_eq!(written(&columns(vec![("frames", Arc::new(frames.finish()))])), "frames\n\"[7,null]\"\n");
}

/// The cells of a text of CSV, by the grammar of RFC 4180 and nothing else.
fn parsed(text: &str) -> Vec<Vec<String>> {
    let (mut lines, mut line, mut cell, mut quoted) = (Vec::new(), Vec::new(), String::new(), false);
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if quoted && letters.peek() == Some(&'"') => {
                letters.next();
                cell.push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => line.push(std::mem::take(&mut cell)),
            '\n' if !quoted => {
                line.push(std::mem::take(&mut cell));
                lines.push(std::mem::take(&mut line));
            }
            other => cell.push(other),
        }
    }
    lines
}

proptest! {
    #[test]
    fn any_text_reads_back(names in proptest::collection::vec("[a,\"\\r\\n\\x00é=]{0,6}", 1..5)) {
        let ids = UInt32Array::from_iter_values(0..names.len() as u32);
        let rows = columns(vec![("id", Arc::new(ids) as ArrayRef), ("name",
            Arc::new(StringArray::from(names.clone())))]);
        let read = parsed(&written(&rows));
        prop_assert_eq!(&read[0], &["id", "name"]);
        for (number, name) in names.iter().enumerate() {
            prop_assert_eq!(&read[number + 1][0], &number.to_string());
            prop_assert!(!read[number + 1][1].starts_with(['=', '\r']));
            prop_assert_eq!(model::csv::original(&read[number + 1][1]), name);
        }
    }
}
