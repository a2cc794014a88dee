/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Manifests: what coppice-template(5) describes, read by the table below and
 * written in one canonical form, since it is part of what names a template.
 */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "template_internal.h"

#define	COUNT(a)	(sizeof(a) / sizeof((a)[0]))
#define	MAXNUMBER	9007199254740992	/* 2^53, as co_conf has it */

static const char *
check_env(const char *s)
{
	const char *eq = strchr(s, '=');

	return (eq != NULL && eq != s ? NULL : "NAME=value");
}

static const char *
check_path(const char *s)
{

	return (*s == '/' ? NULL : "an absolute path");
}

static const struct co_key keys[] = {
	{ .name = "backend", .type = CO_STRING, .dflt = "" },
	{ .name = "user", .type = CO_STRING, .dflt = "root" },
	{ .name = "cwd", .type = CO_STRING, .dflt = "/",
	    .check = check_path },
	{ .name = "env", .type = CO_LIST, .dflt = "", .check = check_env },
	{ .name = "start", .type = CO_LIST, .dflt = "" },
	{ .name = "ready.port", .type = CO_INT, .dflt = "0", .max = 65535 },
	{ .name = "ready.command", .type = CO_LIST, .dflt = "" },
	{ .name = "ready.timeout", .type = CO_SECONDS, .dflt = "30s",
	    .min = 1, .max = 86400000 },
	{ .name = "limits.memory", .type = CO_SIZE, .dflt = "0",
	    .max = MAXNUMBER },
	{ .name = "limits.cpu", .type = CO_INT, .dflt = "0",
	    .max = 1000000 },
	{ .name = "limits.processes", .type = CO_INT, .dflt = "0",
	    .max = 4194304 },
	{ .name = "limits.disk", .type = CO_SIZE, .dflt = "0",
	    .max = MAXNUMBER },
	{ .name = "limits.files", .type = CO_INT, .dflt = "0",
	    .max = 1073741816 },
	{ .name = "size", .type = CO_SIZE, .dflt = "0", .max = MAXNUMBER },
};

char **
template_list_copy(const char *const *list)
{
	char **copy;
	size_t n;

	for (n = 0; list != NULL && list[n] != NULL; n++)
		;
	copy = calloc(n + 1, sizeof(*copy));
	if (copy == NULL)
		return (NULL);
	for (size_t i = 0; i < n; i++) {
		copy[i] = strdup(list[i]);
		if (copy[i] == NULL) {
			template_list_free(copy);
			return (NULL);
		}
	}
	return (copy);
}

void
template_list_free(char **list)
{

	for (char **p = list; p != NULL && *p != NULL; p++)
		free(*p);
	free(list);
}

void
template_free(struct template *t)
{

	if (t == NULL)
		return;
	free(t->name);
	free(t->root);
	free(t->backend);
	free(t->user);
	free(t->cwd);
	template_list_free(t->env);
	template_list_free(t->start);
	template_list_free(t->ready);
	free(t);
}

/* An empty list of a manifest is none, but for the environment. */
static int
keep_list(const struct co_conf *c, const char *key, char ***list)
{
	const char *const *from = co_conf_list(c, key);

	if (from[0] == NULL)
		return (0);
	*list = template_list_copy(from);
	return (*list != NULL ? 0 : -1);
}

static struct template *
from_conf(const struct co_conf *c)
{
	struct template *t;

	t = calloc(1, sizeof(*t));
	if (t == NULL)
		return (NULL);
	t->name = strdup("");
	t->root = strdup("");
	t->backend = strdup(co_conf_string(c, "backend"));
	t->user = strdup(co_conf_string(c, "user"));
	t->cwd = strdup(co_conf_string(c, "cwd"));
	t->env = template_list_copy(co_conf_list(c, "env"));
	if (t->name == NULL || t->root == NULL || t->backend == NULL ||
	    t->user == NULL || t->cwd == NULL || t->env == NULL ||
	    keep_list(c, "start", &t->start) != 0 ||
	    keep_list(c, "ready.command", &t->ready) != 0) {
		template_free(t);
		return (NULL);
	}
	t->ready_port = (uint16_t)co_conf_int(c, "ready.port");
	t->ready_ms = co_conf_int(c, "ready.timeout");
	t->limits.memory = (uint64_t)co_conf_int(c, "limits.memory");
	t->limits.cpu = (uint64_t)co_conf_int(c, "limits.cpu");
	t->limits.procs = (uint64_t)co_conf_int(c, "limits.processes");
	t->limits.disk = (uint64_t)co_conf_int(c, "limits.disk");
	t->limits.files = (uint64_t)co_conf_int(c, "limits.files");
	t->size = (uint64_t)co_conf_int(c, "size");
	return (t);
}

