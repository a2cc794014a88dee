/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The transport "9p:": 9P2000.L over a unix socket ("unix:/path"), a TCP
 * port of one address ("tcp:address:port"), or a descriptor that was
 * inherited ("fd:number"), which is a connection or listens for them.  A
 * connection is a thread and what libp9 makes of it.
 */

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <netinet/in.h>
#include <netinet/tcp.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "coppicefsd.h"
#include "p9.h"

#define	CLIENTS_MAX	64

struct client {
	struct client	*next;
	struct nine	*nine;
	struct p9	*p9;
};

struct nine {
	struct server	*server;
	pthread_mutex_t	 lock;
	pthread_cond_t	 cond;
	struct client	*clients;
	unsigned int	 nclients;
	uint64_t	 served;
	int		 fd;
	int		 wake[2];
	bool		 tcp;
	bool		 listens;
	bool		 stopping;
	char		 address[128];	/* where it listens in fact */
};

static int
listen_unix(struct nine *n, const char *path, struct co_error *e)
{
	struct sockaddr_un sa;
	struct stat st;
	mode_t old;
	int error;

	memset(&sa, 0, sizeof(sa));
	sa.sun_family = AF_UNIX;
	if (strlen(path) >= sizeof(sa.sun_path))
		return (co_error_errno(e, ENAMETOOLONG, path,
		    "cannot listen there"));
	memcpy(sa.sun_path, path, strlen(path) + 1);
	if ((n->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) == -1)
		return (co_error_errno(e, errno, path, "cannot listen"));
	if (lstat(path, &st) == 0 && S_ISSOCK(st.st_mode)) {
		if (connect(n->fd, (struct sockaddr *)&sa, sizeof(sa)) == 0)
			return (co_error_set(e, CO_ESESSION_EXISTS, path,
			    "somebody listens there already"));
		(void)unlink(path);
		(void)close(n->fd);
		n->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (n->fd == -1)
			return (co_error_errno(e, errno, path,
			    "cannot listen"));
	}
	old = umask(0177);
	error = bind(n->fd, (struct sockaddr *)&sa, sizeof(sa)) == -1 ?
	    errno : 0;
	(void)umask(old);
	if (error != 0)
		return (co_error_errno(e, error, path, "cannot bind to it"));
	(void)snprintf(n->address, sizeof(n->address), "unix:%s", path);
	return (0);
}

static void
name_tcp(struct nine *n)
{
	char host[64] = "?", port[16] = "?";
	struct sockaddr_storage ss;
	socklen_t len = sizeof(ss);
	bool six;

	if (getsockname(n->fd, (struct sockaddr *)&ss, &len) == 0)
		(void)getnameinfo((struct sockaddr *)&ss, len, host,
		    sizeof(host), port, sizeof(port), NI_NUMERICHOST |
		    NI_NUMERICSERV);
	six = strchr(host, ':') != NULL;
	(void)snprintf(n->address, sizeof(n->address), "tcp:%s%s%s:%s",
	    six ? "[" : "", host, six ? "]" : "", port);
}

