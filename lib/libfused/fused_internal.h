/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What the files of libfused have in common.  Read fused.h first.
 */

#ifndef FUSED_INTERNAL_H
#define FUSED_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "share.h"

#include "fused.h"
#include "wire.h"

#define	FUSED_HEAD	sizeof(struct fw_in_header)
#define	FUSED_EARLY	64	/* interrupts that came before their request */

/* A request that waits and can be interrupted. */
struct fused_waiting {
	struct fused_waiting	*next;
	uint64_t		 unique;
	struct share_wait	 wait;
};

struct fused {
	struct share		*share;
	struct fused_options	 o;
	_Atomic bool		 up;		/* FW_INIT was seen */
	_Atomic bool		 destroyed;
	_Atomic uint64_t	 flags;		/* agreed on */
	uint32_t		 minor;
	uint64_t		 valid_sec;	/* of names and attributes */

	pthread_mutex_t		 lock;		/* of what waits */
	struct fused_waiting	*waiting;
	uint64_t		 early[FUSED_EARLY];
	unsigned int		 nearly;

	struct crew		*_Atomic crew;	/* serve.c */
	_Atomic bool		 stopping;
};

/* The arguments of every operation, copied out of the request. */
union fused_arg {
	struct fw_init_in	 init;
	struct fw_getattr_in	 getattr;
	struct fw_setattr_in	 setattr;
	struct fw_mknod_in	 mknod;
	struct fw_mkdir_in	 mkdir;
	struct fw_rename_in	 rename;
	struct fw_rename2_in	 rename2;
	struct fw_link_in	 link;
	struct fw_open_in	 open;
	struct fw_create_in	 create;
	struct fw_release_in	 release;
	struct fw_flush_in	 flush;
	struct fw_read_in	 read;
	struct fw_write_in	 write;
	struct fw_fsync_in	 fsync;
	struct fw_setxattr_in	 setxattr;
	struct fw_getxattr_in	 getxattr;
	struct fw_lk_in		 lk;
	struct fw_access_in	 access;
	struct fw_interrupt_in	 interrupt;
	struct fw_forget_in	 forget;
	struct fw_batch_forget_in batch;
	struct fw_fallocate_in	 fallocate;
	struct fw_lseek_in	 lseek;
	struct fw_copy_in	 copy;
};

/* A request, taken apart by decode.c; nothing in it needs more checking. */
struct fused_req {
	struct fused		*f;
	struct share		*s;
	struct fused_call	*call;
	struct fw_in_header	 h;
	union fused_arg		 a;
	const char		*name[2];	/* as many as the op has */
	const char		*data;		/* what follows them */
	size_t			 datalen;
	struct share_cred	 cred;
	struct share_node	*node;		/* of the header; referenced */

	/* The reply. */
	char			*body;		/* after its header */
	size_t			 room;
	size_t			 len;
	bool			 silent;
};

/* Return 0 with the reply's body filled in, or an errno. */
typedef int fused_op(struct fused_req *);

/* attr.c */
void fused_attr(const struct share_attr *, struct fw_attr *);
fused_op fused_getattr, fused_setattr, fused_access, fused_readlink,
    fused_statfs, fused_syncfs;

/* entry.c */
void fused_entry(struct fused *, struct share_node *,
    const struct share_attr *, struct fw_entry_out *);
fused_op fused_lookup, fused_forget, fused_batch_forget, fused_mknod,
    fused_mkdir, fused_symlink, fused_link, fused_unlink, fused_rmdir,
    fused_rename, fused_rename2, fused_create, fused_tmpfile;

/* file.c */
fused_op fused_open, fused_release, fused_flush, fused_fsync, fused_read,
    fused_write, fused_fallocate, fused_lseek, fused_copy, fused_copy64;
uint32_t fused_open_flags(const struct fused *, uint32_t, uint32_t);
uint32_t fused_fopen(const struct fused *);

/* dir.c */
fused_op fused_opendir, fused_readdir, fused_readdirplus, fused_releasedir,
    fused_fsyncdir;

/* lock.c */
fused_op fused_getlk, fused_setlk, fused_setlkw, fused_interrupt;
void fused_cancel_all(struct fused *);

/* xattr.c */
fused_op fused_getxattr, fused_listxattr, fused_setxattr, fused_removexattr;

/* init.c */
fused_op fused_init, fused_destroy;

/* Room in the body for an answer of fixed size; there always is. */
void *fused_out(struct fused_req *, size_t);

#endif /* FUSED_INTERNAL_H */
