/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A tree reaches the disk before the name that stands for all of it does.
 */

#include <unistd.h>

#include "template_internal.h"

void
template_sync(int root)
{

	(void)syncfs(root);
}
