/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * nvlist_unpack and bytes that were made to hurt it.  Under the sanitizers
 * this also shows that nothing is read beyond them, and nothing is lost.
 */

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <sys/nv.h>

#include <atf-c.h>

/* Offsets in the header of a list, and of a pair. */
enum { LIST_FLAGS = 2, LIST_FDS = 3, LIST_SIZE = 11, LIST = 19 };
enum { PAIR_TYPE = 0, PAIR_NAME = 1, PAIR_SIZE = 3, PAIR_ITEMS = 11,
	PAIR = 19 };

struct msg {
	unsigned char	*p;
	size_t		 n;
	size_t		 cap;
};

static void
put(struct msg *m, const void *data, size_t n)
{
	if (m->n + n > m->cap) {
		m->cap = 2 * (m->n + n);
		ATF_REQUIRE((m->p = realloc(m->p, m->cap)) != NULL);
	}
	memcpy(m->p + m->n, data, n);
	m->n += n;
}

static void
put_int(struct msg *m, uint64_t v, size_t n)
{
	unsigned char b[8];
	size_t i;

	for (i = 0; i < n; i++)
		b[i] = (unsigned char)(v >> 8 * i);
	put(m, b, n);
}

static void
set_int(struct msg *m, size_t at, uint64_t v, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		m->p[at + i] = (unsigned char)(v >> 8 * i);
}

/* A header whose size is set by finish(). */
static void
put_list(struct msg *m)
{
	put_int(m, 0x6c, 1);
	put_int(m, 0, 1);
	put_int(m, 0, 1);
	put_int(m, 0, 8);
	put_int(m, 0, 8);
}

static void
put_pair(struct msg *m, unsigned type, const char *name, uint64_t size,
    uint64_t nitems)
{
	put_int(m, type, 1);
	put_int(m, strlen(name) + 1, 2);
	put_int(m, size, 8);
	put_int(m, nitems, 8);
	put(m, name, strlen(name) + 1);
}

/* Write the size into the header of a list at that place. */
static void
finish(struct msg *m, size_t at)
{
	set_int(m, at + LIST_SIZE, m->n - at - LIST, 8);
}

/* Unpack an exact copy, so that a sanitizer sees every byte too far. */
static int
try(const struct msg *m)
{
	unsigned char *copy;
	nvlist_t *nvl;
	int error;

	ATF_REQUIRE((copy = malloc(m->n == 0 ? 1 : m->n)) != NULL);
	if (m->n > 0)
		memcpy(copy, m->p, m->n);
	errno = 0;
	nvl = nvlist_unpack(copy, m->n, 0);
	/* FreeBSD's library does not always say why. */
	error = nvl != NULL ? 0 : errno != 0 ? errno : EINVAL;
	nvlist_destroy(nvl);
	free(copy);
	return (error);
}

/* A message with one pair; the case changes it and looks what happens. */
#define	ONE(expected, type, size, nitems, data, dlen, ...)		\
	do {								\
		struct msg m = { NULL, 0, 0 };				\
									\
		put_list(&m);						\
		put_pair(&m, type, "x", size, nitems);			\
		put(&m, data, dlen);					\
		finish(&m, 0);						\
		__VA_ARGS__;						\
		ATF_CHECK_EQ(expected, try(&m));			\
		free(m.p);						\
	} while (0)
#define	DATA	(LIST + PAIR + 2)

ATF_TC_WITHOUT_HEAD(header);
ATF_TC_BODY(header, tc)
{
	struct msg none = { NULL, 0, 0 };

	ATF_CHECK_EQ(EINVAL, try(&none));
	ONE(0, NV_TYPE_NULL, 0, 0, "", 0, (void)0);
	ONE(EINVAL, NV_TYPE_NULL, 0, 0, "", 0, m.p[0] = 0x6d);
	ONE(EINVAL, NV_TYPE_NULL, 0, 0, "", 0, m.p[LIST_FLAGS] = 0x04);
	ONE(EILSEQ, NV_TYPE_NULL, 0, 0, "", 0, m.p[LIST_FLAGS] = 0x01);
	ONE(EINVAL, NV_TYPE_NULL, 0, 0, "", 0,
	    set_int(&m, LIST_SIZE, m.n - LIST + 1, 8));
	ONE(EINVAL, NV_TYPE_NULL, 0, 0, "", 0,
	    set_int(&m, LIST_SIZE, m.n - LIST - 1, 8));
	ONE(EINVAL, NV_TYPE_NULL, 0, 0, "", 0,
	    set_int(&m, LIST_SIZE, UINT64_MAX, 8));
	ONE(EINVAL, NV_TYPE_NULL, 0, 0, "", 0,
	    set_int(&m, LIST_SIZE, UINT64_MAX - LIST + 1, 8));
	ONE(EINVAL, NV_TYPE_NULL, 0, 0, "", 0, set_int(&m, LIST_FDS, 1, 8));
	ONE(EINVAL, NV_TYPE_NULL, 0, 0, "", 0,
	    set_int(&m, LIST_FDS, UINT64_MAX, 8));
#ifdef COMPAT_NV
	ONE(EINVAL, NV_TYPE_NULL, 0, 0, "", 0, m.p[1] = 1);
#endif
}

