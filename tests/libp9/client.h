/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A small 9P2000.L client for tests, and a server for it to talk to: a share
 * of a folder below the current one, served over a socket pair by threads of
 * this process.  Whatever goes wrong with the test itself ends it; what the
 * server answers is returned.
 */

#ifndef CLIENT_H
#define CLIENT_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "coppice.h"
#include "p9.h"
#include "p9_wire.h"
#include "share.h"

#define	ROOT	0u	/* the fid that hello() attaches */

/* A folder that is served. */
struct world {
	struct share	*share;
	struct undo	*undo;
	int		 dir;		/* the folder, "tree" */
	int		 outside;	/* the one around it */
};

/* A connection to it. */
struct client {
	int		 fd;
	struct p9	*p9;		/* the server's end */
	pthread_t	 thread;
	int		 result;	/* of p9_serve() */
	struct co_error	 error;
	uint32_t	 msize;
	uint16_t	 tag;		/* the last one used */
	uint8_t		*out;
	uint8_t		*in;		/* the last message got */
	size_t		 inlen;
};

void world_open(struct world *, const struct share_options *, bool undo);
void world_close(struct world *);

/* Begin and end a connection; with hello: Tversion and Tattach too. */
void client_open(struct client *, struct world *, const struct p9_options *);
void hello(struct client *, struct world *, const struct p9_options *);
void client_close(struct client *);	/* p9_serve() must have succeeded */
int client_end(struct client *);	/* its result, whatever it is */

struct p9_str str(const char *);

/* Bytes as they are; a message with the tag it has; the next reply. */
void send_bytes(struct client *, const void *, size_t);
void send_msg(struct client *, const struct p9_msg *);
bool recv_msg(struct client *, struct p9_msg *);	/* false: the end */

/* One request and its reply; 0 or the number of an Rlerror. */
uint32_t rpc(struct client *, struct p9_msg *, struct p9_msg *);

uint32_t c_version(struct client *, uint32_t, const char *);
uint32_t c_attach(struct client *, uint32_t, uint32_t, const char *);
/* path: names with slashes between; "": a copy.  qids may be NULL. */
uint32_t c_walk(struct client *, uint32_t, uint32_t, const char *,
    struct p9_qids *);
uint32_t c_clunk(struct client *, uint32_t);
uint32_t c_remove(struct client *, uint32_t);
uint32_t c_open(struct client *, uint32_t, uint32_t);
uint32_t c_create(struct client *, uint32_t, const char *, uint32_t,
    uint32_t);
uint32_t c_mkdir(struct client *, uint32_t, const char *, uint32_t);
uint32_t c_symlink(struct client *, uint32_t, const char *, const char *);
uint32_t c_unlink(struct client *, uint32_t, const char *, uint32_t);
uint32_t c_rename(struct client *, uint32_t, const char *, uint32_t,
    const char *);
uint32_t c_read(struct client *, uint32_t, uint64_t, void *, uint32_t *);
uint32_t c_write(struct client *, uint32_t, uint64_t, const void *,
    uint32_t *);
uint32_t c_getattr(struct client *, uint32_t, uint64_t, struct p9_msg *);
uint32_t c_lock(struct client *, uint32_t, uint8_t, uint32_t, uint64_t,
    uint64_t, uint32_t, uint8_t *);
uint32_t c_xattrwalk(struct client *, uint32_t, uint32_t, const char *,
    uint64_t *);
uint32_t c_xattrcreate(struct client *, uint32_t, const char *, uint64_t,
    uint32_t);

/* Walk from the root, open, and so on, in one; asserting success. */
void must_open(struct client *, uint32_t, const char *, uint32_t);
void must_create(struct client *, uint32_t, const char *, const char *);

/* Linux's numbers, whatever system the test runs on. */
enum {
	L_EPERM = 1, L_ENOENT = 2, L_EINTR = 4, L_EIO = 5, L_ENXIO = 6,
	L_E2BIG = 7, L_EBADF = 9, L_EAGAIN = 11, L_ENOMEM = 12, L_EACCES = 13,
	L_EEXIST = 17, L_EXDEV = 18, L_ENOTDIR = 20, L_EISDIR = 21,
	L_EINVAL = 22, L_ENFILE = 23, L_EFBIG = 27, L_ENOSPC = 28,
	L_EROFS = 30, L_ERANGE = 34, L_EDEADLK = 35, L_ENAMETOOLONG = 36,
	L_ENOTEMPTY = 39, L_ELOOP = 40, L_ENODATA = 61, L_EPROTO = 71,
	L_EOVERFLOW = 75, L_EMSGSIZE = 90, L_EOPNOTSUPP = 95
};

#endif /* CLIENT_H */
