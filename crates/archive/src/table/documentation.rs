//! The tables of docs/FORMAT.md are those of the declarations.

use std::fs;
use std::path::Path;

use arrow_schema::DataType;

use model::detail::{DETAIL_TYPES, OtherEnd, Progress};

use super::definition::{Column, Table};
use super::{
    DescriptorTable, IntervalTable, MetricTable, OperationTable, RequestIntervalTable, RequestTable, SampleTable,
    StackTable, StallTable, TaskTable, UsageTable, UserFrameTable, UserStackTable,
};

#[test]
fn format_md_is_generated() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/FORMAT.md");
    let page = fs::read_to_string(&path).unwrap();
    let mut generated = page.clone();
    for (name, columns) in [
        (DescriptorTable::NAME, DescriptorTable::COLUMNS),
        (SampleTable::NAME, SampleTable::COLUMNS),
        (MetricTable::NAME, MetricTable::COLUMNS),
        (IntervalTable::NAME, IntervalTable::COLUMNS),
        (OperationTable::NAME, OperationTable::COLUMNS),
        (StallTable::NAME, StallTable::COLUMNS),
        (StackTable::NAME, StackTable::COLUMNS),
        (RequestTable::NAME, RequestTable::COLUMNS),
        (RequestIntervalTable::NAME, RequestIntervalTable::COLUMNS),
        (TaskTable::NAME, TaskTable::COLUMNS),
        (UsageTable::NAME, UsageTable::COLUMNS),
        (UserStackTable::NAME, UserStackTable::COLUMNS),
        (UserFrameTable::NAME, UserFrameTable::COLUMNS),
    ] {
        generated = replaced(&generated, name, &table(columns));
    }
    generated = replaced(&generated, "details", &details());
    if std::env::var_os("UPDATE_GENERATED").is_some() {
        fs::write(&path, generated).unwrap();
    } else {
        assert!(page == generated, "docs/FORMAT.md is stale: run 'make generated' and commit it");
    }
}

/// The page with that text between the table's markers.
fn replaced(page: &str, name: &str, text: &str) -> String {
    let (begin, end) = (format!("<!-- columns of {name} -->\n"), "<!-- end -->");
    let (before, rest) = page.split_once(&begin).unwrap_or_else(|| panic!("docs/FORMAT.md lacks {begin}"));
    let (_, after) = rest.split_once(end).unwrap_or_else(|| panic!("{name} lacks {end}"));
    format!("{before}{begin}{text}{end}{after}")
}

fn details() -> String {
    let quoted = |names: &[&str]| names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let row = |name: &str, device: bool, numbers: &[&str], names: &[&str]| {
        format!("| `{name}` | {} | {} | {} |\n", if device { "yes" } else { "" }, quoted(numbers), quoted(names))
    };
    let facts = DETAIL_TYPES.iter().map(|known| row(known.name, known.device, known.numbers, known.names));
    let connections = [OtherEnd::Tcp, OtherEnd::TcpElsewhere, OtherEnd::UnixSocket].map(|of| of(Progress::Open));
    let plain: Vec<&str> = OtherEnd::plain().map(|end| end.name()).collect();
    let ends = [format!("| {} | | | |\n", quoted(&plain)), row(OtherEnd::Fifo(None).name(), false, &[], &["path"])];
    let ends = ends.into_iter();
    let ends = ends.chain(connections.map(|end| row(end.name(), false, &[], &["progress"])));
    let rows: String = facts.chain(ends).collect();
    format!("| type | device | numbers | names |\n|---|---|---|---|\n{rows}")
}

fn table(columns: &[Column]) -> String {
    let rows = columns.iter().map(|column| {
        let absent = if column.nullable { " ?" } else { "" };
        let later = if column.later { " *" } else { "" };
        let (name, unit, doc) = (column.name, column.unit, column.doc.trim());
        format!("| `{name}` | {}{absent}{later}, {unit} | {doc} |\n", type_name(&(column.data_type)()))
    });
    format!("| column | type, unit | |\n|---|---|---|\n{}", rows.collect::<String>())
}

fn type_name(data_type: &DataType) -> String {
    match data_type {
        DataType::Utf8 => "string".to_owned(),
        DataType::List(item) => format!("{}[]", type_name(item.data_type())),
        other => other.to_string().to_lowercase(),
    }
}