ATF_TC_WITHOUT_HEAD(pair);
ATF_TC_BODY(pair, tc)
{
	struct msg lone = { NULL, 0, 0 };
	char name[NV_NAME_MAX + 1];
	unsigned type;

	/* Types that there are not. */
	for (type = 0; type < 256; type++) {
		if (type >= NV_TYPE_NULL && type <= NV_TYPE_DESCRIPTOR_ARRAY)
			continue;
		if (type == 254 || type == 255)
			continue;
		ONE(EINVAL, type, 0, 0, "", 0, (void)0);
	}
	/* Names: none, too long, beyond the end, without or with a NUL. */
	ONE(EINVAL, NV_TYPE_NULL, 0, 0, "", 0,
	    set_int(&m, LIST + PAIR_NAME, 0, 2));
	ONE(EINVAL, NV_TYPE_NULL, 0, 0, "", 0,
	    set_int(&m, LIST + PAIR_NAME, 3, 2));
	ONE(EINVAL, NV_TYPE_NULL, 0, 0, "", 0,
	    set_int(&m, LIST + PAIR_NAME, 0xffff, 2));
	ONE(EINVAL, NV_TYPE_NULL, 0, 0, "", 0, m.p[m.n - 1] = 'y');
	ONE(EINVAL, NV_TYPE_NULL, 0, 0, "", 0, m.p[m.n - 2] = '\0');
	memset(name, 'n', sizeof(name));
	name[NV_NAME_MAX] = '\0';
	put_list(&lone);
	put_pair(&lone, NV_TYPE_NULL, name, 0, 0);
	finish(&lone, 0);
	ATF_CHECK_EQ(EINVAL, try(&lone));
	free(lone.p);
	/* Data beyond the end. */
	ONE(EINVAL, NV_TYPE_BINARY, 9, 0, "12345678", 8, (void)0);
	ONE(EINVAL, NV_TYPE_BINARY, UINT64_MAX, 0, "12345678", 8, (void)0);
	ONE(EINVAL, NV_TYPE_BINARY, (uint64_t)1 << 63, 0, "1", 1, (void)0);
}

ATF_TC_WITHOUT_HEAD(values);
ATF_TC_BODY(values, tc)
{
	static const unsigned char eight[8] = { 0 };

	ONE(EINVAL, NV_TYPE_NULL, 1, 0, "", 1, (void)0);
	ONE(0, NV_TYPE_BOOL, 1, 0, "\1", 1, (void)0);
	ONE(EINVAL, NV_TYPE_BOOL, 1, 0, "\2", 1, (void)0);
	ONE(EINVAL, NV_TYPE_BOOL, 0, 0, "", 0, (void)0);
	ONE(EINVAL, NV_TYPE_BOOL, 2, 0, "\1\1", 2, (void)0);
	ONE(0, NV_TYPE_NUMBER, 8, 0, eight, 8, (void)0);
	ONE(EINVAL, NV_TYPE_NUMBER, 7, 0, eight, 7, (void)0);
	ONE(0, NV_TYPE_STRING, 3, 0, "ab", 3, (void)0);
	ONE(EINVAL, NV_TYPE_STRING, 0, 0, "", 0, (void)0);
	ONE(EINVAL, NV_TYPE_STRING, 2, 0, "ab", 2, (void)0);
	ONE(EINVAL, NV_TYPE_STRING, 3, 0, "a\0", 3, (void)0);
	ONE(EINVAL, NV_TYPE_BINARY, 0, 0, "", 0, (void)0);
	ONE(EINVAL, NV_TYPE_DESCRIPTOR, 8, 0, eight, 8, (void)0);
	ONE(EINVAL, NV_TYPE_DESCRIPTOR, 8, 0,
	    "\377\377\377\377\377\377\377\377", 8, (void)0);
	ONE(EINVAL, NV_TYPE_DESCRIPTOR, 4, 0, eight, 4, (void)0);
}

