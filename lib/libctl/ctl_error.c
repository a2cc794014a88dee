/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Errors in messages, and reading nvlists that nobody vouches for.
 */

#include <stdio.h>
#include <string.h>

#include "ctl_internal.h"

void
ctl_error_add(nvlist_t *nv, const struct co_error *e)
{
	nvlist_t *sub;

	if ((sub = nvlist_create(0)) == NULL)
		return;
	nvlist_add_number(sub, "code", (uint64_t)e->code);
	nvlist_add_string(sub, "symbol", co_error_symbol(e->code));
	nvlist_add_string(sub, "message", e->message);
	nvlist_add_string(sub, "what", e->what);
	nvlist_add_number(sub, "errnum", (uint64_t)(unsigned)e->errnum);
	nvlist_move_nvlist(nv, "error", sub);
}

bool
ctl_error_get(const nvlist_t *nv, struct co_error *e)
{
	const nvlist_t *sub;
	uint64_t code;

	if (!nvlist_exists(nv, "error"))
		return (false);
	memset(e, 0, sizeof(*e));
	e->code = CO_EPROTO_MALFORMED;
	(void)snprintf(e->message, sizeof(e->message), "%s",
	    "an error that can't be read");
	if (!nvlist_exists_nvlist(nv, "error"))
		return (true);
	sub = nvlist_get_nvlist(nv, "error");
	code = ctl_uint(sub, "code", 0);
	if (code == 0 || code > 9999)
		return (true);
	e->code = (enum co_code)code;
	e->errnum = (int)(ctl_uint(sub, "errnum", 0) & 0xffff);
	(void)snprintf(e->what, sizeof(e->what), "%s",
	    ctl_string(sub, "what", ""));
	(void)snprintf(e->message, sizeof(e->message), "%s",
	    ctl_string(sub, "message", ""));
	return (true);
}

const char *
ctl_string(const nvlist_t *nv, const char *name, const char *dflt)
{

	return (nvlist_exists_string(nv, name) ?
	    nvlist_get_string(nv, name) : dflt);
}

uint64_t
ctl_uint(const nvlist_t *nv, const char *name, uint64_t dflt)
{

	return (nvlist_exists_number(nv, name) ?
	    nvlist_get_number(nv, name) : dflt);
}

bool
ctl_flag(const nvlist_t *nv, const char *name, bool dflt)
{

	return (nvlist_exists_bool(nv, name) ?
	    nvlist_get_bool(nv, name) : dflt);
}
