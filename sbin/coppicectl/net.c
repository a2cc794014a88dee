/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The network: of the host, and what a sandbox may reach.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <libxo/xo.h>

#include "coppicectl.h"

#define	MAXPOLICY	(256 * 1024)

static void
finding_one(void *arg, const nvlist_t *nv)
{

	(void)arg;
	if (strcmp(ctl_string(nv, "event", ""), "finding") != 0)
		return;
	xo_open_instance("finding");
	xo_emit("{:health/%-5s/%s} {k:name/%-20s/%s} {:message/%s}\n",
	    text(nv, "health"), text(nv, "name"), text(nv, "message"));
	xo_close_instance("finding");
}

static void
print_pools(const nvlist_t *nv)
{
	const nvlist_t *const *list;
	size_t n;

	if (!nvlist_exists_nvlist_array(nv, "pools"))
		return;
	list = nvlist_get_nvlist_array(nv, "pools", &n);
	xo_emit("{T:KIND/%-6s} {T:RANGE/%-18s} {T:BRIDGE/%-12s} "
	    "{T:TOTAL/%6s} {T:LIVE/%6s} {T:WAITING/%7s} {T:FOREIGN/%7s}\n");
	xo_open_list("pool");
	for (size_t i = 0; i < n; i++) {
		xo_open_instance("pool");
		xo_emit("{k:kind/%-6s/%s} {:range/%-18s/%s} "
		    "{:bridge/%-12s/%s} {:total/%6ju/%ju} {:live/%6ju/%ju} "
		    "{:quarantined/%7ju/%ju} {:foreign/%7ju/%ju}\n",
		    text(list[i], "kind"), text(list[i], "range"),
		    text(list[i], "bridge"),
		    (uintmax_t)ctl_uint(list[i], "total", 0),
		    (uintmax_t)ctl_uint(list[i], "live", 0),
		    (uintmax_t)ctl_uint(list[i], "quarantined", 0),
		    (uintmax_t)ctl_uint(list[i], "foreign", 0));
		xo_close_instance("pool");
	}
	xo_close_list("pool");
}

static int
show_host(void)
{
	nvlist_t *nv;
	int ret;

	xo_open_list("finding");
	ret = ask(request("net.show", NULL), finding_one, NULL, &nv);
	xo_close_list("finding");
	if (ret != 0)
		return (failure());
	if (*text(nv, "uplink") != '\0')
		xo_emit("{Lc:uplink}{P: }{:uplink/%s}\n", text(nv, "uplink"));
	print_pools(nv);
	nvlist_destroy(nv);
	return (0);
}

/* The lines of a policy, which are also its document. */
static void
print_policy(const char *policy)
{
	size_t n;

	xo_open_list("policy");
	for (; *policy != '\0'; policy += n + (policy[n] == '\n')) {
		n = strcspn(policy, "\n");
		if (n > 0)
			xo_emit("{l:policy/%s}\n", safe_bytes(policy, n));
	}
	xo_close_list("policy");
}

int
cmd_net_show(int argc, char **argv)
{
	nvlist_t *nv;

	if (argc > 2)
		usage();
	if (argc == 1)
		return (show_host());
	if (ask(request("policy.get", argv[1]), NULL, NULL, &nv) != 0)
		return (failure());
	print_policy(ctl_string(nv, "policy", ""));
	nvlist_destroy(nv);
	return (0);
}

static char *
read_policy(const char *path)
{
	FILE *f = strcmp(path, "-") == 0 ? stdin : fopen(path, "r");
	char *buf = malloc(MAXPOLICY + 1);
	size_t n;

	if (f == NULL)
		fail("%s: %s", path, strerror(errno));
	if (buf == NULL)
		fail("out of memory");
	n = fread(buf, 1, MAXPOLICY + 1, f);
	if (n > MAXPOLICY)
		fail("%s: too long for a policy", path);
	buf[n] = '\0';
	if (f != stdin)
		fclose(f);
	return (buf);
}