ATF_TC_WITHOUT_HEAD(arrays);
ATF_TC_BODY(arrays, tc)
{
	static const unsigned char sixteen[16] = { 0 };
	uint64_t huge;

	ONE(0, NV_TYPE_BOOL_ARRAY, 2, 2, "\0\1", 2, (void)0);
	ONE(EINVAL, NV_TYPE_BOOL_ARRAY, 2, 3, "\0\1", 2, (void)0);
	ONE(EINVAL, NV_TYPE_BOOL_ARRAY, 2, 1, "\0\1", 2, (void)0);
	ONE(EINVAL, NV_TYPE_BOOL_ARRAY, 0, 0, "", 0, (void)0);
	ONE(0, NV_TYPE_NUMBER_ARRAY, 16, 2, sixteen, 16, (void)0);
	ONE(EINVAL, NV_TYPE_NUMBER_ARRAY, 16, 3, sixteen, 16, (void)0);
	/* Counts that only fit after they have wrapped. */
	huge = ((uint64_t)1 << 61) + 2;
	ONE(EINVAL, NV_TYPE_NUMBER_ARRAY, 16, huge, sixteen, 16, (void)0);
	ONE(EINVAL, NV_TYPE_DESCRIPTOR_ARRAY, 16, huge, sixteen, 16, (void)0);
	ONE(EINVAL, NV_TYPE_DESCRIPTOR_ARRAY, 16, 2, sixteen, 16, (void)0);
	ONE(0, NV_TYPE_STRING_ARRAY, 4, 2, "a\0b", 4, (void)0);
	ONE(EINVAL, NV_TYPE_STRING_ARRAY, 4, 3, "a\0b", 4, (void)0);
	ONE(EINVAL, NV_TYPE_STRING_ARRAY, 4, 1, "a\0b", 4, (void)0);
	ONE(EINVAL, NV_TYPE_STRING_ARRAY, 3, 2, "a\0b", 3, (void)0);
	ONE(EINVAL, NV_TYPE_STRING_ARRAY, 0, 0, "", 0, (void)0);
	ONE(EINVAL, NV_TYPE_STRING_ARRAY, 1, UINT64_MAX, "", 1, (void)0);
	ONE(EINVAL, NV_TYPE_NVLIST_ARRAY, 0, 0, "", 0, (void)0);
	ONE(EINVAL, NV_TYPE_NVLIST_ARRAY, 0, 1, "", 0, (void)0);
	ONE(EINVAL, NV_TYPE_NVLIST_ARRAY, 0, UINT64_MAX / 8, "", 0, (void)0);
#ifdef COMPAT_NV
	ONE(EINVAL, NV_TYPE_BOOL_ARRAY, 2, 2, "\0\2", 2, (void)0);
#endif
}

ATF_TC_WITHOUT_HEAD(duplicates);
ATF_TC_BODY(duplicates, tc)
{
	struct msg m = { NULL, 0, 0 };

	put_list(&m);
	put_pair(&m, NV_TYPE_NULL, "x", 0, 0);
	put_pair(&m, NV_TYPE_STRING, "x", 2, 0);
	put(&m, "y", 2);
	finish(&m, 0);
	ATF_CHECK_EQ(EEXIST, try(&m));
	free(m.p);
}

/* A list inside of a list; the case spoils it. */
#define	INNER	(LIST + PAIR + 2)
#define	NESTED(expected, end, ...)					\
	do {								\
		struct msg m = { NULL, 0, 0 };				\
									\
		put_list(&m);						\
		put_pair(&m, NV_TYPE_NVLIST, "x", LIST, 0);		\
		put_list(&m);						\
		put_pair(&m, end, "", 0, 0);				\
		put_pair(&m, NV_TYPE_NULL, "after", 0, 0);		\
		finish(&m, 0);						\
		finish(&m, INNER);					\
		__VA_ARGS__;						\
		ATF_CHECK_EQ(expected, try(&m));			\
		free(m.p);						\
	} while (0)

