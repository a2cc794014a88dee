/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What a sandbox may reach, in the words of the SDK and in ours.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gw.h"

#define	ENTRIES_MAX	256
#define	ENTRY_MAX	280

static int
unable(const json_t *net, const char **why)
{
	static const char *const names[] = { "rules", "egressProxy" };
	const json_t *v;

	for (size_t i = 0; i < COUNT(names); i++) {
		v = json_object_get(net, names[i]);
		if (json_is_object(v) && json_object_size(v) > 0) {
			*why = "rules that change requests, and proxies, are "
			    "not supported";
			return (-1);
		}
	}
	return (0);
}

/* Everything; what is not in the other list then is not reached. */
static bool
everything(const char *s)
{

	return (strcmp(s, "0.0.0.0/0") == 0 || strcmp(s, "*") == 0 ||
	    strcmp(s, "::/0") == 0);
}

static int
check(const json_t *list, const char **why)
{
	const json_t *v;
	const char *s;
	size_t i;

	if (list == NULL || json_is_null(list))
		return (0);
	*why = "allowOut and denyOut must be lists of at most 256 addresses, "
	    "ranges or names, each with an optional :port";
	if (!json_is_array(list) || json_array_size(list) > ENTRIES_MAX)
		return (-1);
	json_array_foreach((json_t *)(uintptr_t)list, i, v) {
		s = json_string_value(v);
		if (s == NULL || *s == '\0' || strlen(s) > ENTRY_MAX ||
		    strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRST"
		    "UVWXYZ0123456789.:*/-_[]") != strlen(s))
			return (-1);
	}
	return (0);
}

static bool
has_everything(const json_t *list)
{
	const json_t *v;
	size_t i;

	json_array_foreach((json_t *)(uintptr_t)list, i, v)
		if (everything(json_string_value(v)))
			return (true);
	return (false);
}

static void
lines(struct buf *b, const char *verb, const json_t *list)
{
	const json_t *v;
	size_t i;

	json_array_foreach((json_t *)(uintptr_t)list, i, v)
		if (!everything(json_string_value(v)))
			buf_fmt(b, "%s %s\n", verb, json_string_value(v));
}

int
policy_of(const json_t *net, int internet, struct buf *b, const char **why)
{
	const json_t *allow = json_object_get(net, "allowOut");
	const json_t *deny = json_object_get(net, "denyOut");
	bool closed;

	if (unable(net, why) != 0 || check(allow, why) != 0 ||
	    check(deny, why) != 0)
		return (-1);
	if (json_array_size(allow) == 0 && json_array_size(deny) == 0 &&
	    internet == -1)
		return (0);
	closed = internet == 0 || has_everything(deny);
	if (!closed || has_everything(allow)) {
		buf_str(b, "mode open\n");
		lines(b, "deny", deny);
	} else if (json_array_size(allow) == 0)
		buf_str(b, "mode airgap\n");
	else {
		buf_str(b, "mode allowlist\n");
		lines(b, "allow", allow);
	}
	return (0);
}

static void
changed(void *arg, const nvlist_t *nv, int fd, const struct co_error *e)
{
	struct req *r = arg;

	(void)nv;
	(void)fd;
	if (e != NULL)
		reply_failure(r, e);
	else
		reply_empty(r, 204);
}

void
api_network(struct req *r)
{
	const json_t *internet;
	const char *why;
	struct buf b = { 0 };
	json_t *j;
	nvlist_t *nv;

	if (!co_id_valid(r->param[0])) {
		reply_error(r, 404, "there is no such sandbox");
		return;
	}
	if ((j = body_object(r)) == NULL)
		return;
	internet = json_object_get(j, "allow_internet_access");
	if (policy_of(j, json_is_boolean(internet) ? json_is_true(internet) :
	    1, &b, &why) != 0)
		reply_error(r, 400, "%s", why);
	else {
		nv = question("policy.set", r->param[0], r->as);
		nvlist_add_string(nv, "policy", b.p);
		(void)ask(r, nv, NULL, changed);
	}
	buf_free(&b);
	json_decref(j);
}
