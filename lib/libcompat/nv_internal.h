/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What the files of the nv(9) subset share: lists, pairs, and the layout of
 * a packed list.  Nothing outside libcompat includes this.
 */

#ifndef NV_INTERNAL_H
#define	NV_INTERNAL_H

#include <sys/nv.h>

#define	NV_PRINTF(f, a)	__attribute__((__format__(__printf__, f, a)))

/*
 * A packed list is a header and pairs.  All numbers are little endian, or
 * big endian with NV_WIRE_BIG_ENDIAN in the flags.
 *
 * list:  magic 1, version 1, flags 1, descriptors 8, bytes that follow 8
 * pair:  type 1, size of the name with its NUL 2, size of the data 8,
 *        items of an array 8, name, data
 *
 * The bytes and descriptors of a list's header count to the end of the whole
 * message, also in lists inside of others.  The data of a list is its header
 * and pairs and ends with a pair of type UP; in an array of lists each one
 * ends with NEXT.  The data of a descriptor is its place among the ones sent.
 */
#define	NV_WIRE_LIST		19
#define	NV_WIRE_PAIR		19
#define	NV_WIRE_END		(NV_WIRE_PAIR + 1)	/* UP or NEXT */
#define	NV_WIRE_MAGIC		0x6c
#define	NV_WIRE_VERSION		0x00
#define	NV_WIRE_BIG_ENDIAN	0x80
#define	NV_WIRE_NEXT		254
#define	NV_WIRE_UP		255

#define	NV_FLAGS		(NV_FLAG_IGNORE_CASE | NV_FLAG_NO_UNIQUE)

/*
 * Also used without a list and a name of its own, on the stack, to describe
 * a value that is to be copied.
 */
struct nvpair {
	struct nvpair	*next;
	struct nvpair	*prev;
	nvlist_t	*list;
	int		 type;
	size_t		 size;		/* of packed data, lists excepted */
	size_t		 nitems;	/* of an array, else 0 */
	union {
		uint64_t	  number;	/* and bool */
		int		  fd;
		void		 *data;		/* string, binary */
		bool		 *bools;
		uint64_t	 *numbers;
		char		**strings;
		int		 *fds;
		nvlist_t	 *list;
		nvlist_t	**lists;
	} v;
	char		 name[];
};

#define	NVLIST_MAGIC	0x6e766c
struct nvlist {
	int		 magic;
	int		 error;
	int		 flags;
	size_t		 count;
	struct nvpair	*first;
	struct nvpair	*last;
	struct nvpair	*parent;	/* the pair that holds this list */
	nvlist_t	*array_next;
	bool		 in_array;
};

/* The caller broke the contract: say how and abort. */
void	nv_fatal(const char *, ...) NV_PRINTF(1, 2)
	    __attribute__((__noreturn__));
#define	NV_ASSERT(e)							\
	do {								\
		if (!(e))						\
			nv_fatal("%s:%d: %s", __FILE__, __LINE__, #e);	\
	} while (0)
#define	NV_CHECK(nvl)	NV_ASSERT((nvl) != NULL && (nvl)->magic == NVLIST_MAGIC)

/* nv_list.c */
const char	*nv_type_name(int type);
struct nvpair	*nv_find(const nvlist_t *, const char *name, int type);
/* As nv_find, but a missing name is the caller's mistake. */
struct nvpair	*nv_need(const nvlist_t *, const char *name, int type);
/* Take a pair out of its list; its lists lose their parent. */
void		 nv_unlink(struct nvpair *);
/* 0, or set and return the list's error; errno is set too. */
int		 nv_set_error(nvlist_t *, int error);

/* Pointers of the caller that go where values are kept. */
static inline void *
nv_deconst(const void *p)
{
	return ((void *)(uintptr_t)p);
}

/* nv_pair.c */
/* NULL with errno set; the name is checked. */
struct nvpair	*nv_pair_alloc(const char *name, int type);
/* Release the pair and what it holds.  It must be in no list. */
void		 nv_pair_free(struct nvpair *);
/* A pair of that name with a copy of the value; NULL with errno set. */
struct nvpair	*nv_pair_copy(const char *name, const struct nvpair *from);
/* Put a pair at the end of a list, or free it and return an errno. */
int		 nv_pair_insert(nvlist_t *, struct nvpair *);
/* Make the lists of a pair its own: parent, place in the array. */
void		 nv_pair_adopt(struct nvpair *);

/* nv_pack.c */
size_t		 nv_ndescriptors(const nvlist_t *);
/* The descriptors in the order of the packed list; -1 at its end. */
int		*nv_descriptors(const nvlist_t *, size_t *np);
void		*nv_pack(const nvlist_t *, size_t *sizep);

/* nv_unpack.c */
/*
 * Unpack a list whose descriptors are fds[0..nfds).  Those that the list
 * took become -1 in fds; on failure they are closed, and the others are
 * still the caller's.
 */
nvlist_t	*nv_unpack(const void *, size_t, int *fds, size_t nfds,
		    int flags);
/* What a message's first bytes say of the rest; an errno if nonsense. */
int		 nv_unpack_header(const unsigned char hdr[NV_WIRE_LIST],
		    size_t *sizep, size_t *nfdsp);

/* nv_fd_posix.c, nv_fd_windows.c */
int		 nv_fd_dup(int);	/* close-on-exec; -1 with errno */
void		 nv_fd_close(int);	/* keeps errno; -1 is fine */
bool		 nv_fd_valid(int);

#endif /* NV_INTERNAL_H */