ATF_TC_WITHOUT_HEAD(nesting);
ATF_TC_BODY(nesting, tc)
{
	NESTED(0, 255, (void)0);
	NESTED(EINVAL, 255, set_int(&m, LIST + PAIR_SIZE, 0, 8));
	NESTED(EINVAL, 255, set_int(&m, LIST + PAIR_SIZE, 1000, 8));
	NESTED(EINVAL, 255, m.p[INNER] = 0);
	NESTED(EINVAL, 255, set_int(&m, INNER + LIST_SIZE, 0, 8));
	NESTED(EINVAL, 255, set_int(&m, INNER + LIST_FDS, 1, 8));
	/* Going up from the outermost. */
	ONE(EINVAL, 255, 0, 0, "", 0, (void)0);
	ONE(EINVAL, 254, 0, 0, "", 0, (void)0);
#ifdef COMPAT_NV
	/* The end of another kind, or none. */
	NESTED(EINVAL, 254, (void)0);
	NESTED(EINVAL, NV_TYPE_NULL, (void)0);
	/* The inner one turns the byte order round. */
	NESTED(EINVAL, 255, m.p[INNER + LIST_FLAGS] = 0x80);
#endif
}

/* Every piece of a good message that is not all of it. */
ATF_TC_WITHOUT_HEAD(truncated);
ATF_TC_BODY(truncated, tc)
{
	static const char *const strings[] = { "one", "two" };
	const nvlist_t *lists[1];
	nvlist_t *inner, *nvl;
	struct msg m;
	size_t n;

	ATF_REQUIRE((nvl = nvlist_create(0)) != NULL);
	ATF_REQUIRE((inner = nvlist_create(0)) != NULL);
	nvlist_add_string(inner, "s", "text");
	lists[0] = inner;
	nvlist_add_nvlist_array(nvl, "lists", lists, 1);
	nvlist_add_nvlist(nvl, "list", inner);
	nvlist_add_string_array(nvl, "strings", strings, 2);
	nvlist_destroy(inner);
	ATF_REQUIRE((m.p = nvlist_pack(nvl, &n)) != NULL);
	nvlist_destroy(nvl);
	m.n = n;
	ATF_CHECK_EQ(0, try(&m));
	for (m.n = 0; m.n < n; m.n++)
		ATF_CHECK_EQ(EINVAL, try(&m));
#ifdef COMPAT_NV
	/* The same with a header that agrees. */
	for (m.n = LIST + 1; m.n < n; m.n++) {
		finish(&m, 0);
		ATF_CHECK(try(&m) != 0);
	}
#endif
	free(m.p);
}

#ifdef COMPAT_NV
/* Any byte of a good message changed in any way: an error or a list. */
ATF_TC_WITHOUT_HEAD(flipped);
ATF_TC_BODY(flipped, tc)
{
	static const char *const strings[] = { "one", "two" };
	static const uint64_t numbers[] = { 1, 2 };
	const nvlist_t *lists[2];
	nvlist_t *inner, *nvl;
	unsigned char old;
	struct msg m;
	unsigned good, i;
	size_t at;

	ATF_REQUIRE((nvl = nvlist_create(0)) != NULL);
	ATF_REQUIRE((inner = nvlist_create(0)) != NULL);
	nvlist_add_bool(inner, "b", true);
	nvlist_add_number_array(inner, "n", numbers, 2);
	lists[0] = lists[1] = inner;
	nvlist_add_nvlist_array(nvl, "lists", lists, 2);
	nvlist_add_nvlist(nvl, "list", inner);
	nvlist_add_string_array(nvl, "strings", strings, 2);
	nvlist_add_binary(nvl, "binary", "1234", 4);
	nvlist_destroy(inner);
	ATF_REQUIRE((m.p = nvlist_pack(nvl, &m.n)) != NULL);
	nvlist_destroy(nvl);
	good = 0;
	for (at = 0; at < m.n; at++) {
		old = m.p[at];
		for (i = 1; i < 256; i += i < 16 ? 1 : 13) {
			m.p[at] = (unsigned char)(old ^ i);
			good += try(&m) == 0;
		}
		m.p[at] = old;
	}
	ATF_CHECK(good > 0);
	ATF_CHECK_EQ(0, try(&m));
	free(m.p);
}

