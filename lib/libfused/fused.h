/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * libfused: the FUSE protocol on top of libshare.  A codec, which turns one
 * request into one reply and knows no descriptor, and transports, which
 * bring requests and take replies: /dev/fuse here and now, and vhost-user
 * for a guest's virtio-fs.
 *
 * The client may send anything.  Every length of a request is checked once,
 * before its operation begins; numbers of nodes and files are looked up, not
 * believed.  All functions may be called from any thread.
 */

#ifndef FUSED_H
#define FUSED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct co_error;
struct iovec;
struct share;

struct fused;

/*
 * How much a client's kernel may remember.  FUSED_NONE: nothing; what
 * changes in the folder is seen at once.  FUSED_AUTO: names and attributes
 * for a second, data until the attributes tell that it changed.
 * FUSED_ALWAYS: everything; for a folder that nobody else changes.
 */
enum fused_cache {
	FUSED_NONE, FUSED_AUTO, FUSED_ALWAYS
};

struct fused_options {
	enum fused_cache cache;
	uint32_t	 max_write;	/* bytes in a read or write, 4 KiB
					   to 1 MiB; 0: 1 MiB */
	uint32_t	 max_threads;	/* of a transport; 0: 64 */
};

/**
 * fused_new(s, o, f, e):
 * Make a codec for the share ${s}, which must outlive it and has no other
 * client.  ${o} may be NULL.
 */
int fused_new(struct share *, const struct fused_options *, struct fused **,
    struct co_error *);
void fused_free(struct fused *);

/*
 * One request and its reply.  The transport fills in the first part; data of
 * a write may be apart from the rest (vhost-user: still in the guest's
 * memory), and so may the room for the data of a read.  What is in req must
 * not change while it is handled.
 */
struct fused_call {
	const void	*req;		/* header, arguments (and data) */
	size_t		 reqlen;
	const struct iovec *wdata;	/* a write's data, no more and no
					   less; NULL: in req */
	int		 nwdata;
	void		*rep;		/* room for the reply, 8-aligned ... */
	size_t		 repsize;	/* ... at least FUSED_REPLY_MIN */
	const struct iovec *rdata;	/* a read's data, at most what is
					   asked for; NULL: in rep */
	int		 nrdata;

	/* Filled in by fused_handle(). */
	size_t		 replen;	/* of rep; 0: no reply is wanted */
	size_t		 rdatalen;	/* of rdata, not part of replen */
	uint64_t	 node;		/* the reply gives it to the client */
	uint64_t	 file;
	uint64_t	 dir;
	uint32_t	 opcode;
};

#define	FUSED_REPLY_MIN	8192

/**
 * fused_handle(f, call):
 * Handle one request.  May block, in a lock that another has or while
 * libundo asks its owner.
 */
void fused_handle(struct fused *, struct fused_call *);

/**
 * fused_unsent(f, call):
 * The reply could not be delivered: take back what it gave.
 */
void fused_unsent(struct fused *, struct fused_call *);

/**
 * fused_bufsize(f):
 * How large a request or reply can be, as one piece.
 */
size_t fused_bufsize(const struct fused *);

/* A client said FW_DESTROY, or began anew. */
bool fused_destroyed(const struct fused *);

/*
 * Transports.  A channel is one thread's end of one.
 */
struct fused_channel;

struct fused_transport {
	const char	*name;
	/* Another channel of the same connection, for another thread. */
	int		(*clone)(struct fused_channel *,
			    struct fused_channel **);
	/* Wait for a request: 0, EINTR (nothing yet) or ENODEV (the end). */
	int		(*receive)(struct fused_channel *,
			    struct fused_call *);
	/* Does a request wait to be received? */
	bool		(*pending)(const struct fused_channel *);
	/* 0, or ENOENT: nobody waits for this any more. */
	int		(*send)(struct fused_channel *,
			    const struct fused_call *);
	void		(*close)(struct fused_channel *);
};

struct fused_channel {
	const struct fused_transport *transport;
	size_t		 bufsize;	/* of the two that follow */
	void		*in;		/* aligned to a page */
	void		*out;
	int		 fd;		/* the transport's, like the rest */
	void		*priv;
};

/**
 * fused_channel_new(t, bufsize, fd, c), fused_channel_free(c):
 * For transports: a channel with its buffers.
 */
