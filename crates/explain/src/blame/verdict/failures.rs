//! What failed of a request at its device, in words.

use model::quantity::Nanoseconds;
use model::stall::{RequestFailures, RequestRecord};

use crate::blame::facts::storage::request;

/// What failed of a request at its device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failed {
    /// Status of its completion; `None` for success.
    pub errno: Option<i32>,
    /// What came before.
    pub failures: RequestFailures,
    /// Both in words.
    pub words: String,
}

/// `None` if nothing failed.
pub(crate) fn of(request: &RequestRecord) -> Option<Failed> {
    let failures = request.parts.as_deref().map(|parts| parts.failures).unwrap_or_default();
    Some(Failed { errno: request.errno, failures, words: words(request)? })
}

/// `timed out and was tried again after 2.1 s (aborted command)`; `None` if nothing failed.
pub(crate) fn words(request: &RequestRecord) -> Option<String> {
    let failures = request.parts.as_deref().map(|parts| parts.failures).unwrap_or_default();
    let retried = failures.retries.map(|retries| {
        let lasted = failures.first_issued_ns.zip(request.issued_ns);
        let after = lasted.map(|(first, last)| format!(" after {}", Nanoseconds(last.saturating_sub(first))));
        format!("{}{}", attempts(&failures, retries), after.unwrap_or_default())
    });
    let failed = request::is_failed(request).then(|| {
        let name = request.errno.and_then(model::errno::name).unwrap_or("an error");
        let late = if failures.timeouts > failures.retries { "timed out and " } else { "" };
        format!("{late}failed with {name}")
    });
    let words = [retried, failed].into_iter().flatten().collect::<Vec<_>>().join(", then ");
    let scsi = scsi(&failures).filter(|_| !words.is_empty()).map(|scsi| format!(" ({scsi})"));
    (!words.is_empty()).then(|| format!("{words}{}", scsi.unwrap_or_default()))
}

fn attempts(failures: &RequestFailures, retries: u32) -> String {
    let timeouts = failures.timeouts.unwrap_or(0).min(retries);
    let times = |count: u32| if count == 1 { String::new() } else { format!(" {count} times") };
    match (retries - timeouts, timeouts) {
        (0, _) => format!("timed out and was tried again{}", times(retries)),
        (_, 0) => format!("failed and was tried again{}", times(retries)),
        (failed, _) => format!("timed out{}, failed{}, and was tried again", times(timeouts), times(failed)),
    }
}

/// Codes of a SCSI host (include/scsi/scsi_status.h), statuses and sense keys of a device (SPC-5) that mean a failure.
const HOST: [&str; 21] = [
    "",
    "no connection",
    "bus busy",
    "timed out",
    "bad target",
    "aborted",
    "parity error",
    "host error",
    "reset",
    "bad interrupt",
    "passed through",
    "soft error",
    "immediate retry",
    "requeued",
    "transport disrupted",
    "transport failed fast",
    "target failure",
    "nexus failure",
    "space allocation failure",
    "medium error",
    "transport marginal",
];
const STATUS: [(u32, &str); 5] = [
    (0x08, "busy"),
    (0x18, "reservation conflict"),
    (0x28, "queue full"),
    (0x30, "ACA active"),
    (0x40, "task aborted"),
];
const SENSE: [&str; 15] = [
    "no sense",
    "recovered error",
    "not ready",
    "medium error",
    "hardware error",
    "illegal request",
    "unit attention",
    "data protect",
    "blank check",
    "vendor specific",
    "copy aborted",
    "aborted command",
    "equal",
    "volume overflow",
    "miscompare",
];

/// `aborted command, sense 0b/00/00`.
fn scsi(failures: &RequestFailures) -> Option<String> {
    let result = failures.scsi_result.unwrap_or(0);
    let host = HOST.get((result >> 8 & 0xff) as usize).copied().filter(|name| !name.is_empty());
    let status = match (result & 0xff, failures.scsi_sense) {
        (_, Some(sense)) => {
            let (key, code, qualifier) = (sense >> 16, sense >> 8 & 0xff, sense & 0xff);
            let name = SENSE.get(key as usize).copied().unwrap_or("unknown");
            Some(format!("{name}, sense {key:02x}/{code:02x}/{qualifier:02x}"))
        }
        (status, _) => STATUS.iter().find(|(number, _)| *number == status).map(|(_, name)| (*name).to_owned()),
    };
    let offline = (result >> 16 != 0).then(|| "its disk is offline".to_owned());
    let words: Vec<String> = host.map(str::to_owned).into_iter().chain(status).chain(offline).collect();
    (!words.is_empty()).then(|| words.join(", "))
}
