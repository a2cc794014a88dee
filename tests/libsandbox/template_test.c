/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Templates: made, found, removed, imported from hostile archives and from
 * OCI layouts, and the same after a round trip.
 */

#include <sys/stat.h>

#include <atf-c.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <sha256.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <archive.h>
#include <archive_entry.h>

#include "template_internal.h"

#define	STATE	"state"

static struct co_error e;

#define	OK(expr) do {							\
	e = (struct co_error){ 0 };					\
	if ((expr) != 0)						\
		atf_tc_fail("%s: %s: %s", #expr, co_error_symbol(e.code), \
		    e.message);						\
} while (0)

#define	FAILS(c, expr) do {						\
	e = (struct co_error){ 0 };					\
	ATF_REQUIRE_EQ(-1, (expr));					\
	ATF_REQUIRE_MSG(e.code == (c), "%s: %s: %s", #expr,		\
	    co_error_symbol(e.code), e.message);			\
} while (0)

/* One member of an archive that a test makes. */
struct item {
	char		 type;		/* f d l(symlink) h(ard) c p s */
	const char	*path;
	const char	*text;		/* content or target */
	mode_t		 mode;
};

static void
add_item(struct archive *a, const struct item *i)
{
	static const struct { char c; mode_t type; } types[] = {
		{ 'f', AE_IFREG }, { 'd', AE_IFDIR }, { 'l', AE_IFLNK },
		{ 'h', AE_IFREG }, { 'c', AE_IFCHR }, { 'p', AE_IFIFO },
	};
	struct archive_entry *entry = archive_entry_new();
	size_t len = i->type == 'f' ? strlen(i->text) : 0;

	archive_entry_copy_pathname(entry, i->path);
	for (size_t n = 0; n < sizeof(types) / sizeof(types[0]); n++)
		if (types[n].c == i->type)
			archive_entry_set_filetype(entry, types[n].type);
	archive_entry_set_perm(entry, i->mode != 0 ? i->mode : 0755);
	archive_entry_set_size(entry, (la_int64_t)len);
	if (i->type == 'l')
		archive_entry_copy_symlink(entry, i->text);
	if (i->type == 'h')
		archive_entry_copy_hardlink(entry, i->text);
	if (i->type == 'c')
		archive_entry_set_rdev(entry, 0x103);
	ATF_REQUIRE(archive_write_header(a, entry) >= ARCHIVE_WARN);
	if (len > 0)
		ATF_REQUIRE_EQ((la_ssize_t)len,
		    archive_write_data(a, i->text, len));
	archive_entry_free(entry);
}

/* Write an archive of the items up to one without a type. */
static void
make_tar(const char *path, const struct item *items, bool gzip)
{
	struct archive *a = archive_write_new();

	archive_write_set_format_pax(a);
	archive_write_set_options(a, "hdrcharset=BINARY");
	if (gzip)
		archive_write_add_filter_gzip(a);
	ATF_REQUIRE_EQ(ARCHIVE_OK, archive_write_open_filename(a, path));
	for (; items->type != '\0'; items++)
		add_item(a, items);
	ATF_REQUIRE_EQ(ARCHIVE_OK, archive_write_free(a));
}

static void
put(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	ATF_REQUIRE(f != NULL);
	fputs(text, f);
	ATF_REQUIRE_EQ(0, fclose(f));
}

/* The content of a file of a template; it must be there. */
static bool
holds(const char *name, const char *path, const char *text)
{
	struct template *t;
	char *data;
	size_t len;
	bool same;
	int dir;

	OK(template_open(STATE, name, &t, &e));
	dir = open(t->root, O_RDONLY | O_DIRECTORY);
	ATF_REQUIRE(dir != -1);
	OK(co_file_read(dir, path, 1024 * 1024, &data, &len, &e));
	same = strcmp(data, text) == 0;
	free(data);
	close(dir);
	template_free(t);
	return (same);
}

static bool
lacks(const char *name, const char *path)
{
	struct template *t;
	struct stat st;
	bool gone;
	int dir;

	OK(template_open(STATE, name, &t, &e));
	dir = open(t->root, O_RDONLY | O_DIRECTORY);
	ATF_REQUIRE(dir != -1);
	gone = fstatat(dir, path, &st, AT_SYMLINK_NOFOLLOW) != 0 &&
	    errno == ENOENT;
	close(dir);
	template_free(t);
	return (gone);
}

