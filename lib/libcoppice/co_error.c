/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The table of errors, and the functions that fill one in.  coppice-errors(7)
 * lists the same rows; a test compares the two.
 */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "coppice.h"

struct row {
	enum co_code	 code;
	const char	*symbol;
	const char	*summary;
};

static const struct row rows[] = {
	{ CO_ESESSION_NONE, "ESESSION_NONE",
	    "no session is running" },
	{ CO_ESESSION_EXISTS, "ESESSION_EXISTS",
	    "a session is running already" },
	{ CO_ESESSION_STATE, "ESESSION_STATE",
	    "the session is not in a state that allows this" },
	{ CO_ESANDBOX_NOTFOUND, "ESANDBOX_NOTFOUND",
	    "no such sandbox" },
	{ CO_ESANDBOX_STATE, "ESANDBOX_STATE",
	    "the sandbox is not in a state that allows this" },
	{ CO_ESANDBOX_LIMIT, "ESANDBOX_LIMIT",
	    "a limit on sandboxes is reached" },
	{ CO_ESANDBOX_START, "ESANDBOX_START",
	    "the sandbox could not be started" },
	{ CO_ESANDBOX_EXEC, "ESANDBOX_EXEC",
	    "the command could not be run in the sandbox" },
	{ CO_ESANDBOX_TIMEOUT, "ESANDBOX_TIMEOUT",
	    "the sandbox or its command took too long" },
	{ CO_ESANDBOX_LOST, "ESANDBOX_LOST",
	    "the sandbox died or its control channel broke" },
	{ CO_ENET_EXHAUSTED, "ENET_EXHAUSTED",
	    "no address is left in the range" },
	{ CO_ENET_INUSE, "ENET_INUSE",
	    "the address, interface or port is taken" },
	{ CO_ENET_BADADDR, "ENET_BADADDR",
	    "not a usable address or range" },
	{ CO_ENET_POLICY, "ENET_POLICY",
	    "not a valid network policy" },
	{ CO_ENET_LINK, "ENET_LINK",
	    "an interface or bridge could not be set up" },
	{ CO_ENET_RULES, "ENET_RULES",
	    "the packet filter refused the rules" },
	{ CO_ENET_VERIFY, "ENET_VERIFY",
	    "what the packet filter holds is not what was loaded" },
	{ CO_ENET_REVERTED, "ENET_REVERTED",
	    "a change was not confirmed in time and was taken back" },
	{ CO_ENET_DNS, "ENET_DNS",
	    "the resolver could not be configured or does not answer" },
	{ CO_ENET_UPLINK, "ENET_UPLINK",
	    "no interface carries the uplink" },
	{ CO_EUNDO_NOSTEP, "EUNDO_NOSTEP",
	    "there are not so many steps, or not this one" },
	{ CO_EUNDO_BARRIER, "EUNDO_BARRIER",
	    "files were changed from outside since that step" },
	{ CO_EUNDO_VERSION, "EUNDO_VERSION",
	    "the undo store has another format version" },
	{ CO_EUNDO_UNPROTECTED, "EUNDO_UNPROTECTED",
	    "the step grew too large to be kept and can't be undone" },
	{ CO_EUNDO_CORRUPT, "EUNDO_CORRUPT",
	    "the undo store is damaged" },
	{ CO_EUNDO_BUSY, "EUNDO_BUSY",
	    "the undo store or a step is in use" },
	{ CO_EUNDO_NOREDO, "EUNDO_NOREDO",
	    "there is nothing to redo" },
	{ CO_EUNDO_CONFLICT, "EUNDO_CONFLICT",
	    "the folder does not look as the step left it" },
	{ CO_EUNDO_STORE, "EUNDO_STORE",
	    "not a usable place for the undo store" },
	{ CO_ESHARE_ROOT, "ESHARE_ROOT",
	    "the folder can't be shared" },
	{ CO_ESHARE_ESCAPE, "ESHARE_ESCAPE",
	    "the path leads out of the folder" },
	{ CO_ESHARE_READONLY, "ESHARE_READONLY",
	    "the share is read-only" },
	{ CO_ESHARE_MOUNT, "ESHARE_MOUNT",
	    "the share could not be mounted" },
	{ CO_ESAFEGUARD_DENIED, "ESAFEGUARD_DENIED",
	    "a safeguard denied the operation" },
	{ CO_ESAFEGUARD_TIMEOUT, "ESAFEGUARD_TIMEOUT",
	    "a safeguard was not answered in time" },
	{ CO_ESAFEGUARD_UNKNOWN, "ESAFEGUARD_UNKNOWN",
	    "no such safeguard is waiting" },
	{ CO_ETEMPLATE_NOTFOUND, "ETEMPLATE_NOTFOUND",
	    "no such template" },
	{ CO_ETEMPLATE_BAD, "ETEMPLATE_BAD",
	    "the template or its manifest is not valid" },
	{ CO_ETEMPLATE_BUILD, "ETEMPLATE_BUILD",
	    "the template could not be built" },
	{ CO_EPROTO_MALFORMED, "EPROTO_MALFORMED",
	    "the message can't be understood" },
	{ CO_EPROTO_TOOBIG, "EPROTO_TOOBIG",
	    "the message is larger than allowed" },
	{ CO_EPROTO_UNKNOWN, "EPROTO_UNKNOWN",
	    "no such request" },
	{ CO_EPROTO_VERSION, "EPROTO_VERSION",
	    "the peer speaks another version" },
	{ CO_EPROTO_DENIED, "EPROTO_DENIED",
	    "the peer may not do this" },
	{ CO_EPROTO_ARGUMENT, "EPROTO_ARGUMENT",
	    "an argument is missing or not valid" },
	{ CO_ESYS_ERRNO, "ESYS_ERRNO",
	    "a system call failed" },
	{ CO_ESYS_NOMEM, "ESYS_NOMEM",
	    "out of memory" },
	{ CO_ESYS_CONFIG, "ESYS_CONFIG",
	    "the configuration is not valid" },
	{ CO_ESYS_UNSUPPORTED, "ESYS_UNSUPPORTED",
	    "this host can't do that" },
	{ CO_ESYS_PERMISSION, "ESYS_PERMISSION",
	    "the operating system denied it" },
	{ CO_ESYS_NOSPACE, "ESYS_NOSPACE",
	    "no space or quota is left" },
	{ CO_ESYS_CANCELLED, "ESYS_CANCELLED",
	    "the request was cancelled" },
	{ CO_ESYS_DEADLINE, "ESYS_DEADLINE",
	    "the deadline passed" },
	{ CO_ESYS_PROGRAM, "ESYS_PROGRAM",
	    "a program that was run failed" }
};
#define	NROWS	(sizeof(rows) / sizeof(rows[0]))

