/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * pfctl(8) by argv: what it prints is the only stable interface to pf over
 * the releases that we support.  Rules are compared as it prints them, so
 * that its habits of writing cancel out.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net_internal.h"
#include "pf_internal.h"

#define	MAXARGS	16

/* Words of pfctl that are no output. */
static const char *const noise[] = {
	"No ALTQ support in kernel", "ALTQ related functions disabled",
};

static void
strip_noise(char *text)
{
	char *p;
	size_t i, n;

	for (i = 0; i < sizeof(noise) / sizeof(noise[0]); i++) {
		n = strlen(noise[i]);
		while ((p = strstr(text, noise[i])) != NULL) {
			n = strcspn(p, "\n");
			n += p[n] == '\n';
			memmove(p, p + n, strlen(p + n) + 1);
		}
	}
}

int
net_pfctl(const char *const *args, const char *input, char **out,
    struct co_error *e)
{
	const char *argv[MAXARGS] = { "/sbin/pfctl" };
	struct co_run r = { .argv = argv, .maxout = 16 << 20 };
	struct co_result res;
	int n = 1, status;

	for (; *args != NULL && n < MAXARGS - 1; args++)
		argv[n++] = *args;
	r.input = input;
	r.inputlen = input == NULL ? 0 : strlen(input);
	r.deadline = co_after(30000);
	if (co_run(&r, &res, e) != 0)
		return (-1);
	strip_noise(res.out);
	status = res.status;
	if (status != 0)
		co_error_set(e, CO_ENET_RULES, "pfctl",
		    "pfctl refused our rules: %.600s", res.out);
	else if (out != NULL) {
		*out = res.out;
		res.out = NULL;
	}
	free(res.out);
	return (status == 0 ? 0 : -1);
}

void
net_lines_free(struct net_lines *l)
{

	free(l->line);
	free(l->text);
	memset(l, 0, sizeof(*l));
}

/* Translation rules, or all others; tables and options are neither. */
static bool
line_wanted(const char *line, const char *which)
{
	bool nat = strncmp(line, "nat", 3) == 0 ||
	    strncmp(line, "rdr", 3) == 0 || strncmp(line, "binat", 5) == 0 ||
	    strncmp(line, "no nat", 6) == 0 || strncmp(line, "no rdr", 6) == 0;
	bool filter = strncmp(line, "pass", 4) == 0 ||
	    strncmp(line, "block", 5) == 0 ||
	    strncmp(line, "match", 5) == 0 ||
	    strncmp(line, "anchor", 6) == 0 ||
	    strncmp(line, "scrub", 5) == 0;

	return (strcmp(which, "nat") == 0 ? nat : filter);
}

static int
lines_of(char *text, const char *which, struct net_lines *l,
    struct co_error *e)
{
	char *p, *save = NULL, **a;

	memset(l, 0, sizeof(*l));
	l->text = text;
	for (p = strtok_r(text, "\n", &save); p != NULL;
	    p = strtok_r(NULL, "\n", &save)) {
		if (!line_wanted(p, which))
			continue;
		if ((a = realloc(l->line, (l->n + 1) * sizeof(*a))) == NULL) {
			net_lines_free(l);
			return (co_error_errno(e, ENOMEM, NULL, "rules"));
		}
		l->line = a;
		/* It pads some rules with blanks. */
		while (*p != '\0' && p[strlen(p) - 1] == ' ')
			p[strlen(p) - 1] = '\0';
		a[l->n++] = p;
	}
	return (0);
}

int
net_pf_parse(const char *text, const char *which, struct net_lines *l,
    struct co_error *e)
{
	static const char *const args[] = { "-nvf", "-", NULL };
	char *out;

	if (net_pfctl(args, text, &out, e) != 0)
		return (-1);
	return (lines_of(out, which, l, e));
}

int
net_pf_show(const char *anchor, const char *which, struct net_lines *l,
    struct co_error *e)
{
	const char *args[] = { "-a", anchor, "-s", which, NULL };
	char *out;

	if (net_pfctl(args, NULL, &out, e) != 0)
		return (-1);
	return (lines_of(out, which, l, e));
}

bool
net_lines_same(const struct net_lines *a, const struct net_lines *b)
{
	size_t i;

	if (a->n != b->n)
		return (false);
	for (i = 0; i < a->n; i++)
		if (strcmp(a->line[i], b->line[i]) != 0)
			return (false);
	return (true);
}
