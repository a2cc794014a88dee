/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The words of -o: one table, one row a word.
 */

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coppicefsd.h"

#define	MAPS_MAX	64

/* A choice of words and what each stands for. */
struct choice {
	const char	*word;
	int		 value;
};

static const struct choice caches[] = {
	{ "none", FUSED_NONE }, { "auto", FUSED_AUTO },
	{ "always", FUSED_ALWAYS }, { NULL, 0 }
};
static const struct choice xattrs[] = {
	{ "mapped", SHARE_XATTR_MAPPED }, { "plain", SHARE_XATTR_PLAIN },
	{ "none", SHARE_XATTR_NONE }, { NULL, 0 }
};
static const struct choice policies[] = {
	{ "barrier", UNDO_BARRIER }, { "warn", UNDO_WARN },
	{ "lock", UNDO_LOCK }, { NULL, 0 }
};
static const struct choice durabilities[] = {
	{ "process", UNDO_PROCESS }, { "power", UNDO_POWER }, { NULL, 0 }
};
static const struct choice seccomps[] = {
	{ "errno", SECCOMP_ERRNO }, { "kill", SECCOMP_KILL },
	{ "off", SECCOMP_OFF }, { NULL, 0 }
};

static int
bad(struct co_error *e, const char *word, const char *expected)
{

	return (co_error_set(e, CO_ESYS_CONFIG, word,
	    "-o %s: expected %s", word, expected));
}

static int
choose(const struct choice *c, const char *word, const char *value, int *out,
    struct co_error *e)
{
	char words[64] = "";
	size_t n;

	for (; c->word != NULL; c++) {
		if (strcmp(c->word, value) == 0) {
			*out = c->value;
			return (0);
		}
		n = strlen(words);
		(void)snprintf(words + n, sizeof(words) - n, "%s%s",
		    n > 0 ? " or " : "", c->word);
	}
	return (bad(e, word, words));
}

/* A number up to ${max}, with k, m or g behind it. */
static int
number(const char *word, const char *value, uint64_t max, uint64_t *out,
    struct co_error *e)
{
	unsigned int shift;
	char *end;
	uint64_t n;

	errno = 0;
	n = strtoumax(value, &end, 10);
	shift = *end == 'k' ? 10 : *end == 'm' ? 20 : *end == 'g' ? 30 : 0;
	if (shift != 0)
		end++;
	if (errno != 0 || *value < '0' || *value > '9' || *end != '\0' ||
	    n > max >> shift)
		return (bad(e, word, "a number, k, m or g may follow"));
	*out = n << shift;
	return (0);
}

static int
number32(const char *word, const char *value, uint32_t *out,
    struct co_error *e)
{
	uint64_t n = 0;

	if (number(word, value, UINT32_MAX, &n, e) == -1)
		return (-1);
	*out = (uint32_t)n;
	return (0);
}

/* guest:host:count, and more of them with a plus between. */
static int
map(struct config *c, const char *value, struct co_error *e)
{
	struct share_map *m;
	const char *p;
	size_t n;
	int len;

	free(c->maps);
	if ((c->maps = m = calloc(MAPS_MAX, sizeof(*m))) == NULL)
		return (co_error_errno(e, ENOMEM, NULL, "no map"));
	for (n = 0, p = value; n < MAPS_MAX; n++, p += len + 1) {
		if (*p < '0' || *p > '9' ||
		    sscanf(p, "%" SCNu32 ":%" SCNu32 ":%" SCNu32 "%n",
		    &m[n].guest, &m[n].host, &m[n].count, &len) != 3 ||
		    (p[len] != '\0' && p[len] != '+'))
			return (bad(e, "map",
			    "guest:host:count[+guest:host:count...]"));
		if (p[len] == '\0') {
			c->share.uids = c->share.gids = m;
			c->share.nuids = c->share.ngids = n + 1;
			return (0);
		}
	}
	return (bad(e, "map", "fewer ranges"));
}

static int
owner(struct config *c, const char *value, struct co_error *e)
{
	int len = 0;

	if (*value < '0' || *value > '9' || sscanf(value, "%" SCNu32 ":%"
	    SCNu32 "%n", &c->share.owner, &c->share.group, &len) != 2 ||
	    value[len] != '\0')
		return (bad(e, "owner", "uid:gid"));
	c->share.owned = true;
	return (0);
}

enum word {
	W_RO, W_DEVICES, W_CALLER, W_CHECK, W_CROSS, W_SUID, W_NOEXEC,
	W_NOSANDBOX, W_CACHE, W_XATTR, W_POLICY, W_DURABILITY, W_SECCOMP,
	W_MAP, W_OWNER, W_WATCH, W_LOG, W_STEPS, W_STEP, W_DELETES,
	W_OVERWRITES, W_OVERSIZE, W_RENAMES, W_TIMEOUT, W_QUIET, W_AMBIENT,
	W_THREADS, W_FDS, W_IOSIZE
};

