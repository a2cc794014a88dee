/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A configuration from a file.
 */

#include <fcntl.h>
#include <stdlib.h>

#include "coppice.h"

#define	MAXFILE	(1024 * 1024)

int
co_conf_load(const char *path, const struct co_key *keys, size_t nkeys,
    struct co_conf **out, struct co_error *e)
{
	char *text;
	size_t len;
	int ret;

	if (path == NULL)
		return (co_conf_parse("", 0, "defaults", keys, nkeys, out, e));
	if (co_file_read(AT_FDCWD, path, MAXFILE, &text, &len, e) != 0)
		return (-1);
	ret = co_conf_parse(text, len, path, keys, nkeys, out, e);
	free(text);
	return (ret);
}
