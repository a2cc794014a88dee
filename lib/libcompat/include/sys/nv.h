/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * nv(9) for hosts that lack it: FreeBSD's libnv, same names, same meaning,
 * same bytes on the wire; code written against this header links FreeBSD's
 * library unchanged.  dnv(9) is in <sys/dnv.h>; cnv(9) is not there.
 *
 * A list of names with typed values.  A list is used by one thread at a time.
 * A function that cannot do its work sets the list's error; from then on the
 * list ignores what is added, and packing or sending it fails with that
 * errno, so that a caller checks once, at the end.  Reading a name that does
 * not exist, or reading from a list in error, aborts the program: ask
 * nvlist_exists first, or use dnvlist_get.
 *
 * nvlist_unpack and nvlist_recv take bytes from anyone.  Every length is
 * checked, and beyond FreeBSD's library there are bounds, which fail with
 * EMSGSIZE: NV_MAX_SIZE bytes, NV_MAX_DEPTH lists inside each other,
 * NV_MAX_PAIRS pairs in a message, NV_MAX_PAIRS_LIST in one list and
 * NV_MAX_DESCRIPTORS descriptors.  A nested list that does not end, a
 * descriptor used twice or not at all and a version other than 0 fail with
 * EINVAL.
 */

#ifndef COMPAT_SYS_NV_H
#define	COMPAT_SYS_NV_H

#include <sys/types.h>

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* This header is the subset, not FreeBSD's own. */
#define	COMPAT_NV	1

#define	COMPAT_NV_PRINTF(f, a)	__attribute__((__format__(__printf__, f, a)))

#define	NV_MAX_SIZE		(16u * 1024 * 1024)
#define	NV_MAX_DEPTH		64
#define	NV_MAX_PAIRS		65536
#define	NV_MAX_PAIRS_LIST	4096
#define	NV_MAX_DESCRIPTORS	1024

typedef struct nvlist nvlist_t;

/* Names are shorter than this. */
#define	NV_NAME_MAX		2048

#define	NV_TYPE_NONE		0
#define	NV_TYPE_NULL		1
#define	NV_TYPE_BOOL		2
#define	NV_TYPE_NUMBER		3
#define	NV_TYPE_STRING		4
#define	NV_TYPE_NVLIST		5
#define	NV_TYPE_DESCRIPTOR	6
#define	NV_TYPE_BINARY		7
#define	NV_TYPE_BOOL_ARRAY	8
#define	NV_TYPE_NUMBER_ARRAY	9
#define	NV_TYPE_STRING_ARRAY	10
#define	NV_TYPE_NVLIST_ARRAY	11
#define	NV_TYPE_DESCRIPTOR_ARRAY 12

/* Names differ by more than upper and lower case. */
#define	NV_FLAG_IGNORE_CASE	0x01
/* A name may occur more than once. */
#define	NV_FLAG_NO_UNIQUE	0x02

/*
 * Lists.  nvlist_create and nvlist_clone return NULL when out of memory; a
 * NULL list has the error ENOMEM and may be destroyed, added to and sent like
 * any other.  Cloning a list in error fails with that error.
 */
nvlist_t	*nvlist_create(int flags);
void		 nvlist_destroy(nvlist_t *nvl);
nvlist_t	*nvlist_clone(const nvlist_t *nvl);
int		 nvlist_error(const nvlist_t *nvl);
void		 nvlist_set_error(nvlist_t *nvl, int error);
bool		 nvlist_empty(const nvlist_t *nvl);
int		 nvlist_flags(const nvlist_t *nvl);

/* For people; the form is not stable. */
void		 nvlist_dump(const nvlist_t *nvl, int fd);
void		 nvlist_fdump(const nvlist_t *nvl, FILE *fp);

/*
 * Bytes.  nvlist_pack returns memory to free(3), or NULL with errno set
 * (EOPNOTSUPP if the list holds descriptors).  nvlist_unpack wants the whole
 * of it and the sender's flags, else EILSEQ.
 */
size_t		 nvlist_size(const nvlist_t *nvl);
void		*nvlist_pack(const nvlist_t *nvl, size_t *sizep);
nvlist_t	*nvlist_unpack(const void *buf, size_t size, int flags);

/*
 * Sockets (not on Windows).  Descriptors travel too, over unix sockets, and
 * arrive close-on-exec.  A peer that goes away in the middle is ENOTCONN.
 * Both wait for the socket, also if it is non-blocking, but no longer than
 * its SO_RCVTIMEO or SO_SNDTIMEO (then EAGAIN); after an error the stream is
 * of no more use.  nvlist_xfer sends, destroys nvl and receives.
 */
