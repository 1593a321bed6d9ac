//! The types of the page's program are those of the declared columns.

use std::fs;
use std::path::Path;

use explain::blame::Cause;

use crate::request_list::ListedRequest;
use crate::stall_list::ListedStall;

type Types = &'static [(&'static str, &'static str, &'static str)];

#[test]
fn types_ts_is_generated() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("web/src/types.ts");
    let types = fs::read_to_string(&path).unwrap();
    let generated = replaced(&types, "StallColumns", ListedStall::TYPES);
    let generated = replaced(&generated, "RequestColumns", ListedRequest::TYPES);
    if std::env::var_os("UPDATE_GENERATED").is_some() {
        fs::write(&path, generated).unwrap();
    } else {
        assert!(types == generated, "web/src/types.ts is stale: run 'make generated page' and commit it");
    }
}

/// The program's types with that interface between its markers.
fn replaced(types: &str, interface: &str, columns: Types) -> String {
    let (begin, end) = (format!("// generated: {interface}\n"), "// end of generated\n");
    let (before, rest) = types.split_once(&begin).unwrap_or_else(|| panic!("types.ts lacks '{begin}'"));
    let (_, after) = rest.split_once(end).unwrap_or_else(|| panic!("{interface} lacks '{end}'"));
    let member = |(name, kind, about): &(&str, &str, &str)| format!("  /** {} */\n  {name}: {kind};\n", about.trim());
    let members: String = columns.iter().map(member).collect();
    format!("{before}{begin}export interface {interface} {{\n{members}}}\n{end}{after}")
}

#[test]
fn every_cause_has_a_colour() {
    let causes = Path::new(env!("CARGO_MANIFEST_DIR")).join("web/src/causes.ts");
    let paints = fs::read_to_string(&causes).unwrap();
    let lacks = Cause::ALL.into_iter().map(Cause::name).find(|name| !paints.contains(&format!("\n  {name}: [")));
    assert_eq!(lacks, None, "web/src/causes.ts lacks this cause");
}
