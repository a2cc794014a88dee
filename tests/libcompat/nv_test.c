/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * nv(9) and dnv(9) in memory: types, errors, flags, nesting, ownership and
 * the packed form.  All of it also holds for FreeBSD's own library.
 */

#include <sys/types.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/dnv.h>
#include <sys/nv.h>

#include <atf-c.h>

/* A list with every type that can be packed. */
static nvlist_t *
everything(void)
{
	static const bool bools[] = { true, false, true };
	static const uint64_t numbers[] = { 0, 1, UINT64_MAX };
	static const char *const strings[] = { "a", "", "ccc" };
	const nvlist_t *lists[2];
	nvlist_t *nvl, *one, *two;

	ATF_REQUIRE((nvl = nvlist_create(0)) != NULL);
	ATF_REQUIRE((one = nvlist_create(0)) != NULL);
	ATF_REQUIRE((two = nvlist_create(NV_FLAG_IGNORE_CASE)) != NULL);
	nvlist_add_number(one, "n", 1);
	nvlist_add_nvlist(one, "inner", two);
	lists[0] = one;
	lists[1] = two;
	nvlist_add_null(nvl, "null");
	nvlist_add_bool(nvl, "bool", true);
	nvlist_add_number(nvl, "number", 0x0123456789abcdef);
	nvlist_add_string(nvl, "string", "text");
	nvlist_add_stringf(nvl, "stringf", "%s-%d", "x", 7);
	nvlist_add_binary(nvl, "binary", "\0\1\2", 3);
	nvlist_add_nvlist(nvl, "nvlist", one);
	nvlist_add_bool_array(nvl, "bools", bools, 3);
	nvlist_add_number_array(nvl, "numbers", numbers, 3);
	nvlist_add_string_array(nvl, "strings", strings, 3);
	nvlist_add_nvlist_array(nvl, "nvlists", lists, 2);
	nvlist_destroy(one);
	nvlist_destroy(two);
	ATF_REQUIRE_EQ(0, nvlist_error(nvl));
	return (nvl);
}

static void
check_everything(const nvlist_t *nvl)
{
	const nvlist_t *const *lists;
	const char *const *strings;
	const uint64_t *numbers;
	const nvlist_t *inner;
	const bool *bools;
	const void *data;
	size_t n;

	ATF_CHECK(nvlist_exists_null(nvl, "null"));
	ATF_CHECK(nvlist_get_bool(nvl, "bool"));
	ATF_CHECK(nvlist_get_number(nvl, "number") == 0x0123456789abcdef);
	ATF_CHECK_STREQ("text", nvlist_get_string(nvl, "string"));
	ATF_CHECK_STREQ("x-7", nvlist_get_string(nvl, "stringf"));
	data = nvlist_get_binary(nvl, "binary", &n);
	ATF_REQUIRE_EQ(3, n);
	ATF_CHECK(memcmp(data, "\0\1\2", 3) == 0);
	inner = nvlist_get_nvlist(nvl, "nvlist");
	ATF_CHECK(nvlist_get_number(inner, "n") == 1);
	ATF_CHECK(nvlist_empty(nvlist_get_nvlist(inner, "inner")));
	ATF_CHECK_EQ(NV_FLAG_IGNORE_CASE,
	    nvlist_flags(nvlist_get_nvlist(inner, "inner")));
	bools = nvlist_get_bool_array(nvl, "bools", &n);
	ATF_REQUIRE_EQ(3, n);
	ATF_CHECK(bools[0] && !bools[1] && bools[2]);
	numbers = nvlist_get_number_array(nvl, "numbers", &n);
	ATF_REQUIRE_EQ(3, n);
	ATF_CHECK(numbers[0] == 0 && numbers[1] == 1 &&
	    numbers[2] == UINT64_MAX);
	strings = nvlist_get_string_array(nvl, "strings", &n);
	ATF_REQUIRE_EQ(3, n);
	ATF_CHECK_STREQ("a", strings[0]);
	ATF_CHECK_STREQ("", strings[1]);
	ATF_CHECK_STREQ("ccc", strings[2]);
	lists = nvlist_get_nvlist_array(nvl, "nvlists", &n);
	ATF_REQUIRE_EQ(2, n);
	ATF_CHECK(nvlist_get_number(lists[0], "n") == 1);
	ATF_CHECK(nvlist_empty(lists[1]));
}

