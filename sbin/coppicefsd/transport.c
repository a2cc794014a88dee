/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The table of transports.
 */

#include <string.h>

#include "coppicefsd.h"

static const struct transport *const transports[] = {
	&transport_fuse,
	&transport_p9,
	&transport_vhost
};

const struct transport *
transport_find(const char *spec, const char **arg)
{
	size_t i, len;

	for (i = 0; i < sizeof(transports) / sizeof(transports[0]); i++) {
		len = strlen(transports[i]->name);
		if (strncmp(spec, transports[i]->name, len) == 0 &&
		    spec[len] == ':' && spec[len + 1] != '\0') {
			*arg = spec + len + 1;
			return (transports[i]);
		}
	}
	return (NULL);
}
