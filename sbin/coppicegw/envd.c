/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What envd answers by plain HTTP, but for files.
 */

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "gw.h"

/* Health is answered by dispatch, which knows the sandbox's state. */
void
envd_health(struct req *r)
{

	reply_empty(r, 204);
}

/* What a machine is told when it wakes up, ours know already. */
void
envd_init(struct req *r)
{

	reply_empty(r, 204);
}

void
envd_envs(struct req *r)
{
	const struct box *b = box_known(r->gw, r->box);
	const char *text = b != NULL && b->env != NULL ? b->env : "{}";

	reply(r, 200, "application/json", NULL, text, strlen(text));
}

static void
measured(void *arg, const nvlist_t *nv, int fd, const struct co_error *e)
{
	struct req *r = arg;
	uv_timeval64_t tv;

	(void)fd;
	if (e != NULL) {
		reply_failure(r, e);
		return;
	}
	(void)uv_gettimeofday(&tv);
	reply_json(r, 200, json_pack("{s:I, s:I, s:f, s:I, s:I, s:I, s:I, "
	    "s:I}", "ts", (json_int_t)tv.tv_sec, "cpu_count",
	    (json_int_t)ctl_uint(nv, "cpus", 1), "cpu_used_pct",
	    ctl_uint(nv, "uptime_ms", 0) > 0 ? (double)ctl_uint(nv, "cpu_us",
	    0) / (double)ctl_uint(nv, "uptime_ms", 1) / 10 : 0.0,
	    "mem_total", (json_int_t)ctl_uint(nv, "mem_total", 0),
	    "mem_used", (json_int_t)ctl_uint(nv, "memory", 0), "mem_cache",
	    (json_int_t)0, "disk_total", (json_int_t)ctl_uint(nv,
	    "disk_total", 0), "disk_used", (json_int_t)ctl_uint(nv, "disk",
	    0)));
}

void
envd_metrics(struct req *r)
{

	(void)ask(r, question("stats", r->box, r->as), NULL, measured);
}

const char *
envd_user(struct req *r)
{
	const char *s = http_param(&r->url, "username");
	const char *auth = http_field(&r->head, "authorization");
	char *text, *colon;
	size_t len;

	if (s != NULL && *s != '\0')
		return (s);
	if (auth != NULL && strncasecmp(auth, "Basic ", 6) == 0 &&
	    r->text.len == 0 && base64_decode(auth + 6, strlen(auth + 6),
	    &text, &len) == 0) {
		colon = strchr(text, ':');
		if (colon != NULL)
			*colon = '\0';
		buf_add(&r->text, text, strlen(text) + 1);
		free(text);
	}
	if (auth != NULL && strncasecmp(auth, "Basic ", 6) == 0 &&
	    r->text.len > 1)
		return (r->text.p);
	return (r->gw->s.user[0] != '\0' ? r->gw->s.user : NULL);
}