static int
count(const char *path)
{
	struct dirent *d;
	DIR *dp = opendir(path);
	int n = 0;

	if (dp == NULL)
		return (0);
	while ((d = readdir(dp)) != NULL)
		n += d->d_name[0] != '.';
	closedir(dp);
	return (n);
}

static void
check_no_leftovers(void)
{

	ATF_CHECK_EQ(0, count(STATE "/templates/tmp"));
}

ATF_TC(tiny);
ATF_TC_HEAD(tiny, tc)
{

	atf_tc_set_md_var(tc, "require.user", "root");
}
ATF_TC_BODY(tiny, tc)
{
	char path[1024], hash[TEMPLATE_HASHSIZE];
	struct template *t;
	co_moment began;
	struct stat st;

	began = co_now();
	OK(template_open(STATE, "tiny", &t, &e));
	printf("made in %" PRId64 " ms\n", (co_now() - began) / 1000000);
	ATF_CHECK(co_now() - began < 1000000000LL);
	ATF_CHECK_STREQ("tiny", t->name);
	ATF_CHECK_STREQ("root", t->user);
	ATF_CHECK_STREQ("/", t->cwd);
	ATF_CHECK(t->size > 100000);
	ATF_CHECK(t->created > 0);
	strcpy(hash, t->hash);

	snprintf(path, sizeof(path), "%s/bin/sh", t->root);
	ATF_CHECK_EQ(0, access(path, X_OK));
	snprintf(path, sizeof(path), "%s/usr/bin/env", t->root);
	ATF_CHECK_EQ(0, access(path, X_OK));
	snprintf(path, sizeof(path), "%s/home/user", t->root);
	ATF_REQUIRE_EQ(0, stat(path, &st));
	ATF_CHECK_EQ(1000, st.st_uid);
	snprintf(path, sizeof(path), "%s/tmp", t->root);
	ATF_REQUIRE_EQ(0, stat(path, &st));
	ATF_CHECK_EQ(01777, st.st_mode & 07777);
	ATF_REQUIRE_EQ(0, stat(STATE "/templates", &st));
	ATF_CHECK_EQ(0700, st.st_mode & 07777);
	template_free(t);

	/* The same again is the same one. */
	OK(template_build(STATE, "tiny", "again", NULL, NULL, &e));
	OK(template_open(STATE, "again", &t, &e));
	ATF_CHECK_STREQ(hash, t->hash);
	template_free(t);
	hash[8] = '\0';
	OK(template_open(STATE, hash, &t, &e));
	ATF_CHECK_STREQ("", t->name);
	template_free(t);
	check_no_leftovers();
}

ATF_TC_WITHOUT_HEAD(names);
ATF_TC_BODY(names, tc)
{
	static const char *const bad[] = {
		"", ".", "..", "a/b", "-x", "../x", "a b", "a\n", NULL
	};
	const struct item items[] = { { 'f', "f", "x", 0 }, { 0 } };
	struct template *t;

	make_tar("a.tar", items, false);
	for (size_t i = 0; bad[i] != NULL; i++) {
		FAILS(CO_EPROTO_ARGUMENT, template_import(STATE, "a.tar",
		    bad[i], NULL, NULL, &e));
		FAILS(CO_ETEMPLATE_NOTFOUND, template_open(STATE, bad[i], &t,
		    &e));
	}
	FAILS(CO_ETEMPLATE_NOTFOUND, template_open(STATE, "abcdef", &t, &e));
	FAILS(CO_ETEMPLATE_NOTFOUND, template_open(STATE, "none", &t, &e));
	FAILS(CO_ETEMPLATE_NOTFOUND, template_remove(STATE, "none", NULL,
	    NULL, &e));
	FAILS(CO_ETEMPLATE_BUILD, template_build(STATE, "plan9", "p", NULL,
	    NULL, &e));
	FAILS(CO_EPROTO_ARGUMENT, template_build(STATE, "debian:--x", "p",
	    NULL, NULL, &e));
}

static void
list_cb(void *arg, const struct template *t, const char *const *names)
{
	char *out = arg;

	ATF_CHECK_EQ(TEMPLATE_HASHSIZE - 1, strlen(t->hash));
	strcat(out, "[");
	for (; *names != NULL; names++)
		strcat(out, "n");
	strcat(out, "]");
}

