/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * HTTP/1.1 messages, strictly: heads, bodies and addresses, as pure
 * functions of bytes.  What two implementations could read differently
 * (bare line feeds, folded fields, two lengths, a length and chunks, blanks
 * before colons) is refused, so that nothing can be hidden from us or from
 * what is behind us.
 */

#ifndef HTTP_H
#define HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define	HTTP_HEAD_MAX	(32 * 1024)
#define	HTTP_FIELDS	100
#define	HTTP_PARAMS	32
#define	HTTP_SEGMENTS	8

enum http_framing {
	HTTP_NONE,			/* no body */
	HTTP_LENGTH,
	HTTP_CHUNKED,
	HTTP_EOF			/* a response, until the end */
};

struct http_field {
	char		*name;		/* in lower case */
	char		*value;		/* without blanks around it */
};

struct http_head {
	char		*text;		/* what all below points into */
	char		*method;	/* of a request */
	char		*target;
	int		 status;	/* of a response */
	int		 minor;		/* HTTP/1.minor */
	struct http_field field[HTTP_FIELDS];
	size_t		 nfields;
	enum http_framing framing;
	uint64_t	 length;
	bool		 keep;		/* the connection may go on */
	bool		 upgrade;	/* to another protocol */
	bool		 expect;	/* 100-continue */
};

/**
 * http_head_end(text, len):
 * Return the length of the head that ${text} begins with, its empty line
 * included, or 0 if it is not all there.
 */
size_t http_head_end(const char *, size_t);

/**
 * http_request_parse(h, text, len), http_response_parse(h, text, len, head):
 * Read a whole head of ${len} bytes into ${h}.  ${head} says that a HEAD
 * was answered, so that there is no body.  Return 0, or the status to refuse
 * it by: 400, 431, 501 or 505 (500 when out of memory).  In either case
 * http_head_free() is due.
 */
int http_request_parse(struct http_head *, const char *, size_t);
int http_response_parse(struct http_head *, const char *, size_t, bool);
void http_head_free(struct http_head *);

/**
 * http_field(h, name):
 * Return the value of the first field ${name}, in lower case, or NULL.
 */
const char *http_field(const struct http_head *, const char *);

/**
 * http_has_token(value, token):
 * Tell whether the list ${value} (NULL is empty) has ${token}.
 */
bool http_has_token(const char *, const char *);

/* A body as it comes. */
struct http_body {
	enum http_framing framing;
	uint64_t	 left;		/* of the length, or of the chunk */
	int		 state;
	unsigned int	 line;		/* length of the line so far */
	bool		 done;
};

void http_body_init(struct http_body *, const struct http_head *);

/**
 * http_body_next(b, p, len, piece, piecelen):
 * Take from the ${len} bytes at ${p}, both of which move on, up to the next
 * piece of content, and store that in ${piece} and ${piecelen} (0: there was
 * none).  Return 0, or -1 if this is no body.  At its end done is set and
 * nothing more is taken.
 */
int http_body_next(struct http_body *, const char **, size_t *, const char **,
    size_t *);

/* The address of a request, decoded. */
struct http_url {
	char		*text;
	char		*segment[HTTP_SEGMENTS];
	size_t		 nsegments;
	char		*name[HTTP_PARAMS], *value[HTTP_PARAMS];
	size_t		 nparams;
};

/**
 * http_url_parse(u, target):
 * Read "/a/b?c=d".  Return 0, or -1 for what is no such address: other
 * forms, bad escapes, a NUL, too many parts.
 */
int http_url_parse(struct http_url *, const char *);
const char *http_param(const struct http_url *, const char *);
void http_url_free(struct http_url *);

/**
 * http_unescape(s, plus):
 * Decode %XX, and + as a blank if ${plus}, in place.  Return 0, or -1.
 */
int http_unescape(char *, bool);

#endif /* HTTP_H */
