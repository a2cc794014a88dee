/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Building templates by the bootstrap tools of distributions.  A tool gets
 * an empty tree and fills it; a new distribution is a row here.
 */

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "template_internal.h"

#define	COUNT(a)	(sizeof(a) / sizeof((a)[0]))
#define	MAXARGS		16
#define	DEADLINE	(60 * 60 * 1000)	/* a slow mirror */

#define	DEBIAN_MISSING \
	"install one of its tools: apt-get install mmdebstrap"
#define	ALPINE_MISSING \
	"install apk-tools, or import the mini root filesystem of " \
	"https://alpinelinux.org/downloads/ by \"coppicectl template import\""
#define	FREEBSD_MISSING \
	"import the base.txz of a release by \"coppicectl template import\""

static const char *const mmdebstrap[] = {
	"mmdebstrap", "--variant=minbase", "--mode=root", "--quiet", "%v",
	"%r", NULL
};
static const char *const debootstrap[] = {
	"debootstrap", "--variant=minbase", "%v", "%r", NULL
};
static const char *const apk[] = {
	"apk", "--initdb", "--keys-dir", "/etc/apk/keys",
	"--repository",
	"https://dl-cdn.alpinelinux.org/alpine/%v/main", "--root", "%r",
	"add", "alpine-base", NULL
};
static const char *const base_txz[] = {
	"tar", "-x", "-p", "--no-fflags", "-f", "/usr/freebsd-dist/base.txz",
	"-C", "%r", NULL
};

static const struct template_recipe recipes[] = {
	{ "debian", "bookworm", "mmdebstrap", mmdebstrap, DEBIAN_MISSING },
	{ "debian", "bookworm", "debootstrap", debootstrap, DEBIAN_MISSING },
	{ "ubuntu", "noble", "mmdebstrap", mmdebstrap, DEBIAN_MISSING },
	{ "ubuntu", "noble", "debootstrap", debootstrap, DEBIAN_MISSING },
	{ "alpine", "latest-stable", "apk", apk, ALPINE_MISSING },
	{ "freebsd", "", "/usr/freebsd-dist/base.txz", base_txz,
	    FREEBSD_MISSING },
};

/* Whether a tool, by name or path, is there. */
static bool
have(const char *tool)
{
	static const char *const dirs[] = {
		"/sbin", "/bin", "/usr/sbin", "/usr/bin", "/usr/local/sbin",
		"/usr/local/bin"
	};
	char path[256];

	if (tool[0] == '/')
		return (access(tool, R_OK) == 0);
	for (size_t i = 0; i < COUNT(dirs); i++) {
		snprintf(path, sizeof(path), "%s/%s", dirs[i], tool);
		if (access(path, X_OK) == 0)
			return (true);
	}
	return (false);
}

/* A suite or release ends up in the arguments of a tool. */
static bool
variant_valid(const char *s)
{

	if (*s == '-' || strlen(s) > 64)
		return (false);
	for (; *s != '\0'; s++)
		if (!isalnum((unsigned char)*s) && strchr("._-", *s) == NULL)
			return (false);
	return (true);
}

/* An argument with its placeholders replaced, in malloc'd memory. */
static char *
expand(const char *arg, const char *variant, const char *root)
{
	const char *p = strchr(arg, '%'), *by;
	size_t size;
	char *s;

	if (p == NULL || (p[1] != 'v' && p[1] != 'r'))
		return (strdup(arg));
	by = p[1] == 'v' ? variant : root;
	size = strlen(arg) + strlen(by);
	s = malloc(size);
	if (s != NULL)
		snprintf(s, size, "%.*s%s%s", (int)(p - arg), arg, by, p + 2);
	return (s);
}

static int
run_tool(const struct template_recipe *recipe, const char *variant,
    const char *root, struct co_error *e)
{
	char *argv[MAXARGS + 1] = { NULL };
	struct co_run r = { .argv = (const char *const *)argv };
	struct co_result res = { 0 };
	size_t n;
	int ret = -1;

	for (n = 0; recipe->argv[n] != NULL && n < MAXARGS; n++) {
		argv[n] = expand(recipe->argv[n], variant, root);
		if (argv[n] == NULL) {
			co_error_set(e, CO_ESYS_NOMEM, NULL, "out of memory");
			goto out;
		}
	}
	r.deadline = co_after(DEADLINE);
	if (co_run(&r, &res, e) != 0)
		goto out;
	if (res.timedout)
		co_error_set(e, CO_ETEMPLATE_BUILD, recipe->kind,
		    "%s did not end within an hour", argv[0]);
	else if (res.status != 0)
		co_error_set(e, CO_ETEMPLATE_BUILD, recipe->kind,
		    "%s failed with status %d: %s", argv[0], res.status,
		    res.outlen > 500 ? res.out + res.outlen - 500 : res.out);
	else
		ret = 0;
out:
	free(res.out);
	for (size_t i = 0; i < n; i++)
		free(argv[i]);
	return (ret);
}

