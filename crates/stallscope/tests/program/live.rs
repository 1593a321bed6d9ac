//! A run can be read while it is being written.

use rustix::process::Signal;

use crate::stage::{Running, SMALL, checked, folder, number, run, shown};

#[test]
fn a_live_run_is_shown_as_live() {
    let (folder, data) = (folder(), tempfile::tempdir().unwrap());
    let out = folder.path().join("run");
    let long = SMALL.replace("-r 3", "-r 600");
    let mut program = Running::start(&format!("run simoop {long} --out {} {}", out.display(), data.path().display()));
    program.wait_for_the_run();
    program.wait_until("there is something to show", |_| {
        let document = shown(&out);
        let read = document.pointer("/operations/read/count").and_then(serde_json::Value::as_u64);
        read > Some(0) && number(&document, "/recording/samples") >= 2.0
    });
    let document = shown(&out);
    assert!(document["ended"].is_null(), "{document:#}");
    assert!(number(&document, "/operations/read/count") > 0.0);
    let report = checked(&out);
    assert_eq!((&report["whole"], report["state"].as_str()), (&true.into(), Some("live")), "{report:#}");
    run(&format!("show {}", out.display())).expect_code(0);
    program.signal(Signal::TERM);
    program.wait().expect_code(130);
    assert_eq!(shown(&out)["ended"], "interrupted");
    assert_eq!(checked(&out)["state"], "closed");
}
