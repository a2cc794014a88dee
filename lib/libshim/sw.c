/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Decoding and encoding of messages by the tables.  This is the one place
 * where what the other side sent is checked for its form; the bytes may
 * come from an enemy.
 */

#include <errno.h>
#include <string.h>

#include "sw_table.h"

/* The index of s among words separated by '|', or -1. */
static int
word_index(const char *words, const char *s, size_t n)
{
	int i = 0;

	for (const char *w = words;; w++, i++) {
		size_t len = strcspn(w, "|");

		if (len == n && memcmp(w, s, n) == 0)
			return (i);
		w += len;
		if (*w == '\0')
			return (-1);
	}
}

/* The word with the given index; its length in n. */
static const char *
word_at(const char *words, int64_t i, size_t *n)
{

	for (; i > 0; i--)
		words += strcspn(words, "|") + 1;
	*n = strcspn(words, "|");
	return (words);
}

static void
mark(struct sw_msg *m, enum sw_field f)
{

	m->set[f / 64] |= UINT64_C(1) << f % 64;
}

bool
sw_has(const struct sw_msg *m, enum sw_field f)
{

	return ((m->set[f / 64] >> f % 64 & 1) != 0);
}

static bool
plain(const struct sj_val *v, int64_t max)
{

	return (v->type == SJ_STR && v->len <= (size_t)max &&
	    memchr(v->str, '\0', v->len) == NULL);
}

static bool
within(const struct sj_val *v, const struct sw_fielddef *d)
{

	return (v->type == SJ_INT && v->num >= d->min && v->num <= d->max);
}

/* A variable's name: something, and no '=' in it. */
static bool
is_key(const struct sj_val *v)
{

	return (v->len > 0 && plain(v, 256) &&
	    memchr(v->str, '=', v->len) == NULL);
}

static bool
take_list(struct sw_list *l, const struct sj_val *v,
    const struct sw_fielddef *d)
{
	bool map = d->kind == SW_MAP;

	if (v->type != (map ? SJ_OBJ : SJ_ARR))
		return (false);
	*l = (struct sw_list){ .val = v + 1, .n = v->count };
	for (size_t i = 0; i < l->n; i++) {
		const struct sj_val *item = l->val + (map ? 2 * i + 1 : i);

		/* Only a scalar takes one place; look before going on. */
		if (d->kind == SW_NUMS ? !within(item, d) :
		    !plain(item, d->max))
			return (false);
		if (map && !is_key(item - 1))
			return (false);
	}
	return (true);
}

static bool
take(struct sw_msg *m, enum sw_field f, const struct sj_val *v)
{
	const struct sw_fielddef *d = &sw_fields[f];
	union sw_val *to = &m->val[f];

	switch (d->kind) {
	case SW_NUM:
		to->num = v->num;
		return (within(v, d));
	case SW_BOOL:
		to->num = v->num;
		return (v->type == SJ_BOOL);
	case SW_WORD:
		if (v->type != SJ_STR)
			return (false);
		to->num = word_index(d->words, v->str, v->len);
		return (to->num != -1);
	case SW_STR:
		to->str = (struct sw_str){ v->str, v->len };
		return (plain(v, d->max));
	case SW_BYTES:
		to->str = (struct sw_str){ v->str, v->len };
		return (v->type == SJ_STR && v->len <= (size_t)d->max);
	case SW_LIST:
	case SW_NUMS:
	case SW_MAP:
		return (take_list(&to->list, v, d));
	}
	return (false);
}

static enum sw_field
find_field(const uint8_t *list, const struct sj_val *key)
{

	for (; *list != F_NONE; list++)
		if (strcmp(sw_fields[*list].name, key->str) == 0)
			return (*list);
	return (F_NONE);
}

static int
refuse(struct sw_msg *m, enum sw_field f, const char *why)
{

	m->which = f;
	m->why = why;
	return (EINVAL);
}

