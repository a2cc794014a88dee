/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * OCI image layouts: index.json leads to a manifest, that to a configuration
 * and layers.  All are read by their digests, and checked against them.
 */

#include <sys/stat.h>
#include <sys/utsname.h>

#include <errno.h>
#include <fcntl.h>
#include <sha256.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "template_internal.h"

#define	MAXJSON		(4 * 1024 * 1024)
#define	MAXLAYERS	256
#define	MAXNESTING	4		/* of indexes */
#define	BLOBS		"blobs/sha256/"

struct image {
	int		 layout;
	int		 root;
	template_progress_fn *progress;
	void		*arg;
	struct co_error	*e;
};

static int
bad(const struct image *im, const char *what, const char *why)
{

	return (co_error_set(im->e, CO_ETEMPLATE_BAD, what,
	    "the OCI image is not valid: %s: %s", what, why));
}

static const char *
text(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return (s != NULL ? s : "");
}

/* The hex digits of a descriptor's digest, or NULL. */
static const char *
digest(const json_t *descriptor)
{
	const char *s = text(descriptor, "digest");

	if (strncmp(s, "sha256:", 7) != 0 || strlen(s + 7) != 64 ||
	    strspn(s + 7, "0123456789abcdef") != 64)
		return (NULL);
	return (s + 7);
}

static json_t *
parse(const struct image *im, const char *what, const char *data, size_t len)
{
	json_error_t why;
	json_t *o;

	o = json_loadb(data, len, JSON_REJECT_DUPLICATES, &why);
	if (o == NULL)
		(void)bad(im, what, why.text);
	else if (!json_is_object(o)) {
		(void)bad(im, what, "not an object");
		json_decref(o);
		o = NULL;
	}
	return (o);
}

/* The JSON that a descriptor names; NULL with the error set. */
static json_t *
read_blob(const struct image *im, const json_t *descriptor)
{
	char path[sizeof(BLOBS) + 64], sum[65], *data;
	const char *hex = digest(descriptor);
	json_t *o = NULL;
	size_t len;

	if (hex == NULL) {
		(void)bad(im, text(descriptor, "digest"),
		    "not a SHA-256 digest");
		return (NULL);
	}
	snprintf(path, sizeof(path), BLOBS "%s", hex);
	if (co_file_read(im->layout, path, MAXJSON, &data, &len, im->e) != 0)
		return (NULL);
	SHA256_Data((const uint8_t *)data, (unsigned int)len, sum);
	if (strcmp(sum, hex) != 0)
		(void)bad(im, path, "it does not have its digest");
	else
		o = parse(im, path, data, len);
	free(data);
	return (o);
}

static bool
is_index(const json_t *descriptor)
{
	const char *type = text(descriptor, "mediaType");

	return (strstr(type, "image.index") != NULL ||
	    strstr(type, "manifest.list") != NULL);
}

/* Whether OCI's name of an architecture is that of this machine. */
static bool
is_ours(const char *name)
{
	static const char *const names[][2] = {
		{ "x86_64", "amd64" }, { "amd64", "amd64" },
		{ "aarch64", "arm64" }, { "arm64", "arm64" },
		{ "riscv64", "riscv64" }, { "ppc64le", "ppc64le" },
	};
	struct utsname u;

	if (uname(&u) != 0)
		return (false);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(u.machine, names[i][0]) == 0)
			return (strcmp(name, names[i][1]) == 0);
	return (false);
}

/* The entry of an index for this machine, or the first without one. */
static json_t *
choose(const json_t *index)
{
	json_t *list = json_object_get(index, "manifests"), *p, *any = NULL;
	json_t *d;
	size_t i;

	json_array_foreach(list, i, d) {
		p = json_object_get(d, "platform");
		if (p == NULL && any == NULL)
			any = d;
		if (p != NULL && is_ours(text(p, "architecture")))
			return (d);
	}
	return (any);
}

/* Follow indexes to the manifest; NULL with the error set. */
static json_t *
find_manifest(const struct image *im)
{
	json_t *d, *index, *o;
	char *data;
	size_t len;

	if (co_file_read(im->layout, "index.json", MAXJSON, &data, &len,
	    im->e) != 0) {
		co_error_set(im->e, CO_ETEMPLATE_BAD, "index.json",
		    "the folder has no index.json: not an OCI image layout; "
		    "\"skopeo copy docker://IMAGE oci:DIR\" makes one");
		return (NULL);
	}
	index = parse(im, "index.json", data, len);
	free(data);
	for (int i = 0; index != NULL && i < MAXNESTING; i++) {
		d = choose(index);
		if (d == NULL) {
			(void)bad(im, "index.json",
			    "nothing in it is for this machine");
			break;
		}
		o = read_blob(im, d);
		if (o == NULL || !is_index(d)) {
			json_decref(index);
			return (o);
		}
		json_decref(index);
		index = o;
	}
	if (index != NULL && im->e != NULL && im->e->code == CO_OK)
		(void)bad(im, "index.json", "indexes within indexes");
	json_decref(index);
	return (NULL);
}