static bool
in_use(void *arg, const char *hash)
{

	(void)hash;
	return (*(bool *)arg);
}

ATF_TC_WITHOUT_HEAD(remove_and_list);
ATF_TC_BODY(remove_and_list, tc)
{
	const struct item items[] = { { 'f', "f", "x", 0 }, { 0 } };
	char out[64] = "", hash[TEMPLATE_HASHSIZE];
	struct template *t;
	bool used = true;

	make_tar("a.tar", items, false);
	OK(template_import(STATE, "a.tar", "one", NULL, NULL, &e));
	OK(template_import(STATE, "a.tar", "two", NULL, NULL, &e));
	OK(template_list(STATE, list_cb, out, &e));
	ATF_CHECK_STREQ("[nn]", out);
	OK(template_open(STATE, "one", &t, &e));
	strcpy(hash, t->hash);
	template_free(t);

	FAILS(CO_ETEMPLATE_BAD, template_remove(STATE, hash, in_use, &used,
	    &e));
	OK(template_remove(STATE, "one", in_use, &used, &e));
	OK(template_remove(STATE, "two", in_use, &used, &e));
	/* Without a name, but used: still there. */
	OK(template_open(STATE, hash, &t, &e));
	template_free(t);
	FAILS(CO_ETEMPLATE_BAD, template_remove(STATE, hash, in_use, &used,
	    &e));
	used = false;
	OK(template_remove(STATE, hash, in_use, &used, &e));
	FAILS(CO_ETEMPLATE_NOTFOUND, template_open(STATE, hash, &t, &e));
	out[0] = '\0';
	OK(template_list(STATE, list_cb, out, &e));
	ATF_CHECK_STREQ("", out);
	check_no_leftovers();
}

/* A name that is given again means the new template at once. */
ATF_TC_WITHOUT_HEAD(replace_name);
ATF_TC_BODY(replace_name, tc)
{
	const struct item a[] = { { 'f', "f", "old", 0 }, { 0 } };
	const struct item b[] = { { 'f', "f", "new", 0 }, { 0 } };

	make_tar("a.tar", a, false);
	make_tar("b.tar", b, true);
	OK(template_import(STATE, "a.tar", "n", NULL, NULL, &e));
	ATF_CHECK(holds("n", "f", "old"));
	OK(template_import(STATE, "b.tar", "n", NULL, NULL, &e));
	ATF_CHECK(holds("n", "f", "new"));
}

/* What a hostile archive must not do. */
ATF_TC_WITHOUT_HEAD(hostile);
ATF_TC_BODY(hostile, tc)
{
	static const struct item cases[][4] = {
		{ { 'f', "/abs", "x", 0 } },
		{ { 'f', "../up", "x", 0 } },
		{ { 'f', "a/../../up", "x", 0 } },
		{ { 'f', "a/..", "x", 0 } },
		{ { 'd', "..", NULL, 0 } },
		{ { 'l', "out", "/", 0 }, { 'f', "out/up", "x", 0 } },
		{ { 'l', "out", "..", 0 }, { 'f', "out/up", "x", 0 } },
		{ { 'l', "out", "a/../..", 0 }, { 'd', "a", NULL, 0 },
		    { 'f', "out/up", "x", 0 } },
		{ { 'l', "a", "b", 0 }, { 'l', "b", "a", 0 },
		    { 'f', "a/x", "x", 0 } },
		{ { 'h', "h", "/etc/passwd", 0 } },
		{ { 'h', "h", "../victim", 0 } },
		{ { 'l', "out", "/etc", 0 }, { 'h', "h", "out/passwd", 0 } },
		{ { 'h', "h", "nothing", 0 } },
		{ { 'c', "dev/null", NULL, 0 } },
	};

	put("victim", "safe");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		printf("case %zu\n", i);
		make_tar("evil.tar", cases[i], false);
		e = (struct co_error){ 0 };
		ATF_CHECK_EQ_MSG(-1, template_import(STATE, "evil.tar", "evil",
		    NULL, NULL, &e), "case %zu was let in", i);
		printf("%s\n", e.message);
	}
	ATF_CHECK_EQ(-1, access("up", F_OK));
	ATF_CHECK_EQ(-1, access(STATE "/templates/tmp/up", F_OK));
	ATF_CHECK_EQ(-1, access("/up", F_OK));
	check_no_leftovers();
}

