/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Bodies as they come, by length or in chunks.
 */

#include "http.h"

#define	LINE_MAX_	4096		/* of a chunk's, with extensions */
#define	TRAILER_MAX	8192

enum state { SIZE_FIRST, SIZE, EXTENSION, SIZE_LF, DATA, DATA_CR, DATA_LF,
    TRAILER_START, TRAILER, TRAILER_LF, END_LF };

void
http_body_init(struct http_body *b, const struct http_head *h)
{

	*b = (struct http_body){ .framing = h->framing, .left = h->length,
	    .state = SIZE_FIRST };
	b->done = h->framing == HTTP_NONE ||
	    (h->framing == HTTP_LENGTH && h->length == 0);
}

static int
hex(char c)
{

	if (c >= '0' && c <= '9')
		return (c - '0');
	c = (char)(c | 32);
	return (c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1);
}

static int
size_char(struct http_body *b, char c)
{
	int d = hex(c);

	if (d >= 0) {
		if (b->left > UINT64_MAX >> 8)
			return (-1);
		b->left = b->left << 4 | (uint64_t)d;
		b->state = SIZE;
		return (0);
	}
	if (b->state == SIZE_FIRST)
		return (-1);
	if (c == '\r')
		b->state = SIZE_LF;
	else if (c == ';')
		b->state = EXTENSION;
	else
		return (-1);
	return (0);
}

/* What is between the chunks' data, one character. */
static int
frame_char(struct http_body *b, char c)
{
	bool ctrl = (unsigned char)c < ' ' && c != '\t';

	if (++b->line > (b->state >= TRAILER_START ? TRAILER_MAX :
	    LINE_MAX_))
		return (-1);
	switch (b->state) {
	case SIZE_FIRST:
	case SIZE:
		return (size_char(b, c));
	case EXTENSION:
		if (c == '\r')
			b->state = SIZE_LF;
		else if (ctrl)
			return (-1);
		return (0);
	case SIZE_LF:
		b->line = 0;
		b->state = b->left > 0 ? DATA : TRAILER_START;
		return (c == '\n' ? 0 : -1);
	case DATA_CR:
		b->state = DATA_LF;
		return (c == '\r' ? 0 : -1);
	case DATA_LF:
		b->line = 0;
		b->state = SIZE_FIRST;
		return (c == '\n' ? 0 : -1);
	case TRAILER_START:
		b->state = c == '\r' ? END_LF : TRAILER;
		return (c != '\r' && ctrl ? -1 : 0);
	case TRAILER:
		if (c == '\r')
			b->state = TRAILER_LF;
		else if (ctrl)
			return (-1);
		return (0);
	case TRAILER_LF:
		b->state = TRAILER_START;
		return (c == '\n' ? 0 : -1);
	case END_LF:
		b->done = true;
		return (c == '\n' ? 0 : -1);
	default:
		return (-1);
	}
}

static void
take(struct http_body *b, const char **p, size_t *len, const char **piece,
    size_t *piecelen)
{
	size_t n = *len;

	if (b->framing != HTTP_EOF && b->left < n)
		n = (size_t)b->left;
	*piece = *p;
	*piecelen = n;
	*p += n;
	*len -= n;
	if (b->framing == HTTP_EOF)
		return;
	b->left -= n;
	if (b->left > 0)
		return;
	if (b->framing == HTTP_LENGTH)
		b->done = true;
	else
		b->state = DATA_CR;
}

int
http_body_next(struct http_body *b, const char **p, size_t *len,
    const char **piece, size_t *piecelen)
{

	*piece = NULL;
	*piecelen = 0;
	while (!b->done && *len > 0 && *piecelen == 0) {
		if (b->framing != HTTP_CHUNKED || b->state == DATA) {
			take(b, p, len, piece, piecelen);
			continue;
		}
		if (frame_char(b, **p) != 0)
			return (-1);
		(*p)++;
		(*len)--;
	}
	return (0);
}
