/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The backends that FreeBSD has, in order of preference.
 */

#include "backend.h"
#include "jail_internal.h"

const struct backend *const backends[] = {
	&backend_jail,
	NULL
};
