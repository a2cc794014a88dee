/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Pairs: a name, a type and a value that the pair owns.  nv_add.c,
 * nv_move.c and nv_unpack.c make them; only lists hold them.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "nv_internal.h"

struct nvpair *
nv_pair_alloc(const char *name, int type)
{
	struct nvpair *nvp;
	size_t n;

	if (name == NULL) {
		errno = EINVAL;
		return (NULL);
	}
	if ((n = strlen(name)) >= NV_NAME_MAX) {
		errno = ENAMETOOLONG;
		return (NULL);
	}
	if ((nvp = calloc(1, sizeof(*nvp) + n + 1)) == NULL)
		return (NULL);
	memcpy(nvp->name, name, n + 1);
	nvp->type = type;
	/* 0 is a descriptor. */
	if (type == NV_TYPE_DESCRIPTOR)
		nvp->v.fd = -1;
	return (nvp);
}

void
nv_pair_free(struct nvpair *nvp)
{
	size_t i;

	NV_ASSERT(nvp->list == NULL);
	switch (nvp->type) {
	case NV_TYPE_DESCRIPTOR:
		nv_fd_close(nvp->v.fd);
		break;
	case NV_TYPE_NVLIST:
		nvlist_destroy(nvp->v.list);
		break;
	case NV_TYPE_STRING:
	case NV_TYPE_BINARY:
		free(nvp->v.data);
		break;
	case NV_TYPE_BOOL_ARRAY:
		free(nvp->v.bools);
		break;
	case NV_TYPE_NUMBER_ARRAY:
		free(nvp->v.numbers);
		break;
	case NV_TYPE_STRING_ARRAY:
		for (i = 0; i < nvp->nitems; i++)
			free(nvp->v.strings[i]);
		free(nvp->v.strings);
		break;
	case NV_TYPE_NVLIST_ARRAY:
		for (i = 0; i < nvp->nitems; i++)
			nvlist_destroy(nvp->v.lists[i]);
		free(nvp->v.lists);
		break;
	case NV_TYPE_DESCRIPTOR_ARRAY:
		for (i = 0; i < nvp->nitems; i++)
			nv_fd_close(nvp->v.fds[i]);
		free(nvp->v.fds);
		break;
	}
	free(nvp);
}

int
nv_pair_insert(nvlist_t *nvl, struct nvpair *nvp)
{
	int error;

	if ((error = nvlist_error(nvl)) == 0 &&
	    (nvl->flags & NV_FLAG_NO_UNIQUE) == 0 &&
	    nv_find(nvl, nvp->name, NV_TYPE_NONE) != NULL)
		error = EEXIST;
	if (error != 0) {
		nv_pair_free(nvp);
		errno = error;
		return (error);
	}
	nvp->list = nvl;
	nvp->prev = nvl->last;
	if (nvl->last != NULL)
		nvl->last->next = nvp;
	else
		nvl->first = nvp;
	nvl->last = nvp;
	nvl->count++;
	return (0);
}

void
nv_pair_adopt(struct nvpair *nvp)
{
	size_t i;

	if (nvp->type == NV_TYPE_NVLIST) {
		nvp->v.list->parent = nvp;
	} else if (nvp->type == NV_TYPE_NVLIST_ARRAY) {
		for (i = 0; i < nvp->nitems; i++) {
			nvp->v.lists[i]->parent = nvp;
			nvp->v.lists[i]->in_array = true;
			nvp->v.lists[i]->array_next = i + 1 < nvp->nitems ?
			    nvp->v.lists[i + 1] : NULL;
		}
	}
}

/* Copies of the items of arrays; the pair counts those that it has. */
static int
clone_items(struct nvpair *to, const struct nvpair *from)
{
	size_t i;

	for (i = 0; i < from->nitems; i++, to->nitems++) {
		if (from->type == NV_TYPE_STRING_ARRAY) {
			to->v.strings[i] = strdup(from->v.strings[i]);
			if (to->v.strings[i] == NULL)
				return (-1);
		} else if (from->type == NV_TYPE_NVLIST_ARRAY) {
			to->v.lists[i] = nvlist_clone(from->v.lists[i]);
			if (to->v.lists[i] == NULL)
				return (-1);
		} else {
			to->v.fds[i] = -1;
			if (from->v.fds[i] != -1 && (to->v.fds[i] =
			    nv_fd_dup(from->v.fds[i])) == -1)
				return (-1);
		}
	}
	nv_pair_adopt(to);
	return (0);
}

static int
clone_value(struct nvpair *to, const struct nvpair *from)
{
	switch (from->type) {
	case NV_TYPE_STRING:
	case NV_TYPE_BINARY:
	case NV_TYPE_BOOL_ARRAY:
	case NV_TYPE_NUMBER_ARRAY:
		if ((to->v.data = malloc(from->size)) == NULL)
			return (-1);
		memcpy(to->v.data, from->v.data, from->size);
		to->nitems = from->nitems;
		break;
	case NV_TYPE_NVLIST:
		if ((to->v.list = nvlist_clone(from->v.list)) == NULL)
			return (-1);
		nv_pair_adopt(to);
		break;
	case NV_TYPE_DESCRIPTOR:
		if ((to->v.fd = nv_fd_dup(from->v.fd)) == -1)
			return (-1);
		break;
	case NV_TYPE_STRING_ARRAY:
	case NV_TYPE_NVLIST_ARRAY:
	case NV_TYPE_DESCRIPTOR_ARRAY:
		/* Pointers are the largest of the items. */
		to->v.data = calloc(from->nitems, sizeof(void *));
		if (to->v.data == NULL)
			return (-1);
		return (clone_items(to, from));
	default:
		to->v = from->v;
	}
	return (0);
}

struct nvpair *
nv_pair_copy(const char *name, const struct nvpair *from)
{
	struct nvpair *nvp;

	errno = 0;
	if ((nvp = nv_pair_alloc(name, from->type)) == NULL)
		goto err0;
	nvp->size = from->size;
	if (clone_value(nvp, from) != 0)
		goto err1;
	return (nvp);

err1:
	nv_pair_free(nvp);
err0:
	if (errno == 0)
		errno = ENOMEM;
	return (NULL);
}
