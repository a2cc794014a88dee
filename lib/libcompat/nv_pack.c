/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Packing a list into the bytes that nv_internal.h describes, and gathering
 * the descriptors that go with them.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "nv_internal.h"

struct writer {
	unsigned char	*p;
	size_t		 left;		/* to the end of the message */
	uint64_t	 fd;		/* place of the next descriptor */
	uint64_t	 nfds;
};

static void
put(struct writer *w, const void *data, size_t n)
{
	NV_ASSERT(n <= w->left);
	memcpy(w->p, data, n);
	w->p += n;
	w->left -= n;
}

static void
put_int(struct writer *w, uint64_t v, size_t n)
{
	unsigned char b[8];
	size_t i;

	for (i = 0; i < n; i++)
		b[i] = (unsigned char)(v >> (8 * i));
	put(w, b, n);
}

static void
put_pair(struct writer *w, int type, const char *name, size_t size,
    size_t nitems)
{
	size_t n;

	n = strlen(name) + 1;
	put_int(w, (uint64_t)type, 1);
	put_int(w, n, 2);
	put_int(w, size, 8);
	put_int(w, nitems, 8);
	put(w, name, n);
}

static void
put_fd(struct writer *w, int fd)
{
	put_int(w, fd == -1 ? UINT64_MAX : w->fd++, 8);
}

static void	put_list(struct writer *, const nvlist_t *, int end);

static void
put_value(struct writer *w, const struct nvpair *nvp)
{
	size_t i;

	switch (nvp->type) {
	case NV_TYPE_BOOL:
		put_int(w, nvp->v.number, 1);
		break;
	case NV_TYPE_NUMBER:
		put_int(w, nvp->v.number, 8);
		break;
	case NV_TYPE_STRING:
	case NV_TYPE_BINARY:
		put(w, nvp->v.data, nvp->size);
		break;
	case NV_TYPE_NVLIST:
		put_list(w, nvp->v.list, NV_WIRE_UP);
		break;
	case NV_TYPE_DESCRIPTOR:
		put_fd(w, nvp->v.fd);
		break;
	case NV_TYPE_BOOL_ARRAY:
		for (i = 0; i < nvp->nitems; i++)
			put_int(w, nvp->v.bools[i], 1);
		break;
	case NV_TYPE_NUMBER_ARRAY:
		for (i = 0; i < nvp->nitems; i++)
			put_int(w, nvp->v.numbers[i], 8);
		break;
	case NV_TYPE_STRING_ARRAY:
		for (i = 0; i < nvp->nitems; i++)
			put(w, nvp->v.strings[i],
			    strlen(nvp->v.strings[i]) + 1);
		break;
	case NV_TYPE_NVLIST_ARRAY:
		for (i = 0; i < nvp->nitems; i++)
			put_list(w, nvp->v.lists[i], NV_WIRE_NEXT);
		break;
	case NV_TYPE_DESCRIPTOR_ARRAY:
		for (i = 0; i < nvp->nitems; i++)
			put_fd(w, nvp->v.fds[i]);
		break;
	}
}

/* A list and the pair that ends it; end is 0 for the outermost. */
static void
put_list(struct writer *w, const nvlist_t *nvl, int end)
{
	const struct nvpair *nvp;

	put_int(w, NV_WIRE_MAGIC, 1);
	put_int(w, NV_WIRE_VERSION, 1);
	put_int(w, (uint64_t)nvl->flags, 1);
	put_int(w, w->nfds - w->fd, 8);
	put_int(w, w->left - 8, 8);
	for (nvp = nvl->first; nvp != NULL; nvp = nvp->next) {
		put_pair(w, nvp->type, nvp->name,
		    nvp->type == NV_TYPE_NVLIST ? nvlist_size(nvp->v.list) :
		    nvp->size, nvp->nitems);
		put_value(w, nvp);
	}
	if (end != 0)
		put_pair(w, end, "", 0, 0);
}

size_t
nvlist_size(const nvlist_t *nvl)
{
	const struct nvpair *nvp;
	size_t i, size;

	NV_CHECK(nvl);
	size = NV_WIRE_LIST;
	for (nvp = nvl->first; nvp != NULL; nvp = nvp->next) {
		size += NV_WIRE_PAIR + strlen(nvp->name) + 1 + nvp->size;
		if (nvp->type == NV_TYPE_NVLIST)
			size += nvlist_size(nvp->v.list) + NV_WIRE_END;
		else if (nvp->type == NV_TYPE_NVLIST_ARRAY)
			for (i = 0; i < nvp->nitems; i++)
				size += nvlist_size(nvp->v.lists[i]) +
				    NV_WIRE_END;
	}
	return (size);
}

/* Append the descriptors of a list to fds, or only count them. */
static size_t
gather(const nvlist_t *nvl, int *fds, size_t n)
{
	const struct nvpair *nvp;
	size_t i;

	for (nvp = nvl->first; nvp != NULL; nvp = nvp->next) {
		switch (nvp->type) {
		case NV_TYPE_DESCRIPTOR:
			if (fds != NULL)
				fds[n] = nvp->v.fd;
			n++;
			break;
		case NV_TYPE_DESCRIPTOR_ARRAY:
			if (fds != NULL)
				memcpy(fds + n, nvp->v.fds,
				    nvp->nitems * sizeof(fds[0]));
			n += nvp->nitems;
			break;
		case NV_TYPE_NVLIST:
			n = gather(nvp->v.list, fds, n);
			break;
		case NV_TYPE_NVLIST_ARRAY:
			for (i = 0; i < nvp->nitems; i++)
				n = gather(nvp->v.lists[i], fds, n);
			break;
		}
	}
	return (n);
}

size_t
nv_ndescriptors(const nvlist_t *nvl)
{
	return (gather(nvl, NULL, 0));
}

int *
nv_descriptors(const nvlist_t *nvl, size_t *np)
{
	int *fds;

	*np = nv_ndescriptors(nvl);
	if ((fds = calloc(*np + 1, sizeof(fds[0]))) == NULL)
		return (NULL);
	(void)gather(nvl, fds, 0);
	fds[*np] = -1;
	return (fds);
}

void *
nv_pack(const nvlist_t *nvl, size_t *sizep)
{
	struct writer w;
	unsigned char *buf;

	if (nvlist_error(nvl) != 0) {
		errno = nvlist_error(nvl);
		return (NULL);
	}
	memset(&w, 0, sizeof(w));
	w.left = nvlist_size(nvl);
	w.nfds = nv_ndescriptors(nvl);
	if ((buf = malloc(w.left)) == NULL)
		return (NULL);
	if (sizep != NULL)
		*sizep = w.left;
	w.p = buf;
	put_list(&w, nvl, 0);
	NV_ASSERT(w.left == 0);
	return (buf);
}

void *
nvlist_pack(const nvlist_t *nvl, size_t *sizep)
{
	NV_CHECK(nvl);
	if (nvl->error == 0 && nv_ndescriptors(nvl) > 0) {
		errno = EOPNOTSUPP;
		return (NULL);
	}
	return (nv_pack(nvl, sizep));
}
