/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * API keys of the gateway.  They are in a file of their own, which is
 * changed here without asking coppiced.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <libxo/xo.h>

#include "coppicectl.h"
#include "../coppicegw/key_file.h"

#define	KEYS	"/var/db/coppice/gateway/keys"

static const char *path = KEYS;

static struct key_entry *
load(size_t *n)
{
	struct key_entry *list;
	struct co_error e;

	if (key_file_load(path, &list, n, &e) != 0)
		fail("%s", e.message);
	return (list);
}

static void
save(const struct key_entry *list, size_t n)
{
	struct co_error e;

	if (key_file_save(path, list, n, &e) != 0)
		fail("%s", e.message);
}

int
cmd_key_create(int argc, char **argv)
{
	struct key_entry k = { .scope = "use" }, *list, *more;
	char key[sizeof(KEY_PREFIX) + KEY_DIGITS];
	size_t n;
	int ch;

	while ((ch = getopt(argc, argv, "f:m:n:r:s:")) != -1)
		switch (ch) {
		case 'f':
			path = optarg;
			break;
		case 'm':
			k.memory = size(optarg, "-m");
			break;
		case 'n':
			k.sandboxes = number(optarg, "-n", 1, 100000);
			break;
		case 'r':
			k.rate = number(optarg, "-r", 1, 1000000);
			break;
		case 's':
			if (strcmp(optarg, "read") != 0 &&
			    strcmp(optarg, "use") != 0 &&
			    strcmp(optarg, "admin") != 0)
				fail("-s: the scope must be read, use or "
				    "admin, not \"%s\"", optarg);
			(void)snprintf(k.scope, sizeof(k.scope), "%s",
			    optarg);
			break;
		default:
			usage();
		}
	if (argc - optind != 1 || strlen(argv[optind]) >= sizeof(k.name))
		usage();
	(void)snprintf(k.name, sizeof(k.name), "%s", argv[optind]);
	k.created = (int64_t)time(NULL);
	if (key_make(&k, key) != 0)
		fail("the key can't be hashed");
	list = load(&n);
	more = realloc(list, (n + 1) * sizeof(*list));
	if (more == NULL)
		fail("out of memory");
	more[n] = k;
	save(more, n + 1);
	free(more);
	xo_open_container("key");
	xo_emit("{:key/%s}\n{e:id/%s}{e:name/%s}{e:scope/%s}", key, k.id,
	    safe(k.name), k.scope);
	xo_close_container("key");
	return (0);
}

int
cmd_key_list(int argc, char **argv)
{
	struct key_entry *list;
	size_t n;
	int ch;

	while ((ch = getopt(argc, argv, "f:")) != -1)
		switch (ch) {
		case 'f':
			path = optarg;
			break;
		default:
			usage();
		}
	if (optind != argc)
		usage();
	list = load(&n);
	xo_emit("{T:/%-9s}{T:/%-6s}{T:/%-10s}{T:/%s}\n", "ID", "SCOPE", "AGE",
	    "NAME");
	xo_open_list("key");
	for (size_t i = 0; i < n; i++) {
		xo_open_instance("key");
		xo_emit("{k:id/%-8s} {:scope/%-5s} {d:age/%-9s} {:name/%s}"
		    "{e:created/%jd}{e:sandboxes/%ju}{e:memory/%ju}"
		    "{e:rate/%ju}\n", list[i].id, list[i].scope,
		    ago((uint64_t)list[i].created * 1000),
		    safe(list[i].name), (intmax_t)list[i].created,
		    (uintmax_t)list[i].sandboxes, (uintmax_t)list[i].memory,
		    (uintmax_t)list[i].rate);
		xo_close_instance("key");
	}
	xo_close_list("key");
	free(list);
	return (0);
}

int
cmd_key_revoke(int argc, char **argv)
{
	struct key_entry *list;
	size_t i = 0, n;
	int ch;

	while ((ch = getopt(argc, argv, "f:")) != -1)
		switch (ch) {
		case 'f':
			path = optarg;
			break;
		default:
			usage();
		}
	if (argc - optind != 1)
		usage();
	list = load(&n);
	while (i < n && strcmp(list[i].id, argv[optind]) != 0)
		i++;
	if (i == n)
		fail("there is no key \"%s\"; \"coppicectl key list\" shows "
		    "those there are", safe(argv[optind]));
	memmove(&list[i], &list[i + 1], (n - i - 1) * sizeof(*list));
	save(list, n - 1);
	free(list);
	return (0);
}