static char *
present_policy(const char *id)
{
	nvlist_t *nv;
	char *policy;

	if (ask(request("policy.get", id), NULL, NULL, &nv) != 0)
		exit(failure());
	policy = strdup(ctl_string(nv, "policy", ""));
	if (policy == NULL)
		fail("out of memory");
	nvlist_destroy(nv);
	return (policy);
}

/* A policy without its lines that begin with word and a blank. */
static void
drop(char *policy, const char *word)
{
	size_t len = strlen(word), n;
	char *p = policy;

	while (*p != '\0') {
		n = strcspn(p, "\n");
		n += p[n] == '\n';
		if (strncmp(p, word, len) == 0 && p[len] == ' ')
			memmove(p, p + n, strlen(p + n) + 1);
		else
			p += n;
	}
}

int
cmd_net_set(int argc, char **argv)
{
	char *base = NULL, *policy = NULL, *more = NULL, *up = NULL;
	char *down = NULL;
	const char *mode = NULL;
	size_t len, nmore;
	nvlist_t *nv;
	FILE *f, *g;
	int ch;

	f = open_memstream(&more, &nmore);
	if (f == NULL)
		fail("out of memory");
	while ((ch = getopt(argc, argv, "+a:d:f:N:u:x:")) != -1)
		switch (ch) {
		case 'a':
			fprintf(f, "allow %s\n", optarg);
			break;
		case 'd':
			down = optarg;
			break;
		case 'f':
			base = read_policy(optarg);
			break;
		case 'N':
			mode = optarg;
			break;
		case 'u':
			up = optarg;
			break;
		case 'x':
			fprintf(f, "deny %s\n", optarg);
			break;
		default:
			usage();
		}
	if (fclose(f) != 0 || argc - optind != 1 ||
	    (base == NULL && mode == NULL && up == NULL && down == NULL &&
	    nmore == 0))
		usage();
	/* A mode alone begins anew; all else adds to what there is. */
	if (base == NULL)
		base = mode != NULL ? strdup("") :
		    present_policy(argv[optind]);
	g = open_memstream(&policy, &len);
	if (base == NULL || g == NULL)
		fail("out of memory");
	if (mode != NULL)
		drop(base, "mode");
	if (up != NULL)
		drop(base, "up");
	if (down != NULL)
		drop(base, "down");
	if (mode != NULL)
		fprintf(g, "mode %s\n", mode);
	fprintf(g, "%s%s%s", base, *base != '\0' &&
	    base[strlen(base) - 1] != '\n' ? "\n" : "", more);
	if (up != NULL)
		fprintf(g, "up %s\n", up);
	if (down != NULL)
		fprintf(g, "down %s\n", down);
	if (fclose(g) != 0)
		fail("out of memory");
	nv = request("policy.set", argv[optind]);
	nvlist_add_string(nv, "policy", policy);
	free(policy);
	free(base);
	free(more);
	return (ask(nv, NULL, NULL, NULL) == 0 ? 0 : failure());
}

int
cmd_net_setup(int argc, char **argv)
{
	nvlist_t *nv = request("net.setup", NULL);
	int ch, ret;

	while ((ch = getopt(argc, argv, "+no:r:t:")) != -1)
		switch (ch) {
		case 'n':
			nvlist_add_bool(nv, "dns", false);
			break;
		case 'o':
			nvlist_add_string(nv, "operator", optarg);
			break;
		case 'r':
			nvlist_add_string(nv, "resolve", optarg);
			break;
		case 't':
			nvlist_add_string(nv, "target", optarg);
			break;
		default:
			usage();
		}
	if (optind != argc)
		usage();
	xo_open_list("finding");
	ret = ask(nv, finding_one, NULL, NULL);
	xo_close_list("finding");
	return (ret == 0 ? 0 : failure());
}

int
cmd_net_teardown(int argc, char **argv)
{
	nvlist_t *nv = request("net.teardown", NULL);
	int ch;

	while ((ch = getopt(argc, argv, "+o:")) != -1)
		switch (ch) {
		case 'o':
			nvlist_add_string(nv, "operator", optarg);
			break;
		default:
			usage();
		}
	if (optind != argc)
		usage();
	return (ask(nv, NULL, NULL, NULL) == 0 ? 0 : failure());
}
