// SPDX-License-Identifier: GPL-2.0 OR MIT
/* The core of the tracer for kernels before 5.17: system calls, waits with stacks and wakers, block requests. The
 * programs of `stall.bpf.c` need storage of tasks, typed pointers to the running task, its registers, atomic exchange,
 * and functions that take pointers. The events are the same. */
#include "bpf.h"
#include "early/request.h"
#include "early/work.h"
#include "early/wait.h"
#include "early/call.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";
