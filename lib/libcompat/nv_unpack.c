/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Unpacking a list from bytes that anyone may have sent.  This is the only
 * place that decodes them: every length, count and place is checked against
 * what is left before it is used, and the bounds of <sys/nv.h> hold.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "nv_internal.h"

struct reader {
	const unsigned char *p;
	size_t		 left;
	bool		 big;		/* big endian */
	int		*fds;		/* -1: already in a list */
	size_t		 nfds;
	size_t		 pairs;
	unsigned	 depth;
};

/* The fixed part of a pair. */
struct header {
	int		 type;
	uint64_t	 size;
	uint64_t	 nitems;
	const char	*name;
};

static uint64_t
get_int(const unsigned char *p, size_t n, bool big)
{
	uint64_t v;
	size_t i;

	for (v = 0, i = 0; i < n; i++)
		v |= (uint64_t)p[big ? n - 1 - i : i] << (8 * i);
	return (v);
}

/* n bytes off the input; the caller has checked that they are there. */
static const unsigned char *
take(struct reader *r, size_t n)
{
	const unsigned char *p = r->p;

	NV_ASSERT(n <= r->left);
	r->p += n;
	r->left -= n;
	return (p);
}

static uint64_t
take_int(struct reader *r, size_t n)
{
	return (get_int(take(r, n), n, r->big));
}

/* Magic, version and flags; the numbers are the caller's to judge. */
static int
list_header(const unsigned char *p, int *flagsp, bool *bigp,
    uint64_t *fdsp, uint64_t *sizep)
{
	if (p[0] != NV_WIRE_MAGIC || p[1] != NV_WIRE_VERSION ||
	    (p[2] & ~(NV_FLAGS | NV_WIRE_BIG_ENDIAN)) != 0)
		return (EINVAL);
	*flagsp = p[2] & NV_FLAGS;
	*bigp = (p[2] & NV_WIRE_BIG_ENDIAN) != 0;
	*fdsp = get_int(p + 3, 8, *bigp);
	*sizep = get_int(p + 11, 8, *bigp);
	return (0);
}

int
nv_unpack_header(const unsigned char hdr[NV_WIRE_LIST], size_t *sizep,
    size_t *nfdsp)
{
	uint64_t nfds, size;
	int error, flags;
	bool big;

	if ((error = list_header(hdr, &flags, &big, &nfds, &size)) != 0)
		return (error);
	if (size > NV_MAX_SIZE - NV_WIRE_LIST || nfds > NV_MAX_DESCRIPTORS)
		return (EMSGSIZE);
	*sizep = (size_t)size + NV_WIRE_LIST;
	*nfdsp = (size_t)nfds;
	return (0);
}

/* A new list from its header. */
static int
get_list(struct reader *r, nvlist_t **nvlp)
{
	uint64_t nfds, size;
	int error, flags;
	bool big;

	if (r->left < NV_WIRE_LIST)
		return (EINVAL);
	error = list_header(r->p, &flags, &big, &nfds, &size);
	if (error != 0)
		return (error);
	if (r->depth == 0)
		r->big = big;
	if (big != r->big || size != r->left - NV_WIRE_LIST || nfds > r->nfds)
		return (EINVAL);
	(void)take(r, NV_WIRE_LIST);
	if ((*nvlp = nvlist_create(flags)) == NULL)
		return (ENOMEM);
	return (0);
}

static int
get_header(struct reader *r, struct header *h)
{
	size_t namesize;

	if (r->left < NV_WIRE_PAIR)
		return (EINVAL);
	h->type = (int)take_int(r, 1);
	namesize = (size_t)take_int(r, 2);
	h->size = take_int(r, 8);
	h->nitems = take_int(r, 8);
	if (h->type < NV_TYPE_NULL || (h->type > NV_TYPE_DESCRIPTOR_ARRAY &&
	    h->type != NV_WIRE_UP && h->type != NV_WIRE_NEXT))
		return (EINVAL);
	if (namesize < 1 || namesize > NV_NAME_MAX || namesize > r->left)
		return (EINVAL);
	h->name = (const char *)take(r, namesize);
	if (strnlen(h->name, namesize) != namesize - 1)
		return (EINVAL);
	if (h->size > r->left)
		return (EINVAL);
	return (0);
}

