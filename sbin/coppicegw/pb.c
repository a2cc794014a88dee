/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Protocol buffers by tables.
 */

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "buf.h"
#include "pb.h"

#define	DEPTH	16

enum wire { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };

struct in {
	const unsigned char *p, *end;
};

static json_t *decode(const struct pb_message *, struct in, int);
static json_t *take(const struct pb_message *, const json_t *, int);

/*
 * Bytes in.
 */
static int
varint(struct in *in, uint64_t *v)
{

	*v = 0;
	for (unsigned int shift = 0; shift < 64 && in->p < in->end;
	    shift += 7) {
		*v |= (uint64_t)(*in->p & 127) << shift;
		if ((*in->p++ & 128) == 0)
			return (0);
	}
	return (-1);
}

static int
bytes(struct in *in, struct in *out)
{
	uint64_t n;

	if (varint(in, &n) != 0 || n > (uint64_t)(in->end - in->p))
		return (-1);
	out->p = in->p;
	out->end = in->p + n;
	in->p += n;
	return (0);
}

static int
skip(struct in *in, unsigned int wire)
{
	struct in junk;
	uint64_t v;
	ptrdiff_t n;

	if (wire == WIRE_VARINT)
		return (varint(in, &v));
	if (wire == WIRE_BYTES)
		return (bytes(in, &junk));
	n = wire == WIRE_64 ? 8 : wire == WIRE_32 ? 4 : -1;
	if (n < 0 || in->end - in->p < n)
		return (-1);
	in->p += n;
	return (0);
}

/* Of a longer number, the lower half counts. */
static json_t *
enum_name(const struct pb_value *v, uint64_t number)
{
	int32_t n = (int32_t)(uint32_t)(number & UINT32_MAX);

	for (; v->name != NULL; v++)
		if ((int32_t)v->number == n)
			return (json_string(v->name));
	return (json_integer(n));
}

static json_t *
number(const struct pb_field *f, uint64_t v)
{
	char text[24];

	switch (f->type) {
	case PB_BOOL:
		return (json_boolean(v != 0));
	case PB_ENUM:
		return (enum_name(f->values, v));
	case PB_SINT32:
		return (json_integer((json_int_t)((int64_t)(v >> 1) ^
		    -(int64_t)(v & 1))));
	case PB_INT64:
		(void)snprintf(text, sizeof(text), "%" PRId64, (int64_t)v);
		return (json_string(text));
	default:
		return (json_integer((json_int_t)(v & UINT32_MAX)));
	}
}

static json_t *
text(struct in in)
{

	return (json_stringn((const char *)in.p, (size_t)(in.end - in.p)));
}

static json_t *
base64(struct in in)
{
	struct buf b = { 0 };
	json_t *j;

	buf_base64(&b, in.p, (size_t)(in.end - in.p));
	j = b.failed ? NULL : json_stringn(b.p != NULL ? b.p : "", b.len);
	buf_free(&b);
	return (j);
}

static const struct pb_field pair_fields[] = {
	{ 1, "key", PB_STRING, false, NULL, NULL },
	{ 2, "value", PB_STRING, false, NULL, NULL },
	{ 0, NULL, PB_STRING, false, NULL, NULL }
};
static const struct pb_message pair = { pair_fields };

static const struct pb_field time_fields[] = {
	{ 1, "seconds", PB_INT64, false, NULL, NULL },
	{ 2, "nanos", PB_UINT32, false, NULL, NULL },
	{ 0, NULL, PB_STRING, false, NULL, NULL }
};
static const struct pb_message timestamp = { time_fields };

/* A field of bytes; NULL if it is malformed. */
static json_t *
lump(const struct pb_field *f, struct in in, int depth)
{

	switch (f->type) {
	case PB_STRING:
		return (text(in));
	case PB_BYTES:
		return (base64(in));
	case PB_MESSAGE:
		return (decode(f->sub, in, depth + 1));
	default:
		return (NULL);
	}
}

static int
put(json_t *j, const struct pb_field *f, json_t *v)
{
	json_t *list;

	if (v == NULL)
		return (-1);
	if (!f->repeated)
		return (json_object_set_new(j, f->name, v));
	list = json_object_get(j, f->name);
	if (list == NULL) {
		list = json_array();
		if (json_object_set_new(j, f->name, list) != 0) {
			json_decref(v);
			return (-1);
		}
	}
	return (json_array_append_new(list, v));
}

static int
put_pair(json_t *j, const struct pb_field *f, struct in in)
{
	json_t *kv = decode(&pair, in, DEPTH - 1), *map, *v;
	const char *key;
	int ret;

	if (kv == NULL)
		return (-1);
	map = json_object_get(j, f->name);
	if (map == NULL) {
		map = json_object();
		(void)json_object_set_new(j, f->name, map);
	}
	key = json_string_value(json_object_get(kv, "key"));
	v = json_object_get(kv, "value");
	ret = json_object_set_new(map, key != NULL ? key : "", v != NULL ?
	    json_incref(v) : json_string(""));
	json_decref(kv);
	return (ret);
}

