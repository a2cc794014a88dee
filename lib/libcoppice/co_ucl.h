/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A reader of the part of UCL that a configuration file of ours needs:
 * sections, pairs, lists, quoted and bare values, comments.  It is one of
 * our own since libucl does not tell the line of a key and is not packaged
 * on every host.  Macros, variables and here documents are refused.
 */

#ifndef CO_UCL_H
#define CO_UCL_H

#include "coppice.h"

/* One value as it stands in the file; quoted ones are never numbers. */
struct co_ucl_value {
	char	*text;
	bool	 quoted;
};

/* One pair: the dotted name of the key, its line, one value or a list. */
struct co_ucl_pair {
	const char		*key;
	unsigned int		 line;
	bool			 list;
	size_t			 nvalues;
	struct co_ucl_value	*values;
};

/* Called for every pair in order; returning -1 with the error set stops. */
typedef int co_ucl_fn(void *, const struct co_ucl_pair *, struct co_error *);

/**
 * co_ucl_read(text, len, name, fn, arg, e):
 * Read ${len} bytes of ${text}, which ${name} stands for in messages, and
 * call ${fn} for each pair.  Return 0, or -1 with ${e} set.
 */
int co_ucl_read(const char *, size_t, const char *, co_ucl_fn *, void *,
    struct co_error *);

#endif /* CO_UCL_H */
