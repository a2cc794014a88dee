/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A client of coppicefsd's control socket for tests: sends one request and
 * prints what comes as lines of JSON.
 *
 * usage: fsdctl [-n events] [-t seconds] [-w file] socket op [key=value ...]
 *	-n	end after so many events
 *	-t	end, with status 3, after so long (30)
 *	-w	pass this file along, to be written to
 * Values are numbers, true, false, lists with a leading @ and commas
 * between, or strings.
 */

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "coppice.h"
#include "ctl.h"

static long events = -1;
static bool done;
static bool failed;

static void
put_string(const char *s)
{

	(void)putchar('"');
	for (; *s != '\0'; s++) {
		if (*s == '"' || *s == '\\')
			(void)printf("\\%c", *s);
		else if ((unsigned char)*s < 0x20)
			(void)printf("\\u%04x", (unsigned)*s);
		else
			(void)putchar(*s);
	}
	(void)putchar('"');
}

static void put_list(const nvlist_t *);

static void
put_value(const nvlist_t *nv, const char *name, int type)
{
	const char *const *strings;
	size_t i, n;

	switch (type) {
	case NV_TYPE_BOOL:
		(void)printf("%s", nvlist_get_bool(nv, name) ? "true" :
		    "false");
		break;
	case NV_TYPE_NUMBER:
		(void)printf("%" PRId64, (int64_t)nvlist_get_number(nv,
		    name));
		break;
	case NV_TYPE_STRING:
		put_string(nvlist_get_string(nv, name));
		break;
	case NV_TYPE_NVLIST:
		put_list(nvlist_get_nvlist(nv, name));
		break;
	case NV_TYPE_STRING_ARRAY:
		strings = nvlist_get_string_array(nv, name, &n);
		(void)putchar('[');
		for (i = 0; i < n; i++) {
			if (i > 0)
				(void)putchar(',');
			put_string(strings[i]);
		}
		(void)putchar(']');
		break;
	default:
		(void)printf("null");
	}
}

static void
put_list(const nvlist_t *nv)
{
	const char *name, *sep = "";
	void *cookie = NULL;
	int type;

	(void)putchar('{');
	while ((name = nvlist_next(nv, &type, &cookie)) != NULL) {
		(void)printf("%s\"%s\":", sep, name);
		put_value(nv, name, type);
		sep = ",";
	}
	(void)putchar('}');
}

static void
add(nvlist_t *nv, char *arg)
{
	char *end, *list[64], *v;
	size_t n = 0;
	uint64_t num;

	if ((v = strchr(arg, '=')) == NULL)
		errx(2, "%s: no value", arg);
	*v++ = '\0';
	if (strcmp(v, "true") == 0 || strcmp(v, "false") == 0) {
		nvlist_add_bool(nv, arg, v[0] == 't');
		return;
	}
	if (v[0] == '@') {
		for (v++; n < 64 && (end = strsep(&v, ",")) != NULL;)
			list[n++] = end;
		nvlist_add_string_array(nv, arg,
		    (const char *const *)list, n);
		return;
	}
	num = (uint64_t)strtoll(v, &end, 10);
	if (*v != '\0' && *end == '\0')
		nvlist_add_number(nv, arg, num);
	else
		nvlist_add_string(nv, arg, v);
}

static void
on_message(void *arg, nvlist_t *nv, int *fds, size_t nfds)
{

	(void)arg;
	ctl_close_fds(fds, nfds);
	put_list(nv);
	(void)putchar('\n');
	(void)fflush(stdout);
	if (ctl_flag(nv, "done", false)) {
		done = true;
		failed = nvlist_exists(nv, "error");
	} else if (events > 0 && --events == 0)
		done = true;
	nvlist_destroy(nv);
}

int
main(int argc, char *argv[])
{
	co_moment until = co_after(30000);
	struct pollfd p;
	struct co_error e;
	struct ctl *c;
	nvlist_t *nv;
	int ch, fd = -1;

	while ((ch = getopt(argc, argv, "n:t:w:")) != -1)
		switch (ch) {
		case 'n':
			events = atol(optarg);
			break;
		case 't':
			until = co_after((int64_t)(atof(optarg) * 1000));
			break;
		case 'w':
			fd = open(optarg, O_WRONLY | O_CREAT | O_TRUNC, 0600);
			if (fd == -1)
				err(2, "%s", optarg);
			break;
		default:
			return (2);
		}
	argc -= optind;
	argv += optind;
	if (argc < 2)
		errx(2, "socket and operation");
	if (ctl_connect(argv[0], &c, &e) == -1)
		errx(2, "%s", e.message);
	nv = nvlist_create(0);
	nvlist_add_string(nv, "op", argv[1]);
	nvlist_add_number(nv, "req", ctl_number(c));
	for (argv += 2; *argv != NULL; argv++)
		add(nv, *argv);
	if (ctl_send(c, nv, &fd, fd != -1, &e) == -1)
		errx(2, "%s", e.message);
	nvlist_destroy(nv);
	while (!done) {
		p = (struct pollfd){ .fd = ctl_fd(c),
		    .events = (short)ctl_want(c) };
		if (poll(&p, 1, co_left(until)) == 0)
			return (3);
		if (ctl_dispatch(c, p.revents, on_message, NULL, &e) == -1)
			return (4);
	}
	ctl_free(c);
	return (failed ? 1 : 0);
}
