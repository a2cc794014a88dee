/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A connection to a shim: its beginning, its bytes, its end.
 */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "shim_internal.h"

#define	READS		4		/* in one dispatch, of 64 KiB each */
#define	SYNCMAX		(64 << 20)	/* old bytes before a hello */

static int
greet(struct shim *s, int64_t heartbeat_ms)
{
	struct sw_msg m;

	co_id_make(s->nonce);
	sw_init(&m, W_HELLO);
	sw_set_num(&m, F_VERSION, SW_VERSION);
	sw_set_str(&m, F_NONCE, s->nonce);
	sw_set_num(&m, F_RAW, 1);
	sw_set_num(&m, F_HEARTBEAT_MS, heartbeat_ms);
	return (sf_put(&s->out, &m, NULL, 0, NULL, 0));
}

struct shim *
shim_new(int fd, int64_t heartbeat_ms, const struct shim_handlers *h,
    void *arg, struct co_error *e)
{
	struct shim *s;
	bool sock;
	int error;

	if ((s = calloc(1, sizeof(*s))) == NULL ||
	    sf_in_init(&s->in, SW_SHIM) != 0 ||
	    sf_out_init(&s->out, SW_HOST, SHIM_OUTCAP) != 0) {
		co_error_errno(e, ENOMEM, NULL, "shim");
		goto err0;
	}
	if ((error = sf_nonblock(fd)) != 0) {
		co_error_errno(e, error, NULL, "shim: descriptor %d", fd);
		goto err0;
	}
	s->fd = fd;
	s->h = h;
	s->arg = arg;
	s->beat_ms = heartbeat_ms;
	sock = sf_is_socket(fd);
	sf_in_reset(&s->in, sock);
	sf_out_reset(&s->out, sock);
	s->out.raw = true;
	if (greet(s, heartbeat_ms) != 0) {
		co_error_set(e, CO_EPROTO_ARGUMENT, NULL,
		    "shim: heartbeat of %lld ms", (long long)heartbeat_ms);
		goto err0;
	}
	return (s);

err0:
	if (s != NULL) {
		sf_in_free(&s->in);
		sf_out_free(&s->out);
	}
	free(s);
	return (NULL);
}

void
shim_free(struct shim *s)
{

	if (s == NULL)
		return;
	while (s->commands != NULL)
		shim_drop_command(s, s->commands);
	while (s->requests != NULL)
		shim_drop_request(s, s->requests);
	sf_in_free(&s->in);
	sf_out_free(&s->out);
	sf_io_close(s->fd);
	free(s);
}

int
shim_fd(const struct shim *s)
{

	return (s->fd);
}

int
shim_want(const struct shim *s)
{

	return (POLLIN | (s->out.len > 0 ? POLLOUT : 0));
}

bool
shim_ready(const struct shim *s)
{

	return (s->ready && !s->dead);
}

struct command *
shim_find_command(struct shim *s, int64_t id)
{
	struct command *c;

	for (c = s->commands; c != NULL && c->id != id; c = c->next)
		;
	return (c);
}

struct request *
shim_find_request(struct shim *s, uint32_t number)
{
	struct request *r;

	for (r = s->requests; r != NULL && r->number != number; r = r->next)
		;
	return (r);
}

struct command *
shim_add_command(struct shim *s, int64_t id)
{
	struct command *c;

	if ((c = calloc(1, sizeof(*c))) == NULL)
		return (NULL);
	c->id = id;
	c->window = SW_WINDOW;
	c->next = s->commands;
	s->commands = c;
	return (c);
}

void
shim_drop_command(struct shim *s, struct command *c)
{
	struct command **at;

	for (at = &s->commands; *at != c; at = &(*at)->next)
		;
	*at = c->next;
	free(c);
}

void
shim_drop_request(struct shim *s, struct request *r)
{
	struct request **at;

	for (at = &s->requests; *at != r; at = &(*at)->next)
		;
	*at = r->next;
	if (r->want_fd && !r->connected)
		s->want_fds--;
	free(r);
}

static int
over(struct shim *s, int error, struct co_error *e)
{

	s->dead = true;
	if (error == EPIPE || error == ECONNRESET)
		return (co_error_set(e, CO_ESANDBOX_LOST, NULL,
		    "the shim closed its channel"));
	return (co_error_errno(e, error, NULL, "the shim's channel"));
}

/* Handle everything that has come whole. */
static int
process(struct shim *s, struct co_error *e)
{
	struct sw_msg *m;
	const char *data;
	size_t len;
	int error;

	while ((error = sf_next(&s->in, &m, &data, &len)) == 0) {
		if (shim_receive(s, m, data, len, e) != 0) {
			s->dead = true;
			return (-1);
		}
	}
	if (error == EAGAIN)
		return (0);
	s->dead = true;
	return (co_error_set(e, error == EMSGSIZE ? CO_EPROTO_TOOBIG :
	    CO_EPROTO_MALFORMED, sw_field_name(m->which),
	    "the shim sent what is no message: %s",
	    m->why != NULL ? m->why : "line too long"));
}

static int
receive(struct shim *s, struct co_error *e)
{
	int error;

	for (int i = 0; i < READS; i++) {
		if ((error = sf_read(&s->in, s->fd)) == EAGAIN)
			return (0);
		if (error == EMSGSIZE) {
			s->dead = true;
			return (co_error_set(e, CO_EPROTO_TOOBIG, NULL,
			    "the shim sent descriptors nobody asked for"));
		}
		if (error != 0)
			return (over(s, error, e));
		if (process(s, e) != 0)
			return (-1);
		if (s->in.nfds > 0 && s->want_fds == 0) {
			s->dead = true;
			return (co_error_set(e, CO_EPROTO_DENIED, NULL,
			    "the shim sent descriptors nobody asked for"));
		}
		if (!s->ready && s->in.total > SYNCMAX) {
			s->dead = true;
			return (co_error_set(e, CO_EPROTO_MALFORMED, NULL,
			    "the shim does not say hello"));
		}
	}
	return (0);
}

int
shim_dispatch(struct shim *s, int revents, struct co_error *e)
{
	int error;

	if (s->dead)
		return (co_error_set(e, CO_ESANDBOX_LOST, NULL,
		    "the shim's channel is over"));
	if ((revents & ~POLLOUT) != 0 && receive(s, e) != 0)
		return (-1);
	error = sf_write(&s->out, s->fd);
	if (error != 0 && error != EAGAIN)
		return (over(s, error, e));
	if (s->ready)
		shim_wake_senders(s);
	return (0);
}

void
shim_flush(struct shim *s)
{

	/* Those who wait for room in a long queue are woken by a dispatch. */
	if (!s->dead && s->out.len < SHIM_BULK)
		(void)sf_write(&s->out, s->fd);
}