/* A link that stays inside may be on the way; one in the way is replaced. */
ATF_TC_WITHOUT_HEAD(links);
ATF_TC_BODY(links, tc)
{
	const struct item items[] = {
		{ 'd', "./", NULL, 0 }, { 'd', "./usr/bin/", NULL, 0 },
		{ 'l', "./bin", "usr/bin", 0 },
		{ 'f', "bin/x", "through", 04755 },
		{ 'l', "victim", "../../../../victim", 0 },
		{ 'f', "victim", "mine", 0 },
		{ 'h', "again", "bin/x", 0 },
		{ 'l', "to-etc", "/etc/passwd", 0 },
		{ 'p', "fifo", NULL, 0 },
		{ 'f', "\303\244\377name", "bytes", 0 },
		{ 'd', "was-dir/sub", NULL, 0 }, { 'f', "was-dir", "f", 0 },
		{ 0 }
	};
	struct template *t;
	struct stat a, b;
	char path[1024];

	put("victim", "safe");
	make_tar("a.tar", items, true);
	OK(template_import(STATE, "a.tar", "l", NULL, NULL, &e));
	ATF_CHECK(holds("l", "usr/bin/x", "through"));
	ATF_CHECK(holds("l", "victim", "mine"));
	ATF_CHECK(holds("l", "\303\244\377name", "bytes"));
	ATF_CHECK(holds("l", "was-dir", "f"));
	OK(template_open(STATE, "l", &t, &e));
	snprintf(path, sizeof(path), "%s/usr/bin/x", t->root);
	ATF_REQUIRE_EQ(0, stat(path, &a));
	ATF_CHECK_EQ(04755, a.st_mode & 07777);
	snprintf(path, sizeof(path), "%s/again", t->root);
	ATF_REQUIRE_EQ(0, stat(path, &b));
	ATF_CHECK_EQ(a.st_ino, b.st_ino);
	template_free(t);
}

ATF_TC_WITHOUT_HEAD(garbage);
ATF_TC_BODY(garbage, tc)
{
	const struct item items[] = { { 'f', "big", "0123456789", 0 },
	    { 0 } };

	put("text", "this is no archive at all\n");
	FAILS(CO_ETEMPLATE_BAD, template_import(STATE, "text", "g", NULL,
	    NULL, &e));
	put("empty", "");
	(void)template_import(STATE, "empty", "g", NULL, NULL, &e);
	make_tar("cut.tar", items, false);
	ATF_REQUIRE_EQ(0, truncate("cut.tar", 1540));
	ATF_CHECK_EQ(-1, template_import(STATE, "cut.tar", "g", NULL, NULL,
	    &e));
	FAILS(CO_ESYS_ERRNO, template_import(STATE, "missing", "g", NULL,
	    NULL, &e));
	ATF_REQUIRE_EQ(0, mkfifo("fifo", 0600));
	FAILS(CO_ETEMPLATE_BAD, template_import(STATE, "fifo", "g", NULL,
	    NULL, &e));
	check_no_leftovers();
}

/* Exported and imported elsewhere, it is the same template. */
ATF_TC(roundtrip);
ATF_TC_HEAD(roundtrip, tc)
{

	atf_tc_set_md_var(tc, "require.user", "root");
}
ATF_TC_BODY(roundtrip, tc)
{
	static const char manifest[] =
	    "user = \"user\"; cwd = \"/home/user\";\n"
	    "env = [\"A=b c\", \"Q=\\\"x\\\\\\u0001$\"]; backend = ns;\n"
	    "start = [\"/bin/httpd\", \"-f\"]; ready { port = 80; "
	    "timeout = 1.5s }\n"
	    "limits { memory = 64mb; cpu = 500; processes = 10; disk = 1gb; "
	    "files = 64 }\n";
	const struct item items[] = {
		{ 'f', TEMPLATE_MEMBER, manifest, 0 },
		{ 'd', "d", NULL, 01777 }, { 'f', "d/f", "content", 0640 },
		{ 'h', "d/g", "d/f", 0 }, { 'l', "l", "d/f", 0 }, { 0 }
	};
	struct template *a, *b;
	int fd;

	make_tar("a.tar", items, false);
	OK(template_import(STATE, "a.tar", "a", NULL, NULL, &e));
	OK(template_open(STATE, "a", &a, &e));
	ATF_CHECK_STREQ("user", a->user);
	ATF_CHECK_STREQ("/home/user", a->cwd);
	ATF_CHECK_STREQ("A=b c", a->env[0]);
	ATF_CHECK_STREQ("Q=\"x\\\001$", a->env[1]);
	ATF_CHECK_STREQ("ns", a->backend);
	ATF_CHECK_STREQ("-f", a->start[1]);
	ATF_CHECK_EQ(80, a->ready_port);
	ATF_CHECK_EQ(1500, a->ready_ms);
	ATF_CHECK_EQ(67108864, a->limits.memory);
	ATF_CHECK_EQ(500, a->limits.cpu);
	ATF_CHECK_EQ(64, a->limits.files);
	ATF_CHECK_EQ(14, a->size);
	ATF_CHECK(lacks("a", TEMPLATE_MEMBER));

	fd = open("out.tar", O_RDWR | O_CREAT | O_TRUNC, 0600);
	ATF_REQUIRE(fd != -1);
	OK(template_export(STATE, "a", fd, &e));
	close(fd);
	OK(template_import("elsewhere", "out.tar", "b", NULL, NULL, &e));
	OK(template_open("elsewhere", "b", &b, &e));
	ATF_CHECK_STREQ(a->hash, b->hash);
	template_free(a);
	template_free(b);
}

