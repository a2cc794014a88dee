/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Machines for the tests.
 */

#ifndef MACHINES_H
#define MACHINES_H

#include "vm.h"

#define	MACHINE_ID	"0123456789abcdef0123456789abcdef"

/* The least that there can be. */
#define	MACHINE_SMALL { .id = MACHINE_ID, .cpus = 1,			\
	.memory = UINT64_C(128) << 20, .kernel = "/boot/vmlinuz",	\
	.cmdline = "console=ttyS0", .control = "/run/vm/control",	\
	.console = "/run/vm/console" }

#endif /* MACHINES_H */
