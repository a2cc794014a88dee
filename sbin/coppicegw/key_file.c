/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The file of API keys.
 */

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>
#include <openssl/evp.h>

#include "coppice.h"
#include "key_file.h"

#define	FILE_MAX	(4 * 1024 * 1024)

/* 16 MiB and some 50 ms. */
#define	SCRYPT_N	16384
#define	SCRYPT_R	8
#define	SCRYPT_P	1

bool
key_well_formed(const char *key)
{
	size_t n = strlen(KEY_PREFIX);

	return (strncmp(key, KEY_PREFIX, n) == 0 &&
	    strlen(key + n) == KEY_DIGITS &&
	    strspn(key + n, "0123456789abcdef") == KEY_DIGITS);
}

int
key_hash(const char *key, const unsigned char salt[KEY_SALTLEN],
    unsigned char hash[KEY_HASHLEN])
{

	return (EVP_PBE_scrypt(key, strlen(key), salt, KEY_SALTLEN, SCRYPT_N,
	    SCRYPT_R, SCRYPT_P, 64 << 20, hash, KEY_HASHLEN) == 1 ? 0 : -1);
}

int
key_make(struct key_entry *k, char key[sizeof(KEY_PREFIX) + KEY_DIGITS])
{
	unsigned char raw[KEY_DIGITS / 2];
	size_t n = strlen(KEY_PREFIX);

	co_random(raw, sizeof(raw));
	co_random(k->salt, sizeof(k->salt));
	memcpy(key, KEY_PREFIX, n);
	for (size_t i = 0; i < sizeof(raw); i++)
		(void)snprintf(key + n + 2 * i, 3, "%02x", raw[i]);
	(void)snprintf(k->id, sizeof(k->id), "%.8s", key + n);
	return (key_hash(key, k->salt, k->hash));
}

static void
to_hex(char *to, const unsigned char *from, size_t n)
{

	for (size_t i = 0; i < n; i++)
		(void)snprintf(to + 2 * i, 3, "%02x", from[i]);
}

static bool
from_hex(unsigned char *to, const char *from, size_t n)
{
	unsigned int v;

	if (from == NULL || strlen(from) != 2 * n ||
	    strspn(from, "0123456789abcdef") != 2 * n)
		return (false);
	for (size_t i = 0; i < n; i++) {
		if (sscanf(from + 2 * i, "%2x", &v) != 1)
			return (false);
		to[i] = (unsigned char)v;
	}
	return (true);
}

static bool
text(char *to, size_t size, const json_t *j)
{
	const char *s = json_string_value(j);

	return (s != NULL && strlen(s) < size && snprintf(to, size, "%s",
	    s) >= 0);
}

static uint64_t
number(const json_t *j)
{
	json_int_t v = json_integer_value(j);

	return (v > 0 ? (uint64_t)v : 0);
}

static bool
decode(struct key_entry *k, const json_t *j)
{

	*k = (struct key_entry){ .created = json_integer_value(json_object_get(
	    j, "created")), .sandboxes = number(json_object_get(j,
	    "sandboxes")), .memory = number(json_object_get(j, "memory")),
	    .rate = number(json_object_get(j, "rate")) };
	return (text(k->id, sizeof(k->id), json_object_get(j, "id")) &&
	    strlen(k->id) == KEY_IDLEN &&
	    text(k->name, sizeof(k->name), json_object_get(j, "name")) &&
	    text(k->scope, sizeof(k->scope), json_object_get(j, "scope")) &&
	    (strcmp(k->scope, "read") == 0 || strcmp(k->scope, "use") == 0 ||
	    strcmp(k->scope, "admin") == 0) &&
	    from_hex(k->salt, json_string_value(json_object_get(j, "salt")),
	    KEY_SALTLEN) && from_hex(k->hash, json_string_value(
	    json_object_get(j, "hash")), KEY_HASHLEN));
}