static const struct {
	const char	*name;
	enum word	 word;
	bool		 value;
} words[] = {
	{ "ro", W_RO, false },
	{ "devices", W_DEVICES, false },
	{ "caller", W_CALLER, false },
	{ "check", W_CHECK, false },
	{ "cross", W_CROSS, false },
	{ "suid", W_SUID, false },
	{ "noexec", W_NOEXEC, false },
	{ "nosandbox", W_NOSANDBOX, false },
	{ "cache", W_CACHE, true },
	{ "xattr", W_XATTR, true },
	{ "policy", W_POLICY, true },
	{ "durability", W_DURABILITY, true },
	{ "seccomp", W_SECCOMP, true },
	{ "map", W_MAP, true },
	{ "owner", W_OWNER, true },
	{ "watch", W_WATCH, true },
	{ "log", W_LOG, true },
	{ "steps", W_STEPS, true },
	{ "step", W_STEP, true },
	{ "deletes", W_DELETES, true },
	{ "overwrites", W_OVERWRITES, true },
	{ "oversize", W_OVERSIZE, true },
	{ "renames", W_RENAMES, true },
	{ "timeout", W_TIMEOUT, true },
	{ "quiet", W_QUIET, true },
	{ "ambient", W_AMBIENT, true },
	{ "threads", W_THREADS, true },
	{ "fds", W_FDS, true },
	{ "iosize", W_IOSIZE, true }
};

static void
take_flag(struct config *c, enum word w)
{

	if (w == W_RO)
		c->share.readonly = true;
	else if (w == W_DEVICES)
		c->share.devices = true;
	else if (w == W_CALLER)
		c->share.identity = SHARE_CALLER;
	else if (w == W_CHECK)
		c->share.checks = SHARE_CHECK_HERE;
	else if (w == W_CROSS)
		c->share.cross = true;
	else if (w == W_SUID)
		c->suid = true;
	else if (w == W_NOEXEC)
		c->noexec = true;
	else
		c->sandbox = false;
}

static int
take_choice(struct config *c, enum word w, const char *name, const char *v,
    struct co_error *e)
{
	const struct choice *from;
	int n = 0;

	from = w == W_CACHE ? caches : w == W_XATTR ? xattrs :
	    w == W_POLICY ? policies : w == W_DURABILITY ? durabilities :
	    seccomps;
	if (choose(from, name, v, &n, e) == -1)
		return (-1);
	if (w == W_CACHE)
		c->fused.cache = (enum fused_cache)n;
	else if (w == W_XATTR)
		c->share.xattrs = (enum share_xattrs)n;
	else if (w == W_POLICY)
		c->undo.policy = (enum undo_policy)n;
	else if (w == W_DURABILITY)
		c->undo.durability = (enum undo_durability)n;
	else
		c->seccomp = (enum seccomp_mode)n;
	return (0);
}

static int
take_number(struct config *c, enum word w, const char *name, const char *v,
    struct co_error *e)
{
	struct undo_safeguards *g = &c->undo.safeguards;
	struct undo_limits *l = &c->undo.limits;

	switch (w) {
	case W_LOG:
		return (number(name, v, UINT64_MAX, &l->max_log_size, e));
	case W_STEP:
		return (number(name, v, UINT64_MAX,
		    &l->max_single_step_size, e));
	case W_STEPS:
		return (number32(name, v, &l->max_step_count, e));
	case W_DELETES:
		return (number32(name, v, &g->deletes, e));
	case W_OVERWRITES:
		return (number32(name, v, &g->overwrites, e));
	case W_OVERSIZE:
		return (number(name, v, UINT64_MAX, &g->overwrite_size, e));
	case W_RENAMES:
		return (number32(name, v, &g->renames_over, e));
	case W_TIMEOUT:
		return (number32(name, v, &g->timeout_ms, e));
	case W_QUIET:
		return (number32(name, v, &c->undo.quiet_ms, e));
	case W_AMBIENT:
		return (number32(name, v, &c->undo.ambient_ms, e));
	case W_THREADS:
		return (number32(name, v, &c->fused.max_threads, e));
	case W_FDS:
		return (number32(name, v, &c->share.max_fds, e));
	default:
		return (number32(name, v, &c->fused.max_write, e));
	}
}

static int
take(struct config *c, char *text, struct co_error *e)
{
	const char *value;
	size_t i;
	char *eq;

	if ((eq = strchr(text, '=')) != NULL)
		*eq = '\0';
	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(words[i].name, text) == 0)
			break;
	if (i == sizeof(words) / sizeof(words[0]))
		return (co_error_set(e, CO_ESYS_CONFIG, text,
		    "-o %s: no such option; coppicefsd(8) lists them", text));
	if (words[i].value != (eq != NULL))
		return (bad(e, text, words[i].value ? "a value" :
		    "no value"));
	if (!words[i].value) {
		take_flag(c, words[i].word);
		return (0);
	}
	value = eq + 1;
	if (words[i].word == W_MAP)
		return (map(c, value, e));
	if (words[i].word == W_OWNER)
		return (owner(c, value, e));
	if (words[i].word == W_WATCH) {
		free((void *)(uintptr_t)c->watcher);
		if ((c->watcher = strdup(value)) == NULL)
			return (co_error_errno(e, ENOMEM, NULL, "no watch"));
		return (0);
	}
	if (words[i].word >= W_CACHE && words[i].word <= W_SECCOMP)
		return (take_choice(c, words[i].word, text, value, e));
	return (take_number(c, words[i].word, text, value, e));
}

int
options_parse(struct config *c, const char *text, struct co_error *e)
{
	char *copy, *next, *word;
	int ret = 0;

	if ((copy = strdup(text)) == NULL)
		return (co_error_errno(e, ENOMEM, NULL, "no options"));
	for (next = copy; ret == 0 && (word = strsep(&next, ",")) != NULL;)
		if (*word != '\0')
			ret = take(c, word, e);
	free(copy);
	return (ret);
}

void
options_free(struct config *c)
{

	free(c->maps);
	free((void *)(uintptr_t)c->watcher);
}