ATF_TC_WITHOUT_HEAD(types);
ATF_TC_BODY(types, tc)
{
	nvlist_t *copy, *nvl;
	void *buf;
	size_t size;

	nvl = everything();
	check_everything(nvl);
	ATF_REQUIRE((buf = nvlist_pack(nvl, &size)) != NULL);
	ATF_CHECK_EQ(size, nvlist_size(nvl));
	ATF_REQUIRE((copy = nvlist_unpack(buf, size, 0)) != NULL);
	check_everything(copy);
	nvlist_destroy(copy);
	free(buf);

	/* A copy stands on its own. */
	ATF_REQUIRE((copy = nvlist_clone(nvl)) != NULL);
	nvlist_destroy(nvl);
	check_everything(copy);
	nvlist_destroy(copy);
}

ATF_TC_WITHOUT_HEAD(walking);
ATF_TC_BODY(walking, tc)
{
	static const struct {
		const char	*name;
		int		 type;
	} order[] = {
		{ "null", NV_TYPE_NULL }, { "bool", NV_TYPE_BOOL },
		{ "number", NV_TYPE_NUMBER }, { "string", NV_TYPE_STRING },
		{ "stringf", NV_TYPE_STRING }, { "binary", NV_TYPE_BINARY },
		{ "nvlist", NV_TYPE_NVLIST }, { "bools", NV_TYPE_BOOL_ARRAY },
		{ "numbers", NV_TYPE_NUMBER_ARRAY },
		{ "strings", NV_TYPE_STRING_ARRAY },
		{ "nvlists", NV_TYPE_NVLIST_ARRAY },
	};
	const char *name;
	nvlist_t *nvl;
	void *cookie;
	size_t i;
	int type;

	nvl = everything();
	cookie = NULL;
	for (i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		name = nvlist_next(nvl, &type, &cookie);
		ATF_REQUIRE(name != NULL);
		ATF_CHECK_STREQ(order[i].name, name);
		ATF_CHECK_EQ(order[i].type, type);
		ATF_CHECK(nvlist_exists(nvl, name));
		ATF_CHECK(nvlist_exists_type(nvl, name, type));
		ATF_CHECK(!nvlist_exists_type(nvl, name,
		    type == NV_TYPE_NULL ? NV_TYPE_BOOL : NV_TYPE_NULL));
	}
	ATF_CHECK(nvlist_next(nvl, &type, &cookie) == NULL);
	ATF_CHECK(!nvlist_exists(nvl, "missing"));
	nvlist_destroy(nvl);
}

ATF_TC_WITHOUT_HEAD(nesting);
ATF_TC_BODY(nesting, tc)
{
	const nvlist_t *const *lists;
	const nvlist_t *inner;
	nvlist_t *nvl;
	void *cookie;
	size_t n;

	nvl = everything();
	ATF_CHECK(nvlist_get_parent(nvl, &cookie) == NULL);
	ATF_CHECK(cookie == NULL);
	inner = nvlist_get_nvlist(nvl, "nvlist");
	ATF_CHECK(nvlist_get_parent(inner, &cookie) == nvl);
	ATF_CHECK(!nvlist_in_array(inner));
	/* The cookie goes on behind the list that was left. */
	ATF_CHECK_STREQ("bools", nvlist_next(nvl, NULL, &cookie));
	ATF_CHECK(nvlist_get_pararr(inner, NULL) == nvl);
	lists = nvlist_get_nvlist_array(nvl, "nvlists", &n);
	ATF_CHECK(nvlist_in_array(lists[0]) && nvlist_in_array(lists[1]));
	ATF_CHECK(nvlist_get_array_next(lists[0]) == lists[1]);
	ATF_CHECK(nvlist_get_array_next(lists[1]) == NULL);
	ATF_CHECK(nvlist_get_pararr(lists[0], &cookie) == lists[1]);
	ATF_CHECK(cookie == NULL);
	ATF_CHECK(nvlist_get_pararr(lists[1], &cookie) == nvl);
	ATF_CHECK(nvlist_next(nvl, NULL, &cookie) == NULL);
	nvlist_destroy(nvl);
}

