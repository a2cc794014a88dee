/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The stack of open containers, lists and instances, and the table that says
 * what has to happen on the stack before a thing can be opened, closed or
 * emitted.  What it looks like in the output is up to the styles.
 */

#include <string.h>

#include "xo_internal.h"

enum action {
	NOTHING,
	OPEN,		/* open it */
	REPLACE,	/* close the top, then open it */
	VIA_LIST,	/* open a list for it first */
	NEXT,		/* close the instance before it, then open it */
	FIND,		/* close down to the one that matches */
	TOP_FIND,	/* close the top, then as FIND */
	POP,		/* close the top */
	IGNORE		/* makes no sense here */
};

struct rule {
	enum action	action;
	bool		marker_stops;
};

static const struct rule rules[XO_WANTS][XO_MARKER] = {
	[XO_OPEN_CONTAINER] = {
		[XO_INIT] = { OPEN, false },
		[XO_CONTAINER] = { OPEN, false },
		[XO_LIST] = { REPLACE, true },
		[XO_INSTANCE] = { OPEN, false },
		[XO_LEAF_LIST] = { REPLACE, true },
	},
	[XO_CLOSE_CONTAINER] = {
		[XO_INIT] = { POP, false },
		[XO_CONTAINER] = { FIND, true },
		[XO_LIST] = { FIND, true },
		[XO_INSTANCE] = { FIND, true },
		[XO_LEAF_LIST] = { TOP_FIND, true },
	},
	[XO_OPEN_LIST] = {
		[XO_INIT] = { OPEN, false },
		[XO_CONTAINER] = { OPEN, false },
		[XO_LIST] = { REPLACE, true },
		[XO_INSTANCE] = { OPEN, false },
		[XO_LEAF_LIST] = { REPLACE, true },
	},
	[XO_CLOSE_LIST] = {
		[XO_INIT] = { FIND, false },
		[XO_CONTAINER] = { FIND, false },
		[XO_LIST] = { FIND, true },
		[XO_INSTANCE] = { FIND, false },
		[XO_LEAF_LIST] = { FIND, false },
	},
	[XO_OPEN_INSTANCE] = {
		[XO_INIT] = { VIA_LIST, false },
		[XO_CONTAINER] = { VIA_LIST, false },
		[XO_LIST] = { OPEN, false },
		[XO_INSTANCE] = { NEXT, false },
		[XO_LEAF_LIST] = { REPLACE, true },
	},
	[XO_CLOSE_INSTANCE] = {
		[XO_INIT] = { IGNORE, false },
		[XO_CONTAINER] = { FIND, true },
		[XO_LIST] = { FIND, true },
		[XO_INSTANCE] = { POP, true },
		[XO_LEAF_LIST] = { TOP_FIND, true },
	},
	[XO_EMIT] = {
		[XO_INIT] = { NOTHING, false },
		[XO_CONTAINER] = { NOTHING, false },
		[XO_LIST] = { FIND, true },
		[XO_INSTANCE] = { NOTHING, false },
		[XO_LEAF_LIST] = { POP, true },
	},
	[XO_EMIT_LEAF_LIST] = {
		[XO_INIT] = { OPEN, false },
		[XO_CONTAINER] = { OPEN, false },
		[XO_LIST] = { NOTHING, false },
		[XO_INSTANCE] = { OPEN, false },
		[XO_LEAF_LIST] = { NOTHING, false },
	},
};

/* The kind a wish is about. */
static const enum xo_kind kinds[XO_WANTS] = {
	[XO_OPEN_CONTAINER] = XO_CONTAINER,
	[XO_CLOSE_CONTAINER] = XO_CONTAINER,
	[XO_OPEN_LIST] = XO_LIST,
	[XO_CLOSE_LIST] = XO_LIST,
	[XO_OPEN_INSTANCE] = XO_INSTANCE,
	[XO_CLOSE_INSTANCE] = XO_INSTANCE,
	[XO_EMIT] = XO_LIST,
	[XO_EMIT_LEAF_LIST] = XO_LEAF_LIST,
};

bool
xo_frames_reserve(xo_handle_t *xop, size_t depth)
{
	struct xo_frame *p;
	size_t n;

	if (depth < xop->frames)
		return (true);
	n = depth + 32;
	if ((p = realloc(xop->stack, n * sizeof(*p))) == NULL)
		return (false);
	memset(p + xop->frames, 0, (n - xop->frames) * sizeof(*p));
	xop->stack = p;
	xop->frames = n;
	return (true);
}