static enum sw_type
find_type(const struct sj_doc *doc, unsigned from)
{
	const struct sj_val *v = NULL;

	for (uint32_t i = 1; i < doc->n; i = doc->val[i + 1].next)
		if (strcmp(doc->val[i].str, "type") == 0) {
			v = &doc->val[i + 1];
			break;
		}
	if (v == NULL || v->type != SJ_STR)
		return (W_NONE);
	for (int t = W_NONE + 1; t < W_MAX; t++)
		if ((sw_types[t].from & from) != 0 &&
		    strlen(sw_types[t].name) == v->len &&
		    strcmp(sw_types[t].name, v->str) == 0)
			return ((enum sw_type)t);
	return (W_NONE);
}

static int
take_member(struct sw_msg *m, const struct sj_val *key, bool *typed)
{
	const struct sw_typedef *t = &sw_types[m->type];
	enum sw_field f;

	if (memchr(key->str, '\0', key->len) != NULL)
		return (refuse(m, F_NONE, "unknown field"));
	if (strcmp(key->str, "type") == 0) {
		if (*typed)
			return (refuse(m, F_NONE, "two types"));
		*typed = true;
		return (0);
	}
	if ((f = find_field(t->need, key)) == F_NONE &&
	    (f = find_field(t->may, key)) == F_NONE)
		return (refuse(m, F_NONE, "unknown field"));
	if (sw_has(m, f))
		return (refuse(m, f, "field given twice"));
	mark(m, f);
	if (!take(m, f, key + 1))
		return (refuse(m, f, "bad value"));
	return (0);
}

int
sw_decode(struct sw_msg *m, struct sj_doc *doc, char *line, size_t len,
    enum sw_from from)
{
	bool typed = false;
	int error;

	m->type = W_NONE;
	m->set[0] = m->set[1] = 0;
	m->which = F_NONE;
	m->why = "not a JSON object";
	if ((error = sj_parse(doc, line, len)) != 0)
		return (error);
	if (doc->val[0].type != SJ_OBJ)
		return (EINVAL);
	if ((m->type = find_type(doc, from)) == W_NONE)
		return (refuse(m, F_NONE, "unknown type of message"));
	for (uint32_t i = 1; i < doc->n; i = doc->val[i + 1].next)
		if ((error = take_member(m, &doc->val[i], &typed)) != 0)
			return (error);
	for (const uint8_t *f = sw_types[m->type].need; *f != F_NONE; f++)
		if (!sw_has(m, *f))
			return (refuse(m, *f, "field missing"));
	if (sw_has(m, F_BYTES) && sw_has(m, F_DATA))
		return (refuse(m, F_DATA, "both bytes and data"));
	m->why = NULL;
	return (0);
}

/* What the other side would refuse is not sent. */
static void
put_num(struct sj_out *o, const char *name, const struct sw_fielddef *d,
    int64_t n)
{

	if (n < d->min || n > d->max)
		o->bad = true;
	sj_int(o, name, n);
}

static void
put_str(struct sj_out *o, const char *name, const struct sw_fielddef *d,
    const char *s, size_t n)
{

	if (n > (size_t)d->max)
		o->bad = true;
	sj_str(o, name, s, n);
}

/* One variable: decoded into two values, or given as "K=V". */
static void
put_pair(struct sj_out *o, const struct sw_fielddef *d,
    const struct sw_list *l, size_t i)
{
	char key[257];
	const char *s;
	size_t n;

	if (l->vec == NULL) {
		put_str(o, l->val[2 * i].str, d, l->val[2 * i + 1].str,
		    l->val[2 * i + 1].len);
		return;
	}
	s = l->vec[i];
	n = strcspn(s, "=");
	if (n == 0 || n >= sizeof(key) || s[n] == '\0') {
		o->bad = true;
		return;
	}
	memcpy(key, s, n);
	key[n] = '\0';
	put_str(o, key, d, s + n + 1, strlen(s + n + 1));
}

