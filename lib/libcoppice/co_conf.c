/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Configuration values: what co_ucl.c read, checked against a table of
 * keys.  Nothing outside this file converts text of a configuration.
 */

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "co_ucl.h"

struct value {
	bool	 set;
	int64_t	 number;
	char	*string;
	char	**list;
};

struct co_conf {
	const struct co_key	*keys;
	size_t			 nkeys;
	struct value		*values;
};

/* What a reading in progress needs to know. */
struct load {
	struct co_conf	*c;
	const char	*name;
};

struct suffix {
	const char	*name;
	double		 factor;
};

/* As UCL has them: k is a thousand, kb is 1024. */
static const struct suffix sizes[] = {
	{ "", 1 }, { "k", 1e3 }, { "m", 1e6 }, { "g", 1e9 },
	{ "b", 1 }, { "kb", 1024 }, { "mb", 1048576 }, { "gb", 1073741824 },
	{ NULL, 0 }
};
static const struct suffix times[] = {
	{ "", 1e3 }, { "ms", 1 }, { "s", 1e3 }, { "min", 6e4 },
	{ "h", 3.6e6 }, { "d", 8.64e7 }, { "w", 6.048e8 }, { NULL, 0 }
};

static int
number(const char *s, const struct suffix *suffixes, int64_t *out)
{
	char *end;
	double v;

	errno = 0;
	v = strtod(s, &end);
	if (end == s || errno != 0 || !isfinite(v) ||
	    strspn(s, "+-.0123456789") != (size_t)(end - s))
		return (-1);
	for (; suffixes->name != NULL; suffixes++)
		if (strcasecmp(end, suffixes->name) == 0)
			break;
	if (suffixes->name == NULL)
		return (-1);
	v = v * suffixes->factor;
	if (v != floor(v) || fabs(v) > 9007199254740992.0)
		return (-1);
	*out = (int64_t)v;
	return (0);
}

static int
integer(const char *s, int64_t *out)
{
	char *end;
	long long v;

	errno = 0;
	v = strtoll(s, &end, 10);
	if (end == s || *end != '\0' || errno != 0)
		return (-1);
	*out = v;
	return (0);
}

static int
boolean(const char *s, int64_t *out)
{
	static const char *const words[] = {
		"false", "true", "no", "yes", "off", "on"
	};

	for (int i = 0; i < 6; i++)
		if (strcasecmp(s, words[i]) == 0) {
			*out = i & 1;
			return (0);
		}
	return (-1);
}

/* Whether s is one of the words that '|' separates in words. */
static bool
oneof(const char *s, const char *words)
{
	size_t n = strlen(s), len;

	for (;; words += len + 1) {
		len = strcspn(words, "|");
		if (len == n && memcmp(words, s, n) == 0)
			return (true);
		if (words[len] == '\0')
			return (false);
	}
}

/* Say in buf what a key expects. */
static void
expected(const struct co_key *k, char *buf, size_t size)
{
	const char *unit = "";
	double by = 1;

	switch (k->type) {
	case CO_BOOL:
		snprintf(buf, size, "true or false");
		return;
	case CO_ENUM:
		snprintf(buf, size, "one of %s", k->words);
		return;
	case CO_STRING:
		snprintf(buf, size, "a string");
		return;
	case CO_LIST:
		snprintf(buf, size, "a list of strings");
		return;
	case CO_INT:
		break;
	case CO_SIZE:
		unit = " bytes, such as 64mb";
		break;
	case CO_SECONDS:
		unit = " seconds, such as 30s or 5min";
		by = 1000;
		break;
	}
	snprintf(buf, size, "a number from %.15g to %.15g%s",
	    (double)k->min / by, (double)k->max / by, unit);
}

static int
refuse(const struct load *l, const struct co_ucl_pair *p,
    const struct co_key *k, const char *got, const char *why,
    struct co_error *e)
{
	char want[256];

	if (why == NULL) {
		expected(k, want, sizeof(want));
		why = want;
	}
	return (co_error_set(e, CO_ESYS_CONFIG, p->key,
	    "%s:%u: %s: \"%s\" is not valid; expected %s", l->name, p->line,
	    p->key, got, why));
}

/* Convert text of the key k into v; false if it is not what k expects. */
static bool
convert(const struct co_key *k, const struct co_ucl_value *u, struct value *v)
{
	int error = 0;

	switch (k->type) {
	case CO_STRING:
	case CO_LIST:
		return (true);
	case CO_ENUM:
		return (oneof(u->text, k->words));
	case CO_BOOL:
		return (!u->quoted && boolean(u->text, &v->number) == 0);
	case CO_INT:
		error = integer(u->text, &v->number);
		break;
	case CO_SIZE:
		error = number(u->text, sizes, &v->number);
		break;
	case CO_SECONDS:
		error = number(u->text, times, &v->number);
		break;
	}
	return (!u->quoted && error == 0 && v->number >= k->min &&
	    v->number <= k->max);
}

static void
value_free(struct value *v)
{

	free(v->string);
	for (char **p = v->list; p != NULL && *p != NULL; p++)
		free(*p);
	free(v->list);
	v->string = NULL;
	v->list = NULL;
}

/* Keep the n texts of a key as its string or list. */
static int
keep(struct value *v, enum co_type type, const struct co_ucl_value *u,
    size_t n)
{

	value_free(v);
	if (type != CO_LIST) {
		v->string = strdup(u->text);
		return (v->string != NULL ? 0 : -1);
	}
	v->list = calloc(n + 1, sizeof(*v->list));
	if (v->list == NULL)
		return (-1);
	for (size_t i = 0; i < n; i++) {
		v->list[i] = strdup(u[i].text);
		if (v->list[i] == NULL)
			return (-1);
	}
	return (0);
}