/* Do something to a fresh list and look at the error it gets. */
#define	ERROR(expected, ...)						\
	do {								\
		nvlist_t *nvl = nvlist_create(0);			\
									\
		nvlist_add_null(nvl, "there");				\
		__VA_ARGS__;						\
		ATF_CHECK_EQ(expected, nvlist_error(nvl));		\
		nvlist_destroy(nvl);					\
	} while (0)

ATF_TC_WITHOUT_HEAD(errors);
ATF_TC_BODY(errors, tc)
{
	const char *const hole[] = { "a", NULL };
	char name[NV_NAME_MAX + 1];

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	ERROR(ENAMETOOLONG, nvlist_add_null(nvl, name));
	name[NV_NAME_MAX] = '\0';
	ERROR(ENAMETOOLONG, nvlist_add_bool(nvl, name, true));
	name[NV_NAME_MAX - 1] = '\0';
	ERROR(0, nvlist_add_null(nvl, name));
	ERROR(EEXIST, nvlist_add_null(nvl, "there"));
	ERROR(EEXIST, nvlist_add_number(nvl, "there", 1));
	ERROR(EEXIST, nvlist_append_number_array(nvl, "there", 1));
	ERROR(0, nvlist_add_null(nvl, "THERE"));
	ERROR(EINVAL, nvlist_add_string(nvl, "s", NULL));
	ERROR(EINVAL, nvlist_add_binary(nvl, "b", NULL, 0));
	ERROR(EINVAL, nvlist_add_binary(nvl, "b", "", 0));
	ERROR(EINVAL, nvlist_add_nvlist(nvl, "l", NULL));
	ERROR(EINVAL, nvlist_add_bool_array(nvl, "a", NULL, 1));
	ERROR(EINVAL, nvlist_add_number_array(nvl, "a", NULL, 0));
	ERROR(EINVAL, nvlist_add_string_array(nvl, "a", NULL, 2));
	ERROR(EINVAL, nvlist_add_string_array(nvl, "a", hole, 2));
	ERROR(EINVAL, nvlist_add_nvlist_array(nvl, "a", NULL, 1));
	ERROR(EBADF, nvlist_add_descriptor(nvl, "d", -1));
	ERROR(EBADF, nvlist_move_descriptor(nvl, "d", -1));
	ERROR(EINVAL, nvlist_move_string(nvl, "s", NULL));
	ERROR(EINVAL, nvlist_move_nvlist(nvl, "l", NULL));
	ERROR(EINVAL, nvlist_move_binary(nvl, "b", NULL, 1));
}

ATF_TC_WITHOUT_HEAD(error_state);
ATF_TC_BODY(error_state, tc)
{
	nvlist_t *nvl, *other;
	size_t size;

	ATF_REQUIRE((nvl = nvlist_create(0)) != NULL);
	nvlist_set_error(nvl, ENXIO);
	nvlist_set_error(nvl, EPERM);		/* the first one stays */
	ATF_CHECK_EQ(ENXIO, nvlist_error(nvl));
	nvlist_add_number(nvl, "n", 1);
	nvlist_append_string_array(nvl, "s", "x");
	nvlist_move_string(nvl, "m", strdup("gone"));
	ATF_CHECK_EQ(ENXIO, nvlist_error(nvl));
	ATF_CHECK(nvlist_next(nvl, NULL, NULL) == NULL);
	errno = 0;
	ATF_CHECK(nvlist_pack(nvl, &size) == NULL);
	ATF_CHECK_EQ(ENXIO, errno);
	errno = 0;
	ATF_CHECK(nvlist_clone(nvl) == NULL);
	ATF_CHECK_EQ(ENXIO, errno);
	errno = 0;
	ATF_CHECK_EQ(-1, nvlist_send(-1, nvl));
	ATF_CHECK_EQ(ENXIO, errno);

	/* A list in error spoils the one it is added to. */
	ATF_REQUIRE((other = nvlist_create(0)) != NULL);
	nvlist_add_nvlist(other, "l", nvl);
	ATF_CHECK_EQ(ENXIO, nvlist_error(other));
	nvlist_destroy(other);
	ATF_REQUIRE((other = nvlist_create(0)) != NULL);
	nvlist_move_nvlist(other, "l", nvl);
	ATF_CHECK_EQ(ENXIO, nvlist_error(other));
	nvlist_destroy(other);

	/* No list at all is a list without memory. */
	ATF_CHECK_EQ(ENOMEM, nvlist_error(NULL));
	nvlist_add_number(NULL, "n", 1);
	nvlist_set_error(NULL, EPERM);
	nvlist_destroy(NULL);
}

