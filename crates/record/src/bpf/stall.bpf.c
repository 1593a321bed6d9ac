// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Traces what tasks wait for. Pairing and filtering happen here: only long waits go through the ring, and short waits
 * of one task are summed up over a tenth of a second. One header for each subject, one object for all: they share the
 * state of a task. */
#include "bpf.h"
#include "request_programs.h"
#include "call.h"
#include "wait.h"
#include "io_uring.h"
#include "server.h"
#include "task_iterator.h"
#include "follow.h"
#include "span.h"
#include "mark.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";