static int
decode_all(const json_t *root, const char *path, struct key_entry **list,
    size_t *n, struct co_error *e)
{
	const json_t *keys = json_object_get(root, "keys");
	struct key_entry *k;
	size_t count = json_array_size(keys);

	if (!json_is_array(keys) || count > KEYS_MAX)
		return (co_error_set(e, CO_ESYS_CONFIG, path,
		    "\"%s\" is no file of keys", path));
	k = calloc(count + 1, sizeof(*k));
	if (k == NULL)
		return (co_error_set(e, CO_ESYS_NOMEM, NULL,
		    "out of memory"));
	for (size_t i = 0; i < count; i++)
		if (!decode(&k[i], json_array_get(keys, i))) {
			free(k);
			return (co_error_set(e, CO_ESYS_CONFIG, path,
			    "\"%s\": key %zu is malformed", path, i + 1));
		}
	*list = k;
	*n = count;
	return (0);
}

int
key_file_load(const char *path, struct key_entry **list, size_t *n,
    struct co_error *e)
{
	json_error_t je;
	json_t *root;
	char *data;
	size_t len;
	int ret;

	*list = NULL;
	*n = 0;
	if (access(path, F_OK) != 0 && errno == ENOENT)
		return (0);
	if (co_file_read(AT_FDCWD, path, FILE_MAX, &data, &len, e) != 0)
		return (-1);
	root = json_loadb(data, len, JSON_REJECT_DUPLICATES, &je);
	free(data);
	if (root == NULL)
		return (co_error_set(e, CO_ESYS_CONFIG, path,
		    "\"%s\": %s at line %d", path, je.text, je.line));
	ret = decode_all(root, path, list, n, e);
	json_decref(root);
	return (ret);
}

static json_t *
encode(const struct key_entry *k)
{
	char salt[2 * KEY_SALTLEN + 1], hash[2 * KEY_HASHLEN + 1];

	to_hex(salt, k->salt, KEY_SALTLEN);
	to_hex(hash, k->hash, KEY_HASHLEN);
	return (json_pack("{s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:I}",
	    "id", k->id, "name", k->name, "scope", k->scope, "salt", salt,
	    "hash", hash, "created", (json_int_t)k->created, "sandboxes",
	    (json_int_t)k->sandboxes, "memory", (json_int_t)k->memory, "rate",
	    (json_int_t)k->rate));
}

/* Whoever may use the directory may read the keys. */
static int
replace(const char *path, const char *data, struct co_error *e)
{
	const char *slash = strrchr(path, '/');
	const struct group *gr = getgrnam("coppice");
	struct stat st;
	char *dir;
	int fd, ret;

	dir = slash != NULL && slash != path ? strndup(path, (size_t)(slash -
	    path)) : strdup("/");
	if (dir == NULL)
		return (co_error_set(e, CO_ESYS_NOMEM, NULL,
		    "out of memory"));
	fd = co_mkdirs(dir, 0750, e);
	free(dir);
	if (fd == -1)
		return (-1);
	if (gr != NULL && geteuid() == 0)
		(void)!fchown(fd, (uid_t)-1, gr->gr_gid);
	ret = co_file_replace(fd, slash + 1, data, strlen(data), 0640, e);
	if (ret == 0 && fstat(fd, &st) == 0)
		(void)!fchownat(fd, slash + 1, (uid_t)-1, st.st_gid,
		    AT_SYMLINK_NOFOLLOW);
	(void)close(fd);
	return (ret);
}

int
key_file_save(const char *path, const struct key_entry *list, size_t n,
    struct co_error *e)
{
	json_t *keys = json_array(), *root;
	char *data;
	int ret;

	for (size_t i = 0; i < n; i++)
		(void)json_array_append_new(keys, encode(&list[i]));
	root = json_pack("{s:o}", "keys", keys);
	data = root != NULL ? json_dumps(root, JSON_INDENT(1)) : NULL;
	json_decref(root);
	if (data == NULL)
		return (co_error_set(e, CO_ESYS_NOMEM, NULL,
		    "out of memory"));
	ret = replace(path, data, e);
	free(data);
	return (ret);
}
