/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What the files of coppicegw share.  Everything runs on one libuv loop, in
 * one thread (but for the hashing of keys).
 *
 * A connection (conn.c) reads requests one after the other.  Each becomes a
 * struct req, which dispatch.c leads to its handler: a row of a table of
 * routes, or the proxy to a port of a sandbox.  A handler asks coppiced
 * (call.c) and answers (reply.c).  It must be ready for the client to go at
 * any moment.
 */

#ifndef GW_H
#define GW_H

#include <sys/types.h>
#include <sys/nv.h>
#include <sys/queue.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>
#include <uv.h>

#include "buf.h"
#include "coppice.h"
#include "ctl.h"
#include "http.h"

#define	ENVD_PORT	49983		/* where SDKs look for envd */
#define	ENVD_VERSION	"0.6.4"		/* whose protocol we speak */
#define	JSON_BODY_MAX	(1024 * 1024)
#define	WINDOW		(256 * 1024)	/* of coppiced's streams */
#define	COUNT(a)	(sizeof(a) / sizeof((a)[0]))

struct box;
struct call;
struct conn;
struct key;
struct keys;
struct link;
struct proc;
struct req;
struct route;
struct tls;
struct tls_ctx;

/* Latencies worth a histogram. */
enum metric { METRIC_CREATE, METRIC_EXEC, METRIC_FILE, METRICS };

#define	METRIC_BUCKETS	12

struct histogram {
	uint64_t	 bucket[METRIC_BUCKETS + 1];
	uint64_t	 sum_us, count;
};

struct settings {
	struct co_conf	*conf;
	char		*control;	/* coppiced's socket */
	char		*keys;		/* file of keys */
	const char	*domain;	/* "" or of sandboxes' hosts */
	const char	*template;	/* that "base" means */
	const char	*user;		/* "" or who runs commands */
	int64_t		 head_ms, idle_ms, stall_ms;
	int64_t		 connections;	/* at a time */
	int64_t		 body_max;	/* of a file that is uploaded */
	int64_t		 rate;		/* requests a second of a key */
	int64_t		 sandboxes;	/* of a key */
	int64_t		 memory;	/* of a key's sandboxes */
};

struct gw {
	uv_loop_t	*loop;
	struct settings	 s;
	struct co_log	*log;
	struct tls_ctx	*tls;
	struct keys	*keys;
	TAILQ_HEAD(conns, conn) conns, due;
	uv_idle_t	 idle;		/* runs those that are due */
	size_t		 nconns;
	TAILQ_HEAD(links, link) links;
	LIST_HEAD(procs, proc) procs;
	LIST_HEAD(boxes, box) boxes[256];
	LIST_HEAD(watchers, watcher) watchers;
	struct call	*events;	/* that keep boxes true */
	uint64_t	 requests[6];	/* by hundreds of the status */
	struct histogram hist[METRICS];
	uint64_t	 bytes_in, bytes_out;
};

/*
 * conn.c
 */

/* What a handler does when things happen; any may be NULL. */
struct req_ops {
	/* A piece of the body came. */
	void	(*body)(struct req *, const char *, size_t);
	/* The body is complete. */
	void	(*end)(struct req *);
	/* The client took enough that more may be sent. */
	void	(*drain)(struct req *);
	/* The request is over, or its client is gone: free what data has. */
	void	(*gone)(struct req *);
};

struct req {
	struct conn	*conn;
	struct gw	*gw;
	struct http_head head;
	struct http_url	 url;
	struct http_body body;
	const struct route *route;
	const struct req_ops *ops;
	void		*data;		/* the handler's */
	struct call	*call;		/* forgotten when the client is gone */
	struct buf	 text;		/* a body that was collected */
	struct key	*key;
	char		 as[48];	/* the owner that is asked for */
	char		 id[17];	/* in logs */
	char		 box[CO_IDSIZE];	/* the sandbox concerned */
	const char	*param[3];	/* of the route */
	int		 port;		/* of the sandbox */
	uint64_t	 began;		/* ns */
	uint64_t	 sent;
	int		 status;	/* of the answer, when it began */
	bool		 paused;	/* the body waits */
	bool		 told;		/* of the body's end */
	bool		 blocked;	/* wants to hear of drain */
	bool		 chunked, bare;	/* how the answer is framed */
	bool		 discard;	/* nobody wants the rest of the body */
	bool		 finished;
	bool		 tunnel;	/* bytes, both ways, to the end */
};