/* A copy of the pair's data; NULL when out of memory. */
static void *
take_copy(struct reader *r, size_t n)
{
	void *p;

	if ((p = malloc(n)) != NULL)
		memcpy(p, take(r, n), n);
	return (p);
}

/* The place of a descriptor becomes the descriptor. */
static int
take_fd(struct reader *r, int *fdp)
{
	uint64_t i;

	i = take_int(r, 8);
	if (i >= r->nfds || r->fds[i] == -1)
		return (EINVAL);
	*fdp = r->fds[i];
	r->fds[i] = -1;
	return (0);
}

static int
get_data(struct reader *r, const struct header *h, struct nvpair *nvp)
{
	if (h->size == 0)
		return (EINVAL);
	if (h->type == NV_TYPE_STRING &&
	    strnlen((const char *)r->p, (size_t)h->size) != h->size - 1)
		return (EINVAL);
	if ((nvp->v.data = take_copy(r, (size_t)h->size)) == NULL)
		return (ENOMEM);
	return (0);
}

/* Arrays whose items have a fixed size of each bytes. */
static int
get_items(struct reader *r, const struct header *h, struct nvpair *nvp,
    size_t each)
{
	size_t i, n;
	int error;

	if (h->nitems == 0 || h->nitems > r->left / each ||
	    h->size != h->nitems * each)
		return (EINVAL);
	n = (size_t)h->nitems;
	if ((nvp->v.data = calloc(n, each)) == NULL)
		return (ENOMEM);
	for (i = 0; i < n; i++) {
		if (h->type == NV_TYPE_NUMBER_ARRAY) {
			nvp->v.numbers[i] = take_int(r, 8);
		} else if (h->type == NV_TYPE_BOOL_ARRAY) {
			if (*r->p > 1)
				return (EINVAL);
			nvp->v.bools[i] = take_int(r, 1) != 0;
		} else if ((error = take_fd(r, &nvp->v.fds[i])) != 0) {
			return (error);
		}
		nvp->nitems++;
	}
	return (0);
}

static int
get_strings(struct reader *r, const struct header *h, struct nvpair *nvp)
{
	size_t left, len;

	/* Each takes a byte at least. */
	if (h->nitems == 0 || h->nitems > h->size)
		return (EINVAL);
	nvp->v.strings = calloc((size_t)h->nitems, sizeof(char *));
	if (nvp->v.strings == NULL)
		return (ENOMEM);
	for (left = (size_t)h->size; nvp->nitems < h->nitems; left -= len) {
		len = strnlen((const char *)r->p, left) + 1;
		if (len > left)
			return (EINVAL);
		nvp->v.strings[nvp->nitems] = take_copy(r, len);
		if (nvp->v.strings[nvp->nitems] == NULL)
			return (ENOMEM);
		nvp->nitems++;
	}
	return (left == 0 ? 0 : EINVAL);
}

static int	get_pairs(struct reader *, nvlist_t *, int end);

static int
get_nested(struct reader *r, nvlist_t **nvlp, int end)
{
	int error;

	if (++r->depth >= NV_MAX_DEPTH)
		return (EMSGSIZE);
	if ((error = get_list(r, nvlp)) != 0)
		return (error);
	error = get_pairs(r, *nvlp, end);
	r->depth--;
	return (error);
}

static int
get_lists(struct reader *r, const struct header *h, struct nvpair *nvp)
{
	int error;

	if (h->nitems == 0 ||
	    h->nitems > r->left / (NV_WIRE_LIST + NV_WIRE_END))
		return (EINVAL);
	if (h->nitems > NV_MAX_PAIRS - r->pairs)
		return (EMSGSIZE);
	r->pairs += (size_t)h->nitems;
	nvp->v.lists = calloc((size_t)h->nitems, sizeof(nvlist_t *));
	if (nvp->v.lists == NULL)
		return (ENOMEM);
	while (nvp->nitems < h->nitems) {
		error = get_nested(r, &nvp->v.lists[nvp->nitems],
		    NV_WIRE_NEXT);
		/* A list that failed is still the pair's to destroy. */
		nvp->nitems++;
		if (error != 0)
			return (error);
	}
	return (0);
}

