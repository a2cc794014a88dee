/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Heads of requests and responses.
 */

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "http.h"

#define	BAD	400

size_t
http_head_end(const char *text, size_t len)
{
	const char *p = text, *end = text + len;

	while ((p = memchr(p, '\n', (size_t)(end - p))) != NULL) {
		if (end - p >= 3 && p[1] == '\r' && p[2] == '\n')
			return ((size_t)(p - text) + 3);
		p++;
	}
	return (0);
}

static bool
token_char(char c)
{

	return (isalnum((unsigned char)c) || (c != '\0' &&
	    strchr("!#$%&'*+-.^_`|~", c) != NULL));
}

static bool
token(const char *s)
{
	const char *p;

	for (p = s; token_char(*p); p++)
		;
	return (p != s && *p == '\0');
}

const char *
http_field(const struct http_head *h, const char *name)
{

	for (size_t i = 0; i < h->nfields; i++)
		if (strcmp(h->field[i].name, name) == 0)
			return (h->field[i].value);
	return (NULL);
}

bool
http_has_token(const char *value, const char *want)
{
	size_t n, len = strlen(want);

	while (value != NULL && *value != '\0') {
		value += strspn(value, ", \t");
		n = strcspn(value, ", \t;");
		if (n == len && strncasecmp(value, want, len) == 0)
			return (true);
		value += n;
		value += strcspn(value, ",");
	}
	return (false);
}

/* "Name: value"; blanks before the colon and control characters are bad. */
static int
parse_field(struct http_head *h, char *line)
{
	char *colon = strchr(line, ':'), *end, *p;

	if (h->nfields == HTTP_FIELDS)
		return (431);
	if (colon == NULL)
		return (BAD);
	*colon++ = '\0';
	if (!token(line))
		return (BAD);
	for (p = line; *p != '\0'; p++)
		*p = (char)tolower((unsigned char)*p);
	colon += strspn(colon, " \t");
	end = colon + strlen(colon);
	while (end > colon && (end[-1] == ' ' || end[-1] == '\t'))
		*--end = '\0';
	for (p = colon; *p != '\0'; p++)
		if (((unsigned char)*p < ' ' && *p != '\t') || *p == 127)
			return (BAD);
	h->field[h->nfields].name = line;
	h->field[h->nfields++].value = colon;
	return (0);
}

/* Cut the text into lines; each ends in CR LF and holds no other one. */
static char *
next_line(char **at)
{
	char *line = *at, *end = strchr(line, '\n');

	if (end == NULL || end == line || end[-1] != '\r')
		return (NULL);
	end[-1] = '\0';
	*at = end + 1;
	return (strchr(line, '\r') == NULL ? line : NULL);
}

static int
parse_version(const char *s, int *minor)
{

	if (strncmp(s, "HTTP/", 5) != 0)
		return (BAD);
	if (strncmp(s + 5, "1.", 2) != 0)
		return (505);
	if ((s[7] != '0' && s[7] != '1') || s[8] != '\0')
		return (BAD);
	*minor = s[7] - '0';
	return (0);
}

static int
parse_request_line(struct http_head *h, char *line)
{
	char *p, *version;

	h->method = line;
	p = strchr(line, ' ');
	if (p == NULL)
		return (BAD);
	*p++ = '\0';
	h->target = p;
	p = strchr(p, ' ');
	if (p == NULL || !token(h->method) || p == h->target)
		return (BAD);
	*p++ = '\0';
	version = p;
	for (p = h->target; *p != '\0'; p++)
		if ((unsigned char)*p <= ' ' || (unsigned char)*p >= 127)
			return (BAD);
	return (parse_version(version, &h->minor));
}