void
xo_note_not_first(xo_handle_t *xop)
{
	if ((xop->flags & XOF_NOT_FIRST) != 0) {
		XO_TOP(xop)->flags |= XSF_NOT_FIRST;
		xop->flags &= ~XOF_NOT_FIRST;
	}
}

static bool
indents(xo_handle_t *xop, enum xo_kind kind)
{
	return ((xop->style->indents & 1u << kind) != 0);
}

static bool
push(xo_handle_t *xop, enum xo_kind kind, const char *name, unsigned flags)
{
	struct xo_frame *fp;
	char *copy;

	if ((copy = strdup(name)) == NULL)
		return (false);
	if (!xo_frames_reserve(xop, xop->depth + 1)) {
		free(copy);
		return (false);
	}
	xo_note_not_first(xop);
	fp = &xop->stack[++xop->depth];
	fp->kind = kind;
	fp->flags = flags;
	fp->name = copy;
	if (indents(xop, kind))
		xop->indent++;
	return (true);
}

/* Is this the frame that the caller thinks it closes? */
static bool
may_pop(xo_handle_t *xop, enum xo_kind kind, const char *name)
{
	struct xo_frame *fp = XO_TOP(xop);
	bool is_list, want_list;

	if (xop->depth == 0) {
		if ((xop->flags & XOF_IGNORE_CLOSE) == 0)
			xo_failure(xop, "nothing open to close: '%s'", name);
		return (false);
	}
	if ((xop->flags & XOF_WARN) == 0)
		return (true);
	if (fp->name != NULL && strcmp(fp->name, name) != 0) {
		xo_failure(xop, "close of '%s', but '%s' is open", name,
		    fp->name);
		return (false);
	}
	is_list = fp->kind == XO_LIST || fp->kind == XO_LEAF_LIST;
	want_list = kind == XO_LIST || kind == XO_LEAF_LIST;
	if (is_list != want_list) {
		xo_failure(xop, "close of the wrong kind: '%s'", name);
		return (false);
	}
	return (true);
}

static void
pop(xo_handle_t *xop, enum xo_kind kind)
{
	struct xo_frame *fp = XO_TOP(xop);

	free(fp->name);
	memset(fp, 0, sizeof(*fp));
	xop->depth--;
	if (indents(xop, kind) && xop->indent > 0)
		xop->indent--;
}

static ssize_t
do_open(xo_handle_t *xop, enum xo_kind kind, const char *name,
    xo_xof_flags_t flags)
{
	size_t len;

	if (name == NULL) {
		xo_failure(xop, "opened without a name");
		name = XO_NONAME;
	}
	len = xop->data.len;
	xop->style->open(xop, kind, name);
	if (!push(xop, kind, name,
	    ((flags | xop->flags) & XOF_DTRT) != 0 ? XSF_DTRT : 0))
		return (-1);
	return ((ssize_t)(xop->data.len - len));
}

static ssize_t
do_close(xo_handle_t *xop, enum xo_kind kind, const char *name)
{
	struct xo_frame *fp = XO_TOP(xop);
	size_t len;
	char *copy;
	bool had_items;

	if (name == NULL) {
		if (fp->name == NULL && (fp->flags & XSF_DTRT) == 0)
			xo_failure(xop, "closed without a name");
		name = fp->name == NULL ? XO_NONAME : fp->name;
	}
	if ((copy = strdup(name)) == NULL)
		return (-1);
	had_items = (fp->flags & XSF_NOT_FIRST) != 0;
	if (may_pop(xop, kind, copy))
		pop(xop, kind);
	len = xop->data.len;
	xop->style->close(xop, kind, copy, had_items);
	XO_TOP(xop)->flags |= XSF_NOT_FIRST;
	free(copy);
	return ((ssize_t)(xop->data.len - len));
}

static void
close_marker(xo_handle_t *xop)
{
	unsigned flags = XO_TOP(xop)->flags & XSF_MARKER_FLAGS;

	pop(xop, XO_MARKER);
	XO_TOP(xop)->flags |= flags;
}

/* Close the top frame, whatever it is; false if that cannot be done. */
static bool
close_top(xo_handle_t *xop)
{
	enum xo_kind kind = XO_TOP(xop)->kind;
	size_t depth = xop->depth;

	if (depth == 0)
		return (false);
	if (kind == XO_MARKER)
		close_marker(xop);
	else
		(void)do_close(xop, kind, NULL);
	return (xop->depth < depth);
}

