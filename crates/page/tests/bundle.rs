//! The committed bundle is that of the committed sources.

use std::path::Path;
use std::process::Command;

#[test]
fn the_bundle_was_built_from_these_sources() {
    let web = Path::new(env!("CARGO_MANIFEST_DIR")).join("web");
    let Ok(checked) = Command::new("node").arg("check.mjs").current_dir(web).output() else {
        println!("skipped: node is not here, which checks that crates/page/web/dist is built from its sources");
        return;
    };
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
}
