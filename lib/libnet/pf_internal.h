/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Names that render_pf.c writes and rules_pf.c looks up again.
 */

#ifndef NET_PF_INTERNAL_H
#define NET_PF_INTERNAL_H

#define	NET_PF_BASE	"jail-nat"
#define	NET_PF_LAST	"zz-last"

void net_pf_table(const struct net_plan *, const struct net_set *, char *,
    size_t);
unsigned net_pf_pipe(const struct net_lease *, bool);

/* An answer of pfctl(8), line by line. */
struct net_lines {
	char		*text;
	char		**line;
	size_t		 n;
};

/*
 * Run pfctl with these arguments, and with ${input} on its standard input
 * unless that is NULL.  Return 0 and its output in ${out} (NULL: not
 * wanted), or -1 when it could not be run or failed.
 */
int net_pfctl(const char *const *args, const char *input, char **out,
    struct co_error *);

/*
 * The rules that pfctl makes of ${text}, or that an anchor has ("" is the
 * main ruleset), as it prints them: "rules" or "nat".
 */
int net_pf_parse(const char *text, const char *which, struct net_lines *,
    struct co_error *);
int net_pf_show(const char *anchor, const char *which, struct net_lines *,
    struct co_error *);
bool net_lines_same(const struct net_lines *, const struct net_lines *);
void net_lines_free(struct net_lines *);

#endif