int fused_channel_new(const struct fused_transport *, size_t, int,
    struct fused_channel **);
void fused_channel_free(struct fused_channel *);

/**
 * fused_serve(f, c, e):
 * Serve the channel ${c}, and clones of it in threads of its own, as many as
 * are needed at once, until the transport ends or fused_stop() is called;
 * ${c} is closed then.  Requests in progress are finished.
 */
int fused_serve(struct fused *, struct fused_channel *, struct co_error *);

/**
 * fused_stop(f):
 * Make fused_serve() return soon.  Safe from another thread.
 */
void fused_stop(struct fused *);

/*
 * Mounting here.
 */
struct fused_mount_options {
	bool		 allow_other;	/* other users may enter; always so
					   when root mounts */
	bool		 suid;		/* honour set-id programs */
	bool		 dev;		/* honour device nodes */
	bool		 noexec;
	bool		 readonly;
	bool		 checks_here;	/* SHARE_CHECK_HERE: do not let the
					   kernel check permissions */
	const char	*name;		/* shown in mount tables; NULL:
					   "coppice" */
};

/**
 * fused_mount(f, path, o, c, e):
 * Mount at the directory ${path} and store the channel to serve.  Root
 * mounts itself; others need fusermount3(1) on Linux, and vfs.usermount on
 * FreeBSD.  ${o} may be NULL.
 */
int fused_mount(struct fused *, const char *,
    const struct fused_mount_options *, struct fused_channel **,
    struct co_error *);

/**
 * fused_unmount(path, e):
 * Take it away, also when in use; the transport then ends.
 */
int fused_unmount(const char *, struct co_error *);

/**
 * fused_attach(f, fd, c, e):
 * The channel of a connection that was opened elsewhere: ${fd} is of
 * /dev/fuse, mounted by the one who passed it.  It is taken over.
 */
int fused_attach(struct fused *, int, struct fused_channel **,
    struct co_error *);

/*
 * vhost-user: the device side of virtio-fs, for a VMM on this host that
 * shares the guest's memory (QEMU: memory-backend-memfd,share=on and
 * vhost-user-fs-pci).  Not on all systems; Linux and FreeBSD have it.
 *
 * The guest may write anything into its rings; a queue with nonsense in it is
 * left alone until the VMM starts it again, and nobody else notices.  The VMM
 * is believed in one thing, that it does not shrink the memory it shares.
 *
 * One VMM is served after the other.  When one hangs up, what its guest had
 * open is closed, unless it kept track of what is in flight: then all stays
 * for its return, until another comes.  Rings that are stopped with requests
 * in progress (a paused machine, a safeguard that waits for an answer) get
 * their answers when they run again.
 */
struct fused_vhost;

struct fused_vhost_options {
	const char	*tag;		/* what a guest mounts, if the VMM
					   asks; at most 36 bytes; copied */
	uint32_t	 queues;	/* for requests, at most; 0: 8 */
	/* NULL, or told why a connection ended; CO_OK: nothing is wrong. */
	void		(*ended)(void *, const struct co_error *);
	void		*arg;
};

/**
 * fused_vhost_listen(path, fd, e):
 * Listen at ${path}, for this user only.  A socket that nobody listens at is
 * replaced.
 */
int fused_vhost_listen(const char *, int *, struct co_error *);

/**
 * fused_vhost_new(f, fd, o, v, e):
 * Prepare to serve VMMs that connect to ${fd}, which is taken over on
 * success.  ${o} may be NULL.  At most ${f}'s max_threads requests are
 * handled at once, but one of each queue; half of them may wait for locks,
 * the next is told ENOLCK.
 */
int fused_vhost_new(struct fused *, int, const struct fused_vhost_options *,
    struct fused_vhost **, struct co_error *);

/**
 * fused_vhost_serve(v, e):
 * Serve until fused_vhost_stop().  Requests in progress are finished.  The
 * threads besides the caller's take no signals.
 */
int fused_vhost_serve(struct fused_vhost *, struct co_error *);

/**
 * fused_vhost_stop(v):
 * Make fused_vhost_serve() return soon.  From any thread or signal handler.
 */
void fused_vhost_stop(struct fused_vhost *);
void fused_vhost_free(struct fused_vhost *);

#endif /* FUSED_H */
