//! The campaigns of `make torture` leave nothing for good, also when they are killed.

use std::fs;
use std::process::Command;

use crate::recorded_disk::{Mounted, output};
use crate::remains;
use crate::stage::is_root;

#[test]
fn what_a_killed_campaign_left_is_removed_by_the_next() {
    if !is_root("a file system") {
        return;
    }
    let parent = tempfile::tempdir().unwrap();
    let mut dead = Command::new("true").spawn().unwrap();
    dead.wait().unwrap();
    let own = remains::folder_in(parent.path());
    let left = parent.path().join(format!("torture-{}-1-left", dead.id()));
    fs::create_dir(&left).unwrap();
    let image = left.join("image");
    fs::File::create(&image).unwrap().set_len(8 << 20).unwrap();
    output("mkfs.ext4", &["-q", "-F", &image.display().to_string()]).unwrap();
    let mounted = Mounted::image(&image, &left.join("place")).unwrap();
    let removed = remains::remove_in(parent.path());
    assert!(removed.len() == 1 && removed[0].ends_with("removed"), "{removed:?}");
    // The loop device may be another one's by now.
    std::mem::forget(mounted);
    assert!(!left.exists() && own.path().exists());
    assert_eq!(output("losetup", &["--associated", &image.display().to_string()]).unwrap(), "");
}
