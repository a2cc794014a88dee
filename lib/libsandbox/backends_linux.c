/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The backends that Linux has, in order of preference.
 */

#include "backend.h"
#include "ns.h"

const struct backend *const backends[] = {
	&backend_ns,
	NULL
};
