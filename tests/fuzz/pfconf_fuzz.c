/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The operator's pf.conf: our lines go in once, and taking them out gives
 * every byte back.
 */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "net_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct co_error e;
	char *text, *bare, *with, *twice, *back;

	if ((text = malloc(size + 1)) == NULL)
		return (0);
	memcpy(text, data, size);
	text[size] = '\0';
	if (net_pf_conf_merge(text, "cube", true, &bare, &e) != 0) {
		free(text);
		return (0);
	}
	if (net_pf_conf_merge(bare, "cube", false, &with, &e) != 0 ||
	    net_pf_conf_merge(with, "cube", false, &twice, &e) != 0 ||
	    strcmp(with, twice) != 0 ||
	    net_pf_conf_merge(with, "cube", true, &back, &e) != 0)
		abort();
	/* A last line without its end gets one; a continued one, two. */
	if (strncmp(back, bare, strlen(bare)) != 0 ||
	    strlen(back) > strlen(bare) + 2)
		abort();
	free(back);
	free(twice);
	free(with);
	free(bare);
	free(text);
	return (0);
}
