/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Looking at values and taking them out again.  Asking for a name that is
 * not there aborts; dnv.c is for callers who do not know.
 */

#include <stdlib.h>

#include "nv_internal.h"

/* A value that is taken leaves its pair behind. */
static void
drop(struct nvpair *nvp)
{
	nv_unlink(nvp);
	free(nvp);
}

bool
nvlist_get_bool(const nvlist_t *nvl, const char *name)
{
	return (nv_need(nvl, name, NV_TYPE_BOOL)->v.number != 0);
}

uint64_t
nvlist_get_number(const nvlist_t *nvl, const char *name)
{
	return (nv_need(nvl, name, NV_TYPE_NUMBER)->v.number);
}

const char *
nvlist_get_string(const nvlist_t *nvl, const char *name)
{
	return (nv_need(nvl, name, NV_TYPE_STRING)->v.data);
}

const nvlist_t *
nvlist_get_nvlist(const nvlist_t *nvl, const char *name)
{
	return (nv_need(nvl, name, NV_TYPE_NVLIST)->v.list);
}

int
nvlist_get_descriptor(const nvlist_t *nvl, const char *name)
{
	return (nv_need(nvl, name, NV_TYPE_DESCRIPTOR)->v.fd);
}

const void *
nvlist_get_binary(const nvlist_t *nvl, const char *name, size_t *sizep)
{
	const struct nvpair *nvp;

	nvp = nv_need(nvl, name, NV_TYPE_BINARY);
	if (sizep != NULL)
		*sizep = nvp->size;
	return (nvp->v.data);
}

bool
nvlist_take_bool(nvlist_t *nvl, const char *name)
{
	bool b;

	b = nvlist_get_bool(nvl, name);
	drop(nv_need(nvl, name, NV_TYPE_BOOL));
	return (b);
}

uint64_t
nvlist_take_number(nvlist_t *nvl, const char *name)
{
	uint64_t n;

	n = nvlist_get_number(nvl, name);
	drop(nv_need(nvl, name, NV_TYPE_NUMBER));
	return (n);
}

char *
nvlist_take_string(nvlist_t *nvl, const char *name)
{
	struct nvpair *nvp;
	char *s;

	nvp = nv_need(nvl, name, NV_TYPE_STRING);
	s = nvp->v.data;
	drop(nvp);
	return (s);
}

nvlist_t *
nvlist_take_nvlist(nvlist_t *nvl, const char *name)
{
	struct nvpair *nvp;
	nvlist_t *list;

	nvp = nv_need(nvl, name, NV_TYPE_NVLIST);
	list = nvp->v.list;
	drop(nvp);
	return (list);
}

int
nvlist_take_descriptor(nvlist_t *nvl, const char *name)
{
	struct nvpair *nvp;
	int fd;

	nvp = nv_need(nvl, name, NV_TYPE_DESCRIPTOR);
	fd = nvp->v.fd;
	drop(nvp);
	return (fd);
}

void *
nvlist_take_binary(nvlist_t *nvl, const char *name, size_t *sizep)
{
	struct nvpair *nvp;
	void *data;

	nvp = nv_need(nvl, name, NV_TYPE_BINARY);
	if (sizep != NULL)
		*sizep = nvp->size;
	data = nvp->v.data;
	drop(nvp);
	return (data);
}

#define	NV_ARRAY(ctype, type, TYPE, member)				\
const ctype *								\
nvlist_get_##type##_array(const nvlist_t *nvl, const char *name,	\
    size_t *nitemsp)							\
{									\
	const struct nvpair *nvp;					\
									\
	nvp = nv_need(nvl, name, NV_TYPE_##TYPE##_ARRAY);		\
	if (nitemsp != NULL)						\
		*nitemsp = nvp->nitems;					\
	return (nvp->v.member);						\
}									\
									\
ctype *									\
nvlist_take_##type##_array(nvlist_t *nvl, const char *name,		\
    size_t *nitemsp)							\
{									\
	struct nvpair *nvp;						\
	ctype *items;							\
									\
	nvp = nv_need(nvl, name, NV_TYPE_##TYPE##_ARRAY);		\
	if (nitemsp != NULL)						\
		*nitemsp = nvp->nitems;					\
	items = nvp->v.member;						\
	drop(nvp);							\
	return (items);							\
}

NV_ARRAY(bool, bool, BOOL, bools)
NV_ARRAY(uint64_t, number, NUMBER, numbers)
NV_ARRAY(int, descriptor, DESCRIPTOR, fds)

const char * const *
nvlist_get_string_array(const nvlist_t *nvl, const char *name,
    size_t *nitemsp)
{
	const struct nvpair *nvp;

	nvp = nv_need(nvl, name, NV_TYPE_STRING_ARRAY);
	if (nitemsp != NULL)
		*nitemsp = nvp->nitems;
	return ((const char * const *)nvp->v.strings);
}

char **
nvlist_take_string_array(nvlist_t *nvl, const char *name, size_t *nitemsp)
{
	struct nvpair *nvp;
	char **items;

	nvp = nv_need(nvl, name, NV_TYPE_STRING_ARRAY);
	if (nitemsp != NULL)
		*nitemsp = nvp->nitems;
	items = nvp->v.strings;
	drop(nvp);
	return (items);
}

const nvlist_t * const *
nvlist_get_nvlist_array(const nvlist_t *nvl, const char *name,
    size_t *nitemsp)
{
	const struct nvpair *nvp;

	nvp = nv_need(nvl, name, NV_TYPE_NVLIST_ARRAY);
	if (nitemsp != NULL)
		*nitemsp = nvp->nitems;
	return ((const nvlist_t * const *)nvp->v.lists);
}

nvlist_t **
nvlist_take_nvlist_array(nvlist_t *nvl, const char *name, size_t *nitemsp)
{
	struct nvpair *nvp;
	nvlist_t **items;

	nvp = nv_need(nvl, name, NV_TYPE_NVLIST_ARRAY);
	if (nitemsp != NULL)
		*nitemsp = nvp->nitems;
	items = nvp->v.lists;
	drop(nvp);
	return (items);
}
