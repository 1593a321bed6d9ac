//! An hour at 1 s with a hundred thousand stalls.

use model::metric::{MetricChange, MetricDescriptor, MetricId, Semantics, Unit};

use super::browser::Browser;
use super::{Rows, S, START, interval};
use crate::{Limits, document, report};

const STALLS: u64 = 100_000;

/// The file for this hour may be so large.
const MOST_BYTES: usize = 5 << 20;

fn hour() -> Rows {
    let mut rows = Rows { samples: 3_600, ..Rows::default() };
    let mut random = 1u64;
    let mut next = |below: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 16) % below
    };
    for second in 0..3_600 {
        let latencies: Vec<u64> = (0..40).map(|_| 1 + next(3_000)).collect();
        rows.intervals.push(interval(second, &latencies));
    }
    for _ in 0..STALLS {
        let start_ns = START + next(3_600 * S - 3 * S);
        let frame = ["io_schedule", "jbd2_log_wait_commit", "xlog_grant_head_wait"][next(3) as usize];
        let path = format!("/mnt/data/set/{:04}/{:03}", next(64), next(1_000));
        rows.stall("read", 100 + next(200) as u32, start_ns, 500_000_000 + next(2 * S), &path, frame);
    }
    for metric in 0..60 {
        let name = ["meminfo.Cached", "vmstat.pgscan_direct", "vmstat.nr_dirty"][metric as usize % 3];
        rows.descriptors.push(MetricDescriptor {
            id: MetricId(metric),
            name: name.to_owned(),
            instance: if metric < 3 { String::new() } else { metric.to_string() },
            unit: Unit::Count,
            semantics: if metric % 3 == 1 { Semantics::Counter } else { Semantics::Gauge },
            device: None,
        });
        for sample in 0..3_600 {
            let value = Some(i64::from(sample) * 1_000 + next(900) as i64);
            rows.changes.push(MetricChange { sample, metric: MetricId(metric), value });
        }
    }
    rows
}

#[test]
fn a_long_run_with_very_many_stalls_fits_into_a_small_file_and_opens() {
    let html = report(&document(vec![hour().page(Limits::FILE)], Vec::new()));
    assert!(html.len() <= MOST_BYTES, "{} bytes", html.len());
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("hour.html");
    std::fs::write(&file, &html).unwrap();
    let Some(mut browser) = Browser::start() else { return };
    let took = browser.open(&format!("file://{}", file.display()));
    let own = browser.evaluate("Math.round(performance.now())");
    println!("{} bytes; ready after {took:?}; the next question answered after {own} ms", html.len());
    assert_eq!(browser.evaluate("document.querySelector('.stalls h3').textContent"), "Slow operations: 100,000");
    let rows = browser.evaluate("document.querySelectorAll('.tall .row').length").as_u64().unwrap();
    assert!((5..200).contains(&rows), "{rows} rows of the list exist at a time");
    browser
        .evaluate("document.querySelector('.stalls').scrollIntoView(); document.querySelector('.tall .row').click()");
    browser.wait_for("document.querySelector('.detail .chain li') !== null");
    browser.evaluate("document.querySelector('.rows').scrollTop = 1e6");
    browser.wait_for("Number(document.querySelector('.tall .row').dataset.at) > 1000");
    browser.evaluate(
        "const figure = document.querySelector('.charts figure'); \
         figure.dispatchEvent(new KeyboardEvent('keydown', { key: '+', bubbles: true }))",
    );
    assert_eq!(browser.evaluate("document.querySelector('.readout').textContent"), "15:00.0 – 45:00.0", "zoomed in");
    assert_eq!(browser.errors, [""; 0]);
}
