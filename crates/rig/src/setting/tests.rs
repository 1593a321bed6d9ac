use std::path::PathBuf;

use super::{Setting, choices, has, is_device_number, present, restoring};
use crate::tests::{is_root, register};

#[test]
fn the_selected_word_of_a_list_and_the_twin_of_a_zero_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    assert_eq!(present(&file("scheduler", "none [mq-deadline] bfq \n"), None).unwrap(), "mq-deadline");
    assert_eq!(present(&file("lowmem", "256\t32\t0\n"), None).unwrap(), "256 32 0");
    let (bytes, ratio) = (file("dirty_bytes", "0\n"), file("dirty_ratio", "20\n"));
    assert_eq!(restoring(&bytes, "0"), (ratio.clone(), "20".to_owned()));
    assert_eq!(restoring(&ratio, "20"), (ratio.clone(), "20".to_owned()));
}

#[test]
fn the_values_of_an_attribute_are_known_where_it_lists_them() {
    let words = |words: &[&str]| Some(words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
    assert_eq!(choices("always [madvise] never\n"), words(&["always", "madvise", "never"]));
    assert_eq!((choices("60\n"), choices("[0]\n"), choices("write through\n"), choices("")), (None, None, None, None));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("enabled");
    std::fs::write(&file, "always [madvise] never\n").unwrap();
    let refused = |value: &str| Setting::at(&file, "enabled", value).unwrap().refuse_unfit().err();
    assert_eq!(refused("never").map(|error| error.to_string()), None);
    assert!(refused("banana").unwrap().to_string().contains("one of: always, madvise, never"));
}

#[test]
fn a_device_has_its_own_line() {
    let folder = tempfile::tempdir().unwrap();
    let max = folder.path().join("io.max");
    std::fs::write(&max, "8:0 rbps=max wbps=1048576 riops=max wiops=max\n8:16 rbps=1 wbps=max riops=max wiops=max\n")
        .unwrap();
    let now = present(&max, Some("8:0")).unwrap();
    assert_eq!(now, "rbps=max wbps=1048576 riops=max wiops=max");
    assert_eq!(present(&max, Some("8:1")).unwrap(), "");
    assert!(has(&now, "wbps=1048576") && !has(&now, "wbps=1048577") && !has(&now, ""));
    assert!(has("", "") && has("bfq", "bfq") && !has("bfq none", "bfq"));
    assert!(has("", "0") && has("", "wbps=max rbps=max") && !has("", "wbps=5") && !has("5", "0"));
    // cpu.max of cgroup v2, after its quota was removed.
    assert!(has("max 100000", "max") && !has("20000 100000", "max") && !has("max 100000", "20000"));
    for (text, expected) in [("8:0", true), ("8:", false), (":1", false), ("8:0:1", false), ("a:1", false)] {
        assert_eq!(is_device_number(text), expected, "{text}");
    }
}

#[test]
fn only_settings_of_the_kernel_can_be_named() {
    let refused = |name: &str, value: &str| Setting::named(name, value).unwrap_err().to_string();
    assert!(refused("/etc/hostname", "x").contains("only files below /sys and /proc/sys"));
    assert!(refused("/sys/../etc/hostname", "x").contains("only files below /sys and /proc/sys"));
    assert!(refused("/sys/kernel", "x").contains("only files below /sys and /proc/sys"));
    assert!(refused("/sys/no/such/file", "x").contains("it cannot be found"));
    assert!(refused("vm/../x", "1").contains("not the name of a setting"));
    assert!(refused("/proc/sys/vm/dirty_bytes", " ").contains("one line"));
    let setting = Setting::named("/proc/sys/vm/dirty_bytes", "8:0  5").unwrap();
    assert_eq!((setting.device(), setting.value()), (Some("8:0"), "5"));
}

/// As the throttle of a device in cgroup version 1; both states are restored.
#[test]
fn a_line_for_a_device_is_added_changed_and_removed() {
    let file = PathBuf::from("/sys/fs/cgroup/blkio/blkio.throttle.read_bps_device");
    if !is_root("a throttle rule") || !file.exists() {
        return println!("skipped: no blkio controller of cgroup v1");
    }
    let folder = tempfile::tempdir().unwrap();
    let (register, _) = register(folder.path());
    let Some(device) = spare_device() else { return println!("skipped: no spare block device") };
    let set = |value: &str| Setting::named(file.to_str().unwrap(), &format!("{device} {value}")).unwrap();
    let (first, second) = (set("1048576"), set("2097152"));
    let undo = |entries| assert!(register.undo_all(entries).iter().all(|removed| removed.complete));
    let added = first.change(&register).unwrap();
    assert!(first.is_set() && first.change(&register).unwrap().is_empty());
    let changed = second.change(&register).unwrap();
    assert!(second.is_set());
    undo(changed);
    assert!(first.is_set());
    let removed = set("0").change(&register).unwrap();
    assert_eq!(first.present().unwrap(), "");
    undo(removed);
    assert!(first.is_set());
    undo(added);
    assert_eq!(first.present().unwrap(), "");
}

/// `major:minor` of a block device without a size: nothing can use it.
fn spare_device() -> Option<String> {
    let devices = std::fs::read_dir("/sys/block").ok()?.flatten().map(|entry| entry.path());
    let read = |path: PathBuf| std::fs::read_to_string(path).map(|text| text.trim().to_owned()).ok();
    devices
        .filter(|path| read(path.join("size")).as_deref() == Some("0"))
        .last()
        .and_then(|path| read(path.join("dev")))
}
