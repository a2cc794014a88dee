/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * dnv(9): the value if it is there, else the caller's default.
 */

#include <sys/dnv.h>

#define	DNV(getter, ctype, type)					\
ctype									\
dnvlist_##getter##_##type(DNV_LIST_##getter nvl, const char *name,	\
    ctype defval)							\
{									\
	if (!nvlist_exists_##type(nvl, name))				\
		return (defval);					\
	return (nvlist_##getter##_##type(nvl, name));			\
}

#define	DNV_LIST_get	const nvlist_t *
#define	DNV_LIST_take	nvlist_t *

DNV(get, bool, bool)
DNV(get, uint64_t, number)
DNV(get, const char *, string)
DNV(get, const nvlist_t *, nvlist)
DNV(get, int, descriptor)

DNV(take, bool, bool)
DNV(take, uint64_t, number)
DNV(take, char *, string)
DNV(take, nvlist_t *, nvlist)
DNV(take, int, descriptor)

const void *
dnvlist_get_binary(const nvlist_t *nvl, const char *name, size_t *sizep,
    const void *defval, size_t defsize)
{
	if (nvlist_exists_binary(nvl, name))
		return (nvlist_get_binary(nvl, name, sizep));
	if (sizep != NULL)
		*sizep = defsize;
	return (defval);
}

void *
dnvlist_take_binary(nvlist_t *nvl, const char *name, size_t *sizep,
    void *defval, size_t defsize)
{
	if (nvlist_exists_binary(nvl, name))
		return (nvlist_take_binary(nvl, name, sizep));
	if (sizep != NULL)
		*sizep = defsize;
	return (defval);
}
