/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * nvlist_unpack against any bytes.  What it accepts must come back the same
 * from pack and unpack, and from a clone.  The first byte of an input chooses
 * the flags, and whether the header is made to agree with the size, without
 * which hardly any input would get past it.
 */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <sys/nv.h>

#define	LIST	19		/* header of a packed list */

int	LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static void
require(int ok)
{
	if (!ok)
		abort();
}

/* Look at every pair, as a caller would. */
static size_t
visit(const nvlist_t *nvl)
{
	const nvlist_t *const *lists;
	const char *name;
	void *cookie;
	size_t i, n, total;
	int type;

	total = 0;
	cookie = NULL;
	while ((name = nvlist_next(nvl, &type, &cookie)) != NULL) {
		require(nvlist_exists_type(nvl, name, type));
		total += strlen(name);
		/* Of names that are there twice, this is the first. */
		if (type == NV_TYPE_STRING)
			total += strlen(nvlist_get_string(nvl, name));
		else if (type == NV_TYPE_NVLIST)
			total += visit(nvlist_get_nvlist(nvl, name));
		else if (type == NV_TYPE_NVLIST_ARRAY) {
			lists = nvlist_get_nvlist_array(nvl, name, &n);
			for (i = 0; i < n; i++)
				total += visit(lists[i]);
		}
	}
	return (total);
}

static void
set_size(unsigned char *hdr, uint64_t size)
{
	size_t i;

	for (i = 0; i < 8; i++)
		hdr[11 + i] = (unsigned char)(size >> 8 *
		    ((hdr[2] & 0x80) != 0 ? 7 - i : i));
}

static void
round_trip(const nvlist_t *nvl)
{
	nvlist_t *again, *clone;
	void *one, *three, *two;
	size_t n1, n2, n3;

	require((one = nvlist_pack(nvl, &n1)) != NULL);
	require(n1 == nvlist_size(nvl));
	again = nvlist_unpack(one, n1, nvlist_flags(nvl));
	require(again != NULL);
	require((two = nvlist_pack(again, &n2)) != NULL);
	require(n1 == n2 && memcmp(one, two, n1) == 0);
	require((clone = nvlist_clone(nvl)) != NULL);
	require((three = nvlist_pack(clone, &n3)) != NULL);
	require(n1 == n3 && memcmp(one, three, n1) == 0);
	free(one);
	free(two);
	free(three);
	nvlist_destroy(again);
	nvlist_destroy(clone);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned char *copy;
	nvlist_t *nvl;
	uint8_t how;

	if (size < 1)
		return (0);
	how = *data++;
	size--;
	/* An exact copy: one byte too far is seen. */
	require((copy = malloc(size == 0 ? 1 : size)) != NULL);
	memcpy(copy, data, size);
	if ((how & 4) != 0 && size >= LIST)
		set_size(copy, size - LIST);
	nvl = nvlist_unpack(copy, size, how & 3);
	free(copy);
	if (nvl != NULL) {
		(void)visit(nvl);
		round_trip(nvl);
		nvlist_destroy(nvl);
	}
	return (0);
}