ATF_TC_WITHOUT_HEAD(flags);
ATF_TC_BODY(flags, tc)
{
	nvlist_t *copy, *nvl;
	void *buf;
	size_t size;

	ATF_REQUIRE((nvl = nvlist_create(NV_FLAG_IGNORE_CASE)) != NULL);
	nvlist_add_number(nvl, "Name", 1);
	ATF_CHECK(nvlist_get_number(nvl, "nAME") == 1);
	nvlist_add_null(nvl, "NAME");
	ATF_CHECK_EQ(EEXIST, nvlist_error(nvl));
	nvlist_destroy(nvl);

	ATF_REQUIRE((nvl = nvlist_create(NV_FLAG_NO_UNIQUE)) != NULL);
	nvlist_add_number(nvl, "n", 1);
	nvlist_add_number(nvl, "n", 2);
	nvlist_add_string(nvl, "n", "x");
	ATF_CHECK_EQ(0, nvlist_error(nvl));
	ATF_CHECK(nvlist_get_number(nvl, "n") == 1);
	ATF_CHECK(nvlist_take_number(nvl, "n") == 1);
	ATF_CHECK(nvlist_get_number(nvl, "n") == 2);
	ATF_CHECK_STREQ("x", nvlist_get_string(nvl, "n"));

	/* Both sides must mean the same. */
	ATF_REQUIRE((buf = nvlist_pack(nvl, &size)) != NULL);
	errno = 0;
	ATF_CHECK(nvlist_unpack(buf, size, 0) == NULL);
	ATF_CHECK_EQ(EILSEQ, errno);
	copy = nvlist_unpack(buf, size, NV_FLAG_NO_UNIQUE);
	ATF_REQUIRE(copy != NULL);
	ATF_CHECK_EQ(NV_FLAG_NO_UNIQUE, nvlist_flags(copy));
	ATF_CHECK(nvlist_get_number(copy, "n") == 2);
	free(buf);
	nvlist_destroy(copy);
	nvlist_destroy(nvl);
}