static int
decode_field(json_t *j, const struct pb_field *f, unsigned int wire,
    struct in *in, int depth)
{
	bool num = f->type == PB_BOOL || f->type == PB_ENUM ||
	    f->type == PB_SINT32 || f->type == PB_INT64 ||
	    f->type == PB_UINT32;
	struct in part;
	uint64_t v;

	if (wire != (num ? WIRE_VARINT : WIRE_BYTES))
		return (-1);
	if (num)
		return (varint(in, &v) != 0 ? -1 : put(j, f, number(f, v)));
	if (bytes(in, &part) != 0)
		return (-1);
	if (f->type == PB_MAP)
		return (put_pair(j, f, part));
	return (put(j, f, lump(f, part, depth)));
}

static const struct pb_field *
field_of(const struct pb_message *m, uint64_t n)
{
	const struct pb_field *f;

	for (f = m->fields; f->number != 0; f++)
		if (f->number == n)
			return (f);
	return (NULL);
}

static json_t *
decode(const struct pb_message *m, struct in in, int depth)
{
	const struct pb_field *f;
	json_t *j = json_object();
	uint64_t key;
	int ret = depth > DEPTH ? -1 : 0;

	while (ret == 0 && in.p < in.end) {
		if (varint(&in, &key) != 0)
			ret = -1;
		else if ((f = field_of(m, key >> 3)) != NULL)
			ret = decode_field(j, f, key & 7, &in, depth);
		else
			ret = skip(&in, key & 7);
	}
	if (ret == 0)
		return (j);
	json_decref(j);
	return (NULL);
}

json_t *
pb_decode(const struct pb_message *m, const void *data, size_t len)
{
	const unsigned char *p = data;
	struct in in = { p, p };

	/* An empty message may come without any bytes. */
	if (len > 0)
		in.end = p + len;
	return (decode(m, in, 0));
}

/*
 * JSON in.
 */
static void
snake(char *to, size_t size, const char *name)
{
	size_t n = 0;

	for (; *name != '\0' && n + 3 < size; name++) {
		if (isupper((unsigned char)*name))
			to[n++] = '_';
		to[n++] = (char)tolower((unsigned char)*name);
	}
	to[n] = '\0';
}

static json_t *
take_number(const json_t *j, bool wide)
{
	const char *s = json_string_value(j);
	char *end, out[24];
	long long v;

	if (json_is_integer(j))
		v = json_integer_value(j);
	else if (s != NULL && *s != '\0' && strlen(s) < 21) {
		errno = 0;
		v = strtoll(s, &end, 10);
		if (*end != '\0' || errno != 0)
			return (NULL);
	} else
		return (NULL);
	if (!wide)
		return (v < INT32_MIN || v > UINT32_MAX ? NULL :
		    json_integer(v));
	(void)snprintf(out, sizeof(out), "%lld", v);
	return (json_string(out));
}

static json_t *
take_enum(const struct pb_value *values, const json_t *j)
{
	const char *s = json_string_value(j);

	if (json_is_integer(j) && json_integer_value(j) >= 0)
		return (enum_name(values, (uint64_t)json_integer_value(j)));
	for (; s != NULL && values->name != NULL; values++)
		if (strcmp(values->name, s) == 0)
			return (json_string(s));
	return (NULL);
}

static json_t *
take_map(const json_t *j)
{
	const char *key;
	const json_t *v;

	if (!json_is_object(j))
		return (NULL);
	json_object_foreach((json_t *)(uintptr_t)j, key, v)
		if (!json_is_string(v))
			return (NULL);
	return (json_copy((json_t *)(uintptr_t)j));
}

static json_t *
take_one(const struct pb_field *f, const json_t *j, int depth)
{

	switch (f->type) {
	case PB_STRING:
	case PB_BYTES:
	case PB_TIME:
		return (json_is_string(j) ? json_copy((json_t *)(uintptr_t)j)
		    : NULL);
	case PB_BOOL:
		return (json_is_boolean(j) ? json_boolean(json_is_true(j)) :
		    NULL);
	case PB_UINT32:
	case PB_SINT32:
		return (take_number(j, false));
	case PB_INT64:
		return (take_number(j, true));
	case PB_ENUM:
		return (take_enum(f->values, j));
	case PB_MAP:
		return (take_map(j));
	case PB_MESSAGE:
		return (take(f->sub, j, depth + 1));
	}
	return (NULL);
}

static int
take_field(json_t *to, const struct pb_field *f, const json_t *v, int depth)
{
	const json_t *item;
	size_t i;

	if (!f->repeated)
		return (put(to, f, take_one(f, v, depth)));
	if (!json_is_array(v))
		return (-1);
	json_array_foreach((json_t *)(uintptr_t)v, i, item)
		if (put(to, f, take_one(f, item, depth)) != 0)
			return (-1);
	return (0);
}

static json_t *
take(const struct pb_message *m, const json_t *j, int depth)
{
	const struct pb_field *f;
	const json_t *v;
	json_t *to;
	char other[64];

	if (!json_is_object(j) || depth > DEPTH)
		return (NULL);
	to = json_object();
	for (f = m->fields; f->number != 0; f++) {
		v = json_object_get(j, f->name);
		if (v == NULL) {
			snake(other, sizeof(other), f->name);
			v = json_object_get(j, other);
		}
		if (v == NULL || json_is_null(v))
			continue;
		if (take_field(to, f, v, depth) != 0) {
			json_decref(to);
			return (NULL);
		}
	}
	return (to);
}

