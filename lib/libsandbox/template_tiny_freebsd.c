/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The programs of "tiny": those of /rescue, one static file with many names,
 * and the database of users that they read.
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "template_internal.h"

#define	RESCUE	"/rescue"

static int
link_names(int bin, struct co_error *e)
{
	struct dirent *d;
	int ret = 0;
	DIR *dp;

	dp = opendir(RESCUE);
	if (dp == NULL)
		return (co_error_errno(e, errno, RESCUE,
		    "can't read " RESCUE));
	while (ret == 0 && (d = readdir(dp)) != NULL) {
		if (d->d_name[0] == '.' || strcmp(d->d_name, "rescue") == 0)
			continue;
		if (symlinkat("rescue", bin, d->d_name) != 0 &&
		    errno != EEXIST)
			ret = co_error_errno(e, errno, d->d_name,
			    "can't make the link \"%s\"", d->d_name);
	}
	closedir(dp);
	return (ret);
}

static int
make_users(int root, const char *path, struct co_error *e)
{
	static const char text[] =
	    "root:*:0:0::0:0:root:/root:/bin/sh\n"
	    "user:*:1000:1000::0:0:user:/home/user:/bin/sh\n"
	    "nobody:*:65534:65534::0:0:nobody:/:/usr/sbin/nologin\n";
	char etc[PATH_MAX], file[PATH_MAX + 16];
	const char *argv[] = { "pwd_mkdb", "-p", "-d", etc, file, NULL };
	struct co_run r = { .argv = argv };
	struct co_result res;
	int dir, ret;

	dir = openat(root, "etc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir == -1)
		return (co_error_errno(e, errno, "etc", "can't open \"etc\""));
	ret = co_file_replace(dir, "master.passwd", text, sizeof(text) - 1,
	    0600, e);
	close(dir);
	if (ret != 0)
		return (-1);
	snprintf(etc, sizeof(etc), "%s/etc", path);
	snprintf(file, sizeof(file), "%s/master.passwd", etc);
	r.deadline = co_after(10000);
	if (co_run(&r, &res, e) != 0)
		return (-1);
	if (res.status != 0)
		ret = co_error_set(e, CO_ETEMPLATE_BUILD, "tiny",
		    "pwd_mkdb failed: %.200s", res.out);
	free(res.out);
	return (ret);
}

int
template_tiny_programs(int root, int bin, const char *path,
    struct co_error *e)
{

	if (template_copy_file(RESCUE "/rescue", bin, "rescue", 0755, e) != 0 ||
	    link_names(bin, e) != 0)
		return (-1);
	return (make_users(root, path, e));
}