static int
parse_status_line(struct http_head *h, char *line)
{
	char *p = strchr(line, ' ');

	if (p == NULL)
		return (BAD);
	*p++ = '\0';
	if (!isdigit((unsigned char)p[0]) || !isdigit((unsigned char)p[1]) ||
	    !isdigit((unsigned char)p[2]) || (p[3] != ' ' && p[3] != '\0'))
		return (BAD);
	h->status = (p[0] - '0') * 100 + (p[1] - '0') * 10 + (p[2] - '0');
	if (h->status < 100)
		return (BAD);
	return (parse_version(line, &h->minor));
}

static int
parse_length(struct http_head *h, const char *s)
{
	uint64_t v = 0;

	if (*s == '\0' || strlen(s) > 18)
		return (BAD);
	for (; *s != '\0'; s++) {
		if (!isdigit((unsigned char)*s))
			return (BAD);
		v = v * 10 + (uint64_t)(*s - '0');
	}
	h->framing = HTTP_LENGTH;
	h->length = v;
	return (0);
}

/* How long the body is, which everybody must understand alike. */
static int
parse_framing(struct http_head *h)
{
	const char *length = NULL, *coding = NULL, *name;
	size_t hosts = 0;

	for (size_t i = 0; i < h->nfields; i++) {
		name = h->field[i].name;
		if (strcmp(name, "content-length") == 0) {
			if (length != NULL)
				return (BAD);
			length = h->field[i].value;
		} else if (strcmp(name, "transfer-encoding") == 0) {
			if (coding != NULL)
				return (BAD);
			coding = h->field[i].value;
		} else if (strcmp(name, "host") == 0)
			hosts++;
	}
	if (h->method != NULL && (hosts > 1 || (hosts == 0 && h->minor > 0)))
		return (BAD);
	if (coding != NULL) {
		if (length != NULL || h->minor == 0)
			return (BAD);
		if (strcasecmp(coding, "chunked") != 0)
			return (h->method != NULL ? 501 : BAD);
		h->framing = HTTP_CHUNKED;
		return (0);
	}
	if (length != NULL)
		return (parse_length(h, length));
	h->framing = h->method != NULL ? HTTP_NONE : HTTP_EOF;
	return (0);
}

static void
parse_connection(struct http_head *h)
{
	const char *v = http_field(h, "connection");

	h->keep = h->minor > 0 ? !http_has_token(v, "close") :
	    http_has_token(v, "keep-alive");
	h->upgrade = http_has_token(v, "upgrade") &&
	    http_field(h, "upgrade") != NULL;
	v = http_field(h, "expect");
	h->expect = v != NULL && strcasecmp(v, "100-continue") == 0;
}

static int
parse(struct http_head *h, const char *text, size_t len,
    int (*first)(struct http_head *, char *))
{
	char *at, *line;
	int ret;

	*h = (struct http_head){ 0 };
	if (len > HTTP_HEAD_MAX)
		return (431);
	if (memchr(text, '\0', len) != NULL)
		return (BAD);
	h->text = malloc(len + 1);
	if (h->text == NULL)
		return (500);
	memcpy(h->text, text, len);
	h->text[len] = '\0';
	at = h->text;
	line = next_line(&at);
	if (line == NULL)
		return (BAD);
	if ((ret = first(h, line)) != 0)
		return (ret);
	while ((line = next_line(&at)) != NULL && *line != '\0')
		if ((ret = parse_field(h, line)) != 0)
			return (ret);
	if (line == NULL || *at != '\0')
		return (BAD);
	if ((ret = parse_framing(h)) != 0)
		return (ret);
	parse_connection(h);
	return (0);
}

int
http_request_parse(struct http_head *h, const char *text, size_t len)
{

	return (parse(h, text, len, parse_request_line));
}

int
http_response_parse(struct http_head *h, const char *text, size_t len,
    bool head)
{
	int ret;

	ret = parse(h, text, len, parse_status_line);
	if (ret == 0 && (head || h->status < 200 || h->status == 204 ||
	    h->status == 304))
		h->framing = HTTP_NONE;
	return (ret);
}

void
http_head_free(struct http_head *h)
{

	free(h->text);
	*h = (struct http_head){ 0 };
}
