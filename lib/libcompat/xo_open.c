/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The public names for opening and closing: with and without a handle, with
 * and without the name being remembered.  All of it is xo_stack.c's work.
 */

#include "xo_internal.h"

#define	XO_OPENERS(kind, OPEN, CLOSE)					\
xo_ssize_t								\
xo_open_##kind##_hf(xo_handle_t *xop, xo_xof_flags_t flags,		\
    const char *name)							\
{									\
	return (xo_transition(xop, flags, name, OPEN));			\
}									\
									\
xo_ssize_t								\
xo_open_##kind##_h(xo_handle_t *xop, const char *name)			\
{									\
	return (xo_transition(xop, 0, name, OPEN));			\
}									\
									\
xo_ssize_t								\
xo_open_##kind(const char *name)					\
{									\
	return (xo_transition(NULL, 0, name, OPEN));			\
}									\
									\
xo_ssize_t								\
xo_open_##kind##_hd(xo_handle_t *xop, const char *name)			\
{									\
	return (xo_transition(xop, XOF_DTRT, name, OPEN));		\
}									\
									\
xo_ssize_t								\
xo_open_##kind##_d(const char *name)					\
{									\
	return (xo_transition(NULL, XOF_DTRT, name, OPEN));		\
}									\
									\
xo_ssize_t								\
xo_close_##kind##_h(xo_handle_t *xop, const char *name)			\
{									\
	return (xo_transition(xop, 0, name, CLOSE));			\
}									\
									\
xo_ssize_t								\
xo_close_##kind(const char *name)					\
{									\
	return (xo_transition(NULL, 0, name, CLOSE));			\
}									\
									\
xo_ssize_t								\
xo_close_##kind##_hd(xo_handle_t *xop)					\
{									\
	return (xo_transition(xop, 0, NULL, CLOSE));			\
}									\
									\
xo_ssize_t								\
xo_close_##kind##_d(void)						\
{									\
	return (xo_transition(NULL, 0, NULL, CLOSE));			\
}

XO_OPENERS(container, XO_OPEN_CONTAINER, XO_CLOSE_CONTAINER)
XO_OPENERS(list, XO_OPEN_LIST, XO_CLOSE_LIST)
XO_OPENERS(instance, XO_OPEN_INSTANCE, XO_CLOSE_INSTANCE)
