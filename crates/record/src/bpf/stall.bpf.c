// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Traces what tasks wait for. Pairing and filtering happen here: only long waits go through the ring, and short waits
 * of one task are summed up over a tenth of a second. One header for each subject, one object for all: they share the
 * state of a task. */
#include "bpf.h"
#include "request/programs.h"
#include "call/call.h"
#include "wait/wait.h"
#include "operation/io_uring.h"
#include "task/server.h"
#include "task/iterator.h"
#include "task/follow.h"
#include "wait/span.h"
#include "wait/mark.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";