int		 nvlist_send(int sock, const nvlist_t *nvl);
nvlist_t	*nvlist_recv(int sock, int flags);
nvlist_t	*nvlist_xfer(int sock, nvlist_t *nvl, int flags);

/*
 * Walks.  nvlist_next gives the name and type of one pair after the other;
 * *cookiep starts as NULL.  nvlist_get_parent gives the list that nvl is in,
 * and a cookie to go on from there; nvlist_get_pararr the next list of the
 * array that nvl is in, or after the last one the parent.
 */
const char	*nvlist_next(const nvlist_t *nvl, int *typep, void **cookiep);
const nvlist_t	*nvlist_get_parent(const nvlist_t *nvl, void **cookiep);
const nvlist_t	*nvlist_get_array_next(const nvlist_t *nvl);
bool		 nvlist_in_array(const nvlist_t *nvl);
const nvlist_t	*nvlist_get_pararr(const nvlist_t *nvl, void **cookiep);

bool	nvlist_exists(const nvlist_t *nvl, const char *name);
bool	nvlist_exists_type(const nvlist_t *nvl, const char *name, int type);
bool	nvlist_exists_null(const nvlist_t *nvl, const char *name);
bool	nvlist_exists_bool(const nvlist_t *nvl, const char *name);
bool	nvlist_exists_number(const nvlist_t *nvl, const char *name);
bool	nvlist_exists_string(const nvlist_t *nvl, const char *name);
bool	nvlist_exists_nvlist(const nvlist_t *nvl, const char *name);
bool	nvlist_exists_descriptor(const nvlist_t *nvl, const char *name);
bool	nvlist_exists_binary(const nvlist_t *nvl, const char *name);
bool	nvlist_exists_bool_array(const nvlist_t *nvl, const char *name);
bool	nvlist_exists_number_array(const nvlist_t *nvl, const char *name);
bool	nvlist_exists_string_array(const nvlist_t *nvl, const char *name);
bool	nvlist_exists_nvlist_array(const nvlist_t *nvl, const char *name);
bool	nvlist_exists_descriptor_array(const nvlist_t *nvl, const char *name);

/*
 * Add a copy of a value; descriptors are duplicated.  A name that is there
 * already is EEXIST unless NV_FLAG_NO_UNIQUE; too long a name ENAMETOOLONG;
 * NULL or empty where there must be data EINVAL.
 */
void	nvlist_add_null(nvlist_t *nvl, const char *name);
void	nvlist_add_bool(nvlist_t *nvl, const char *name, bool value);
void	nvlist_add_number(nvlist_t *nvl, const char *name, uint64_t value);
void	nvlist_add_string(nvlist_t *nvl, const char *name,
	    const char *value);
void	nvlist_add_stringf(nvlist_t *nvl, const char *name,
	    const char *valuefmt, ...) COMPAT_NV_PRINTF(3, 4);
void	nvlist_add_stringv(nvlist_t *nvl, const char *name,
	    const char *valuefmt, va_list valueap) COMPAT_NV_PRINTF(3, 0);
void	nvlist_add_nvlist(nvlist_t *nvl, const char *name,
	    const nvlist_t *value);
void	nvlist_add_descriptor(nvlist_t *nvl, const char *name, int value);
void	nvlist_add_binary(nvlist_t *nvl, const char *name, const void *value,
	    size_t size);
void	nvlist_add_bool_array(nvlist_t *nvl, const char *name,
	    const bool *value, size_t nitems);
void	nvlist_add_number_array(nvlist_t *nvl, const char *name,
	    const uint64_t *value, size_t nitems);
void	nvlist_add_string_array(nvlist_t *nvl, const char *name,
	    const char * const *value, size_t nitems);
void	nvlist_add_nvlist_array(nvlist_t *nvl, const char *name,
	    const nvlist_t * const *value, size_t nitems);
void	nvlist_add_descriptor_array(nvlist_t *nvl, const char *name,
	    const int *value, size_t nitems);

/* Add an item to an array, which is made if it is not there. */
void	nvlist_append_bool_array(nvlist_t *nvl, const char *name,
	    const bool value);
void	nvlist_append_number_array(nvlist_t *nvl, const char *name,
	    const uint64_t value);
void	nvlist_append_string_array(nvlist_t *nvl, const char *name,
	    const char * const value);
void	nvlist_append_nvlist_array(nvlist_t *nvl, const char *name,
	    const nvlist_t * const value);
void	nvlist_append_descriptor_array(nvlist_t *nvl, const char *name,
	    int value);

