/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Compression of captured copies, done when there is time for it and not
 * while a mutation waits.  Object N becomes N.z by one rename, and only then
 * is N removed; a reader takes whichever it finds.
 *
 * N.z is one zstd frame of runs: offset, length (64 bits, little-endian) and
 * so many bytes; a length of 0 ends it.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zstd.h>

#include "record.h"
#include "undo_internal.h"

#define	LEVEL		3
#define	BUFSIZE		((size_t)128 << 10)
#define	BLOCK		4096

struct packer {
	struct undo	*u;
	ZSTD_CCtx	*z;
	uint8_t		*out;
	size_t		 outsize;
	int		 fd;
	off_t		 off;
};

/* Does somebody wait for what tick has to do?  Then another time. */
bool
pack_yields(struct undo *u)
{

	return ((atomic_load(&u->gate) & (GATE_ENDED | GATE_GUARD)) != 0);
}

static int
pack_write(struct packer *p, const void *data, size_t len,
    ZSTD_EndDirective end)
{
	ZSTD_inBuffer in = { data, len, 0 };
	ZSTD_outBuffer out;
	size_t left;
	int error;

	do {
		out = (ZSTD_outBuffer){ p->out, p->outsize, 0 };
		left = ZSTD_compressStream2(p->z, &out, &in, end);
		if (ZSTD_isError(left))
			return (ENOMEM);
		error = sys_pwrite_all(p->fd, p->out, out.pos, p->off);
		if (error != 0)
			return (error);
		p->off += (off_t)out.pos;
	} while (in.pos < in.size || (end == ZSTD_e_end && left > 0));
	return (0);
}

static int
pack_run(struct packer *p, int fd, off_t start, off_t end, uint8_t *buf)
{
	uint8_t head[16];
	size_t want;
	int error;

	put64(head, (uint64_t)start);
	put64(head + 8, (uint64_t)(end - start));
	error = pack_write(p, head, sizeof(head), ZSTD_e_continue);
	for (; error == 0 && start < end; start += (off_t)want) {
		if (pack_yields(p->u))
			return (EAGAIN);
		want = (uint64_t)(end - start) < BUFSIZE ?
		    (size_t)(end - start) : BUFSIZE;
		error = sys_pread_all(fd, buf, want, start);
		if (error == 0)
			error = pack_write(p, buf, want, ZSTD_e_continue);
	}
	return (error);
}

/* Does the start of the file shrink at all? */
static bool
pack_worth(struct packer *p, int fd, off_t size, uint8_t *buf)
{
	size_t n, want;

	want = size < (off_t)BUFSIZE / 2 ? (size_t)size : BUFSIZE / 2;
	if (sys_pread_all(fd, buf, want, 0) != 0)
		return (false);
	n = ZSTD_compressCCtx(p->z, p->out, p->outsize, buf, want, 1);
	return (!ZSTD_isError(n) && n < want - want / 8);
}

static int
pack_file(struct packer *p, int fd, off_t size, uint8_t *buf)
{
	uint8_t head[16];
	off_t end, off, start;
	int error;

	/* The trial has left the size of what it compressed. */
	(void)ZSTD_CCtx_reset(p->z, ZSTD_reset_session_only);
	(void)ZSTD_CCtx_setParameter(p->z, ZSTD_c_compressionLevel, LEVEL);
	(void)ZSTD_CCtx_setParameter(p->z, ZSTD_c_checksumFlag, 1);
	for (off = 0; off < size; off = end) {
		if ((error = os_extent(fd, size, off, &start, &end)) != 0)
			return (error);
		if (start >= size)
			break;
		if ((error = pack_run(p, fd, start, end, buf)) != 0)
			return (error);
	}
	put64(head, (uint64_t)size);
	put64(head + 8, 0);
	return (pack_write(p, head, sizeof(head), ZSTD_e_end));
}

static int
pack_to(struct undo *u, int ofd, const char *name, int fd,
    const struct stat *st, uint64_t *saved)
{
	struct packer p = { .u = u, .fd = -1 };
	char tmp[OBJ_NAMESIZE + 2], packed[OBJ_NAMESIZE + 2];
	uint8_t *buf;
	bool sync;
	int error;

	sync = u->o.durability == UNDO_POWER;
	(void)snprintf(tmp, sizeof(tmp), "%s.t", name);
	(void)snprintf(packed, sizeof(packed), "%s.z", name);
	p.outsize = ZSTD_compressBound(BUFSIZE);
	p.out = malloc(p.outsize);
	buf = malloc(BUFSIZE);
	p.z = ZSTD_createCCtx();
	error = ENOMEM;
	if (p.out == NULL || buf == NULL || p.z == NULL)
		goto out;
	error = 0;
	if (!pack_worth(&p, fd, st->st_size, buf))
		goto out;
	p.fd = sys_openat(ofd, tmp, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW,
	    0600);
	if (p.fd == -1) {
		error = errno;
		goto out;
	}
	error = pack_file(&p, fd, st->st_size, buf);
	/* Less than a block is no gain. */
	if (error == 0 && p.off + BLOCK <= st->st_blocks * 512 &&
	    (!sync || sys_fsync(p.fd) == 0) &&
	    sys_renameat(ofd, tmp, ofd, packed) == 0) {
		/* Both may be there, but never none. */
		if (!sync || sys_fsync(ofd) == 0)
			(void)sys_unlinkat(ofd, name, 0);
		*saved = (uint64_t)(st->st_blocks * 512 - p.off);
	} else
		(void)sys_unlinkat(ofd, tmp, 0);
	sys_close(p.fd);
out:
	ZSTD_freeCCtx(p.z);
	free(buf);
	free(p.out);
	return (error);
}