static int
apply_layer(const struct image *im, const json_t *descriptor, size_t i,
    size_t n)
{
	char path[sizeof(BLOBS) + 64], what[64];
	const char *hex = digest(descriptor);
	struct template_source s = { .what = what, .sha256 = hex,
	    .progress = im->progress, .arg = im->arg };
	struct stat st;
	int ret = -1;

	if (hex == NULL)
		return (bad(im, text(descriptor, "digest"),
		    "not a SHA-256 digest"));
	snprintf(what, sizeof(what), "layer %zu of %zu", i + 1, n);
	snprintf(path, sizeof(path), BLOBS "%s", hex);
	s.fd = openat(im->layout, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK |
	    O_CLOEXEC);
	if (s.fd == -1)
		return (co_error_errno(im->e, errno, path,
		    "can't open \"%s\"", path));
	if (fstat(s.fd, &st) != 0 || !S_ISREG(st.st_mode))
		(void)bad(im, path, "not a file");
	else {
		s.size = (uint64_t)st.st_size;
		ret = template_unpack(&s, im->root, TEMPLATE_WHITEOUTS, NULL,
		    im->e);
		if (ret == 0 && lseek(s.fd, 0, SEEK_SET) != 0)
			ret = bad(im, path, "can't be read twice");
		if (ret == 0)
			ret = template_unpack(&s, im->root, TEMPLATE_LAYER,
			    NULL, im->e);
	}
	close(s.fd);
	return (ret);
}

static int
apply_layers(const struct image *im, const json_t *manifest)
{
	json_t *list = json_object_get(manifest, "layers"), *d;
	size_t i, n = json_array_size(list);

	if (n == 0 || n > MAXLAYERS)
		return (bad(im, "layers", "none, or too many"));
	json_array_foreach(list, i, d)
		if (apply_layer(im, d, i, n) != 0)
			return (-1);
	return (0);
}

/* Append the strings of the array a to the list. */
static int
append(char ***list, size_t *n, const json_t *a)
{
	char **p;
	json_t *s;
	size_t i;

	json_array_foreach(a, i, s) {
		if (!json_is_string(s) || *n >= 1000)
			continue;
		p = realloc(*list, (*n + 2) * sizeof(**list));
		if (p == NULL)
			return (-1);
		*list = p;
		p[*n] = strdup(json_string_value(s));
		p[*n + 1] = NULL;
		if (p[*n] == NULL)
			return (-1);
		++*n;
	}
	return (0);
}

static int
replace(char **where, const char *s, size_t len)
{
	char *copy;

	if (len == 0)
		return (0);
	copy = strndup(s, len);
	if (copy == NULL)
		return (-1);
	free(*where);
	*where = copy;
	return (0);
}

/*
 * The command of an image is a shell as often as a service: it is started
 * only for an image that says it listens somewhere.
 */
static int
take_config(struct template *t, const json_t *config)
{
	const char *user = text(config, "User");
	size_t n = 0;

	if (replace(&t->user, user, strcspn(user, ":")) != 0 ||
	    replace(&t->cwd, text(config, "WorkingDir"),
	    strlen(text(config, "WorkingDir"))) != 0)
		return (-1);
	if (append(&t->env, &n, json_object_get(config, "Env")) != 0)
		return (-1);
	n = 0;
	if (json_object_size(json_object_get(config, "ExposedPorts")) == 0)
		return (0);
	if (append(&t->start, &n, json_object_get(config, "Entrypoint"))
	    != 0 || append(&t->start, &n, json_object_get(config, "Cmd"))
	    != 0)
		return (-1);
	return (0);
}

static int
read_config(const struct image *im, const json_t *manifest,
    struct template **t)
{
	struct template *raw;
	json_t *o;
	int ret;

	o = read_blob(im, json_object_get(manifest, "config"));
	if (o == NULL)
		return (-1);
	raw = template_new();
	ret = raw == NULL ? -1 :
	    take_config(raw, json_object_get(o, "config"));
	json_decref(o);
	/* What can't stand in a manifest is found by reading it as one. */
	if (ret == 0) {
		char *s = template_manifest_text(raw);

		ret = s == NULL ? -1 : 0;
		if (s != NULL && template_manifest_read(s, strlen(s),
		    "the image's configuration", t, im->e) != 0) {
			free(s);
			template_free(raw);
			return (-1);
		}
		free(s);
	}
	template_free(raw);
	if (ret != 0)
		return (co_error_set(im->e, CO_ESYS_NOMEM, NULL,
		    "out of memory"));
	return (0);
}

int
template_oci(int layout, int root, struct template **t,
    template_progress_fn *progress, void *arg, struct co_error *e)
{
	struct co_error own = { 0 };
	struct image im = { layout, root, progress, arg, &own };
	json_t *manifest;
	int ret = -1;

	*t = NULL;
	manifest = find_manifest(&im);
	if (manifest != NULL && read_config(&im, manifest, t) == 0)
		ret = apply_layers(&im, manifest);
	json_decref(manifest);
	if (ret != 0 && e != NULL)
		*e = own;
	return (ret);
}