static void
put_list(struct sj_out *o, const struct sw_fielddef *d,
    const struct sw_list *l)
{
	const char *s;

	sj_open(o, d->name, d->kind == SW_MAP ? '{' : '[');
	for (size_t i = 0; i < l->n; i++) {
		if (d->kind == SW_NUMS)
			put_num(o, NULL, d, l->nums != NULL ? l->nums[i] :
			    l->val[i].num);
		else if (d->kind == SW_MAP)
			put_pair(o, d, l, i);
		else {
			s = l->vec != NULL ? l->vec[i] : l->val[i].str;
			put_str(o, NULL, d, s, strlen(s));
		}
	}
	sj_close(o, d->kind == SW_MAP ? '}' : ']');
}

static void
put_field(struct sj_out *o, const struct sw_msg *m, enum sw_field f)
{
	const struct sw_fielddef *d = &sw_fields[f];
	const union sw_val *v = &m->val[f];
	const char *s;
	size_t n;

	switch (d->kind) {
	case SW_NUM:
		put_num(o, d->name, d, v->num);
		break;
	case SW_BOOL:
		sj_bool(o, d->name, v->num != 0);
		break;
	case SW_STR:
	case SW_BYTES:
		put_str(o, d->name, d, v->str.p, v->str.n);
		break;
	case SW_WORD:
		s = word_at(d->words, v->num, &n);
		sj_str(o, d->name, s, n);
		break;
	case SW_LIST:
	case SW_NUMS:
	case SW_MAP:
		put_list(o, d, &v->list);
		break;
	}
}

int
sw_encode(const struct sw_msg *m, char *buf, size_t cap, size_t *len)
{
	const struct sw_typedef *t = &sw_types[m->type];
	struct sj_out o;

	if (cap == 0)
		return (EMSGSIZE);
	sj_init(&o, buf, cap - 1);
	sj_open(&o, NULL, '{');
	sj_str(&o, "type", t->name, strlen(t->name));
	for (const uint8_t *f = t->need; *f != F_NONE; f++)
		put_field(&o, m, *f);
	for (const uint8_t *f = t->may; *f != F_NONE; f++)
		if (sw_has(m, *f))
			put_field(&o, m, *f);
	sj_close(&o, '}');
	if (o.bad)
		return (EMSGSIZE);
	buf[o.len] = '\n';
	*len = o.len + 1;
	return (0);
}

void
sw_init(struct sw_msg *m, enum sw_type t)
{

	m->type = t;
	m->set[0] = m->set[1] = 0;
	m->why = NULL;
	m->which = F_NONE;
}

void
sw_set_num(struct sw_msg *m, enum sw_field f, int64_t n)
{

	mark(m, f);
	m->val[f].num = n;
}

void
sw_set_bytes(struct sw_msg *m, enum sw_field f, const void *p, size_t n)
{

	mark(m, f);
	m->val[f].str = (struct sw_str){ p, n };
}

void
sw_set_str(struct sw_msg *m, enum sw_field f, const char *s)
{

	sw_set_bytes(m, f, s, strlen(s));
}

void
sw_set_vec(struct sw_msg *m, enum sw_field f, const char *const *v,
    size_t n)
{

	mark(m, f);
	m->val[f].list = (struct sw_list){ .vec = v, .n = n };
}

void
sw_set_nums(struct sw_msg *m, enum sw_field f, const int64_t *v,
    size_t n)
{

	mark(m, f);
	m->val[f].list = (struct sw_list){ .nums = v, .n = n };
}

int64_t
sw_num(const struct sw_msg *m, enum sw_field f, int64_t dflt)
{

	return (sw_has(m, f) ? m->val[f].num : dflt);
}

const char *
sw_str(const struct sw_msg *m, enum sw_field f, const char *dflt)
{

	return (sw_has(m, f) ? m->val[f].str.p : dflt);
}

struct sw_list
sw_list(const struct sw_msg *m, enum sw_field f)
{

	if (!sw_has(m, f))
		return ((struct sw_list){ .n = 0 });
	return (m->val[f].list);
}

const char *
sw_type_name(enum sw_type t)
{

	return (t == W_NONE ? "none" : sw_types[t].name);
}

const char *
sw_field_name(enum sw_field f)
{

	return (f == F_NONE ? "" : sw_fields[f].name);
}
