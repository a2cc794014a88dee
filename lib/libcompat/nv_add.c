/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Adding copies of values to a list, and items to its arrays.  Whatever goes
 * wrong becomes the list's error.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "nv_internal.h"

/* False, with errno set, if nothing can be added any more. */
static bool
usable(const nvlist_t *nvl)
{
	int error;

	if ((error = nvlist_error(nvl)) != 0)
		errno = error;
	return (error == 0);
}

static void
add(nvlist_t *nvl, const char *name, const struct nvpair *value)
{
	struct nvpair *nvp;

	if (!usable(nvl))
		return;
	if ((nvp = nv_pair_copy(name, value)) == NULL)
		(void)nv_set_error(nvl, errno);
	else
		(void)nv_set_error(nvl, nv_pair_insert(nvl, nvp));
}

/* Add data that must be there: size bytes when packed. */
static void
add_data(nvlist_t *nvl, const char *name, int type, const void *data,
    size_t size, size_t nitems)
{
	struct nvpair value = { .type = type, .size = size, .nitems = nitems };

	if (!usable(nvl))
		return;
	if (data == NULL || size == 0) {
		(void)nv_set_error(nvl, EINVAL);
		return;
	}
	value.v.data = nv_deconst(data);
	add(nvl, name, &value);
}

/* The same for items of a fixed size. */
static void
add_items(nvlist_t *nvl, const char *name, int type, const void *data,
    size_t nitems, size_t each)
{
	add_data(nvl, name, type, data,
	    nitems > SIZE_MAX / each ? 0 : nitems * each, nitems);
}

void
nvlist_add_null(nvlist_t *nvl, const char *name)
{
	struct nvpair value = { .type = NV_TYPE_NULL };

	add(nvl, name, &value);
}

void
nvlist_add_bool(nvlist_t *nvl, const char *name, bool b)
{
	struct nvpair value = { .type = NV_TYPE_BOOL, .size = 1 };

	value.v.number = b ? 1 : 0;
	add(nvl, name, &value);
}

void
nvlist_add_number(nvlist_t *nvl, const char *name, uint64_t number)
{
	struct nvpair value = { .type = NV_TYPE_NUMBER, .size = 8 };

	value.v.number = number;
	add(nvl, name, &value);
}

void
nvlist_add_string(nvlist_t *nvl, const char *name, const char *s)
{
	add_data(nvl, name, NV_TYPE_STRING, s, s == NULL ? 0 : strlen(s) + 1,
	    0);
}

void
nvlist_add_stringv(nvlist_t *nvl, const char *name, const char *fmt,
    va_list ap)
{
	va_list copy;
	char *s;
	int n;

	if (!usable(nvl))
		return;
	va_copy(copy, ap);
	n = vsnprintf(NULL, 0, fmt, copy);
	va_end(copy);
	if (n < 0 || (s = malloc((size_t)n + 1)) == NULL) {
		(void)nv_set_error(nvl, n < 0 ? EINVAL : ENOMEM);
		return;
	}
	(void)vsnprintf(s, (size_t)n + 1, fmt, ap);
	nvlist_move_string(nvl, name, s);
}

void
nvlist_add_stringf(nvlist_t *nvl, const char *name, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	nvlist_add_stringv(nvl, name, fmt, ap);
	va_end(ap);
}

void
nvlist_add_nvlist(nvlist_t *nvl, const char *name, const nvlist_t *list)
{
	struct nvpair value = { .type = NV_TYPE_NVLIST };

	if (usable(nvl) && list == NULL) {
		(void)nv_set_error(nvl, EINVAL);
		return;
	}
	value.v.list = nv_deconst(list);
	add(nvl, name, &value);
}

void
nvlist_add_descriptor(nvlist_t *nvl, const char *name, int fd)
{
	struct nvpair value = { .type = NV_TYPE_DESCRIPTOR, .size = 8 };

	value.v.fd = fd;
	add(nvl, name, &value);
}

void
nvlist_add_binary(nvlist_t *nvl, const char *name, const void *data,
    size_t size)
{
	add_data(nvl, name, NV_TYPE_BINARY, data, size, 0);
}

void
nvlist_add_bool_array(nvlist_t *nvl, const char *name, const bool *items,
    size_t nitems)
{
	add_items(nvl, name, NV_TYPE_BOOL_ARRAY, items, nitems,
	    sizeof(items[0]));
}

void
nvlist_add_number_array(nvlist_t *nvl, const char *name,
    const uint64_t *items, size_t nitems)
{
	add_items(nvl, name, NV_TYPE_NUMBER_ARRAY, items, nitems,
	    sizeof(items[0]));
}

void
nvlist_add_string_array(nvlist_t *nvl, const char *name,
    const char * const *items, size_t nitems)
{
	size_t i, size;

	for (i = size = 0; items != NULL && i < nitems; i++) {
		if (items[i] == NULL) {
			size = 0;
			break;
		}
		size += strlen(items[i]) + 1;
	}
	add_data(nvl, name, NV_TYPE_STRING_ARRAY, items, size, nitems);
}

