/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A parser of pf.conf(5)'s grammar, as far as our renderer may go: tables,
 * options, anchors, translation and filter rules.  It was written from the
 * BNF of the manual page and knows nothing of the renderer.
 */

#ifndef PFPARSE_H
#define PFPARSE_H

#include <stddef.h>

struct pf_stats {
	unsigned	tables, nats, passes, blocks, anchors, nat_anchors;
	unsigned	unscoped;	/* rules that name no source, target
					   or interface */
};

/*
 * Parse ${text}.  Return 0 and fill ${st}; or the number of the line that is
 * wrong, with a word about it in ${err}.
 */
unsigned pf_parse(const char *text, struct pf_stats *st, char *err,
    size_t size);

#endif