json_t *
pb_take(const struct pb_message *m, const json_t *j)
{

	return (take(m, j, 0));
}

/*
 * Bytes out.
 */
static void
add_varint(struct buf *b, uint64_t v)
{
	unsigned char c;

	do {
		c = (unsigned char)((v & 127) | (v > 127 ? 128 : 0));
		buf_add(b, &c, 1);
		v >>= 7;
	} while (v != 0);
}

static void
add_bytes(struct buf *b, uint32_t n, const void *data, size_t len)
{

	add_varint(b, (uint64_t)n << 3 | WIRE_BYTES);
	add_varint(b, len);
	buf_add(b, data, len);
}

static uint64_t
number_of(const struct pb_field *f, const json_t *j)
{
	const struct pb_value *v;
	json_int_t n = json_integer_value(j);

	switch (f->type) {
	case PB_BOOL:
		return (json_is_true(j));
	case PB_ENUM:
		for (v = f->values; json_is_string(j) && v->name != NULL; v++)
			if (strcmp(v->name, json_string_value(j)) == 0)
				return (v->number);
		return ((uint64_t)n);
	case PB_SINT32:
		return (((uint64_t)n << 1) ^ (n < 0 ? UINT64_MAX : 0));
	case PB_INT64:
		return (json_is_string(j) ? (uint64_t)strtoll(
		    json_string_value(j), NULL, 10) : (uint64_t)n);
	default:
		return ((uint64_t)n & UINT32_MAX);
	}
}

static int
add_base64(struct buf *b, const struct pb_field *f, const json_t *j)
{
	char *data;
	size_t len;

	if (base64_decode(json_string_value(j), json_string_length(j), &data,
	    &len) != 0)
		return (-1);
	add_bytes(b, f->number, data, len);
	free(data);
	return (0);
}

static int
add_message(struct buf *b, const struct pb_field *f,
    const struct pb_message *m, const json_t *j)
{
	struct buf part = { 0 };
	int ret = pb_encode(m, j, &part);

	if (ret == 0)
		add_bytes(b, f->number, part.p, part.len);
	buf_free(&part);
	return (ret);
}

/* 2026-01-31T23:59:59.000001Z */
static int
add_time(struct buf *b, const struct pb_field *f, const json_t *j)
{
	const char *end;
	struct tm tm = { 0 };
	long nanos = 0;
	char secs[24];
	json_t *t;
	int ret;

	end = strptime(json_string_value(j), "%Y-%m-%dT%H:%M:%S", &tm);
	if (end == NULL)
		return (-1);
	if (*end == '.')
		for (long unit = 100000000; isdigit((unsigned char)*++end);
		    unit /= 10)
			nanos += unit * (*end - '0');
	(void)snprintf(secs, sizeof(secs), "%lld", (long long)timegm(&tm));
	t = json_pack("{s:s, s:I}", "seconds", secs, "nanos",
	    (json_int_t)nanos);
	ret = add_message(b, f, &timestamp, t);
	json_decref(t);
	return (ret);
}

static int
add_map(struct buf *b, const struct pb_field *f, const json_t *j)
{
	const char *key;
	const json_t *v;
	json_t *kv;
	int ret = 0;

	json_object_foreach((json_t *)(uintptr_t)j, key, v) {
		kv = json_pack("{s:s, s:O}", "key", key, "value", v);
		ret |= add_message(b, f, &pair, kv);
		json_decref(kv);
	}
	return (ret);
}

static int
add_one(struct buf *b, const struct pb_field *f, const json_t *j)
{

	switch (f->type) {
	case PB_STRING:
		add_bytes(b, f->number, json_string_value(j),
		    json_string_length(j));
		return (json_is_string(j) ? 0 : -1);
	case PB_BYTES:
		return (json_is_string(j) ? add_base64(b, f, j) : -1);
	case PB_MESSAGE:
		return (add_message(b, f, f->sub, j));
	case PB_TIME:
		return (json_is_string(j) ? add_time(b, f, j) : -1);
	case PB_MAP:
		return (add_map(b, f, j));
	default:
		add_varint(b, (uint64_t)f->number << 3 | WIRE_VARINT);
		add_varint(b, number_of(f, j));
		return (0);
	}
}

int
pb_encode(const struct pb_message *m, const json_t *j, struct buf *b)
{
	const struct pb_field *f;
	const json_t *v, *item;
	size_t i;

	for (f = m->fields; f->number != 0; f++) {
		v = json_object_get(j, f->name);
		if (v == NULL || json_is_null(v))
			continue;
		if (!f->repeated) {
			if (add_one(b, f, v) != 0)
				return (-1);
			continue;
		}
		json_array_foreach((json_t *)(uintptr_t)v, i, item)
			if (add_one(b, f, item) != 0)
				return (-1);
	}
	return (b->failed ? -1 : 0);
}