void
nvlist_add_nvlist_array(nvlist_t *nvl, const char *name,
    const nvlist_t * const *items, size_t nitems)
{
	struct nvpair value = { .type = NV_TYPE_NVLIST_ARRAY };
	size_t i;
	bool ok;

	if (!usable(nvl))
		return;
	ok = items != NULL && nitems > 0;
	for (i = 0; ok && i < nitems; i++)
		ok = items[i] != NULL;
	if (!ok) {
		(void)nv_set_error(nvl, EINVAL);
		return;
	}
	value.nitems = nitems;
	value.v.data = nv_deconst(items);
	add(nvl, name, &value);
}

void
nvlist_add_descriptor_array(nvlist_t *nvl, const char *name,
    const int *items, size_t nitems)
{
	add_items(nvl, name, NV_TYPE_DESCRIPTOR_ARRAY, items, nitems, 8);
}

/*
 * Make room for one more item at the end of an array; NULL, with the list's
 * error set, when there is none.
 */
static void *
grow(nvlist_t *nvl, struct nvpair *nvp, size_t each)
{
	void *p;

	p = realloc(nvp->v.data, (nvp->nitems + 1) * each);
	if (p == NULL)
		(void)nv_set_error(nvl, ENOMEM);
	else
		nvp->v.data = p;
	return (p);
}

void
nvlist_append_bool_array(nvlist_t *nvl, const char *name, const bool item)
{
	struct nvpair *nvp;

	if (!usable(nvl))
		return;
	if ((nvp = nv_find(nvl, name, NV_TYPE_BOOL_ARRAY)) == NULL) {
		nvlist_add_bool_array(nvl, name, &item, 1);
	} else if (grow(nvl, nvp, sizeof(item)) != NULL) {
		nvp->v.bools[nvp->nitems++] = item;
		nvp->size += sizeof(item);
	}
}

void
nvlist_append_number_array(nvlist_t *nvl, const char *name,
    const uint64_t item)
{
	struct nvpair *nvp;

	if (!usable(nvl))
		return;
	if ((nvp = nv_find(nvl, name, NV_TYPE_NUMBER_ARRAY)) == NULL) {
		nvlist_add_number_array(nvl, name, &item, 1);
	} else if (grow(nvl, nvp, sizeof(item)) != NULL) {
		nvp->v.numbers[nvp->nitems++] = item;
		nvp->size += sizeof(item);
	}
}

void
nvlist_append_string_array(nvlist_t *nvl, const char *name,
    const char * const item)
{
	struct nvpair *nvp;
	char *copy;

	if (!usable(nvl))
		return;
	if ((nvp = nv_find(nvl, name, NV_TYPE_STRING_ARRAY)) == NULL) {
		nvlist_add_string_array(nvl, name, &item, 1);
		return;
	}
	if (item == NULL || (copy = strdup(item)) == NULL) {
		(void)nv_set_error(nvl, item == NULL ? EINVAL : ENOMEM);
		return;
	}
	if (grow(nvl, nvp, sizeof(copy)) == NULL) {
		free(copy);
		return;
	}
	nvp->v.strings[nvp->nitems++] = copy;
	nvp->size += strlen(copy) + 1;
}

void
nvlist_append_nvlist_array(nvlist_t *nvl, const char *name,
    const nvlist_t * const item)
{
	struct nvpair *nvp;
	nvlist_t *copy;

	if (!usable(nvl))
		return;
	if ((nvp = nv_find(nvl, name, NV_TYPE_NVLIST_ARRAY)) == NULL) {
		nvlist_add_nvlist_array(nvl, name, &item, 1);
		return;
	}
	if (item == NULL || nvlist_error(item) != 0 ||
	    nvlist_get_pararr(item, NULL) != NULL) {
		(void)nv_set_error(nvl, EINVAL);
		return;
	}
	if ((copy = nvlist_clone(item)) == NULL) {
		(void)nv_set_error(nvl, ENOMEM);
		return;
	}
	if (grow(nvl, nvp, sizeof(copy)) == NULL) {
		nvlist_destroy(copy);
		return;
	}
	nvp->v.lists[nvp->nitems++] = copy;
	nv_pair_adopt(nvp);
}

void
nvlist_append_descriptor_array(nvlist_t *nvl, const char *name, int item)
{
	struct nvpair *nvp;
	int fd;

	if (!usable(nvl))
		return;
	nvp = nv_find(nvl, name, NV_TYPE_DESCRIPTOR_ARRAY);
	if (nvp == NULL) {
		nvlist_add_descriptor_array(nvl, name, &item, 1);
		return;
	}
	if ((fd = nv_fd_dup(item)) == -1) {
		(void)nv_set_error(nvl, errno);
		return;
	}
	if (grow(nvl, nvp, sizeof(fd)) == NULL) {
		nv_fd_close(fd);
		return;
	}
	nvp->v.fds[nvp->nitems++] = fd;
	nvp->size += 8;
}