/**
 * conn_listen(gw, address, envd, e):
 * Serve connections to ${address}, "host:port".  If ${envd}, all requests
 * are for envd.
 */
int conn_listen(struct gw *, const char *, bool, struct co_error *);

/**
 * conn_send(c, data, len), conn_backlog(c):
 * Queue bytes for the client; tell how many it did not take yet.
 */
void conn_send(struct conn *, const void *, size_t);
size_t conn_backlog(const struct conn *);

/**
 * conn_pour(c, fd, max):
 * Send up to ${max} bytes that are in the pipe ${fd}.  Return how many, 0 at
 * the pipe's end, or -1 with errno set: EAGAIN if it is empty, EBUSY if the
 * client has to take something first.
 */
ssize_t conn_pour(struct conn *, int, size_t);

/**
 * conn_run(c):
 * Go on with what was read; to be called after a request was unpaused or
 * answered.
 */
void conn_run(struct conn *);

/**
 * conn_soon(c):
 * The same, from the loop: a request that was answered lives until whoever
 * answered it has returned.
 */
void conn_soon(struct conn *);

/**
 * conn_close(c):
 * Hang up, after what is queued was sent.
 */
void conn_close(struct conn *);

/**
 * conn_drop(c):
 * Hang up now.
 */
void conn_drop(struct conn *);

/**
 * conn_envd(c), conn_secure(c):
 * Tell how the client came.
 */
bool conn_envd(const struct conn *);
bool conn_secure(const struct conn *);
const char *conn_peer(const struct conn *);

void conn_tick(struct gw *);

/*
 * tls.c
 */
int tls_ctx_new(const char *, const char *, struct tls_ctx **,
    struct co_error *);
struct tls *tls_new(struct tls_ctx *);
void tls_free(struct tls *);

/**
 * tls_input(t, data, len, plain, cipher), tls_output(t, data, len, cipher):
 * Take what came from the client, append to ${plain} what it says and to
 * ${cipher} what is to be sent; encrypt what it is to be told.  Return 0, or
 * -1 when the connection is over.
 */
int tls_input(struct tls *, const void *, size_t, struct buf *, struct buf *);
int tls_output(struct tls *, const void *, size_t, struct buf *);

/*
 * reply.c
 */

/**
 * reply_begin(r, status, type, length, fields):
 * Begin the answer; ${length} -1 is not known.  ${fields} (or NULL) are more
 * lines, each with its CR LF.
 */
void reply_begin(struct req *, int, const char *, int64_t, const char *);
void reply_data(struct req *, const void *, size_t);
void reply_end(struct req *);

/**
 * reply(r, status, type, fields, data, len):
 * All of the answer.
 */
void reply(struct req *, int, const char *, const char *, const void *,
    size_t);
void reply_json(struct req *, int, json_t *);		/* takes it */
void reply_empty(struct req *, int);
void reply_error(struct req *, int, const char *, ...) CO_PRINTF(3, 4);

/**
 * reply_failure(r, e):
 * Answer with what coppiced said, by the status that suits it.
 */
void reply_failure(struct req *, const struct co_error *);
int status_of(const struct co_error *);

/**
 * reply_full(r):
 * Tell whether to wait for drain before more is sent.
 */
bool reply_full(struct req *);

/*
 * route.c
 */
enum scope { SCOPE_NONE, SCOPE_READ, SCOPE_USE, SCOPE_ADMIN };

struct route {
	const char	*method;
	const char	*path;		/* "*" is a parameter */
	enum scope	 scope;
	bool		 stream;	/* the handler takes the body itself */
	void		(*run)(struct req *);
};

/**
 * route_find(table, n, r):
 * Find the row for ${r}, store it and its parameters there, and return 0;
 * or the status to answer by: 404 or 405.
 */
int route_find(const struct route *, size_t, struct req *);