void
xo_close_all(xo_handle_t *xop)
{
	while (close_top(xop))
		;
}

/* Close everything down to the frame that matches kind and name. */
static ssize_t
find_close(xo_handle_t *xop, enum xo_kind kind, const char *name)
{
	struct xo_frame *fp;
	size_t i;

	for (i = xop->depth; i > 0; i--) {
		fp = &xop->stack[i];
		if (fp->kind == XO_MARKER && kind != XO_MARKER) {
			xo_failure(xop, "close of '%s' stops at marker '%s'",
			    name == NULL ? "" : name, fp->name);
			if (name != NULL)
				return (0);
			break;
		}
		if (fp->kind == kind && (name == NULL || fp->name == NULL ||
		    strcmp(name, fp->name) == 0))
			break;
	}
	if (i == 0) {
		xo_failure(xop, "nothing open that is called '%s'",
		    name == NULL ? "" : name);
		return (0);
	}
	while (xop->depth >= i && close_top(xop))
		;
	return (0);
}

static ssize_t
act(xo_handle_t *xop, enum action action, bool on_marker, enum xo_kind kind,
    const char *name, xo_xof_flags_t flags)
{
	ssize_t rc;

	rc = 0;
	switch (action) {
	case NOTHING:
		break;
	case IGNORE:
		xo_failure(xop, "close of '%s' with nothing open",
		    name == NULL ? "" : name);
		break;
	case POP:
		rc = do_close(xop, kind, name);
		break;
	case TOP_FIND:
		(void)close_top(xop);
		/* FALLTHROUGH */
	case FIND:
		rc = find_close(xop, kind, name);
		break;
	case VIA_LIST:
		rc = do_open(xop, XO_LIST, name, flags);
		break;
	case NEXT:
		if (on_marker)
			rc = do_open(xop, XO_LIST, name, flags);
		else
			(void)close_top(xop);
		break;
	case REPLACE:
		(void)close_top(xop);
		break;
	case OPEN:
		break;
	}
	if (rc >= 0 && (action == OPEN || action == REPLACE ||
	    action == VIA_LIST || action == NEXT))
		rc = do_open(xop, kind, name, flags);
	return (rc);
}

ssize_t
xo_transition(xo_handle_t *xop, xo_xof_flags_t flags, const char *name,
    enum xo_want want)
{
	const struct rule *rule;
	enum xo_kind kind;
	size_t i;
	ssize_t rc;
	bool on_marker;

	xop = xo_default(xop);
	if (!xo_frames_reserve(xop, xop->depth))
		return (-1);
	on_marker = XO_TOP(xop)->kind == XO_MARKER;
	for (i = xop->depth; i > 0 && xop->stack[i].kind == XO_MARKER; i--)
		;
	rule = &rules[want][xop->stack[i].kind];
	if (on_marker && rule->marker_stops) {
		xo_failure(xop, "marker '%s' is in the way",
		    XO_TOP(xop)->name);
		return (-1);
	}
	kind = kinds[want];
	if (want == XO_EMIT) {
		/* The name is the value's; what closes is whatever is open. */
		name = NULL;
		if (rule->action == POP)
			kind = XO_LEAF_LIST;
	}
	rc = act(xop, rule->action, on_marker, kind, name, flags);
	if (rc >= 0 && (xop->flags & XOF_FLUSH) != 0 && xo_flush_h(xop) < 0)
		rc = -1;
	xop->iflags |= XOIF_MADE_OUTPUT;
	return (rc);
}

xo_ssize_t
xo_open_marker_h(xo_handle_t *xop, const char *name)
{
	xop = xo_default(xop);
	if (!xo_frames_reserve(xop, xop->depth))
		return (-1);
	return (push(xop, XO_MARKER, name == NULL ? XO_NONAME : name,
	    XO_TOP(xop)->flags & XSF_MARKER_FLAGS) ? 0 : -1);
}

xo_ssize_t
xo_open_marker(const char *name)
{
	return (xo_open_marker_h(NULL, name));
}

xo_ssize_t
xo_close_marker_h(xo_handle_t *xop, const char *name)
{
	return (find_close(xo_default(xop), XO_MARKER, name));
}

xo_ssize_t
xo_close_marker(const char *name)
{
	return (xo_close_marker_h(NULL, name));
}