ATF_TC_WITHOUT_HEAD(manifest);
ATF_TC_BODY(manifest, tc)
{
	static const char *const bad[] = {
		"unknown = 1;", "user = [];", "cwd = relative;",
		"env = [\"novalue\"];", "env = [\"=x\"];",
		"ready { port = 70000 }", "limits { memory = -1 }",
		"ready { port = 1; command = [\"x\"] }", "{", NULL
	};
	struct item items[] = { { 'f', TEMPLATE_MEMBER, NULL, 0 }, { 0 } };

	for (size_t i = 0; bad[i] != NULL; i++) {
		items[0].text = bad[i];
		make_tar("m.tar", items, false);
		e = (struct co_error){ 0 };
		ATF_CHECK_EQ_MSG(-1, template_import(STATE, "m.tar", "m",
		    NULL, NULL, &e), "%s", bad[i]);
		printf("%s\n", e.message);
	}
	check_no_leftovers();
}

static int
fill(void *arg, int dir, struct co_error *er)
{

	if (arg != NULL)
		return (co_error_set(er, CO_ESYS_CANCELLED, NULL, "no"));
	/* Deeper than we have descriptors for. */
	for (int i = 0; i < 200; i++) {
		int sub;

		ATF_REQUIRE_EQ(0, mkdirat(dir, "d", 0755));
		sub = openat(dir, "d", O_RDONLY | O_DIRECTORY);
		ATF_REQUIRE(sub != -1);
		if (i > 0)
			close(dir);
		dir = sub;
	}
	ATF_REQUIRE_EQ(0, co_file_replace(dir, "leaf", "x", 1, 0600, er));
	close(dir);
	return (0);
}

ATF_TC_WITHOUT_HEAD(capture);
ATF_TC_BODY(capture, tc)
{
	struct template *from = template_new(), *t;
	int yes = 1;

	ATF_REQUIRE(from != NULL);
	free(from->user);
	from->user = strdup("someone");
	FAILS(CO_ESYS_CANCELLED, template_capture(STATE, "c", from, fill,
	    &yes, &e));
	check_no_leftovers();
	OK(template_capture(STATE, "c", from, fill, NULL, &e));
	OK(template_open(STATE, "c", &t, &e));
	ATF_CHECK_STREQ("someone", t->user);
	template_free(t);
	template_free(from);
	OK(template_remove(STATE, "c", NULL, NULL, &e));
	check_no_leftovers();
}

ATF_TC_WITHOUT_HEAD(sweep);
ATF_TC_BODY(sweep, tc)
{
	struct template_work w;

	OK(template_work_begin(STATE, &w, &e));
	ATF_REQUIRE_EQ(0, mkdirat(w.root, "half", 0755));
	ATF_CHECK_EQ(1, count(STATE "/templates/tmp"));
	template_sweep(STATE);
	check_no_leftovers();
	template_work_end(&w);
	template_sweep("does-not-exist-yet");
}

