/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Giving values to a list.  The value is the list's from the call on, so
 * whatever goes wrong, it is released here.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "nv_internal.h"

/*
 * Make a pair of type around the value, which release() would free, and put
 * it into the list.  error is what the caller found wrong with the value.
 */
static void
move(nvlist_t *nvl, const char *name, struct nvpair *value, int error)
{
	struct nvpair *nvp;

	nvp = NULL;
	if (nvlist_error(nvl) != 0)
		error = nvlist_error(nvl);
	if (error == 0 && (nvp = nv_pair_alloc(name, value->type)) == NULL)
		error = errno;
	if (nvp != NULL) {
		nvp->size = value->size;
		nvp->nitems = value->nitems;
		nvp->v = value->v;
		nv_pair_adopt(nvp);
		(void)nv_set_error(nvl, nv_pair_insert(nvl, nvp));
		return;
	}
	/* A pair without a name is what frees a value. */
	if ((nvp = nv_pair_alloc("", value->type)) != NULL) {
		nvp->nitems = value->nitems;
		nvp->v = value->v;
		nv_pair_free(nvp);
	}
	(void)nv_set_error(nvl, error);
}

static void
move_data(nvlist_t *nvl, const char *name, int type, void *data, size_t size,
    size_t nitems)
{
	struct nvpair value = { .type = type, .size = size, .nitems = nitems };

	value.v.data = data;
	if (data == NULL)
		value.nitems = 0;
	move(nvl, name, &value, data == NULL || size == 0 ? EINVAL : 0);
}

void
nvlist_move_string(nvlist_t *nvl, const char *name, char *s)
{
	move_data(nvl, name, NV_TYPE_STRING, s, s == NULL ? 0 : strlen(s) + 1,
	    0);
}

void
nvlist_move_binary(nvlist_t *nvl, const char *name, void *data, size_t size)
{
	move_data(nvl, name, NV_TYPE_BINARY, data, size, 0);
}

void
nvlist_move_bool_array(nvlist_t *nvl, const char *name, bool *items,
    size_t nitems)
{
	move_data(nvl, name, NV_TYPE_BOOL_ARRAY, items,
	    nitems * sizeof(items[0]), nitems);
}

void
nvlist_move_number_array(nvlist_t *nvl, const char *name, uint64_t *items,
    size_t nitems)
{
	move_data(nvl, name, NV_TYPE_NUMBER_ARRAY, items,
	    nitems * sizeof(items[0]), nitems);
}

void
nvlist_move_string_array(nvlist_t *nvl, const char *name, char **items,
    size_t nitems)
{
	size_t i, size;

	for (i = size = 0; items != NULL && i < nitems; i++) {
		if (items[i] == NULL) {
			size = 0;
			break;
		}
		size += strlen(items[i]) + 1;
	}
	move_data(nvl, name, NV_TYPE_STRING_ARRAY, items, size, nitems);
}

void
nvlist_move_nvlist(nvlist_t *nvl, const char *name, nvlist_t *list)
{
	struct nvpair value = { .type = NV_TYPE_NVLIST };

	if (list == NULL || list->parent != NULL) {
		(void)nv_set_error(nvl, nvlist_error(nvl) != 0 ?
		    nvlist_error(nvl) : EINVAL);
		return;
	}
	value.v.list = list;
	move(nvl, name, &value, nvlist_error(list));
}

void
nvlist_move_nvlist_array(nvlist_t *nvl, const char *name, nvlist_t **items,
    size_t nitems)
{
	struct nvpair value = { .type = NV_TYPE_NVLIST_ARRAY };
	size_t i;
	int error;

	error = items == NULL || nitems == 0 ? EINVAL : 0;
	for (i = 0; items != NULL && i < nitems; i++) {
		if (items[i] == NULL || items[i]->parent != NULL) {
			/* Not ours to destroy. */
			items[i] = NULL;
			error = EINVAL;
		} else if (nvlist_error(items[i]) != 0) {
			error = EINVAL;
		}
	}
	value.nitems = items == NULL ? 0 : nitems;
	value.v.lists = items;
	move(nvl, name, &value, error);
}

void
nvlist_move_descriptor(nvlist_t *nvl, const char *name, int fd)
{
	struct nvpair value = { .type = NV_TYPE_DESCRIPTOR, .size = 8 };
	int error;

	error = fd < 0 || !nv_fd_valid(fd) ? EBADF : 0;
	value.v.fd = error == 0 ? fd : -1;
	move(nvl, name, &value, error);
}

void
nvlist_move_descriptor_array(nvlist_t *nvl, const char *name, int *items,
    size_t nitems)
{
	struct nvpair value = { .type = NV_TYPE_DESCRIPTOR_ARRAY };
	size_t i;
	int error;

	error = items == NULL || nitems == 0 ? EINVAL : 0;
	for (i = 0; items != NULL && i < nitems; i++) {
		if (items[i] != -1 && !nv_fd_valid(items[i])) {
			items[i] = -1;
			error = EBADF;
		}
	}
	value.nitems = items == NULL ? 0 : nitems;
	value.size = value.nitems * 8;
	value.v.fds = items;
	move(nvl, name, &value, error);
}
