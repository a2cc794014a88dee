/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A growing list of arguments.  As with a text, a failed allocation is
 * remembered and reported at the end.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vm_internal.h"

static void
take(struct vm_args *a, char *s)
{
	char **v;
	size_t cap;

	if (s == NULL || a->failed)
		goto fail;
	if (a->n + 2 > a->cap) {
		cap = a->cap < 32 ? 32 : a->cap * 2;
		v = realloc(a->v, cap * sizeof(*v));
		if (v == NULL)
			goto fail;
		a->v = v;
		a->cap = cap;
	}
	a->v[a->n++] = s;
	a->v[a->n] = NULL;
	return;
fail:
	free(s);
	a->failed = true;
}

void
vm_arg(struct vm_args *a, const char *s)
{

	take(a, strdup(s));
}

void
vm_option(struct vm_args *a, const char *name, const char *fmt, ...)
{
	va_list ap;
	char *s;
	int n;

	vm_arg(a, name);
	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	s = n < 0 ? NULL : malloc((size_t)n + 1);
	if (s != NULL) {
		va_start(ap, fmt);
		(void)vsnprintf(s, (size_t)n + 1, fmt, ap);
		va_end(ap);
	}
	take(a, s);
}

void
vm_args_free(struct vm_args *a)
{

	for (size_t i = 0; i < a->n; i++)
		free(a->v[i]);
	free(a->v);
	memset(a, 0, sizeof(*a));
}

int
vm_args_done(struct vm_args *a, struct co_error *e)
{

	if (!a->failed)
		return (0);
	vm_args_free(a);
	return (co_error_set(e, CO_ESYS_NOMEM, NULL, "out of memory"));
}

int
vm_text_done(struct co_buf *b, char **text, struct co_error *e)
{

	*text = co_buf_take(b);
	if (*text != NULL)
		return (0);
	return (co_error_set(e, CO_ESYS_NOMEM, NULL, "out of memory"));
}
