/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Our two lines in the operator's pf.conf(5): the translation anchor behind
 * options and normalization and before any translation, the filter anchor
 * before any filter rule.  Pure text in, text out; every byte that is not
 * ours stays.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "net_internal.h"

/* Sections of pf.conf, in the order in which pf wants them. */
enum section { SEC_EARLY, SEC_NAT, SEC_FILTER };

static const char *const nat_words[] = {
	"nat", "rdr", "binat", "nat-anchor", "rdr-anchor", "binat-anchor",
	"no",
};

static const char *const filter_words[] = {
	"pass", "block", "match", "anchor", "antispoof", "load", "dummynet",
};

static bool
begins(const char *line, size_t len, const char *word)
{
	size_t n = strlen(word);

	while (len > 0 && (*line == ' ' || *line == '\t')) {
		line++;
		len--;
	}
	return (len >= n && memcmp(line, word, n) == 0 && (len == n ||
	    strchr(" \t\"\n", line[n]) != NULL));
}

static enum section
section_of(const char *line, size_t len)
{
	size_t i;

	for (i = 0; i < sizeof(nat_words) / sizeof(nat_words[0]); i++)
		if (begins(line, len, nat_words[i]))
			return (SEC_NAT);
	for (i = 0; i < sizeof(filter_words) / sizeof(filter_words[0]); i++)
		if (begins(line, len, filter_words[i]))
			return (SEC_FILTER);
	return (SEC_EARLY);
}

/* Take a logical line (with its continuations) off ${text}. */
static size_t
line_length(const char *text)
{
	size_t n = 0;

	while (text[n] != '\0') {
		if (text[n] == '\n' && (n == 0 || text[n - 1] != '\\'))
			return (n + 1);
		n++;
	}
	return (n);
}

/* Copy ${text} without what stands between our sentinels. */
static int
pfconf_strip(const char *text, struct co_buf *b)
{
	bool inside = false;
	size_t n;

	for (; *text != '\0'; text += n) {
		n = line_length(text);
		if (strncmp(text, "# coppice nat begin\n", n) == 0 ||
		    strncmp(text, "# coppice filter begin\n", n) == 0) {
			if (inside)
				return (-1);
			inside = true;
		} else if (inside &&
		    (strncmp(text, "# coppice nat end\n", n) == 0 ||
		    strncmp(text, "# coppice filter end\n", n) == 0))
			inside = false;
		else if (!inside)
			co_buf_add(b, text, n);
	}
	return (inside ? -1 : 0);
}

/* Whether the operator wrote this very line. */
static bool
pfconf_has(const char *text, const char *word, const char *anchor)
{
	size_t n, k = strlen(anchor);
	const char *q;

	for (; *text != '\0'; text += n) {
		n = line_length(text);
		if (!begins(text, n, word))
			continue;
		q = memchr(text, '"', n);
		if (q != NULL && strncmp(q + 1, anchor, k) == 0 &&
		    strncmp(q + 1 + k, "/*\"", 3) == 0)
			return (true);
	}
	return (false);
}

static void
pfconf_put(struct co_buf *b, const char *what, const char *line,
    const char *anchor)
{

	co_buf_printf(b, "# coppice %s begin\n%s \"%s/*\"\n"
	    "# coppice %s end\n", what, line, anchor, what);
}

static void
pfconf_insert(const char *text, const char *anchor, struct co_buf *b)
{
	bool nat = pfconf_has(text, "nat-anchor", anchor);
	bool filter = pfconf_has(text, "anchor", anchor);
	enum section s;
	size_t n;

	for (; *text != '\0'; text += n) {
		n = line_length(text);
		s = section_of(text, n);
		if (s != SEC_EARLY && !nat) {
			pfconf_put(b, "nat", "nat-anchor", anchor);
			nat = true;
		}
		if (s == SEC_FILTER && !filter) {
			pfconf_put(b, "filter", "anchor", anchor);
			filter = true;
		}
		co_buf_add(b, text, n);
	}
	if (nat && filter)
		return;
	/* A last line that lacks its end, or that wants to be continued. */
	if (b->len > 0 && b->p[b->len - 1] == '\\')
		co_buf_add(b, "\n", 1);
	if (b->len > 0 && (b->p[b->len - 1] != '\n' ||
	    (b->len > 1 && b->p[b->len - 2] == '\\')))
		co_buf_add(b, "\n", 1);
	if (!nat)
		pfconf_put(b, "nat", "nat-anchor", anchor);
	if (!filter)
		pfconf_put(b, "filter", "anchor", anchor);
}

int
net_pf_conf_merge(const char *text, const char *anchor, bool drop, char **out,
    struct co_error *e)
{
	struct co_buf bare = { 0 }, b = { 0 };
	char *clean;
	int r;

	r = pfconf_strip(text, &bare);
	if ((clean = co_buf_take(&bare)) == NULL)
		return (co_error_errno(e, ENOMEM, NULL, "pf.conf"));
	if (r != 0) {
		free(clean);
		return (co_error_set(e, CO_ENET_RULES, "pf.conf",
		    "pf.conf has a line \"# coppice ... begin\" without its "
		    "end; remove our lines by hand and try again"));
	}
	if (drop) {
		*out = clean;
		return (0);
	}
	pfconf_insert(clean, anchor, &b);
	free(clean);
	if ((*out = co_buf_take(&b)) == NULL)
		return (co_error_errno(e, ENOMEM, NULL, "pf.conf"));
	return (0);
}
