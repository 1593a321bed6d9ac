//! What failed of a block request.

/// What failed of a request at its device.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RequestFailures {
    /// When it was first issued, if it failed and was issued again.
    pub first_issued_ns: Option<u64>,
    /// How often it was issued again.
    pub retries: Option<u32>,
    /// How often it timed out.
    pub timeouts: Option<u32>,
    /// SCSI: of its last failure the device's state, if it is offline, << 16 | the host's code << 8 | the device's
    /// status.
    pub scsi_result: Option<u32>,
    /// SCSI: its sense data, as key << 16 | code << 8 | qualifier.
    pub scsi_sense: Option<u32>,
}