static int
get_value(struct reader *r, const struct header *h, struct nvpair *nvp)
{
	switch (h->type) {
	case NV_TYPE_NULL:
		return (h->size == 0 ? 0 : EINVAL);
	case NV_TYPE_BOOL:
		if (h->size != 1 || *r->p > 1)
			return (EINVAL);
		nvp->v.number = take_int(r, 1);
		return (0);
	case NV_TYPE_NUMBER:
		if (h->size != 8)
			return (EINVAL);
		nvp->v.number = take_int(r, 8);
		return (0);
	case NV_TYPE_DESCRIPTOR:
		if (h->size != 8)
			return (EINVAL);
		return (take_fd(r, &nvp->v.fd));
	case NV_TYPE_STRING:
	case NV_TYPE_BINARY:
		return (get_data(r, h, nvp));
	case NV_TYPE_BOOL_ARRAY:
		return (get_items(r, h, nvp, 1));
	case NV_TYPE_NUMBER_ARRAY:
	case NV_TYPE_DESCRIPTOR_ARRAY:
		return (get_items(r, h, nvp, 8));
	case NV_TYPE_STRING_ARRAY:
		return (get_strings(r, h, nvp));
	case NV_TYPE_NVLIST:
		if (h->size == 0)
			return (EINVAL);
		return (get_nested(r, &nvp->v.list, NV_WIRE_UP));
	case NV_TYPE_NVLIST_ARRAY:
		return (get_lists(r, h, nvp));
	}
	return (EINVAL);
}

/* One pair into the list. */
static int
get_pair(struct reader *r, const struct header *h, nvlist_t *nvl)
{
	struct nvpair *nvp;
	int error;

	if (++r->pairs > NV_MAX_PAIRS || nvl->count >= NV_MAX_PAIRS_LIST)
		return (EMSGSIZE);
	if ((nvp = nv_pair_alloc(h->name, h->type)) == NULL)
		return (ENOMEM);
	if ((error = get_value(r, h, nvp)) != 0) {
		nv_pair_free(nvp);
		return (error);
	}
	/* What an array of lists says of its size has no meaning. */
	if (h->type != NV_TYPE_NVLIST && h->type != NV_TYPE_NVLIST_ARRAY)
		nvp->size = (size_t)h->size;
	nv_pair_adopt(nvp);
	return (nv_pair_insert(nvl, nvp));
}

/* Pairs up to the one of type end, or to the end of the message if 0. */
static int
get_pairs(struct reader *r, nvlist_t *nvl, int end)
{
	struct header h;
	int error;

	while (end != 0 || r->left > 0) {
		if ((error = get_header(r, &h)) != 0)
			return (error);
		if (h.type == NV_WIRE_UP || h.type == NV_WIRE_NEXT)
			return (h.type == end && h.size == 0 ? 0 : EINVAL);
		if ((error = get_pair(r, &h, nvl)) != 0)
			return (error);
	}
	return (0);
}

nvlist_t *
nv_unpack(const void *buf, size_t size, int *fds, size_t nfds, int flags)
{
	struct reader r;
	nvlist_t *nvl;
	size_t i;
	int error;

	NV_ASSERT((flags & ~NV_FLAGS) == 0);
	nvl = NULL;
	memset(&r, 0, sizeof(r));
	r.p = buf;
	r.left = size;
	r.fds = fds;
	r.nfds = nfds;
	if (size > NV_MAX_SIZE)
		error = EMSGSIZE;
	else if ((error = get_list(&r, &nvl)) == 0)
		error = nvl->flags != flags ? EILSEQ : get_pairs(&r, nvl, 0);
	for (i = 0; error == 0 && i < nfds; i++)
		if (fds[i] != -1)
			error = EINVAL;
	if (error != 0) {
		nvlist_destroy(nvl);
		errno = error;
		return (NULL);
	}
	return (nvl);
}

nvlist_t *
nvlist_unpack(const void *buf, size_t size, int flags)
{
	return (nv_unpack(buf, size, NULL, 0, flags));
}