/*
 * dispatch.c
 */

/**
 * dispatch(r):
 * Lead a request whose head was read to its handler.
 */
void dispatch(struct req *);

/**
 * host_id(s, len, id), host_port(s, len, port):
 * Read the id of a sandbox, or a port; false if it is none.
 */
bool host_id(const char *, size_t, char[CO_IDSIZE]);
bool host_port(const char *, size_t, int *);

/**
 * dispatch_host(host, domain, port, id):
 * Read "PORT-ID.DOMAIN" (with a port of its own or not) into ${port} and
 * ${id}; false if ${host} is not of that form.
 */
bool dispatch_host(const char *, const char *, int *, char[CO_IDSIZE]);

extern const struct route api_routes[], envd_routes[];
extern const size_t api_nroutes, envd_nroutes;

/*
 * keys.c
 */
struct keys *keys_new(const char *);
void keys_free(struct keys *);

/**
 * keys_none(k):
 * Tell whether there are no keys at all, so that only who is on this
 * machine is served.
 */
bool keys_none(struct keys *);

/**
 * keys_check(r, then):
 * Find out whose key ${r} has, set key and as, and call ${then}; or answer
 * it.
 */
void keys_check(struct req *, void (*)(struct req *));

const char *key_id(const struct key *);
bool key_may(const struct key *, enum scope);

/* What a key may have, or 0: no limit. */
uint64_t key_max_sandboxes(const struct gw *, const struct key *);
uint64_t key_max_memory(const struct gw *, const struct key *);
unsigned int *key_creating(struct key *);

bool same_secret(const char *, const char *);

/*
 * call.c
 */
typedef void call_event_fn(void *, const nvlist_t *);

/* The end: an answer and perhaps a descriptor (-1: none), or an error. */
typedef void call_done_fn(void *, const nvlist_t *, int,
    const struct co_error *);

/**
 * call_start(gw, nv, fd, fn, done, arg, e):
 * Send the request ${nv}, which is destroyed, with a duplicate of ${fd}
 * unless that is -1.  Return NULL with ${e} set if
 * that can't be done; callbacks come later, never from within.
 */
struct call *call_start(struct gw *, nvlist_t *, int, call_event_fn *,
    call_done_fn *, void *, struct co_error *);

/**
 * call_tell(c, nv), call_ack(c, n):
 * Say more to a request under way; ${nv} is destroyed.
 */
void call_tell(struct call *, nvlist_t *);
void call_ack(struct call *, size_t);

/**
 * call_cancel(c), call_forget(c):
 * No more callbacks; the former also ends the request.  NULL is fine.
 */
void call_cancel(struct call *);
void call_forget(struct call *);

/**
 * call_backlog(c):
 * Return how much coppiced has not taken yet.
 */
size_t call_backlog(const struct call *);

/**
 * ask(r, nv, fn, done), ask_fd(r, nv, fd, fn, done):
 * Begin a request on behalf of ${r}, which is both callbacks' argument; if
 * that fails, answer ${r}.  It is forgotten when the client is gone.
 */
int ask(struct req *, nvlist_t *, call_event_fn *, call_done_fn *);
int ask_fd(struct req *, nvlist_t *, int, call_event_fn *, call_done_fn *);

/**
 * question(op, id, as):
 * Return a new request, with "id" and "as" unless they are NULL or "".
 */
nvlist_t *question(const char *, const char *, const char *);

/*
 * box.c: what is known of sandboxes.
 */
struct box {
	LIST_ENTRY(box)	 link;
	char		 id[CO_IDSIZE];
	char		*owner, *state;
	char		*token;		/* for envd; NULL: anybody */
	char		*traffic;	/* for its ports; NULL: anybody */
	char		*mask;		/* Host that its servers see, or NULL */
	char		*env;		/* its environment, as a JSON object */
	uint64_t	 timeout_ms;	/* that it was created with */
	bool		 wakes;		/* by any traffic */
	bool		 sleeps;	/* not even by that of its ports */
	bool		 direct;	/* takes descriptors */
};

void box_start(struct gw *);
void box_flush(struct gw *);