/* A bootstrap tool that behaves, one that fails, one that leaves devices. */
ATF_TC_WITHOUT_HEAD(bootstrap);
ATF_TC_BODY(bootstrap, tc)
{
	char here[1024], tool[1100];
	const char *argv[] = { tool, "--suite", "%v", "%r", NULL };
	struct template_recipe r = { "debian", "x", "", NULL, "" };

	ATF_REQUIRE(getcwd(here, sizeof(here)) != NULL);
	snprintf(tool, sizeof(tool), "%s/tool", here);
	r.argv = argv;
	put("tool", "#!/bin/sh\n[ \"$2\" = sid ] || { echo no; exit 7; }\n"
	    "mkdir $3/dev $3/etc; echo $2 >$3/etc/suite; mkfifo $3/dev/f\n");
	ATF_REQUIRE_EQ(0, chmod("tool", 0755));
	OK(template_bootstrap(STATE, &r, "sid", "deb", NULL, NULL, &e));
	ATF_CHECK(holds("deb", "etc/suite", "sid\n"));
	ATF_CHECK(lacks("deb", "dev/f"));
	FAILS(CO_ETEMPLATE_BUILD, template_bootstrap(STATE, &r, "other",
	    "bad", NULL, NULL, &e));
	ATF_CHECK(strstr(e.message, "status 7: no") != NULL);
	check_no_leftovers();
}

/* The real tool and a mirror: COPPICE_TEST_BOOTSTRAP=debian. */
ATF_TC(bootstrap_real);
ATF_TC_HEAD(bootstrap_real, tc)
{

	atf_tc_set_md_var(tc, "require.user", "root");
	atf_tc_set_md_var(tc, "timeout", "1800");
}
ATF_TC_BODY(bootstrap_real, tc)
{
	const char *kind = getenv("COPPICE_TEST_BOOTSTRAP");

	if (kind == NULL)
		atf_tc_skip("set COPPICE_TEST_BOOTSTRAP to a distribution");
	OK(template_build(STATE, kind, "real", NULL, NULL, &e));
	ATF_CHECK(!lacks("real", "etc/passwd"));
	check_no_leftovers();
}

/* Put a file among the blobs by its digest, which is stored. */
static void
blob(const char *from, char digest[65])
{
	char to[128];

	ATF_REQUIRE(SHA256_File(from, digest) != NULL);
	snprintf(to, sizeof(to), "oci/blobs/sha256/%s", digest);
	ATF_REQUIRE_EQ(0, rename(from, to));
}

static void
json_blob(const char *text, char digest[65])
{

	put("blob", text);
	blob("blob", digest);
}

static void
make_layout(const struct item *lower, const struct item *upper)
{
	char l[65], u[65], config[65], manifest[65], text[2048];

	(void)mkdir("oci", 0755);
	(void)mkdir("oci/blobs", 0755);
	(void)mkdir("oci/blobs/sha256", 0755);
	make_tar("l", lower, false);
	blob("l", l);
	make_tar("u", upper, true);
	blob("u", u);
	json_blob("{\"config\":{\"User\":\"app:app\",\"Env\":[\"P=/x\"],"
	    "\"WorkingDir\":\"/srv\",\"Cmd\":[\"serve\"],"
	    "\"ExposedPorts\":{\"80/tcp\":{}}}}", config);
	snprintf(text, sizeof(text), "{\"config\":{\"digest\":\"sha256:%s\"},"
	    "\"layers\":[{\"digest\":\"sha256:%s\"},"
	    "{\"digest\":\"sha256:%s\"}]}", config, l, u);
	json_blob(text, manifest);
	snprintf(text, sizeof(text), "{\"schemaVersion\":2,\"manifests\":["
	    "{\"mediaType\":\"application/vnd.oci.image.manifest.v1+json\","
	    "\"digest\":\"sha256:%s\"}]}", manifest);
	put("oci/index.json", text);
}

static const struct item lower[] = {
	{ 'f', "keep", "lower", 0 }, { 'f', "gone", "x", 0 },
	{ 'f', "dir/old", "x", 0 }, { 'f', "dir/sub/old", "x", 0 },
	{ 'l', "bin", "usr/bin", 0 }, { 'f', "usr/bin/a", "a", 0 }, { 0 }
};

