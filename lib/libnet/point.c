/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Marks in the code at which a test may end the process.  A test program
 * that defines net_point() itself takes the place of this one.
 */

#include "net_internal.h"

void
net_point(const char *name)
{

	(void)name;
}