/**
 * box_find(r, id, then):
 * Look up the sandbox ${id} and call ${then}, or answer ${r} if there is
 * none.  The box lives until ${then} returns.
 */
void box_find(struct req *, const char *,
    void (*)(struct req *, struct box *));
struct box *box_known(struct gw *, const char *);

/**
 * box_met(gw, nv):
 * Remember what an answer says about a sandbox, if events will keep it true.
 */
void box_met(struct gw *, const nvlist_t *);

/**
 * box_awake(r, b, traffic, then):
 * Go on by ${then} if the sandbox runs, or after it was woken up, if that is
 * allowed; ${traffic} says that it is for a port of its.
 */
void box_awake(struct req *, const struct box *, bool,
    void (*)(struct req *));

/**
 * label(nv, name):
 * Return the value of what we remember as ${name} with the sandbox of a
 * "show" answer, or NULL.
 */
const char *label(const nvlist_t *, const char *);

/*
 * api_*.c
 */
json_t *sandbox_brief(const struct gw *, const nvlist_t *);
void sandbox_created(struct req *, const nvlist_t *, int);

/**
 * policy_of(network, internet, text, why):
 * Append to ${text} the policy (see coppice-net(7)) that ${network}, an
 * object with allowOut and denyOut or NULL, and ${internet} (-1: not said)
 * ask for; nothing if they ask for nothing.  Return 0, or -1 with ${why}
 * set.
 */
int policy_of(const json_t *, int, struct buf *, const char **);

void api_create(struct req *);
void api_create_v2(struct req *);
void api_delete(struct req *);
void api_get(struct req *);
void api_list(struct req *);
void api_list_v2(struct req *);
void api_refresh(struct req *);
void api_timeout(struct req *);
void api_connect(struct req *);
void api_fork(struct req *);
void api_logs(struct req *);
void api_logs_v2(struct req *);
void api_metrics(struct req *);
void api_metrics_all(struct req *);
void api_network(struct req *);
void api_pause(struct req *);
void api_resume(struct req *);
void api_snapshot(struct req *);
void api_snapshots(struct req *);
void api_template_alias(struct req *);
void api_template_delete(struct req *);
void api_template_get(struct req *);
void api_templates(struct req *);
void gw_health(struct req *);
void gw_metrics(struct req *);

/* Read a body, which must be an object (an empty one is {}), or answer. */
json_t *body_object(struct req *);

/* ISO 8601 of milliseconds since the epoch. */
void iso_time(char[32], uint64_t);
uint64_t wall_ms(void);

void metric_add(struct gw *, enum metric, uint64_t);

/*
 * envd_*.c, proxy.c
 */
void envd_health(struct req *);
void envd_init(struct req *);
void envd_envs(struct req *);
void envd_metrics(struct req *);
void envd_download(struct req *);
void envd_upload(struct req *);
void envd_rpc(struct req *);

/**
 * envd_user(r):
 * Return who is to do it: by Basic authorization, the query, or as is set;
 * NULL is whoever the template says.  The result lives as long as ${r}.
 */
const char *envd_user(struct req *);

/**
 * sign_valid(r, token, write):
 * Tell whether the query of ${r} has a signature made with ${token} that
 * has not expired.
 */
bool sign_valid(const struct req *, const char *, bool);

void proxy_run(struct req *, int);

/*
 * flow.c: the bytes of a file, by a pipe to or from the sandbox.
 */
struct flow;

/**
 * flow_new(gw, read, theirs, fn, arg):
 * Make a pipe and store the end for the sandbox, which writes it if ${read},
 * in ${theirs}; the caller closes that.  ${fn} is called with ${arg} when
 * the other end is ready, after flow_wait().  NULL: there is none to be had.
 */
struct flow *flow_new(struct gw *, bool, int *, void (*)(void *), void *);
int flow_fd(const struct flow *);
void flow_wait(struct flow *, bool);
void flow_free(struct flow *);

/**
 * flow_splice(from, to, max):
 * Move bytes from a pipe to a socket as splice(2) does; where there is no
 * such thing, fail with EINVAL.
 */
ssize_t flow_splice(int, int, size_t);
void flow_widen(int);

#endif /* GW_H */
