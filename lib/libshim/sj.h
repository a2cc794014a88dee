/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The JSON of the shim's protocol: a strict reader that parses one line in
 * place into a bounded array of values, and a writer into a fixed buffer.
 * Compiled into libshim and into coppice-shim; allocates nothing.
 *
 * The dialect is RFC 8259 without null, fractions and exponents, at most
 * SJ_DEPTH deep, integers within int64_t.  A byte that is not part of valid
 * UTF-8 travels as the lone surrogate \udc80 to \udcff, so that file names
 * and output survive unchanged whatever their encoding.
 */

#ifndef SJ_H
#define	SJ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define	SJ_DEPTH	4

enum sj_type {
	SJ_BOOL, SJ_INT, SJ_STR, SJ_ARR, SJ_OBJ
};

/*
 * One value.  Members of an array follow it; members of an object follow it
 * as a string and a value each.  next is the index after the value and all
 * that is in it.
 */
struct sj_val {
	enum sj_type	 type;
	uint32_t	 next;
	uint32_t	 count;		/* members of an array or object */
	int64_t		 num;		/* SJ_INT, SJ_BOOL */
	const char	*str;		/* SJ_STR, with a NUL after it */
	size_t		 len;
};

/* The caller's array of values; val[0] is the whole after sj_parse(). */
struct sj_doc {
	struct sj_val	*val;
	uint32_t	 cap;
	uint32_t	 n;
};

/**
 * sj_parse(d, text, len):
 * Parse the ${len} bytes of ${text}, which must be one value and nothing but
 * white space around it, into ${d}.  ${text} is overwritten: strings are
 * unescaped where they stand and end in NUL.  Return 0, EINVAL for what is
 * not this dialect, or EMSGSIZE if there are more values than d->cap.
 */
int sj_parse(struct sj_doc *, char *, size_t);

/* A writer; bad is set, and stays set, when the buffer is too small. */
struct sj_out {
	char		*buf;
	size_t		 cap;
	size_t		 len;
	bool		 comma;		/* the next member needs one first */
	bool		 bad;
};

/*
 * A member is a key and one value; in an array the key is NULL.  Strings are
 * bytes of any kind, with their length.
 */
void sj_init(struct sj_out *, char *, size_t);
void sj_open(struct sj_out *, const char *, char);	/* '{' or '[' */
void sj_close(struct sj_out *, char);			/* '}' or ']' */
void sj_int(struct sj_out *, const char *, int64_t);
void sj_bool(struct sj_out *, const char *, bool);
void sj_str(struct sj_out *, const char *, const char *, size_t);

#endif /* SJ_H */
