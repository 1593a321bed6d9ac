use proptest::prelude::*;

use super::statements;
use crate::SamplerOptions;
use crate::fake::Kernel;

const INFO: &str = "3003 transactions (2990 requested), each up to 2730 blocks
average: 
  1ms waiting for transaction
  0ms request delay
  5ms running transaction
  0ms transaction was being locked
  0ms flushing data (in ordered mode)
  4ms logging transaction
  22945us average transaction commit time
  20 handles per transaction
  8 blocks per transaction
  10 logged blocks per transaction
";

#[test]
fn a_journal() {
    let kernel = Kernel::new().with(&[("proc/fs/jbd2/loop1-8/info", INFO)]);
    let mut recording = kernel.record(&SamplerOptions::default());
    assert_eq!(
        recording.sample(),
        [
            "jbd2.average_transaction_commit_time[loop1]=22945",
            "jbd2.blocks_per_transaction[loop1]=8",
            "jbd2.flushing_data_in_ordered_mode[loop1]=0",
            "jbd2.handles_per_transaction[loop1]=20",
            "jbd2.logged_blocks_per_transaction[loop1]=10",
            "jbd2.logging_transaction[loop1]=4",
            "jbd2.request_delay[loop1]=0",
            "jbd2.requested[loop1]=2990",
            "jbd2.running_transaction[loop1]=5",
            "jbd2.transaction_was_being_locked[loop1]=0",
            "jbd2.transactions[loop1]=3003",
            "jbd2.waiting_for_transaction[loop1]=1",
        ]
    );
    kernel.write("proc/fs/jbd2/loop1-8/info", INFO.replace("3003", "3004"));
    assert_eq!(recording.sample(), ["jbd2.transactions[loop1]=3004"]);
    kernel.remove_folder("proc/fs/jbd2/loop1-8");
    assert_eq!(recording.sample().len(), 12);
    assert_eq!(recording.out.failures, []);
    assert_eq!(recording.value("jbd2.transactions", "loop1"), None);
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_panic(line in proptest::collection::vec(any::<u8>(), 0..60), rest in ".{0,40}") {
        statements(&line).count();
        statements(format!("12 transactions ({rest}").as_bytes()).count();
        statements(format!("12ms {rest}").as_bytes()).count();
    }
}
