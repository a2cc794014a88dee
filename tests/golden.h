/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Text against the files in the folder "golden" of a test.
 */

#ifndef GOLDEN_H
#define GOLDEN_H

#include <atf-c.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "coppice.h"

/* The caller frees it. */
static inline char *
golden_read(const char *file)
{
	char path[512], *data;
	struct co_error e;
	size_t len;

	snprintf(path, sizeof(path), "%s/golden/%s", TEST_SRCDIR, file);
	ATF_REQUIRE_EQ_MSG(0, co_file_read(AT_FDCWD, path, 1 << 20, &data,
	    &len, &e), "%s: %s", path, e.message);
	return (data);
}

/*
 * Frees ${got}.  Set COPPICE_GOLDEN to a folder to have what was rendered
 * written there.
 */
static inline void
golden_check(const char *file, char *got)
{
	const char *dir = getenv("COPPICE_GOLDEN");
	struct co_error e;
	char *want;
	int fd;

	ATF_REQUIRE(got != NULL);
	if (dir != NULL) {
		ATF_REQUIRE((fd = open(dir, O_RDONLY | O_DIRECTORY)) >= 0);
		ATF_REQUIRE_EQ(0, co_file_replace(fd, file, got, strlen(got),
		    0644, &e));
		close(fd);
	}
	want = golden_read(file);
	ATF_CHECK_MSG(strcmp(want, got) == 0, "%s differs:\n%s", file, got);
	free(want);
	free(got);
}

#endif /* GOLDEN_H */
