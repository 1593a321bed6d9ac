//! Explained slow operations, with what makes them comparable between machines.

use archive::Run;
use explain::blame::{Accounting, Culprit, Explanation, Stall};
use export::task_keys::TaskKeys;
use lake::{StallRow, Step, fingerprint};
use model::cause::Cause;
use model::run::{RunDescription, mount_of};
use model::wait_kind::WaitKind;

use crate::reading::explained_rows::row;
use crate::reading::explanation::explanation_with_accounting;

/// All slow operations of a run, and their explanation as a whole.
pub fn explained(run: &Run, warn: impl Fn(&str)) -> (Explanation, Vec<StallRow>) {
    let (explanation, accounting) = explanation_with_accounting(run, None, 0, warn);
    let numbers: Vec<usize> = (0..accounting.len()).collect();
    let blockers = accounting.root_blockers(&numbers);
    let stalls = accounting.stalls(&numbers).into_iter().zip(blockers);
    let rows = stalls.map(|((_, stall), blocker)| stall_row(stall, blocker, &accounting, run.description())).collect();
    (explanation, rows)
}

fn stall_row(stall: Stall, blocker: Option<Culprit>, accounting: &Accounting, run: &RunDescription) -> StallRow {
    let mount = stall.path.as_deref().and_then(|path| mount_of(&run.mounts, path));
    // `xfs on /mnt`.
    let of_blocker = blocker.as_ref().and_then(|blocker| blocker.file_system.as_ref()?.split(' ').next());
    let file_system = mount.map(|mount| mount.fs_type.as_str()).or(of_blocker).map(str::to_owned);
    let number = stall.request.as_ref().map(|request| request.device);
    let number = number.or_else(|| blocker.as_ref().and_then(|blocker| blocker.device));
    let of_mount = || run.devices.iter().find(|device| mount.is_some_and(|mount| mount.device == device.number));
    let disk = number.map_or_else(of_mount, |number| run.device(number));
    let lock = stall.chain.iter().find(|link| link.cause == Cause::Lock).and_then(|link| link.object);
    let lock = lock.map(WaitKind::words);
    let steps: Vec<Step> =
        stall.chain.iter().map(|link| Step { cause: link.cause, functions: link.kernel_stack.clone() }).collect();
    let explained = row(stall, accounting, &TaskKeys::default(), run.started);
    let kind = disk.map(|disk| disk.model.clone().unwrap_or_else(|| kind_of(&disk.name)));
    StallRow {
        fingerprint: fingerprint(explained.main_cause(), &steps, lock, file_system.as_deref(), kind.as_deref()),
        file_system,
        device: disk.map(|disk| disk.name.clone()).or_else(|| number.map(|number| number.to_string())),
        device_model: disk.and_then(|disk| disk.model.clone()),
        blocker_cgroup: blocker.as_ref().and_then(|blocker| blocker.cgroup.clone()),
        blocker_task: blocker.and_then(|blocker| blocker.task?.name),
        lock: lock.map(str::to_owned),
        explained,
    }
}

/// The kind of a disk without a model: the letters before its number, as in `loop0`, `dm-3`, `vda1`.
fn kind_of(name: &str) -> String {
    let kind = name.split(|letter: char| letter.is_ascii_digit() || letter == '-').next().unwrap_or_default();
    let is_lettered = ["vd", "sd", "hd", "xvd"].into_iter().find(|prefix| kind.starts_with(prefix));
    is_lettered.unwrap_or(kind).to_owned()
}

#[cfg(test)]
mod tests {
    use super::kind_of;

    #[test]
    fn disks_without_a_model_are_of_the_kind_that_their_names_begin_with() {
        for (name, kind) in
            [("loop12", "loop"), ("dm-3", "dm"), ("vda", "vd"), ("vdb1", "vd"), ("md127", "md"), ("", "")]
        {
            assert_eq!(kind_of(name), kind, "{name}");
        }
    }
}
