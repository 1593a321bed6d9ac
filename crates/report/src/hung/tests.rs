use hung::{Reader, advice, analyze};

use super::{HungFindings, json, text};
use crate::style::Style;

const DUMP: &str = "\
INFO: task jbd2/sda-8:103 blocked for more than 120 seconds.
      Not tainted 5.10.76 #1
task:jbd2/sda-8      state:D stack:    0 pid:  103 ppid:     2 flags:0x00004000
 __schedule+0x1/0x2
 io_schedule+0x1/0x2
 bit_wait_io+0x1/0x2
 __wait_on_bit+0x1/0x2
 __wait_on_buffer+0x1/0x2
 jbd2_journal_commit_transaction+0x1/0x2
INFO: task dd\u{1b}[31m:200 blocked for more than 241 seconds.
 __schedule+0x1/0x2
 wait_transaction_locked+0x1/0x2
 add_transaction_credits+0x1/0x2
";

#[test]
fn the_root_comes_first_and_names_are_safe() {
    let mut reader = Reader::default();
    DUMP.lines().for_each(|line| reader.line(line));
    let dump = reader.finish();
    let analysis = analyze(&dump);
    let advice = advice(&dump, &analysis);
    let findings = HungFindings { dump: &dump, analysis: &analysis, advice: &advice };
    let shown = text::text(&findings, Style::PLAIN);
    assert!(!shown.contains('\u{1b}'), "{shown}");
    let begin = "\
2 blocked tasks; blocked for at least 241 s; kernel 5.10.76

Likely root
 device or transport: metadata block I/O
   jbd2/sda-8/103 waits there, 1 more task behind
   __wait_on_buffer < jbd2_journal_commit_transaction
";
    assert!(shown.starts_with(begin), "{shown}");
    let document = json::document(&findings);
    assert_eq!(document["roots"][0]["class"], "device");
    assert_eq!(document["tasks"][1]["behind"], "jbd2/sda-8/103");
    assert_eq!(document["tasks"][1]["state"], "D");
}