static const char *const categories[] = {
	"none", "session", "sandbox", "network", "undo", "share",
	"safeguard", "template", "protocol", "system"
};

static const struct row *
find(enum co_code code)
{

	for (size_t i = 0; i < NROWS; i++)
		if (rows[i].code == code)
			return (&rows[i]);
	return (NULL);
}

/* Copy what fits of src, never half of a UTF-8 character. */
static void
copy(char *dst, size_t size, const char *src)
{
	size_t n;

	n = strlen(src);
	if (n >= size) {
		n = size - 1;
		while (n > 0 && ((unsigned char)src[n] & 0xc0) == 0x80)
			n--;
	}
	memcpy(dst, src, n);
	dst[n] = '\0';
}

static void fill(struct co_error *, enum co_code, int, const char *,
    const char *, const char *, va_list) CO_PRINTF(6, 0);

static void
fill(struct co_error *e, enum co_code code, int errnum, const char *what,
    const char *tail, const char *fmt, va_list ap)
{
	char buf[2 * sizeof(e->message)];
	int n;

	e->code = code;
	e->errnum = errnum;
	copy(e->what, sizeof(e->what), what != NULL ? what : "");
	n = vsnprintf(buf, sizeof(buf), fmt, ap);
	if (n < 0)
		buf[0] = '\0';
	else if (tail != NULL && (size_t)n < sizeof(buf))
		snprintf(buf + n, sizeof(buf) - (size_t)n, ": %s", tail);
	copy(e->message, sizeof(e->message), buf);
}

int
co_error_set(struct co_error *e, enum co_code code, const char *what,
    const char *fmt, ...)
{
	va_list ap;
	int errnum = code == CO_ESYS_ERRNO ? errno : 0;

	if (e == NULL)
		return (-1);
	va_start(ap, fmt);
	fill(e, code, errnum, what, NULL, fmt, ap);
	va_end(ap);
	return (-1);
}

int
co_error_errno(struct co_error *e, int errnum, const char *what,
    const char *fmt, ...)
{
	enum co_code code;
	va_list ap;

	switch (errnum) {
	case ENOMEM:
		code = CO_ESYS_NOMEM;
		break;
	case ENOSPC:
#ifdef EDQUOT
	case EDQUOT:
#endif
		code = CO_ESYS_NOSPACE;
		break;
	case EPERM:
	case EACCES:
		code = CO_ESYS_PERMISSION;
		break;
	default:
		code = CO_ESYS_ERRNO;
		break;
	}
	if (e == NULL)
		return (-1);
	va_start(ap, fmt);
	fill(e, code, errnum, what, strerror(errnum), fmt, ap);
	va_end(ap);
	return (-1);
}

const char *
co_error_symbol(enum co_code code)
{
	const struct row *r;

	if (code == CO_OK)
		return ("OK");
	r = find(code);
	return (r != NULL ? r->symbol : "UNKNOWN");
}

const char *
co_error_category(enum co_code code)
{
	size_t i = (size_t)code / 1000;

	if (i >= sizeof(categories) / sizeof(categories[0]))
		return ("unknown");
	return (categories[i]);
}

const char *
co_error_summary(enum co_code code)
{
	const struct row *r;

	if (code == CO_OK)
		return ("no error");
	r = find(code);
	return (r != NULL ? r->summary : "unknown error");
}

enum co_code
co_error_next(enum co_code code)
{

	if (code == CO_OK)
		return (rows[0].code);
	for (size_t i = 0; i + 1 < NROWS; i++)
		if (rows[i].code == code)
			return (rows[i + 1].code);
	return (CO_OK);
}
