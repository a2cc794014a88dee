/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Arbitrary bytes as a configuration file: accepted or refused, never a
 * crash; a refusal says why, and what is accepted is within its range.
 */

#include <stdlib.h>
#include <string.h>

#include "coppice.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct co_conf *c;
	struct co_error e;

	if (co_conf_parse((const char *)data, size, "fuzz", co_keys, co_nkeys,
	    &c, &e) != 0) {
		if (e.message[0] == '\0')
			abort();
		return (0);
	}
	for (size_t i = 0; i < co_nkeys; i++) {
		const struct co_key *k = &co_keys[i];

		if (k->type == CO_INT || k->type == CO_SIZE ||
		    k->type == CO_SECONDS)
			if (co_conf_int(c, k->name) < k->min ||
			    co_conf_int(c, k->name) > k->max)
				abort();
	}
	co_conf_free(c);
	return (0);
}