ATF_TC_WITHOUT_HEAD(oci);
ATF_TC_BODY(oci, tc)
{
	const struct item upper[] = {
		{ 'f', "dir/new", "new", 0 },
		{ 'f', "dir/.wh..wh..opq", "", 0 }, { 'f', ".wh.gone", "", 0 },
		{ 'f', "none/.wh.such", "", 0 }, { 'f', "bin/b", "b", 0 },
		{ 'f', "keep", "upper", 0 }, { 0 }
	};
	struct template *t;

	make_layout(lower, upper);
	OK(template_import(STATE, "oci", "img", NULL, NULL, &e));
	ATF_CHECK(holds("img", "keep", "upper"));
	ATF_CHECK(holds("img", "dir/new", "new"));
	ATF_CHECK(holds("img", "usr/bin/b", "b"));
	ATF_CHECK(lacks("img", "gone"));
	ATF_CHECK(lacks("img", "dir/old"));
	ATF_CHECK(lacks("img", "dir/sub"));
	ATF_CHECK(lacks("img", "dir/.wh..wh..opq"));
	OK(template_open(STATE, "img", &t, &e));
	ATF_CHECK_STREQ("app", t->user);
	ATF_CHECK_STREQ("/srv", t->cwd);
	ATF_CHECK_STREQ("P=/x", t->env[0]);
	ATF_CHECK_STREQ("serve", t->start[0]);
	template_free(t);
}

ATF_TC_WITHOUT_HEAD(oci_hostile);
ATF_TC_BODY(oci_hostile, tc)
{
	static const struct item uppers[][3] = {
		{ { 'f', "../.wh.state", "", 0 } },
		{ { 'f', ".wh...", "", 0 } },
		{ { 'f', ".wh.", "", 0 } },
		{ { 'l', "o", "..", 0 }, { 'f', "o/.wh.x", "", 0 } },
	};
	static const char *const indexes[] = {
		"", "[]", "{}", "{\"manifests\":[{}]}",
		"{\"manifests\":[{\"digest\":\"sha256:../../x\"}]}",
		("{\"manifests\":[{\"digest\":\"sha256:0000000000000000000000"
		"000000000000000000000000000000000000000000\"}]}"),
	};
	struct dirent *d;
	char path[512];
	DIR *dp;

	for (size_t i = 0; i < sizeof(uppers) / sizeof(uppers[0]); i++) {
		make_layout(lower, uppers[i]);
		e = (struct co_error){ 0 };
		(void)template_import(STATE, "oci", "h", NULL, NULL, &e);
		printf("%zu: %s\n", i, e.message);
		ATF_CHECK_EQ(0, access(STATE "/templates", F_OK));
	}
	/* Bytes that are not those of the digest. */
	dp = opendir("oci/blobs/sha256");
	ATF_REQUIRE(dp != NULL);
	while ((d = readdir(dp)) != NULL)
		if (d->d_name[0] != '.') {
			FILE *f;

			snprintf(path, sizeof(path), "oci/blobs/sha256/%s",
			    d->d_name);
			f = fopen(path, "a");
			ATF_REQUIRE(f != NULL);
			fputs(" ", f);
			fclose(f);
		}
	closedir(dp);
	FAILS(CO_ETEMPLATE_BAD, template_import(STATE, "oci", "h2", NULL,
	    NULL, &e));
	for (size_t i = 0; i < sizeof(indexes) / sizeof(indexes[0]); i++) {
		put("oci/index.json", indexes[i]);
		e = (struct co_error){ 0 };
		ATF_CHECK_EQ(-1, template_import(STATE, "oci", "h3", NULL,
		    NULL, &e));
		ATF_CHECK(e.code != CO_OK);
	}
	check_no_leftovers();
}

ATF_TP_ADD_TCS(tp)
{

	ATF_TP_ADD_TC(tp, tiny);
	ATF_TP_ADD_TC(tp, names);
	ATF_TP_ADD_TC(tp, remove_and_list);
	ATF_TP_ADD_TC(tp, replace_name);
	ATF_TP_ADD_TC(tp, hostile);
	ATF_TP_ADD_TC(tp, links);
	ATF_TP_ADD_TC(tp, garbage);
	ATF_TP_ADD_TC(tp, roundtrip);
	ATF_TP_ADD_TC(tp, manifest);
	ATF_TP_ADD_TC(tp, capture);
	ATF_TP_ADD_TC(tp, sweep);
	ATF_TP_ADD_TC(tp, bootstrap);
	ATF_TP_ADD_TC(tp, bootstrap_real);
	ATF_TP_ADD_TC(tp, oci);
	ATF_TP_ADD_TC(tp, oci_hostile);
	return (atf_no_error());
}
