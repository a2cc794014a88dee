/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * create and clone: their options become one request.
 */

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <libxo/xo.h>

#include "coppicectl.h"

#define	COMMON	"+a:b:c:D:d:e:F:l:M:m:N:n:o:P:p:T:u:x:"
#define	MAXSHARES	8
#define	MAXPORTS	64

struct options {
	nvlist_t	*nv;
	const char	*mode;
	const char	**env, **labels, **metadata, **allow, **deny;
	size_t		 nenv, nlabels, nmetadata, nallow, ndeny;
	nvlist_t	*shares[MAXSHARES];
	size_t		 nshares;
	uint64_t	 ports[MAXPORTS];
	size_t		 nports;
};

static const char *
pair(const char *s, char opt)
{
	const char *eq = strchr(s, '=');

	if (eq == NULL || eq == s)
		fail("-%c: \"%s\" is not of the form name=value", opt, s);
	return (s);
}

static const char *
word(const char *s, char opt, const char *const *words)
{

	for (const char *const *w = words; *w != NULL; w++)
		if (strcmp(s, *w) == 0)
			return (s);
	fail("-%c: \"%s\" is not known; coppicectl(8) lists what can be", opt,
	    s);
}

/* [label=]folder[:ro] */
static void
add_share(struct options *o, const char *arg)
{
	char *copy, *folder, *colon, *eq, real[PATH_MAX];
	nvlist_t *share;

	if (o->nshares == MAXSHARES)
		fail("-w: no more than %d folders can be shared", MAXSHARES);
	copy = folder = strdup(arg);
	share = nvlist_create(0);
	if (copy == NULL || share == NULL)
		fail("out of memory");
	eq = strchr(folder, '=');
	if (eq != NULL && memchr(folder, '/', (size_t)(eq - folder)) == NULL) {
		*eq = '\0';
		nvlist_add_string(share, "label", folder);
		folder = eq + 1;
	}
	colon = strrchr(folder, ':');
	if (colon != NULL && (strcmp(colon, ":ro") == 0 ||
	    strcmp(colon, ":rw") == 0)) {
		nvlist_add_bool(share, "readonly", colon[2] == 'o');
		*colon = '\0';
	}
	if (realpath(folder, real) == NULL)
		fail("-w: can't find the folder \"%s\"", folder);
	nvlist_add_string(share, "path", real);
	o->shares[o->nshares++] = share;
	free(copy);
}

static void
add_cpus(struct options *o, const char *s)
{
	char *end;
	double v;

	v = strtod(s, &end);
	if (end == s || *end != '\0' || !(v >= 0.001) || v > 1000)
		fail("-c: \"%s\" is not a number of processors, like 2 or "
		    "0.5", s);
	nvlist_add_number(o->nv, "cpu", (uint64_t)(v * 1000 + 0.5));
}

static bool
option_list(struct options *o, int ch)
{

	switch (ch) {
	case 'a':
		strings(&o->allow, &o->nallow, optarg);
		break;
	case 'e':
		strings(&o->env, &o->nenv, pair(optarg, 'e'));
		break;
	case 'l':
		strings(&o->labels, &o->nlabels, pair(optarg, 'l'));
		break;
	case 'M':
		strings(&o->metadata, &o->nmetadata, pair(optarg, 'M'));
		break;
	case 'p':
		if (o->nports == MAXPORTS)
			fail("-p: no more than %d ports", MAXPORTS);
		o->ports[o->nports++] = number(optarg, "-p", 1, 65535);
		break;
	case 'w':
		add_share(o, optarg);
		break;
	case 'x':
		strings(&o->deny, &o->ndeny, optarg);
		break;
	default:
		return (false);
	}
	return (true);
}

