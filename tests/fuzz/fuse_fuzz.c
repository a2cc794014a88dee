/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Any sequence of FUSE requests, on a folder beside another that must stay
 * as it is.  The input is a list of records:
 *
 *	opcode (1 byte), node (1 byte), length (2 bytes), arguments
 *
 * A node is a number of those that replies named, 255 a wild one; so is a
 * small number where arguments begin with an open file's.
 */

#include <sys/resource.h>
#include <sys/stat.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "coppice.h"
#include "fused.h"
#include "share.h"

#include "../../lib/libfused/wire.h"

#define	KEEP	32
#define	RECORDS	256
#define	CANARY	"canary"

struct seen {
	uint64_t	node[KEEP];
	uint64_t	fh[KEEP];
	unsigned int	nnodes;
	unsigned int	nfhs;
};

static char top[64];	/* holds both folders, for the life of the process */
static int topfd, outfd;
static struct stat before;

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);
int LLVMFuzzerInitialize(int *, char ***);

static void
clean(void)
{

	(void)unlinkat(outfd, CANARY, 0);
	(void)unlinkat(topfd, "in", AT_REMOVEDIR);
	(void)unlinkat(topfd, "out", AT_REMOVEDIR);
	(void)rmdir(top);
}

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	struct rlimit rl = { 1 << 20, 1 << 20 };
	int fd;

	(void)argc;
	(void)argv;
	(void)setrlimit(RLIMIT_FSIZE, &rl);
	(void)snprintf(top, sizeof(top), "%s/fuse_fuzz.XXXXXX",
	    access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	if (mkdtemp(top) == NULL ||
	    (topfd = open(top, O_RDONLY | O_DIRECTORY)) == -1 ||
	    mkdirat(topfd, "out", 0755) == -1 ||
	    (outfd = openat(topfd, "out", O_RDONLY | O_DIRECTORY)) == -1 ||
	    (fd = openat(outfd, CANARY, O_WRONLY | O_CREAT, 0600)) == -1)
		abort();
	(void)close(fd);
	if (fstatat(outfd, CANARY, &before, 0) == -1)
		abort();
	(void)atexit(clean);
	return (0);
}

/* Remove all below ${fd}, which is closed. */
static void
wipe(int fd)
{
	struct dirent *de;
	DIR *d;
	int sub;

	if ((d = fdopendir(fd)) == NULL)
		abort();
	while ((de = readdir(d)) != NULL) {
		if (strcmp(de->d_name, ".") == 0 ||
		    strcmp(de->d_name, "..") == 0)
			continue;
		if (unlinkat(fd, de->d_name, 0) == 0)
			continue;
		(void)fchmodat(fd, de->d_name, 0700, AT_SYMLINK_NOFOLLOW);
		sub = openat(fd, de->d_name, O_RDONLY | O_DIRECTORY |
		    O_NOFOLLOW);
		if (sub == -1)
			abort();
		wipe(sub);
		if (unlinkat(fd, de->d_name, AT_REMOVEDIR) == -1)
			abort();
	}
	(void)closedir(d);
}

/* Nothing outside was touched, and nothing of it was found. */
static void
check_outside(void)
{
	struct stat st;

	if (fstatat(outfd, CANARY, &st, 0) == -1 ||
	    st.st_ino != before.st_ino || st.st_size != 0 ||
	    st.st_nlink != 1 || st.st_mode != before.st_mode ||
	    st.st_ctim.tv_sec != before.st_ctim.tv_sec ||
	    st.st_ctim.tv_nsec != before.st_ctim.tv_nsec)
		abort();
}

static void
learn(struct seen *k, const struct fused_call *call)
{

	if (call->node != 0)
		k->node[k->nnodes++ % KEEP] = call->node;
	if (call->file != 0)
		k->fh[k->nfhs++ % KEEP] = call->file;
	if (call->dir != 0)
		k->fh[k->nfhs++ % KEEP] = call->dir;
}

static uint64_t
node_of(const struct seen *k, uint8_t n)
{

	if (n == 0 || k->nnodes == 0)
		return (FW_ROOT);
	if (n == 255)
		return (UINT64_C(0x1234567800000003));
	return (k->node[n % (k->nnodes < KEEP ? k->nnodes : KEEP)]);
}

/* Numbers of files and directories where arguments have them. */
static void
fix_numbers(const struct seen *k, uint32_t opcode, char *args, size_t len)
{
	uint64_t v;

	if (len < 8)
		return;
	memcpy(&v, args, 8);
	if (v >= KEEP)
		return;
	if (opcode == FW_RENAME || opcode == FW_RENAME2 || opcode == FW_LINK)
		v = node_of(k, (uint8_t)v);
	else if (k->nfhs > 0 && opcode != FW_INIT && opcode != FW_FORGET)
		v = k->fh[v % (k->nfhs < KEEP ? k->nfhs : KEEP)];
	else
		return;
	memcpy(args, &v, 8);
}

static void
request(struct fused *f, struct seen *k, uint8_t opcode, uint8_t node,
    const uint8_t *args, size_t len)
{
	static _Alignas(8) char req[65536 + 64], rep[65536];
	struct fused_call call = { .req = req, .rep = rep,
	    .repsize = sizeof(rep) };
	struct fw_in_header h = { .unique = 1 };

	/* Alone, it would wait for ever. */
	h.opcode = opcode == FW_SETLKW ? FW_SETLK : opcode;
	h.nodeid = node_of(k, node);
	h.len = (uint32_t)(sizeof(h) + len);
	memcpy(req, &h, sizeof(h));
	if (len > 0)
		memcpy(req + sizeof(h), args, len);
	fix_numbers(k, h.opcode, req + sizeof(h), len);
	call.reqlen = sizeof(h) + len;
	fused_handle(f, &call);
	if (call.replen > sizeof(rep))
		abort();
	learn(k, &call);
}

static void
run(struct fused *f, const uint8_t *data, size_t size)
{
	struct fw_init_in init = { .major = 7, .minor = 38,
	    .flags = UINT32_MAX, .flags2 = UINT32_MAX };
	struct seen k = { .nnodes = 0 };
	uint8_t bytes[sizeof(init)];
	size_t len;
	int i;

	memcpy(bytes, &init, sizeof(init));
	request(f, &k, FW_INIT, 0, bytes, sizeof(init));
	for (i = 0; i < RECORDS && size >= 4; i++) {
		len = (size_t)data[2] | (size_t)data[3] << 8;
		if (len > size - 4)
			len = size - 4;
		request(f, &k, data[0], data[1], data + 4, len);
		data += 4 + len;
		size -= 4 + len;
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct share_options so = { .max_fds = 64, .max_nodes = 64 };
	struct fused_options fo = { .max_write = 32768 };
	struct co_error e;
	struct fused *f;
	struct share *s;
	int fd;

	/* The limit keeps the disk; the fuzzer would take the signal. */
	(void)signal(SIGXFSZ, SIG_IGN);
	fo.cache = size % 2 == 0 ? FUSED_NONE : FUSED_ALWAYS;
	if ((mkdirat(topfd, "in", 0755) == -1 && errno != EEXIST) ||
	    (fd = openat(topfd, "in", O_RDONLY | O_DIRECTORY)) == -1 ||
	    symlinkat("../out", fd, "l") == -1 ||
	    share_open(fd, NULL, &so, &s, &e) == -1 ||
	    fused_new(s, &fo, &f, &e) == -1)
		abort();
	run(f, data, size);
	fused_free(f);
	share_close(s);
	(void)fchmod(fd, 0755);
	wipe(fd);
	check_outside();
	return (0);
}
