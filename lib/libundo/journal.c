/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The file of a journal: making, growing, appending, walking.  The records'
 * bytes are record.c's.  A record counts from the moment in which its first
 * eight bytes (length and checksum) are stored; until then the journal ends
 * before it, whatever else was stored.
 */

#include <sys/mman.h>

#include <assert.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "journal.h"
#include "os.h"
#include "record.h"
#include "sys.h"

#define	HEADER		64
#define	FIRSTROOM	((uint64_t)64 << 10)
#define	MAXGROW		((uint64_t)4 << 20)
#define	COLD		((uint64_t)4 << 20)

/*
 * Header: magic (8), version (4), zero (4), then what changes:
 * undone (4) and its complement (4), state (4), zero (4), the same for a
 * system that was not restarted (4, 4), and which start of it (8).
 */
static const char magic[8] = { 'C', 'P', 'U', 'N', 'D', 'O', 'J', '1' };
#define	H_VERSION	8
#define	H_UNDONE	16
#define	H_STATE		24
#define	H_LIVE		32
#define	H_BOOT		40

static int
grow(struct journal *j, uint64_t need)
{
	uint64_t room;
	int error;

	if (need <= j->room)
		return (0);
	if (need > JOURNAL_MAX)
		return (EFBIG);
	room = j->room == 0 ? FIRSTROOM : j->room;
	while (room < need)
		room += room < MAXGROW ? room : MAXGROW;
	if (room > JOURNAL_MAX)
		room = JOURNAL_MAX;
	error = os_preallocate(j->fd, (off_t)j->room,
	    (off_t)(room - j->room));
	if (error == EOPNOTSUPP || error == EINVAL) {
		j->direct = true;
		error = 0;
	}
	if (error != 0)
		return (error);
	if (!j->direct)
		j->room = room;
	return (0);
}

/* Store bytes at ${off}: in the mapping, or by a call. */
static int
store(struct journal *j, uint64_t off, const void *p, size_t len)
{

	if (j->direct)
		return (sys_pwrite_all(j->fd, p, len, (off_t)off));
	memcpy(j->map + off, p, len);
	return (0);
}

static int
map(struct journal *j, size_t len, bool write)
{

	j->maplen = len;
	j->map = sys_mmap(len, PROT_READ | (write ? PROT_WRITE : 0), j->fd);
	return (j->map == NULL ? errno : 0);
}

int
journal_create(struct journal *j, int dirfd)
{
	uint8_t head[HEADER];
	int error;

	memset(j, 0, sizeof(*j));
	j->fd = sys_openat(dirfd, "journal", O_RDWR | O_CREAT | O_EXCL |
	    O_NOFOLLOW, 0600);
	if (j->fd == -1)
		return (errno);
	if ((error = grow(j, HEADER)) != 0 ||
	    (error = map(j, JOURNAL_MAX, true)) != 0)
		goto err;
	memset(head, 0, sizeof(head));
	memcpy(head, magic, sizeof(magic));
	put32(head + H_VERSION, 1);
	put32(head + H_UNDONE, UINT32_MAX);
	put32(head + H_UNDONE + 4, 0);
	if ((error = store(j, 0, head, sizeof(head))) != 0)
		goto err;
	j->end = HEADER;
	return (0);
err:
	journal_close(j);
	return (error);
}

/* Find the last good record. */
static int
scan(struct journal *j, uint64_t size, bool *damage)
{
	struct rec r;
	uint32_t len;
	int error;

	*damage = false;
	if (size < HEADER || memcmp(j->map, magic, sizeof(magic)) != 0 ||
	    get32(j->map + H_VERSION) != 1)
		return (EINVAL);
	for (j->end = HEADER, j->count = 0;; j->end += len, j->count++) {
		error = record_decode(j->map + j->end, size - j->end, &r,
		    &len);
		if (error == 0 && r.no != j->count)
			error = EINVAL;
		if (error == 0 && (j->count == 0) != (r.type == REC_BEGIN))
			error = EINVAL;
		if (error != 0)
			break;
	}
	*damage = error != ENOENT;
	return (0);
}