ATF_TC_WITHOUT_HEAD(taking);
ATF_TC_BODY(taking, tc)
{
	nvlist_t *inner, **lists, *nvl;
	uint64_t *numbers;
	char *s, **strings;
	bool *bools;
	void *data;
	size_t i, n;

	nvl = everything();
	ATF_CHECK(nvlist_take_bool(nvl, "bool"));
	ATF_CHECK(nvlist_take_number(nvl, "number") == 0x0123456789abcdef);
	s = nvlist_take_string(nvl, "string");
	data = nvlist_take_binary(nvl, "binary", &n);
	ATF_CHECK_EQ(3, n);
	inner = nvlist_take_nvlist(nvl, "nvlist");
	ATF_CHECK(nvlist_get_parent(inner, NULL) == NULL);
	bools = nvlist_take_bool_array(nvl, "bools", &n);
	numbers = nvlist_take_number_array(nvl, "numbers", &n);
	strings = nvlist_take_string_array(nvl, "strings", &n);
	lists = nvlist_take_nvlist_array(nvl, "nvlists", &n);
	ATF_REQUIRE_EQ(2, n);
	ATF_CHECK(!nvlist_in_array(lists[0]));
	ATF_CHECK(nvlist_get_pararr(lists[0], NULL) == NULL);
	nvlist_free_null(nvl, "null");
	nvlist_free(nvl, "stringf");
	ATF_CHECK(nvlist_empty(nvl));

	/* And back again, without a copy. */
	nvlist_move_string(nvl, "string", s);
	nvlist_move_binary(nvl, "binary", data, 3);
	nvlist_move_nvlist(nvl, "nvlist", inner);
	nvlist_move_bool_array(nvl, "bools", bools, 3);
	nvlist_move_number_array(nvl, "numbers", numbers, 3);
	nvlist_move_string_array(nvl, "strings", strings, 3);
	nvlist_move_nvlist_array(nvl, "nvlists", lists, 2);
	nvlist_add_null(nvl, "null");
	nvlist_add_bool(nvl, "bool", true);
	nvlist_add_number(nvl, "number", 0x0123456789abcdef);
	nvlist_add_string(nvl, "stringf", "x-7");
	ATF_REQUIRE_EQ(0, nvlist_error(nvl));
	ATF_CHECK(nvlist_get_string(nvl, "string") == s);
	check_everything(nvl);

	/* A list that is in another one cannot be given away. */
	nvlist_move_nvlist(nvl, "again", inner);
	ATF_CHECK_EQ(EINVAL, nvlist_error(nvl));
	nvlist_destroy(nvl);
	for (i = 0; i < 3; i++) {
		ATF_REQUIRE((nvl = nvlist_create(0)) != NULL);
		nvlist_add_null(nvl, "s");
		nvlist_move_string(nvl, "s", strdup("freed"));
		ATF_CHECK_EQ(EEXIST, nvlist_error(nvl));
		nvlist_destroy(nvl);
	}
}

ATF_TC_WITHOUT_HEAD(appending);
ATF_TC_BODY(appending, tc)
{
	const nvlist_t *const *lists;
	const char *const *strings;
	const uint64_t *numbers;
	nvlist_t *copy, *item, *nvl;
	size_t n, size;
	void *buf;
	int i;

	ATF_REQUIRE((nvl = nvlist_create(0)) != NULL);
	ATF_REQUIRE((item = nvlist_create(0)) != NULL);
	for (i = 0; i < 100; i++) {
		nvlist_append_bool_array(nvl, "b", i % 2 == 0);
		nvlist_append_number_array(nvl, "n", (uint64_t)i);
		nvlist_append_string_array(nvl, "s", i % 2 == 0 ? "" : "odd");
		nvlist_append_nvlist_array(nvl, "l", item);
	}
	nvlist_destroy(item);
	ATF_REQUIRE_EQ(0, nvlist_error(nvl));
	ATF_REQUIRE((buf = nvlist_pack(nvl, &size)) != NULL);
	ATF_REQUIRE((copy = nvlist_unpack(buf, size, 0)) != NULL);
	ATF_CHECK(nvlist_get_bool_array(copy, "b", &n)[98]);
	ATF_CHECK_EQ(100, n);
	numbers = nvlist_get_number_array(copy, "n", &n);
	ATF_CHECK_EQ(100, n);
	ATF_CHECK(numbers[99] == 99);
	strings = nvlist_get_string_array(copy, "s", &n);
	ATF_CHECK_EQ(100, n);
	ATF_CHECK_STREQ("odd", strings[99]);
	lists = nvlist_get_nvlist_array(copy, "l", &n);
	ATF_CHECK_EQ(100, n);
	ATF_CHECK(nvlist_get_array_next(lists[98]) == lists[99]);
	free(buf);
	nvlist_destroy(copy);
	nvlist_destroy(nvl);
}

