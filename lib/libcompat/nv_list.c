/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Lists as such: making, releasing and copying them, their error, walking
 * them, finding and removing pairs.  A contract that the caller breaks ends
 * the program here, as FreeBSD's libnv does.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "nv_internal.h"

void
nv_fatal(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vfprintf(stderr, fmt, ap);
	va_end(ap);
	(void)fputc('\n', stderr);
	abort();
}

const char *
nv_type_name(int type)
{
	static const char *const names[] = {
		"NONE", "NULL", "BOOL", "NUMBER", "STRING", "NVLIST",
		"DESCRIPTOR", "BINARY", "BOOL ARRAY", "NUMBER ARRAY",
		"STRING ARRAY", "NVLIST ARRAY", "DESCRIPTOR ARRAY",
	};

	if (type < 0 || type > NV_TYPE_DESCRIPTOR_ARRAY)
		return ("<UNKNOWN>");
	return (names[type]);
}

nvlist_t *
nvlist_create(int flags)
{
	nvlist_t *nvl;

	NV_ASSERT((flags & ~NV_FLAGS) == 0);
	if ((nvl = calloc(1, sizeof(*nvl))) == NULL)
		return (NULL);
	nvl->magic = NVLIST_MAGIC;
	nvl->flags = flags;
	return (nvl);
}

void
nvlist_destroy(nvlist_t *nvl)
{
	struct nvpair *nvp;
	int error;

	if (nvl == NULL)
		return;
	NV_CHECK(nvl);
	error = errno;
	while ((nvp = nvl->first) != NULL) {
		nv_unlink(nvp);
		nv_pair_free(nvp);
	}
	nvl->magic = 0;
	free(nvl);
	errno = error;
}

nvlist_t *
nvlist_clone(const nvlist_t *nvl)
{
	struct nvpair *copy, *nvp;
	nvlist_t *new;

	NV_CHECK(nvl);
	if (nvl->error != 0) {
		errno = nvl->error;
		return (NULL);
	}
	if ((new = nvlist_create(nvl->flags)) == NULL)
		return (NULL);
	for (nvp = nvl->first; nvp != NULL; nvp = nvp->next) {
		if ((copy = nv_pair_copy(nvp->name, nvp)) == NULL ||
		    nv_pair_insert(new, copy) != 0) {
			nvlist_destroy(new);
			return (NULL);
		}
	}
	return (new);
}

int
nvlist_error(const nvlist_t *nvl)
{
	if (nvl == NULL)
		return (ENOMEM);
	NV_CHECK(nvl);
	return (nvl->error);
}

void
nvlist_set_error(nvlist_t *nvl, int error)
{
	NV_ASSERT(error != 0);
	if (nvl != NULL && nvl->error == 0)
		nvl->error = error;
}

int
nv_set_error(nvlist_t *nvl, int error)
{
	if (error != 0) {
		nvlist_set_error(nvl, error);
		errno = error;
	}
	return (error);
}

bool
nvlist_empty(const nvlist_t *nvl)
{
	NV_CHECK(nvl);
	NV_ASSERT(nvl->error == 0);
	return (nvl->first == NULL);
}

int
nvlist_flags(const nvlist_t *nvl)
{
	NV_CHECK(nvl);
	NV_ASSERT(nvl->error == 0);
	return (nvl->flags);
}

const nvlist_t *
nvlist_get_parent(const nvlist_t *nvl, void **cookiep)
{
	NV_CHECK(nvl);
	if (cookiep != NULL)
		*cookiep = nvl->parent;
	return (nvl->parent == NULL ? NULL : nvl->parent->list);
}

const nvlist_t *
nvlist_get_array_next(const nvlist_t *nvl)
{
	NV_CHECK(nvl);
	return (nvl->array_next);
}

bool
nvlist_in_array(const nvlist_t *nvl)
{
	NV_CHECK(nvl);
	return (nvl->in_array);
}

const nvlist_t *
nvlist_get_pararr(const nvlist_t *nvl, void **cookiep)
{
	NV_CHECK(nvl);
	if (nvl->array_next == NULL)
		return (nvlist_get_parent(nvl, cookiep));
	if (cookiep != NULL)
		*cookiep = NULL;
	return (nvl->array_next);
}

