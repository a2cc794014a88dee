/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Arbitrary bytes as what a shim sends to the host and as what a host sends
 * to the shim.  The first byte chooses: a line for the decoder of either
 * side, which must encode again to what decodes the same; a stream for the
 * frame reader of either side; or a stream for a whole connection on which
 * everything was asked for.
 */

#include <sys/socket.h>

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "coppice.h"
#include "sf.h"
#include "shim.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static void
require(bool ok)
{

	if (!ok)
		abort();
}

static void
line(const uint8_t *data, size_t size, enum sw_from from)
{
	static struct sj_val val[2][SW_HOSTVALS];
	static char out[2][2 * SW_HOSTLINE];
	struct sj_doc doc[2] = { { .val = val[0], .cap = SW_HOSTVALS },
	    { .val = val[1], .cap = SW_HOSTVALS } };
	struct sw_msg m, back;
	size_t len, again;
	char *copy;

	if ((copy = malloc(size + 1)) == NULL)
		return;
	memcpy(copy, data, size);
	if (sw_decode(&m, &doc[0], copy, size, from) != 0) {
		require(m.why != NULL);
	} else if (sw_encode(&m, out[0], sizeof(out[0]), &len) == 0) {
		memcpy(out[1], out[0], len);
		require(sw_decode(&back, &doc[1], out[1], len - 1,
		    from) == 0);
		static char third[2 * SW_HOSTLINE];
		require(sw_encode(&back, third, sizeof(third),
		    &again) == 0);
		require(len == again && memcmp(out[0], third, len) == 0);
	}
	free(copy);
}

/* Every byte can be read. */
static void
touch(const char *p, size_t n)
{
	static volatile unsigned sum;

	for (size_t i = 0; i < n; i++)
		sum = sum + (unsigned char)p[i];
}

static void
stream(const uint8_t *data, size_t size, enum sw_from from)
{
	struct sf_in in;
	struct sw_msg *m;
	const char *p;
	size_t n, at = 0;
	int p2[2], error = 0;

	if (pipe(p2) != 0 || sf_nonblock(p2[0]) != 0 ||
	    sf_in_init(&in, from) != 0)
		return;
	sf_in_reset(&in, false);
	in.sync = (size & 1) != 0;
	while (at < size && error == 0) {
		n = 1 + data[at] * 16U;
		if (n > size - at)
			n = size - at;
		require(write(p2[1], data + at, n) == (ssize_t)n);
		at += n;
		error = sf_read(&in, p2[0]);
		while (error == 0 && (error = sf_next(&in, &m, &p,
		    &n)) == 0)
			touch(p, n);
		if (in.nfds > 0)
			abort();
		error = error == EAGAIN ? 0 : error;
	}
	sf_in_free(&in);
	close(p2[0]);
	close(p2[1]);
}

static uint64_t next[4];

static void
on_output(void *arg, int64_t id, enum shim_stream st, uint64_t offset,
    const void *data, size_t n)
{

	(void)st;
	require(id >= 1 && id <= 3 && offset == next[id] && n > 0);
	next[id] += n;
	require(memcmp(data, data, n) == 0);
	if (id == 1)
		shim_consumed(*(struct shim **)arg, id, n);
	else
		require(next[id] <= SW_WINDOW);
}

static void
on_connected(void *arg, uint32_t number, void *cookie, int fd)
{

	(void)arg, (void)number, (void)cookie;
	if (fd != -1)
		close(fd);
}

/* Ask for one of everything. */
static void
ask(struct shim *s)
{
	struct shim_request r = { .path = "/x", .to = "/y", .port = 80,
	    .ports = &(int64_t){ 80 }, .nports = 1 };
	struct co_error e;

	for (int64_t id = 1; id <= 3; id++) {
		next[id] = 0;
		(void)shim_exec(s, &(struct shim_exec){ .id = id,
		    .command = "x", .io = { SHIM_PIPE } }, &e);
	}
	(void)shim_attach(s, 4, 0, &e);
	for (int op = SHIM_OP_STAT; op <= SHIM_OP_CONFIGURE; op++) {
		r.op = (enum shim_op)op;
		(void)shim_request(s, &r, NULL, NULL, &e);
	}
	(void)shim_ps(s, NULL, NULL, &e);
	(void)shim_stdin(s, 1, "hello", 5, false);
	(void)shim_send(s, 4, "hello", 5, true);
	(void)shim_close(s, 2, &e);
}

static void
connection(const uint8_t *data, size_t size)
{
	static const struct shim_handlers h = { .output = on_output,
	    .connected = on_connected };
	struct shim *s = NULL;
	struct co_error e;
	char buf[1024], hello[256], *nonce;
	ssize_t n;
	size_t at = 0, k;
	int sv[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sv) != 0)
		return;
	require((s = shim_new(sv[0], 1000, &h, &s, &e)) != NULL);
	require(shim_dispatch(s, 0, &e) == 0);
	require((n = read(sv[1], buf, sizeof(buf) - 1)) > 0);
	buf[n] = '\0';
	require((nonce = strstr(buf, "\"nonce\":\"")) != NULL);
	nonce += 9;
	nonce[strcspn(nonce, "\"")] = '\0';
	n = snprintf(hello, sizeof(hello), "{\"type\":\"hello\","
	    "\"version\":1,\"nonce\":\"%s\"}\n", nonce);
	require(write(sv[1], hello, (size_t)n) == n);
	require(shim_dispatch(s, POLLIN, &e) == 0 && shim_ready(s));
	ask(s);
	for (e.message[0] = '\0'; at < size; at += k) {
		k = size - at < 4096 ? size - at : 4096;
		require(write(sv[1], data + at, k) == (ssize_t)k);
		if (shim_dispatch(s, POLLIN, &e) != 0) {
			require(e.message[0] != '\0');
			break;
		}
		while (recv(sv[1], buf, sizeof(buf), MSG_DONTWAIT) > 0)
			;
	}
	shim_free(s);
	close(sv[1]);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{

	if (size < 1)
		return (0);
	switch (data[0] % 5) {
	case 0:
		line(data + 1, size - 1, SW_HOST);
		break;
	case 1:
		line(data + 1, size - 1, SW_SHIM);
		break;
	case 2:
		stream(data + 1, size - 1, SW_HOST);
		break;
	case 3:
		stream(data + 1, size - 1, SW_SHIM);
		break;
	default:
		connection(data + 1, size - 1);
		break;
	}
	return (0);
}