ATF_TC_WITHOUT_HEAD(defaults);
ATF_TC_BODY(defaults, tc)
{
	const void *data;
	nvlist_t *nvl;
	size_t n;
	char *s;

	nvl = everything();
	ATF_CHECK(dnvlist_get_bool(nvl, "bool", false));
	ATF_CHECK(!dnvlist_get_bool(nvl, "none", false));
	ATF_CHECK(dnvlist_get_number(nvl, "none", 7) == 7);
	ATF_CHECK(dnvlist_get_number(nvl, "string", 7) == 7);
	ATF_CHECK_STREQ("text", dnvlist_get_string(nvl, "string", "d"));
	ATF_CHECK_STREQ("d", dnvlist_get_string(nvl, "none", "d"));
	ATF_CHECK(dnvlist_get_nvlist(nvl, "none", NULL) == NULL);
	ATF_CHECK_EQ(-1, dnvlist_get_descriptor(nvl, "none", -1));
	data = dnvlist_get_binary(nvl, "none", &n, "d", 2);
	ATF_CHECK(memcmp(data, "d", 2) == 0);
	ATF_CHECK_EQ(2, n);
	(void)dnvlist_get_binary(nvl, "binary", &n, NULL, 0);
	ATF_CHECK_EQ(3, n);
	s = dnvlist_take_string(nvl, "string", NULL);
	ATF_CHECK_STREQ("text", s);
	free(s);
	ATF_CHECK(dnvlist_take_string(nvl, "string", NULL) == NULL);
	ATF_CHECK(dnvlist_take_bool(nvl, "bool", false));
	ATF_CHECK(!dnvlist_take_bool(nvl, "bool", false));
	nvlist_destroy(nvl);
}

/* What a child dies of. */
static int
dies_of(void (*body)(nvlist_t *))
{
	int status;
	pid_t pid;

	ATF_REQUIRE((pid = fork()) != -1);
	if (pid == 0) {
		if (freopen("/dev/null", "w", stderr) == NULL)
			_exit(99);
		body(everything());
		_exit(0);
	}
	ATF_REQUIRE(waitpid(pid, &status, 0) == pid);
	if (WIFSIGNALED(status))
		return (WTERMSIG(status));
	return (WEXITSTATUS(status) == 0 ? 0 : -1);
}

static void
get_missing(nvlist_t *nvl)
{
	(void)nvlist_get_string(nvl, "missing");
}

static void
get_other_type(nvlist_t *nvl)
{
	(void)nvlist_get_number(nvl, "string");
}

static void
take_missing(nvlist_t *nvl)
{
	(void)nvlist_take_nvlist(nvl, "missing");
}

static void
free_missing(nvlist_t *nvl)
{
	nvlist_free(nvl, "missing");
}

static void
get_present(nvlist_t *nvl)
{
	(void)nvlist_get_string(nvl, "string");
}

ATF_TC_WITHOUT_HEAD(misuse);
ATF_TC_BODY(misuse, tc)
{
	ATF_CHECK_EQ(0, dies_of(get_present));
	ATF_CHECK_EQ(SIGABRT, dies_of(get_missing));
	ATF_CHECK_EQ(SIGABRT, dies_of(get_other_type));
	ATF_CHECK_EQ(SIGABRT, dies_of(take_missing));
	ATF_CHECK_EQ(SIGABRT, dies_of(free_missing));
}

/* The bytes themselves; another host's library reads them. */
ATF_TC_WITHOUT_HEAD(wire);
ATF_TC_BODY(wire, tc)
{
	static const unsigned char expected[] = {
		/* list: magic, version, flags, descriptors, bytes */
		0x6c, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0,
		131, 0, 0, 0, 0, 0, 0, 0,
		/* number "n" */
		3, 2, 0, 8, 0, 0, 0, 0, 0, 0, 0,
		0, 0, 0, 0, 0, 0, 0, 0, 'n', 0,
		0x34, 0x12, 0, 0, 0, 0, 0, 0,
		/* list "l", whose header counts to the end */
		5, 2, 0, 41, 0, 0, 0, 0, 0, 0, 0,
		0, 0, 0, 0, 0, 0, 0, 0, 'l', 0,
		0x6c, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
		62, 0, 0, 0, 0, 0, 0, 0,
		/* bool "b" */
		2, 2, 0, 1, 0, 0, 0, 0, 0, 0, 0,
		0, 0, 0, 0, 0, 0, 0, 0, 'b', 0, 1,
		/* up */
		255, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0,
		0, 0, 0, 0, 0, 0, 0, 0, 0,
		/* null "" */
		1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0,
		0, 0, 0, 0, 0, 0, 0, 0, 0,
	};
	nvlist_t *inner, *nvl;
	unsigned char *buf;
	size_t size;

	ATF_REQUIRE((nvl = nvlist_create(NV_FLAG_NO_UNIQUE)) != NULL);
	ATF_REQUIRE((inner = nvlist_create(0)) != NULL);
	nvlist_add_bool(inner, "b", true);
	nvlist_add_number(nvl, "n", 0x1234);
	nvlist_move_nvlist(nvl, "l", inner);
	nvlist_add_null(nvl, "");
	ATF_REQUIRE((buf = nvlist_pack(nvl, &size)) != NULL);
	ATF_CHECK_EQ(sizeof(expected), size);
	ATF_CHECK(memcmp(expected, buf, sizeof(expected)) == 0);
	free(buf);
	nvlist_destroy(nvl);
}