/* Sandboxes get a /dev of their own; device nodes have no place here. */
static int
clear_dev(int root, struct co_error *e)
{
	int error = 0, fd;

	fd = openat(root, "dev", O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
	    O_CLOEXEC);
	if (fd != -1) {
		error = template_empty(fd);
		close(fd);
	}
	if (error != 0)
		return (co_error_errno(e, error, "dev", "can't empty /dev"));
	return (0);
}

int
template_bootstrap(const char *state, const struct template_recipe *recipe,
    const char *variant, const char *name, template_progress_fn *progress,
    void *arg, struct co_error *e)
{
	struct template_work w;
	struct template *t;
	char text[128];
	int ret;

	if (template_work_begin(state, &w, e) != 0)
		return (-1);
	if (progress != NULL) {
		snprintf(text, sizeof(text), "running %s", recipe->argv[0]);
		progress(arg, text, -1);
	}
	ret = run_tool(recipe, variant, w.path, e);
	if (ret == 0)
		ret = clear_dev(w.root, e);
	if (ret == 0) {
		t = template_new();
		ret = t == NULL ? co_error_set(e, CO_ESYS_NOMEM, name,
		    "out of memory") :
		    template_work_commit(&w, t, name, progress, arg, e);
		template_free(t);
	}
	template_work_end(&w);
	return (ret);
}

static int
build_tiny(const char *state, const char *name,
    template_progress_fn *progress, void *arg, struct co_error *e)
{
	struct template_work w;
	struct template *t;
	int ret;

	if (template_work_begin(state, &w, e) != 0)
		return (-1);
	t = template_new();
	if (t == NULL)
		ret = co_error_set(e, CO_ESYS_NOMEM, name, "out of memory");
	else
		ret = template_tiny(w.root, w.path, e);
	if (ret == 0)
		ret = template_work_commit(&w, t, name, progress, arg, e);
	template_free(t);
	template_work_end(&w);
	return (ret);
}

/* The first row of a kind whose tool is there, or any of it. */
static const struct template_recipe *
choose(const char *kind)
{
	const struct template_recipe *some = NULL;

	for (size_t i = 0; i < COUNT(recipes); i++) {
		if (strcmp(recipes[i].kind, kind) != 0)
			continue;
		some = &recipes[i];
		if (have(some->tool))
			break;
	}
	return (some);
}

int
template_build(const char *state, const char *what, const char *name,
    template_progress_fn *progress, void *arg, struct co_error *e)
{
	const struct template_recipe *recipe;
	char kind[64];
	const char *variant;
	size_t n = strcspn(what, ":");

	if (name == NULL || *name == '\0')
		name = what;
	if (!template_name_valid(name))
		return (co_error_set(e, CO_EPROTO_ARGUMENT, name,
		    "\"%s\" can't be the name of a template; use letters, "
		    "digits and ._:+-", name));
	if (strcmp(what, "tiny") == 0)
		return (build_tiny(state, name, progress, arg, e));
	snprintf(kind, sizeof(kind), "%.*s", (int)n, what);
	recipe = choose(kind);
	if (recipe == NULL)
		return (co_error_set(e, CO_ETEMPLATE_BUILD, what,
		    "no way to build \"%s\"; known are tiny, debian, ubuntu, "
		    "alpine and freebsd", what));
	variant = what[n] == ':' ? what + n + 1 : recipe->variant;
	if (!variant_valid(variant))
		return (co_error_set(e, CO_EPROTO_ARGUMENT, what,
		    "\"%s\" can't be a release of %s", variant, kind));
	if (!have(recipe->tool))
		return (co_error_set(e, CO_ETEMPLATE_BUILD, what,
		    "nothing here can build \"%s\"; %s", what,
		    recipe->missing));
	return (template_bootstrap(state, recipe, variant, name, progress,
	    arg, e));
}