/*
 * Compress the object if that saves something; ${saved} says how much.
 * EAGAIN: there is something better to do.
 */
int
pack_object(struct undo *u, int ofd, uint32_t obj, uint64_t *saved)
{
	char name[OBJ_NAMESIZE];
	struct stat st;
	int error, fd;

	*saved = 0;
	obj_name(name, obj);
	fd = sys_openat(ofd, name, O_RDONLY | O_NOFOLLOW, 0);
	if (fd == -1)
		return (errno == ENOENT ? 0 : errno);
	if (sys_fstat(fd, &st) == -1)
		error = errno;
	else if (st.st_size <= BLOCK || !S_ISREG(st.st_mode))
		error = 0;
	else
		error = pack_to(u, ofd, name, fd, &st, saved);
	sys_close(fd);
	return (error);
}

/*
 * The other way.
 */
struct unpacker {
	int		 out;
	uint8_t		 head[16];
	size_t		 have;		/* of head */
	uint64_t	 off;
	uint64_t	 left;		/* of this run */
	bool		 done;
};

static int
unpack_bytes(struct unpacker *p, const uint8_t *data, size_t len)
{
	size_t n;
	int error;

	while (len > 0 && !p->done) {
		if (p->left > 0) {
			n = p->left < len ? (size_t)p->left : len;
			error = sys_pwrite_all(p->out, data, n,
			    (off_t)p->off);
			if (error != 0)
				return (error);
			p->off += n;
			p->left -= n;
		} else {
			n = sizeof(p->head) - p->have;
			if (n > len)
				n = len;
			memcpy(p->head + p->have, data, n);
			p->have += n;
			if (p->have == sizeof(p->head)) {
				p->have = 0;
				p->off = get64(p->head);
				p->left = get64(p->head + 8);
				p->done = p->left == 0;
				if (p->off > INT64_MAX ||
				    p->left > INT64_MAX - p->off)
					return (EIO);
			}
		}
		data += n;
		len -= n;
	}
	return (0);
}

static int
unpack_stream(ZSTD_DCtx *z, int fd, struct unpacker *p, uint8_t *in,
    uint8_t *out)
{
	ZSTD_inBuffer ib;
	ZSTD_outBuffer ob;
	ssize_t n;
	size_t r;
	int error;

	while ((n = sys_read(fd, in, BUFSIZE)) > 0) {
		ib = (ZSTD_inBuffer){ in, (size_t)n, 0 };
		do {
			ob = (ZSTD_outBuffer){ out, BUFSIZE, 0 };
			r = ZSTD_decompressStream(z, &ob, &ib);
			if (ZSTD_isError(r))
				return (EIO);
			error = unpack_bytes(p, out, ob.pos);
			if (error != 0)
				return (error);
			/* The end of the frame is that of the object. */
			if (r == 0)
				return (p->done ? 0 : EIO);
		} while (ib.pos < ib.size || ob.pos == BUFSIZE);
	}
	return (n == -1 ? errno : EIO);
}

int
unpack_object(int ofd, uint32_t obj, int out)
{
	struct unpacker p = { .out = out };
	char name[OBJ_NAMESIZE], packed[OBJ_NAMESIZE + 2];
	uint8_t *buf;
	ZSTD_DCtx *z;
	int error, fd;

	obj_name(name, obj);
	(void)snprintf(packed, sizeof(packed), "%s.z", name);
	fd = sys_openat(ofd, packed, O_RDONLY | O_NOFOLLOW, 0);
	if (fd == -1)
		return (errno);
	buf = malloc(2 * BUFSIZE);
	z = ZSTD_createDCtx();
	if (buf == NULL || z == NULL)
		error = ENOMEM;
	else
		error = unpack_stream(z, fd, &p, buf, buf + BUFSIZE);
	ZSTD_freeDCtx(z);
	free(buf);
	sys_close(fd);
	return (error);
}

/* Is there a packed object to be had? */
int
unpack_check(int ofd, uint32_t obj)
{
	char name[OBJ_NAMESIZE], packed[OBJ_NAMESIZE + 2];
	struct stat st;

	obj_name(name, obj);
	(void)snprintf(packed, sizeof(packed), "%s.z", name);
	return (sys_fstatat(ofd, packed, &st) == -1 ? errno : 0);
}