static bool
option_limit(struct options *o, int ch)
{

	switch (ch) {
	case 'c':
		add_cpus(o, optarg);
		break;
	case 'D':
		nvlist_add_number(o->nv, "disk", size(optarg, "-D"));
		break;
	case 'F':
		nvlist_add_number(o->nv, "files", number(optarg, "-F", 1,
		    1U << 30));
		break;
	case 'm':
		nvlist_add_number(o->nv, "memory", size(optarg, "-m"));
		break;
	case 'P':
		nvlist_add_number(o->nv, "procs", number(optarg, "-P", 1,
		    1U << 22));
		break;
	default:
		return (false);
	}
	return (true);
}

static void
option(struct options *o, int ch)
{
	static const char *const modes[] = {
		"open", "allowlist", "airgap", "disabled", NULL
	};
	static const char *const actions[] = {
		"destroy", "stop", "pause", NULL
	};

	switch (ch) {
	case 'b':
		nvlist_add_string(o->nv, "backend", optarg);
		break;
	case 'd':
		nvlist_add_string(o->nv, "cwd", optarg);
		break;
	case 'N':
		o->mode = word(optarg, 'N', modes);
		break;
	case 'n':
		nvlist_add_string(o->nv, "name", optarg);
		break;
	case 'o':
		nvlist_add_string(o->nv, "on_timeout", word(optarg, 'o',
		    actions));
		break;
	case 'S':
		nvlist_add_bool(o->nv, "start", false);
		break;
	case 'T':
		nvlist_add_number(o->nv, "timeout_ms", seconds(optarg, "-T"));
		break;
	case 't':
		nvlist_add_string(o->nv, "template", optarg);
		break;
	case 'u':
		nvlist_add_string(o->nv, "user", optarg);
		break;
	default:
		usage();
	}
}

/* The text of a policy, if one was asked for. */
static void
add_policy(struct options *o)
{
	char *policy = NULL;
	size_t len;
	FILE *f;

	if (o->mode == NULL && o->nallow == 0 && o->ndeny == 0)
		return;
	f = open_memstream(&policy, &len);
	if (f == NULL)
		fail("out of memory");
	fprintf(f, "mode %s\n", o->mode != NULL ? o->mode :
	    o->nallow > 0 ? "allowlist" : "open");
	for (size_t i = 0; i < o->nallow; i++)
		fprintf(f, "allow %s\n", o->allow[i]);
	for (size_t i = 0; i < o->ndeny; i++)
		fprintf(f, "deny %s\n", o->deny[i]);
	if (fclose(f) != 0)
		fail("out of memory");
	nvlist_add_string(o->nv, "policy", policy);
	free(policy);
	free(o->allow);
	free(o->deny);
}

static int
run(int argc, char **argv, const char *opts, const char *op, bool clone)
{
	struct options o = { .nv = request(op, NULL) };
	nvlist_t *answer;
	int ch;

	while ((ch = getopt(argc, argv, opts)) != -1)
		if (ch == '?' || (!option_list(&o, ch) &&
		    !option_limit(&o, ch)))
			option(&o, ch);
	if (argc - optind != (clone ? 1 : 0))
		usage();
	if (clone)
		nvlist_add_string(o.nv, "id", argv[optind]);
	add_policy(&o);
	add_strings(o.nv, "env", o.env, o.nenv);
	add_strings(o.nv, "labels", o.labels, o.nlabels);
	add_strings(o.nv, "metadata", o.metadata, o.nmetadata);
	if (o.nports > 0)
		nvlist_add_number_array(o.nv, "ports", o.ports, o.nports);
	if (o.nshares > 0)
		nvlist_add_nvlist_array(o.nv, "shares",
		    (const nvlist_t *const *)o.shares, o.nshares);
	for (size_t i = 0; i < o.nshares; i++)
		nvlist_destroy(o.shares[i]);
	if (nvlist_error(o.nv) != 0)
		fail("an option was given twice; give it once");
	if (ask(o.nv, show_progress, NULL, &answer) != 0)
		return (failure());
	print_id(answer);
	nvlist_destroy(answer);
	return (0);
}

int
cmd_create(int argc, char **argv)
{

	return (run(argc, argv, COMMON "St:w:", "create", false));
}

int
cmd_clone(int argc, char **argv)
{

	return (run(argc, argv, COMMON, "clone", true));
}