const char *
nvlist_next(const nvlist_t *nvl, int *typep, void **cookiep)
{
	struct nvpair *nvp;

	NV_CHECK(nvl);
	if (cookiep == NULL || *cookiep == NULL) {
		nvp = nvl->first;
	} else {
		nvp = *cookiep;
		NV_ASSERT(nvp->list == nvl);
		nvp = nvp->next;
	}
	if (nvp == NULL)
		return (NULL);
	if (typep != NULL)
		*typep = nvp->type;
	if (cookiep != NULL)
		*cookiep = nvp;
	return (nvp->name);
}

struct nvpair *
nv_find(const nvlist_t *nvl, const char *name, int type)
{
	struct nvpair *nvp;
	int cmp;

	NV_CHECK(nvl);
	NV_ASSERT(nvl->error == 0);
	NV_ASSERT(type >= NV_TYPE_NONE && type <= NV_TYPE_DESCRIPTOR_ARRAY);
	for (nvp = nvl->first; nvp != NULL; nvp = nvp->next) {
		if (type != NV_TYPE_NONE && nvp->type != type)
			continue;
		cmp = (nvl->flags & NV_FLAG_IGNORE_CASE) != 0 ?
		    strcasecmp(nvp->name, name) : strcmp(nvp->name, name);
		if (cmp == 0)
			return (nvp);
	}
	errno = ENOENT;
	return (NULL);
}

struct nvpair *
nv_need(const nvlist_t *nvl, const char *name, int type)
{
	struct nvpair *nvp;

	if ((nvp = nv_find(nvl, name, type)) == NULL)
		nv_fatal("Element '%s' of type %s doesn't exist.", name,
		    nv_type_name(type));
	return (nvp);
}

/* The lists of a pair that leaves its list belong to nobody. */
static void
orphan(nvlist_t *nvl)
{
	nvl->parent = NULL;
	nvl->array_next = NULL;
	nvl->in_array = false;
}

void
nv_unlink(struct nvpair *nvp)
{
	nvlist_t *nvl = nvp->list;
	size_t i;

	if (nvp->type == NV_TYPE_NVLIST)
		orphan(nvp->v.list);
	else if (nvp->type == NV_TYPE_NVLIST_ARRAY)
		for (i = 0; i < nvp->nitems; i++)
			orphan(nvp->v.lists[i]);
	if (nvp->prev != NULL)
		nvp->prev->next = nvp->next;
	else
		nvl->first = nvp->next;
	if (nvp->next != NULL)
		nvp->next->prev = nvp->prev;
	else
		nvl->last = nvp->prev;
	nvp->next = nvp->prev = NULL;
	nvp->list = NULL;
	nvl->count--;
}

bool
nvlist_exists_type(const nvlist_t *nvl, const char *name, int type)
{
	return (nv_find(nvl, name, type) != NULL);
}

bool
nvlist_exists(const nvlist_t *nvl, const char *name)
{
	return (nv_find(nvl, name, NV_TYPE_NONE) != NULL);
}

void
nvlist_free_type(nvlist_t *nvl, const char *name, int type)
{
	struct nvpair *nvp;

	nvp = nv_need(nvl, name, type);
	nv_unlink(nvp);
	nv_pair_free(nvp);
}

void
nvlist_free(nvlist_t *nvl, const char *name)
{
	nvlist_free_type(nvl, name, NV_TYPE_NONE);
}

#define	NV_BY_TYPE(type, TYPE)						\
bool									\
nvlist_exists_##type(const nvlist_t *nvl, const char *name)		\
{									\
	return (nv_find(nvl, name, NV_TYPE_##TYPE) != NULL);		\
}									\
									\
void									\
nvlist_free_##type(nvlist_t *nvl, const char *name)			\
{									\
	nvlist_free_type(nvl, name, NV_TYPE_##TYPE);			\
}

NV_BY_TYPE(null, NULL)
NV_BY_TYPE(bool, BOOL)
NV_BY_TYPE(number, NUMBER)
NV_BY_TYPE(string, STRING)
NV_BY_TYPE(nvlist, NVLIST)
NV_BY_TYPE(descriptor, DESCRIPTOR)
NV_BY_TYPE(binary, BINARY)
NV_BY_TYPE(bool_array, BOOL_ARRAY)
NV_BY_TYPE(number_array, NUMBER_ARRAY)
NV_BY_TYPE(string_array, STRING_ARRAY)
NV_BY_TYPE(nvlist_array, NVLIST_ARRAY)
NV_BY_TYPE(descriptor_array, DESCRIPTOR_ARRAY)
