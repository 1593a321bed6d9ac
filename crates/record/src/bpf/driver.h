/* Where drivers that may be modules keep what the programs read. The recorder fills it, again when one of them is
 * loaded later.
 *
 * No relocation refers to a driver's type: without its module libbpf cannot resolve it, and the kernel refuses the
 * program if the compiler places the relocation before the check that the type exists. */
#pragma once

#include "bpf.h"

struct drivers {
	u64 loop_end_io;	/* address of lo_rw_aio_complete; 0: unknown */
	u16 loop_iocb;		/* offset in struct loop_cmd; 0: unknown, as below */
	u16 loop_file;		/* of lo_backing_file in struct loop_device */
	u16 mapper_major;	/* of devices of the device mapper; 0: none */
	u16 scsi_result;	/* offsets in a SCSI command of `result`, */
	u16 scsi_sense;		/* `sense_buffer`, */
	u16 scsi_device;	/* and `device`, */
	u16 scsi_state;		/* and of `sdev_state` there */
	u16 unused;
};

struct drivers drivers SEC(".data.drivers") = {};