int
journal_open(struct journal *j, int dirfd, bool write, bool *damage)
{
	struct stat st;
	uint64_t size;
	int error;

	memset(j, 0, sizeof(*j));
	j->fd = sys_openat(dirfd, "journal", (write ? O_RDWR : O_RDONLY) |
	    O_NOFOLLOW, 0);
	if (j->fd == -1)
		return (errno);
	if (sys_fstat(j->fd, &st) == -1) {
		error = errno;
		goto err;
	}
	error = EINVAL;
	if (!S_ISREG(st.st_mode) || st.st_size < HEADER ||
	    (uint64_t)st.st_size > JOURNAL_MAX)
		goto err;
	size = (uint64_t)st.st_size;
	if ((error = map(j, write ? JOURNAL_MAX : size, write)) != 0)
		goto err;
	j->readonly = !write;
	/* A mapping of a file without reserved space must not be stored to. */
	j->direct = write && !os_in_place(j->fd);
	j->room = size;
	if ((error = scan(j, size, damage)) != 0)
		goto err;
	j->cold = j->end & ~(COLD - 1);
	return (0);
err:
	journal_close(j);
	return (error);
}

int
journal_parse(struct journal *j, uint8_t *buf, size_t len, bool *damage)
{

	memset(j, 0, sizeof(*j));
	j->fd = -1;
	j->map = buf;
	j->readonly = true;
	return (scan(j, len, damage));
}

void
journal_close(struct journal *j)
{

	if (j->fd == -1)
		return;
	if (j->map != NULL)
		sys_munmap(j->map, j->maplen);
	sys_close(j->fd);
	j->fd = -1;
	j->map = NULL;
}

/* Length and checksum last, in one store. */
static void
publish(struct journal *j, const uint8_t *rec)
{
	uint64_t first;

	memcpy(&first, rec, sizeof(first));
	atomic_store_explicit((_Atomic uint64_t *)(void *)(j->map + j->end),
	    first, memory_order_release);
}

int
journal_append(struct journal *j, struct rec *r)
{
	uint8_t small[1024], *buf;
	size_t len;
	int error;

	len = record_size(r);
	if ((error = sys_journal_before()) > 0)
		return (error);
	if (!j->direct && (error = grow(j, j->end + len + 8)) != 0)
		return (error);
	buf = small;
	if (len + 8 > sizeof(small) && (buf = malloc(len + 8)) == NULL)
		return (ENOMEM);
	r->no = j->count;
	r->off = j->end;
	record_encode(r, buf, len);
	memset(buf + len, 0, 8);
	if (j->direct)
		error = sys_pwrite_all(j->fd, buf, len, (off_t)j->end);
	else {
		/* The length after this record must not be a stale one. */
		memcpy(j->map + j->end + 8, buf + 8, len);
		publish(j, buf);
		error = 0;
	}
	if (buf != small)
		free(buf);
	if (error != 0) {
		/* A part of it may be there; its checksum is wrong. */
		if (j->direct)
			(void)sys_ftruncate(j->fd, (off_t)j->end);
		return (error);
	}
	j->end += len;
	j->count++;
	if (!j->direct && j->end - j->cold >= 2 * COLD) {
		os_forget(j->map + j->cold, COLD);
		j->cold += COLD;
	}
	sys_journal_after();
	return (0);
}

int
journal_read(const struct journal *j, uint64_t off, struct rec *r)
{
	uint32_t len;

	if (off < HEADER || off >= j->end)
		return (EINVAL);
	return (record_decode_trusted(j->map + off, j->end - off, r, &len));
}