/* The other byte order is understood too. */
ATF_TC_WITHOUT_HEAD(big_endian);
ATF_TC_BODY(big_endian, tc)
{
	static const unsigned char buf[] = {
		0x6c, 0, 0x80, 0, 0, 0, 0, 0, 0, 0, 0,
		0, 0, 0, 0, 0, 0, 0, 66,
		3, 0, 2, 0, 0, 0, 0, 0, 0, 0, 8,
		0, 0, 0, 0, 0, 0, 0, 0, 'n', 0,
		0, 0, 0, 0, 0, 0, 0x12, 0x34,
		9, 0, 2, 0, 0, 0, 0, 0, 0, 0, 16,
		0, 0, 0, 0, 0, 0, 0, 2, 'a', 0,
		0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0,
	};
	const uint64_t *numbers;
	nvlist_t *nvl;
	size_t n;

	ATF_REQUIRE_EQ(19 + 66, sizeof(buf));
	ATF_REQUIRE((nvl = nvlist_unpack(buf, sizeof(buf), 0)) != NULL);
	ATF_CHECK(nvlist_get_number(nvl, "n") == 0x1234);
	numbers = nvlist_get_number_array(nvl, "a", &n);
	ATF_REQUIRE_EQ(2, n);
	ATF_CHECK(numbers[0] == 1 && numbers[1] == 256);
	nvlist_destroy(nvl);
}

ATF_TC_WITHOUT_HEAD(dump);
ATF_TC_BODY(dump, tc)
{
	static const char expected[] =
	    "null (NULL): null\n"
	    "bool (BOOL): TRUE\n"
	    "number (NUMBER): 81985529216486895 (81985529216486895) "
	    "(0x123456789abcdef)\n"
	    "string (STRING): [text]\n"
	    "stringf (STRING): [x-7]\n"
	    "binary (BINARY): 3 000102\n"
	    "nvlist (NVLIST):\n"
	    "    n (NUMBER): 1 (1) (0x1)\n"
	    "    inner (NVLIST):\n"
	    "bools (BOOL ARRAY): [ TRUE, FALSE, TRUE ]\n";
	char text[4096];
	nvlist_t *nvl;
	ssize_t n;
	int fd;

	nvl = everything();
	ATF_REQUIRE((fd = open("dump", O_RDWR | O_CREAT | O_TRUNC, 0600)) !=
	    -1);
	nvlist_dump(nvl, fd);
	ATF_REQUIRE((n = pread(fd, text, sizeof(text) - 1, 0)) > 0);
	text[n] = '\0';
	ATF_CHECK(strncmp(expected, text, strlen(expected)) == 0);
	ATF_REQUIRE(close(fd) == 0);
	nvlist_destroy(nvl);
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, types);
	ATF_TP_ADD_TC(tp, walking);
	ATF_TP_ADD_TC(tp, nesting);
	ATF_TP_ADD_TC(tp, errors);
	ATF_TP_ADD_TC(tp, error_state);
	ATF_TP_ADD_TC(tp, flags);
	ATF_TP_ADD_TC(tp, taking);
	ATF_TP_ADD_TC(tp, appending);
	ATF_TP_ADD_TC(tp, defaults);
	ATF_TP_ADD_TC(tp, misuse);
	ATF_TP_ADD_TC(tp, wire);
	ATF_TP_ADD_TC(tp, big_endian);
	ATF_TP_ADD_TC(tp, dump);
	return (atf_no_error());
}