static size_t
find(const struct co_conf *c, const char *name)
{
	size_t i;

	for (i = 0; i < c->nkeys; i++)
		if (strcmp(c->keys[i].name, name) == 0)
			break;
	return (i);
}

/* The known key that shares most with an unknown one, for the message. */
static const char *
nearest(const struct co_conf *c, const char *name)
{
	const char *best = NULL;
	size_t most = 2, n;

	for (size_t i = 0; i < c->nkeys; i++) {
		for (n = 0; name[n] != '\0' &&
		    name[n] == c->keys[i].name[n]; n++)
			;
		if (n > most) {
			most = n;
			best = c->keys[i].name;
		}
	}
	return (best);
}

static int
unknown(const struct load *l, const struct co_ucl_pair *p, struct co_error *e)
{
	const char *near = nearest(l->c, p->key);

	return (co_error_set(e, CO_ESYS_CONFIG, p->key,
	    "%s:%u: unknown key \"%s\"%s%s%s; expected one of those in "
	    "coppice.conf(5)", l->name, p->line, p->key,
	    near != NULL ? " (did you mean \"" : "",
	    near != NULL ? near : "", near != NULL ? "\"?)" : ""));
}

static int
take(void *arg, const struct co_ucl_pair *p, struct co_error *e)
{
	struct load *l = arg;
	size_t i = find(l->c, p->key);
	const struct co_key *k = &l->c->keys[i];
	struct value *v = &l->c->values[i];
	const char *why;

	if (i == l->c->nkeys)
		return (unknown(l, p, e));
	if (v->set)
		return (co_error_set(e, CO_ESYS_CONFIG, p->key,
		    "%s:%u: \"%s\" is given twice; keep one", l->name,
		    p->line, p->key));
	if (p->list && k->type != CO_LIST)
		return (refuse(l, p, k, "[...]", NULL, e));
	for (size_t j = 0; j < p->nvalues; j++) {
		if (!convert(k, &p->values[j], v))
			return (refuse(l, p, k, p->values[j].text, NULL, e));
		why = k->check == NULL ? NULL : k->check(p->values[j].text);
		if (why != NULL)
			return (refuse(l, p, k, p->values[j].text, why, e));
	}
	if (keep(v, k->type, p->values, p->nvalues) != 0)
		return (co_error_set(e, CO_ESYS_NOMEM, p->key,
		    "out of memory"));
	v->set = true;
	return (0);
}

/* Give the key its default, which is a programming error if not valid. */
static int
preset(const struct co_key *k, struct value *v)
{
	struct co_ucl_value words[16];
	char *copy, *p, *last;
	size_t n = 0;
	int ret;

	copy = strdup(k->dflt);
	if (copy == NULL)
		return (-1);
	if (k->type != CO_LIST) {
		words[0] = (struct co_ucl_value){ .text = copy };
		if (!convert(k, &words[0], v))
			abort();
		n = 1;
	} else
		for (p = strtok_r(copy, " ", &last); p != NULL && n < 16;
		    p = strtok_r(NULL, " ", &last))
			words[n++] = (struct co_ucl_value){ .text = p };
	ret = keep(v, k->type, words, n);
	free(copy);
	return (ret);
}

int
co_conf_parse(const char *text, size_t len, const char *name,
    const struct co_key *keys, size_t nkeys, struct co_conf **out,
    struct co_error *e)
{
	struct co_conf *c;
	struct load l = { .name = name };

	c = calloc(1, sizeof(*c));
	if (c == NULL)
		goto err0;
	c->keys = keys;
	c->nkeys = nkeys;
	c->values = calloc(nkeys, sizeof(*c->values));
	if (c->values == NULL)
		goto err1;
	for (size_t i = 0; i < nkeys; i++)
		if (preset(&keys[i], &c->values[i]) != 0)
			goto err1;
	l.c = c;
	if (co_ucl_read(text, len, name, take, &l, e) != 0) {
		co_conf_free(c);
		return (-1);
	}
	*out = c;
	return (0);

err1:
	co_conf_free(c);
err0:
	return (co_error_set(e, CO_ESYS_NOMEM, name, "out of memory"));
}

/* The value of a key that must exist and be of one of two types. */
static const struct value *
get(const struct co_conf *c, const char *name, unsigned int types)
{
	size_t i = find(c, name);

	if (i == c->nkeys || (types & 1U << c->keys[i].type) == 0)
		abort();
	return (&c->values[i]);
}

bool
co_conf_bool(const struct co_conf *c, const char *name)
{

	return (get(c, name, 1U << CO_BOOL)->number != 0);
}

int64_t
co_conf_int(const struct co_conf *c, const char *name)
{

	return (get(c, name, 1U << CO_INT | 1U << CO_SIZE |
	    1U << CO_SECONDS)->number);
}

const char *
co_conf_string(const struct co_conf *c, const char *name)
{

	return (get(c, name, 1U << CO_STRING | 1U << CO_ENUM)->string);
}

const char *const *
co_conf_list(const struct co_conf *c, const char *name)
{

	return ((const char *const *)get(c, name, 1U << CO_LIST)->list);
}

bool
co_conf_isset(const struct co_conf *c, const char *name)
{

	return (get(c, name, ~0U)->set);
}

void
co_conf_free(struct co_conf *c)
{

	if (c == NULL)
		return;
	for (size_t i = 0; c->values != NULL && i < c->nkeys; i++)
		value_free(&c->values[i]);
	free(c->values);
	free(c);
}