/* A list in a list in a list. */
static int
try_depth(unsigned depth)
{
	struct msg m = { NULL, 0, 0 };
	size_t *at;
	unsigned i;
	int error;

	ATF_REQUIRE((at = calloc(depth + 1, sizeof(*at))) != NULL);
	put_list(&m);
	for (i = 1; i <= depth; i++) {
		put_pair(&m, NV_TYPE_NVLIST, "x", LIST, 0);
		at[i] = m.n;
		put_list(&m);
	}
	for (i = 1; i <= depth; i++)
		put_pair(&m, 255, "", 0, 0);
	for (i = 0; i <= depth; i++)
		finish(&m, at[i]);
	error = try(&m);
	free(at);
	free(m.p);
	return (error);
}

ATF_TC_WITHOUT_HEAD(limits);
ATF_TC_BODY(limits, tc)
{
	struct msg m = { NULL, 0, 0 };
	unsigned i, j, n;
	char name[16];
	size_t at;

	ATF_CHECK_EQ(0, try_depth(NV_MAX_DEPTH - 1));
	ATF_CHECK_EQ(EMSGSIZE, try_depth(NV_MAX_DEPTH));
	ATF_CHECK_EQ(EMSGSIZE, try_depth(20000));

	/* Pairs in one list. */
	put_list(&m);
	for (i = 0; i < NV_MAX_PAIRS_LIST; i++) {
		(void)snprintf(name, sizeof(name), "%u", i);
		put_pair(&m, NV_TYPE_NULL, name, 0, 0);
	}
	finish(&m, 0);
	ATF_CHECK_EQ(0, try(&m));
	put_pair(&m, NV_TYPE_NULL, "more", 0, 0);
	finish(&m, 0);
	ATF_CHECK_EQ(EMSGSIZE, try(&m));

	/* Pairs in all, in lists of an array. */
	n = NV_MAX_PAIRS / 1000;
	m.n = 0;
	put_list(&m);
	put_pair(&m, NV_TYPE_NVLIST_ARRAY, "x", 0, n + 1);
	for (i = 0; i <= n; i++) {
		put_list(&m);
		for (j = 0; j < 1000; j++) {
			(void)snprintf(name, sizeof(name), "%u", j);
			put_pair(&m, NV_TYPE_NULL, name, 0, 0);
		}
		put_pair(&m, 254, "", 0, 0);
	}
	finish(&m, 0);
	for (i = 0, at = LIST + PAIR + 2; i <= n; i++) {
		finish(&m, at);
		at += LIST + 1000 * (PAIR + 1) + 10 + 90 * 2 + 900 * 3 +
		    PAIR + 1;
	}
	ATF_CHECK_EQ(m.n, at);
	ATF_CHECK_EQ(EMSGSIZE, try(&m));

	/* An array with more lists than a message may have pairs. */
	m.n = 0;
	put_list(&m);
	put_pair(&m, NV_TYPE_NVLIST_ARRAY, "x", 0, NV_MAX_PAIRS + 1);
	for (i = 0; i <= NV_MAX_PAIRS; i++) {
		put_list(&m);
		put_pair(&m, 254, "", 0, 0);
	}
	finish(&m, 0);
	ATF_CHECK_EQ(EMSGSIZE, try(&m));

	/* Bytes. */
	m.cap = NV_MAX_SIZE + 1;
	ATF_REQUIRE((m.p = realloc(m.p, m.cap)) != NULL);
	memset(m.p, 0, m.cap);
	m.n = 0;
	put_list(&m);
	put_pair(&m, NV_TYPE_BINARY, "x", NV_MAX_SIZE - DATA, 0);
	m.n = NV_MAX_SIZE;
	finish(&m, 0);
	ATF_CHECK_EQ(0, try(&m));
	m.n++;
	finish(&m, 0);
	ATF_CHECK_EQ(EMSGSIZE, try(&m));
	free(m.p);
}
#endif

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, header);
	ATF_TP_ADD_TC(tp, pair);
	ATF_TP_ADD_TC(tp, values);
	ATF_TP_ADD_TC(tp, arrays);
	ATF_TP_ADD_TC(tp, duplicates);
	ATF_TP_ADD_TC(tp, nesting);
	ATF_TP_ADD_TC(tp, truncated);
#ifdef COMPAT_NV
	ATF_TP_ADD_TC(tp, flipped);
	ATF_TP_ADD_TC(tp, limits);
#endif
	return (atf_no_error());
}