/*
 * Add the value itself: memory of malloc(3), lists, descriptors.  It belongs
 * to the list from then on, and is released also when that fails, except a
 * list that has a parent.
 */
void	nvlist_move_string(nvlist_t *nvl, const char *name, char *value);
void	nvlist_move_nvlist(nvlist_t *nvl, const char *name, nvlist_t *value);
void	nvlist_move_descriptor(nvlist_t *nvl, const char *name, int value);
void	nvlist_move_binary(nvlist_t *nvl, const char *name, void *value,
	    size_t size);
void	nvlist_move_bool_array(nvlist_t *nvl, const char *name, bool *value,
	    size_t nitems);
void	nvlist_move_number_array(nvlist_t *nvl, const char *name,
	    uint64_t *value, size_t nitems);
void	nvlist_move_string_array(nvlist_t *nvl, const char *name,
	    char **value, size_t nitems);
void	nvlist_move_nvlist_array(nvlist_t *nvl, const char *name,
	    nvlist_t **value, size_t nitems);
void	nvlist_move_descriptor_array(nvlist_t *nvl, const char *name,
	    int *value, size_t nitems);

/* Look at a value, which stays the list's.  The name must exist. */
bool	nvlist_get_bool(const nvlist_t *nvl, const char *name);
uint64_t nvlist_get_number(const nvlist_t *nvl, const char *name);
const char *nvlist_get_string(const nvlist_t *nvl, const char *name);
const nvlist_t *nvlist_get_nvlist(const nvlist_t *nvl, const char *name);
int	nvlist_get_descriptor(const nvlist_t *nvl, const char *name);
const void *nvlist_get_binary(const nvlist_t *nvl, const char *name,
	    size_t *sizep);
const bool *nvlist_get_bool_array(const nvlist_t *nvl, const char *name,
	    size_t *nitemsp);
const uint64_t *nvlist_get_number_array(const nvlist_t *nvl,
	    const char *name, size_t *nitemsp);
const char * const *nvlist_get_string_array(const nvlist_t *nvl,
	    const char *name, size_t *nitemsp);
const nvlist_t * const *nvlist_get_nvlist_array(const nvlist_t *nvl,
	    const char *name, size_t *nitemsp);
const int *nvlist_get_descriptor_array(const nvlist_t *nvl,
	    const char *name, size_t *nitemsp);

/* Take a value out of the list; it is the caller's to release. */
bool	nvlist_take_bool(nvlist_t *nvl, const char *name);
uint64_t nvlist_take_number(nvlist_t *nvl, const char *name);
char	*nvlist_take_string(nvlist_t *nvl, const char *name);
nvlist_t *nvlist_take_nvlist(nvlist_t *nvl, const char *name);
int	nvlist_take_descriptor(nvlist_t *nvl, const char *name);
void	*nvlist_take_binary(nvlist_t *nvl, const char *name, size_t *sizep);
bool	*nvlist_take_bool_array(nvlist_t *nvl, const char *name,
	    size_t *nitemsp);
uint64_t *nvlist_take_number_array(nvlist_t *nvl, const char *name,
	    size_t *nitemsp);
char	**nvlist_take_string_array(nvlist_t *nvl, const char *name,
	    size_t *nitemsp);
nvlist_t **nvlist_take_nvlist_array(nvlist_t *nvl, const char *name,
	    size_t *nitemsp);
int	*nvlist_take_descriptor_array(nvlist_t *nvl, const char *name,
	    size_t *nitemsp);

/* Remove a pair and release its value.  The name must exist. */
void	nvlist_free(nvlist_t *nvl, const char *name);
void	nvlist_free_type(nvlist_t *nvl, const char *name, int type);
void	nvlist_free_null(nvlist_t *nvl, const char *name);
void	nvlist_free_bool(nvlist_t *nvl, const char *name);
void	nvlist_free_number(nvlist_t *nvl, const char *name);
void	nvlist_free_string(nvlist_t *nvl, const char *name);
void	nvlist_free_nvlist(nvlist_t *nvl, const char *name);
void	nvlist_free_descriptor(nvlist_t *nvl, const char *name);
void	nvlist_free_binary(nvlist_t *nvl, const char *name);
void	nvlist_free_bool_array(nvlist_t *nvl, const char *name);
void	nvlist_free_number_array(nvlist_t *nvl, const char *name);
void	nvlist_free_string_array(nvlist_t *nvl, const char *name);
void	nvlist_free_nvlist_array(nvlist_t *nvl, const char *name);
void	nvlist_free_descriptor_array(nvlist_t *nvl, const char *name);

#ifdef __cplusplus
}
#endif

#endif /* COMPAT_SYS_NV_H */