int
template_manifest_read(const char *text, size_t len, const char *name,
    struct template **t, struct co_error *e)
{
	struct co_conf *c;

	*t = NULL;
	if (co_conf_parse(text, len, name, keys, COUNT(keys), &c, e) != 0)
		return (-1);
	*t = from_conf(c);
	co_conf_free(c);
	if (*t == NULL)
		return (co_error_set(e, CO_ESYS_NOMEM, name,
		    "out of memory"));
	if ((*t)->ready_port != 0 && (*t)->ready != NULL) {
		template_free(*t);
		*t = NULL;
		return (co_error_set(e, CO_ESYS_CONFIG, "ready",
		    "%s: ready has both a port and a command; keep one",
		    name));
	}
	return (0);
}

struct template *
template_new(void)
{
	struct template *t;

	if (template_manifest_read("", 0, "manifest", &t, NULL) != 0)
		return (NULL);
	return (t);
}

struct template *
template_copy(const struct template *from)
{
	struct template *t;
	char *text;
	int ret;

	text = template_manifest_text(from);
	if (text == NULL)
		return (NULL);
	ret = template_manifest_read(text, strlen(text), "manifest", &t,
	    NULL);
	free(text);
	return (ret == 0 ? t : NULL);
}

/* As JSON has strings, which the reader of configuration knows too. */
static void
put_string(FILE *f, const char *s)
{

	fputc('"', f);
	for (; *s != '\0'; s++)
		if (*s == '"' || *s == '\\')
			fprintf(f, "\\%c", *s);
		else if ((unsigned char)*s < ' ' || *s == 127)
			fprintf(f, "\\u%04x", (unsigned int)*s);
		else
			fputc(*s, f);
	fputc('"', f);
}

static void
put_text(FILE *f, const char *key, const char *value, const char *dflt)
{

	if (strcmp(value, dflt) == 0)
		return;
	fprintf(f, "%s = ", key);
	put_string(f, value);
	fputs(";\n", f);
}

static void
put_list(FILE *f, const char *key, char *const *list)
{

	if (list == NULL || list[0] == NULL)
		return;
	fprintf(f, "%s = [", key);
	for (size_t i = 0; list[i] != NULL; i++) {
		if (i > 0)
			fputs(", ", f);
		put_string(f, list[i]);
	}
	fputs("];\n", f);
}

static void
put_number(FILE *f, const char *key, uint64_t value)
{

	if (value != 0)
		fprintf(f, "%s = %" PRIu64 ";\n", key, value);
}

static void
put_manifest(FILE *f, const struct template *t)
{

	put_text(f, "backend", t->backend, "");
	put_text(f, "user", t->user, "root");
	put_text(f, "cwd", t->cwd, "/");
	put_list(f, "env", t->env);
	put_list(f, "start", t->start);
	if (t->ready_port != 0 || t->ready != NULL) {
		fputs("ready {\n", f);
		put_number(f, "port", t->ready_port);
		put_list(f, "command", t->ready);
		fprintf(f, "timeout = %" PRId64 "ms;\n", t->ready_ms);
		fputs("}\n", f);
	}
	fputs("limits {\n", f);
	put_number(f, "memory", t->limits.memory);
	put_number(f, "cpu", t->limits.cpu);
	put_number(f, "processes", t->limits.procs);
	put_number(f, "disk", t->limits.disk);
	put_number(f, "files", t->limits.files);
	fputs("}\n", f);
	put_number(f, "size", t->size);
}

char *
template_manifest_text(const struct template *t)
{
	char *text = NULL;
	size_t size;
	bool bad;
	FILE *f;

	f = open_memstream(&text, &size);
	if (f == NULL)
		return (NULL);
	put_manifest(f, t);
	bad = ferror(f) != 0;
	if (fclose(f) != 0 || bad) {
		free(text);
		return (NULL);
	}
	return (text);
}
