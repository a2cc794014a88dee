/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Templates: what there is to make sandboxes of.
 */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <libxo/xo.h>

#include "coppicectl.h"

static void
list_one(void *arg, const nvlist_t *nv)
{
	const char *const *names = NULL;
	bool *any = arg;
	size_t n = 0;
	uint64_t created = ctl_uint(nv, "created", 0);

	if (strcmp(ctl_string(nv, "event", ""), "template") != 0)
		return;
	if (nvlist_exists_string_array(nv, "names"))
		names = nvlist_get_string_array(nv, "names", &n);
	if (!*any)
		xo_emit("{T:HASH/%-12s} {T:SIZE/%6s} {T:AGE/%5s} "
		    "{T:BACKEND/%-8s} {T:USER/%-8s} {T:NAMES/%s}\n");
	*any = true;
	xo_open_instance("template");
	xo_emit("{k:hash/%-12.12s/%s} {d:/%6s}{e:size/%ju} {d:/%5s}"
	    "{e:created/%ju} {:backend/%-8s/%s} {:user/%-8s/%s}",
	    text(nv, "hash"), human(ctl_uint(nv, "size", 0)),
	    (uintmax_t)ctl_uint(nv, "size", 0), ago(created * 1000),
	    (uintmax_t)created, *text(nv, "backend") != '\0' ?
	    text(nv, "backend") : "any", text(nv, "user"));
	xo_open_list("name");
	for (size_t i = 0; i < n; i++)
		xo_emit("{P: }{l:name/%s}", safe(names[i]));
	xo_close_list("name");
	xo_emit("\n");
	xo_close_instance("template");
}

int
cmd_template_list(int argc, char **argv)
{
	bool any = false;
	int ret;

	(void)argv;
	if (argc != 1)
		usage();
	xo_open_list("template");
	ret = ask(request("template.list", NULL), list_one, &any, NULL);
	xo_close_list("template");
	return (ret == 0 ? 0 : failure());
}

static int
make(nvlist_t *nv)
{
	nvlist_t *answer;

	if (ask(nv, show_progress, NULL, &answer) != 0)
		return (failure());
	xo_open_container("template");
	xo_emit("{:hash/%s}\n", text(answer, "hash"));
	xo_close_container("template");
	nvlist_destroy(answer);
	return (0);
}

static const char *
name_option(int argc, char **argv)
{
	const char *name = NULL;
	int ch;

	while ((ch = getopt(argc, argv, "+n:")) != -1)
		if (ch == 'n')
			name = optarg;
		else
			usage();
	if (argc - optind != 1)
		usage();
	return (name);
}

int
cmd_template_build(int argc, char **argv)
{
	const char *name = name_option(argc, argv);
	nvlist_t *nv = request("template.build", NULL);

	nvlist_add_string(nv, "kind", argv[optind]);
	if (name != NULL)
		nvlist_add_string(nv, "name", name);
	return (make(nv));
}

/* "dir/alpine-3.20.tar.gz" is called "alpine-3.20" unless told otherwise. */
static void
default_name(const char *path, char *name, size_t room)
{
	static const char *const ends[] = {
		".gz", ".xz", ".bz2", ".zst", ".lz4", ".tar", ".txz", ".tgz"
	};
	const char *slash = strrchr(path, '/');
	size_t n, len;
	bool cut;

	snprintf(name, room, "%.*s", (int)room - 1,
	    slash != NULL ? slash + 1 : path);
	do {
		cut = false;
		for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
			n = strlen(name);
			len = strlen(ends[i]);
			if (n > len && strcmp(name + n - len, ends[i]) == 0) {
				name[n - len] = '\0';
				cut = true;
			}
		}
	} while (cut);
}

int
cmd_template_import(int argc, char **argv)
{
	const char *name = name_option(argc, argv);
	char real[PATH_MAX], own[256];
	nvlist_t *nv;

	if (realpath(argv[optind], real) == NULL)
		fail("%s: %s", argv[optind], strerror(errno));
	default_name(real, own, sizeof(own));
	nv = request("template.import", NULL);
	nvlist_add_string(nv, "path", real);
	nvlist_add_string(nv, "name", name != NULL ? name : own);
	return (make(nv));
}

int
cmd_template_export(int argc, char **argv)
{
	nvlist_t *nv;
	int fd = STDOUT_FILENO, ret;

	if (argc < 2 || argc > 3)
		usage();
	if (argc == 3) {
		fd = open(argv[2], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
		    0600);
		if (fd == -1)
			fail("%s: %s", argv[2], strerror(errno));
	} else if (isatty(STDOUT_FILENO))
		fail("an archive is not for a terminal; name a file");
	nv = request("template.export", NULL);
	nvlist_add_string(nv, "template", argv[1]);
	ret = ask_with(nv, fd, show_progress, NULL, NULL);
	if (fd != STDOUT_FILENO && close(fd) != 0)
		fail("%s: %s", argv[2], strerror(errno));
	if (ret != 0 && argc == 3)
		(void)unlink(argv[2]);
	return (ret == 0 ? 0 : failure());
}

int
cmd_template_remove(int argc, char **argv)
{
	nvlist_t *nv;
	int ret = 0;

	if (argc < 2)
		usage();
	for (int i = 1; i < argc; i++) {
		nv = request("template.remove", NULL);
		nvlist_add_string(nv, "template", argv[i]);
		if (ask(nv, NULL, NULL, NULL) != 0)
			ret = failure();
	}
	return (ret);
}
