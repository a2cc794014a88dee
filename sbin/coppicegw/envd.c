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
