/* On which side of a connection a task is. */
#pragma once

#include "bpf.h"

/* A task's side of a connection. */
enum side {
	NO_SIDE = 0,
	CLIENT = 1,
	SERVER = 2,
	EITHER = 3,	/* of a pipe or a socket pair */
	OF_DATAGRAMS = 4,	/* flag */
};