bool
journal_next(const struct journal *j, uint64_t *off, struct rec *r)
{
	uint32_t len;

	if (*off == 0)
		*off = HEADER;
	if (*off >= j->end || record_decode_trusted(j->map + *off,
	    j->end - *off, r, &len) != 0)
		return (false);
	r->off = *off;
	*off += len;
	return (true);
}

int
journal_index(const struct journal *j, uint32_t **offs)
{
	uint64_t off, at;
	uint32_t n;
	struct rec r;

	if ((*offs = calloc((size_t)j->count + 1, sizeof(**offs))) == NULL)
		return (ENOMEM);
	for (n = 0, off = 0; n < j->count; n++) {
		at = off == 0 ? HEADER : off;
		if (!journal_next(j, &off, &r))
			break;
		(*offs)[n] = (uint32_t)at;
	}
	if (n == j->count)
		return (0);
	free(*offs);
	*offs = NULL;
	return (EINVAL);
}

void
journal_void(struct journal *j, uint64_t off)
{
	uint8_t b[4];

	put32(b, record_state(j->map + off) | RECORD_VOID);
	(void)store(j, off + RECORD_STATE, b, sizeof(b));
}

void
journal_later(struct journal *j, uint64_t off, uint64_t ino)
{
	uint8_t b[8], s[4];

	put64(b, ino);
	put32(s, (record_state(j->map + off) & RECORD_VOID) |
	    record_later_sum(ino));
	if (store(j, off + RECORD_LATER, b, sizeof(b)) == 0)
		(void)store(j, off + RECORD_STATE, s, sizeof(s));
}

static uint32_t
get_undone(const struct journal *j, size_t at)
{
	uint32_t n;

	n = get32(j->map + at);
	if (n != ~get32(j->map + at + 4) || n > j->count)
		return (j->count);
	return (n);
}

uint32_t
journal_undone(const struct journal *j)
{
	uint64_t boot;

	boot = get64(j->map + H_BOOT);
	if (boot != 0 && boot == os_boot())
		return (get_undone(j, H_LIVE));
	return (get_undone(j, H_UNDONE));
}

static int
set_undone(struct journal *j, size_t at, uint32_t n)
{
	uint8_t b[8];
	uint64_t v;

	put32(b, n);
	put32(b + 4, ~n);
	if (j->direct)
		return (store(j, at, b, sizeof(b)));
	memcpy(&v, b, sizeof(v));
	atomic_store((_Atomic uint64_t *)(void *)(j->map + at), v);
	return (0);
}

void
journal_power(struct journal *j)
{
	uint8_t b[8];

	j->boot = os_boot();
	if (j->boot == 0)
		return;
	put64(b, j->boot);
	/* Without this number the other one counts, and is as good now. */
	if (set_undone(j, H_LIVE, journal_undone(j)) != 0 ||
	    store(j, H_BOOT, b, sizeof(b)) != 0)
		j->boot = 0;
}

int
journal_set_undone(struct journal *j, uint32_t n, bool synced)
{
	int error;

	error = 0;
	if (j->boot != 0)
		error = set_undone(j, H_LIVE, n);
	if (error == 0 && synced)
		error = set_undone(j, H_UNDONE, n);
	return (error);
}

bool
journal_state(const struct journal *j, uint32_t state)
{

	return ((get32(j->map + H_STATE) & state) != 0);
}

int
journal_set_state(struct journal *j, uint32_t state)
{
	uint8_t b[4];

	if (journal_state(j, state))
		return (0);
	put32(b, get32(j->map + H_STATE) | state);
	return (store(j, H_STATE, b, sizeof(b)));
}

int
journal_sync(struct journal *j)
{

	if (!j->direct && sys_msync(j->map, j->end) == -1)
		return (errno);
	return (sys_fsync(j->fd) == -1 ? errno : 0);
}

int
journal_trim(struct journal *j)
{

	if (sys_ftruncate(j->fd, (off_t)j->end) == -1)
		return (errno);
	j->room = j->end;
	return (0);
}
