/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What the files of libctl share.
 */

#ifndef CTL_INTERNAL_H
#define CTL_INTERNAL_H

#include "coppice.h"
#include "ctl.h"

#define	CTL_HEAD	8	/* bytes before the nvlist of a frame */
#define	CTL_FDQUEUE	(2 * CTL_MAX_FDS)
#define	CTL_MAX_QUEUED	64	/* descriptors that wait to be sent */

/* What was received and is not handed over yet. */
struct ctl_in {
	uint8_t		*buf;
	size_t		 off, len, size;
	int		 fds[CTL_FDQUEUE];
	size_t		 nfds;
};

/* One frame to be sent. */
struct ctl_out {
	struct ctl_out	*next;
	size_t		 off, len;
	int		 fds[CTL_MAX_FDS];
	size_t		 nfds;
	uint8_t		 data[];
};

struct ctl {
	int		 fd;
	bool		 paused;
	bool		 ended;		/* the peer sends no more */
	uint64_t	 number;
	struct ctl_in	 in;
	struct ctl_out	*head, **tail;
	size_t		 backlog;
	size_t		 queued;	/* descriptors in it */
};

/*
 * ctl_frame.c
 */
/* Store a buffer with room for more, at least one byte. */
int ctl_in_room(struct ctl_in *, uint8_t **, size_t *);
/* Take the next frame: 0, EAGAIN (not all of it is there) or EPROTO. */
int ctl_in_take(struct ctl_in *, nvlist_t **, int[CTL_MAX_FDS], size_t *,
    const char **);
/* No whole frame is left: do the descriptors belong to what is? */
bool ctl_in_settled(const struct ctl_in *);
void ctl_in_free(struct ctl_in *);
int ctl_out_make(const nvlist_t *, const int *, size_t, struct ctl_out **);
void ctl_out_free(struct ctl_out *);

#endif /* CTL_INTERNAL_H */
