/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The programs of "tiny": busybox, linked statically, and a link for each
 * name that it answers to.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "template_internal.h"

/* Where distributions have the static one. */
static const char *const places[] = {
	"/bin/busybox", "/usr/bin/busybox", "/bin/busybox.static",
	"/usr/lib/busybox/busybox-static", NULL
};

static int
link_names(int bin, char *names, struct co_error *e)
{
	char *last, *p;

	for (p = strtok_r(names, "\n", &last); p != NULL;
	    p = strtok_r(NULL, "\n", &last)) {
		if (strchr(p, '/') != NULL || strcmp(p, "busybox") == 0)
			continue;
		if (symlinkat("busybox", bin, p) != 0 && errno != EEXIST)
			return (co_error_errno(e, errno, p,
			    "can't make the link \"%s\"", p));
	}
	return (0);
}

int
template_tiny_programs(int root, int bin, const char *path,
    struct co_error *e)
{
	const char *argv[] = { NULL, "--list", NULL };
	struct co_result res;
	struct co_run r = { .argv = argv };
	const char *const *p;
	int ret;

	(void)root;
	(void)path;
	for (p = places; *p != NULL && access(*p, X_OK) != 0; p++)
		;
	if (*p == NULL)
		return (co_error_set(e, CO_ETEMPLATE_BUILD, "tiny",
		    "the template \"tiny\" is made of busybox, which is not "
		    "installed; install it: apt-get install busybox-static"));
	argv[0] = *p;
	r.deadline = co_after(10000);
	if (co_run(&r, &res, e) != 0)
		return (-1);
	if (res.status != 0)
		ret = co_error_set(e, CO_ETEMPLATE_BUILD, *p,
		    "%s --list failed: %.200s", *p, res.out);
	else if ((ret = template_copy_file(*p, bin, "busybox", 0755, e)) == 0)
		ret = link_names(bin, res.out, e);
	free(res.out);
	return (ret);
}
