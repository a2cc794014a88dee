/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Finding a backend by its name.
 */

#include <string.h>

#include "backend.h"

const struct backend *
backend_find(const char *name)
{

	for (size_t i = 0; backends[i] != NULL; i++)
		if (strcmp(backends[i]->name, name) == 0)
			return (backends[i]);
	return (NULL);
}