static int
listen_tcp(struct nine *n, const char *where, struct co_error *e)
{
	struct addrinfo *ai, hints = { .ai_flags = AI_NUMERICHOST |
	    AI_NUMERICSERV | AI_PASSIVE, .ai_socktype = SOCK_STREAM };
	char host[96], *h = host;
	const char *port;
	size_t len;
	int on = 1;

	port = strrchr(where, ':');
	if (port == NULL || (len = (size_t)(port - where)) == 0 ||
	    len >= sizeof(host))
		return (co_error_set(e, CO_ENET_BADADDR, where,
		    "expected 9p:tcp:address:port"));
	memcpy(host, where, len);
	host[len] = '\0';
	if (host[0] == '[' && host[len - 1] == ']') {
		host[len - 1] = '\0';
		h++;
	}
	if (getaddrinfo(h, port + 1, &hints, &ai) != 0)
		return (co_error_set(e, CO_ENET_BADADDR, where,
		    "no address and port in numbers"));
	n->tcp = true;
	n->fd = socket(ai->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (n->fd == -1 || setsockopt(n->fd, SOL_SOCKET, SO_REUSEADDR, &on,
	    sizeof(on)) == -1 ||
	    bind(n->fd, ai->ai_addr, ai->ai_addrlen) == -1) {
		(void)co_error_errno(e, errno, where, "cannot bind to it");
		freeaddrinfo(ai);
		return (-1);
	}
	freeaddrinfo(ai);
	name_tcp(n);
	return (0);
}

static int
take_fd(struct nine *n, const char *text, struct co_error *e)
{
	socklen_t len = sizeof(int);
	int listens = 0;
	char *end;
	long fd;

	errno = 0;
	fd = strtol(text, &end, 10);
	if (errno != 0 || *text == '\0' || *end != '\0' || fd < 0 ||
	    fcntl((int)fd, F_SETFD, FD_CLOEXEC) == -1)
		return (co_error_set(e, CO_ESYS_CONFIG, text,
		    "no open descriptor has this number"));
	n->fd = (int)fd;
	n->listens = getsockopt(n->fd, SOL_SOCKET, SO_ACCEPTCONN, &listens,
	    &len) == 0 && listens != 0;
	(void)snprintf(n->address, sizeof(n->address), "fd:%ld", fd);
	return (0);
}

static int
nine_listen(struct nine *n, const char *arg, struct co_error *e)
{
	int ret;

	if (strncmp(arg, "fd:", 3) == 0)
		return (take_fd(n, arg + 3, e));
	if (strncmp(arg, "unix:", 5) == 0)
		ret = listen_unix(n, arg + 5, e);
	else if (strncmp(arg, "tcp:", 4) == 0)
		ret = listen_tcp(n, arg + 4, e);
	else
		return (co_error_set(e, CO_ESYS_CONFIG, arg,
		    "expected 9p:unix:path, 9p:tcp:address:port or "
		    "9p:fd:number"));
	if (ret == -1)
		return (-1);
	n->listens = true;
	if (listen(n->fd, 16) == -1)
		return (co_error_errno(e, errno, arg, "cannot listen"));
	return (0);
}

static int
nine_open(struct server *s, const char *arg, struct co_error *e)
{
	struct nine *n;

	if ((n = calloc(1, sizeof(*n))) == NULL)
		return (co_error_errno(e, ENOMEM, arg, "cannot serve"));
	n->server = s;
	n->fd = n->wake[0] = n->wake[1] = -1;
	if (nine_listen(n, arg, e) == -1)
		goto err0;
	if (n->listens && fcntl(n->fd, F_SETFL, O_NONBLOCK) == -1) {
		(void)co_error_errno(e, errno, arg, "cannot listen");
		goto err0;
	}
	if (pipe2(n->wake, O_CLOEXEC) == -1) {
		(void)co_error_errno(e, errno, arg, "cannot serve");
		goto err0;
	}
	(void)pthread_mutex_init(&n->lock, NULL);
	(void)pthread_cond_init(&n->cond, NULL);
	s->tr = n;
	server_log(s, CO_INFO, "9P at %s", n->address);
	return (0);
err0:
	if (n->fd != -1)
		(void)close(n->fd);
	free(n);
	return (-1);
}

static void *
client_main(void *arg)
{
	struct client **cp, *c = arg;
	struct nine *n = c->nine;
	struct co_error e;

	if (p9_serve(c->p9, &e) == -1)
		server_log(n->server, CO_WARN, "a client was dropped: %s",
		    e.message);
	(void)pthread_mutex_lock(&n->lock);
	for (cp = &n->clients; *cp != c; cp = &(*cp)->next)
		;
	*cp = c->next;
	(void)pthread_mutex_unlock(&n->lock);
	p9_free(c->p9);
	free(c);
	(void)pthread_mutex_lock(&n->lock);
	n->nclients--;
	(void)pthread_cond_broadcast(&n->cond);
	(void)pthread_mutex_unlock(&n->lock);
	return (NULL);
}

/* The connection ${fd} is taken over, whatever comes of it. */
static int
client_start(struct nine *n, int fd, struct co_error *e)
{
	struct p9_stream st;
	pthread_attr_t a;
	struct client *c;
	pthread_t t;
	int error;

	if ((c = calloc(1, sizeof(*c))) == NULL ||
	    p9_stream_fd(fd, fd, &st, e) == -1) {
		(void)close(fd);
		free(c);
		return (-1);
	}
	if (p9_new(n->server->share, NULL, &st, &c->p9, e) == -1) {
		st.free(st.arg);
		free(c);
		return (-1);
	}
	c->nine = n;
	(void)pthread_mutex_lock(&n->lock);
	c->next = n->clients;
	n->clients = c;
	n->nclients++;
	n->served++;
	if (n->stopping)
		p9_stop(c->p9, false);
	(void)pthread_attr_init(&a);
	(void)pthread_attr_setdetachstate(&a, PTHREAD_CREATE_DETACHED);
	if ((error = pthread_create(&t, &a, client_main, c)) != 0) {
		n->clients = c->next;
		n->nclients--;
		p9_free(c->p9);
		free(c);
		(void)co_error_errno(e, error, NULL, "no thread");
	}
	(void)pthread_attr_destroy(&a);
	(void)pthread_mutex_unlock(&n->lock);
	return (error == 0 ? 0 : -1);
}

static void
nine_accept(struct nine *n)
{
	struct co_error e = { .message = "out of memory" };
	int fd, on = 1;

	if ((fd = accept4(n->fd, NULL, NULL, SOCK_CLOEXEC)) == -1)
		return;
	if (n->nclients >= CLIENTS_MAX) {
		server_log(n->server, CO_WARN, "a client was turned away: "
		    "%d are connected", CLIENTS_MAX);
		(void)close(fd);
		return;
	}
	if (n->tcp)
		(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on,
		    sizeof(on));
	if (client_start(n, fd, &e) == -1)
		server_log(n->server, CO_WARN, "a client was turned away: %s",
		    e.message);
}

static int
nine_serve(struct server *s, struct co_error *e)
{
	struct nine *n = s->tr;
	struct pollfd p[2] = { { .fd = n->wake[0], .events = POLLIN },
	    { .fd = n->fd, .events = POLLIN } };
	struct client *c;
	int fd, ret = 0;

	if (!n->listens) {
		fd = n->fd;
		n->fd = -1;
		ret = client_start(n, fd, e);
	}
	while (n->listens && !s->stopping) {
		if (poll(p, 2, -1) == -1 && errno != EINTR)
			break;
		if (p[0].revents != 0)
			break;
		if (p[1].revents != 0)
			nine_accept(n);
	}
	(void)pthread_mutex_lock(&n->lock);
	if (n->listens)
		for (c = n->clients; c != NULL; c = c->next)
			p9_stop(c->p9, false);
	while (n->nclients > 0)
		(void)pthread_cond_wait(&n->cond, &n->lock);
	(void)pthread_mutex_unlock(&n->lock);
	return (ret);
}

static void
nine_stop(struct server *s)
{
	struct nine *n = s->tr;
	struct client *c;

	(void)pthread_mutex_lock(&n->lock);
	n->stopping = true;
	for (c = n->clients; c != NULL; c = c->next)
		p9_stop(c->p9, false);
	(void)pthread_mutex_unlock(&n->lock);
	(void)!write(n->wake[1], "", 1);
}

static void
nine_stats(struct server *s, nvlist_t *nv)
{
	struct p9_stats one, all = { 0 };
	struct nine *n = s->tr;
	struct client *c;

	(void)pthread_mutex_lock(&n->lock);
	for (c = n->clients; c != NULL; c = c->next) {
		p9_stats(c->p9, &one);
		all.requests += one.requests;
		all.errors += one.errors;
		all.malformed += one.malformed;
		all.in_bytes += one.in_bytes;
		all.out_bytes += one.out_bytes;
		all.fids += one.fids;
		all.in_flight += one.in_flight;
	}
	nvlist_add_number(nv, "clients", n->nclients);
	nvlist_add_number(nv, "served", n->served);
	(void)pthread_mutex_unlock(&n->lock);
	nvlist_add_string(nv, "address", n->address);
	nvlist_add_number(nv, "requests", all.requests);
	nvlist_add_number(nv, "errors", all.errors);
	nvlist_add_number(nv, "malformed", all.malformed);
	nvlist_add_number(nv, "in_bytes", all.in_bytes);
	nvlist_add_number(nv, "out_bytes", all.out_bytes);
	nvlist_add_number(nv, "fids", all.fids);
	nvlist_add_number(nv, "in_flight", all.in_flight);
}

static void
nine_close(struct server *s)
{
	struct nine *n = s->tr;

	if (n == NULL)
		return;
	if (n->fd != -1)
		(void)close(n->fd);
	(void)close(n->wake[0]);
	(void)close(n->wake[1]);
	(void)pthread_cond_destroy(&n->cond);
	(void)pthread_mutex_destroy(&n->lock);
	free(n);
	s->tr = NULL;
}

static void
nine_clean(const char *arg)
{

	if (strncmp(arg, "unix:", 5) == 0)
		(void)unlink(arg + 5);
}

const struct transport transport_p9 = {
	.name = "9p",
	.open = nine_open,
	.serve = nine_serve,
	.stop = nine_stop,
	.stats = nine_stats,
	.close = nine_close,
	.clean = nine_clean
};
