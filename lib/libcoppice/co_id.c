/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Ids: random, so that nobody has to ask anybody for the next one.
 */

#include <string.h>

#include "coppice.h"

void
co_id_make(char id[CO_IDSIZE])
{
	static const char hex[] = "0123456789abcdef";
	unsigned char raw[CO_IDLEN / 2];

	co_random(raw, sizeof(raw));
	for (size_t i = 0; i < sizeof(raw); i++) {
		id[2 * i] = hex[raw[i] >> 4];
		id[2 * i + 1] = hex[raw[i] & 15];
	}
	id[CO_IDLEN] = '\0';
}

bool
co_id_valid(const char *s)
{

	return (strlen(s) == CO_IDLEN &&
	    strspn(s, "0123456789abcdef") == CO_IDLEN);
}
