/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Talking to pf: rules by pfctl(8), tables and anchors by /dev/pf.  Between
 * the files of the FreeBSD side.
 */

#ifndef NET_PF_FREEBSD_H
#define NET_PF_FREEBSD_H

#include "net_internal.h"
#include "pf_internal.h"

#define	NET_PF_ANCHOR	128		/* room for "cube/sandbox-<tag>" */

void net_pf_anchor(const struct net_conf *, const char *word,
    const char *tag, char[NET_PF_ANCHOR]);

/*
 * Run pfctl with these arguments on ${anchor} (NULL: the main rules), with
 * ${input} on its standard input unless NULL.  What it says, without remarks
 * on what this kernel lacks, is stored in ${out} unless that is NULL.
 */
int net_pf_run(const char *anchor, const char *const *args,
    const char *input, char **out, struct co_error *);

int net_pf_load(const char *anchor, const char *text, struct co_error *);
/* Rules of the main set alone, no options, tables or interfaces. */
int net_pf_load_main(const char *text, struct co_error *);
int net_pf_flush(const char *anchor, struct co_error *);
/* Translation and filter rules as pf has them, as text it reads again. */
int net_pf_rules(const char *anchor, char **out, struct co_error *);
/* Whether pf has exactly what it would make of ${text}: 1, 0 or -1. */
int net_pf_same(const char *anchor, const char *text, struct co_error *);
/*
 * Whether two texts mean the same main rules to pf, apart from lines that
 * lead to ${anchor}: 1, 0 or -1.
 */
int net_pf_alike(const char *, const char *, const char *anchor,
    struct co_error *);
/* Whether pf ignores this interface by "set skip". */
bool net_pf_skipped(const char *ifname);
/* Whether pf filters at all: 1, 0 or -1. */
int net_pf_enabled(struct co_error *);
int net_pf_enable(bool, struct co_error *);
/* See that pf does not take everything for a flood. */
int net_pf_cookies(struct co_error *);

int net_pf_open(struct co_error *);
/* Call ${f} with the name of each anchor right below ${parent}. */
int net_pf_anchors(int dev, const char *parent,
    int (*f)(void *, const char *), void *arg, struct co_error *);

/* Addresses of a table; errno or 0. */
int net_pf_table_get(int dev, const char *anchor, const char *table,
    struct net_prefix **, size_t *);
int net_pf_table_add(int dev, const char *anchor, const char *table,
    const struct net_addr *);
int net_pf_table_del(int dev, const char *anchor, const char *table,
    const struct net_addr *);

/* The lines of ${text} that begin with ${word}, or with anything else. */
bool net_pf_has_line(const char *text, const char *word);
int net_pf_main_hooked(const struct net_conf *, bool *nat, bool *filter,
    struct co_error *);

/*
 * Learnt addresses: pf keeps them for ever, so their time is kept here, by
 * a thread that takes out what has had its time.
 */
struct net_learnt;

int net_learnt_new(struct net_learnt **, struct co_error *);
void net_learnt_free(struct net_learnt *);
int net_learnt_add(struct net_learnt *, const char *anchor,
    const char *table, const struct net_addr *, uint64_t ms);
/* Give those that nobody knows the time of ${ms} more. */
int net_learnt_adopt(struct net_learnt *, const char *anchor,
    const char *table, uint64_t ms);
/* Forget (they are gone) all of a table, or of an anchor when NULL. */
void net_learnt_drop(struct net_learnt *, const char *anchor,
    const char *table);

/* The interface that translation happens on. */
int net_pf_uplink(const struct net_conf *, char[NET_IFNAME],
    struct co_error *);

#endif
