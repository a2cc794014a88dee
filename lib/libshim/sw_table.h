/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The shape of the protocol's tables; read by sw.c alone.
 */

#ifndef SW_TABLE_H
#define	SW_TABLE_H

#include "sw.h"

enum sw_fieldkind {
	SW_NUM, SW_BOOL, SW_STR, SW_BYTES, SW_WORD, SW_LIST,
	SW_NUMS, SW_MAP
};

/* A number is bounded by min and max, a string's length by max. */
struct sw_fielddef {
	const char		*name;
	enum sw_fieldkind	 kind;
	int64_t			 min;
	int64_t			 max;
	const char		*words;		/* separated by '|' */
};

struct sw_typedef {
	const char	*name;
	unsigned	 from;			/* of enum sw_from */
	const uint8_t	*need;			/* ended by F_NONE */
	const uint8_t	*may;
};

extern const struct sw_fielddef sw_fields[F_MAX];
extern const struct sw_typedef sw_types[W_MAX];

#endif /* SW_TABLE_H */
