/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The record of a sandbox, state/sandboxes/ID/record: a packed nvlist with
 * everything that a restart needs, replaced as a whole at each transition.
 * In memory it is the same nvlist.
 */

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine_internal.h"

#define	RECORD_VERSION	1
#define	RECORD_MAX	(4 * 1024 * 1024)

void
rec_string(nvlist_t *nv, const char *name, const char *value)
{

	if (nvlist_exists(nv, name))
		nvlist_free(nv, name);
	nvlist_add_string(nv, name, value);
}

void
rec_number(nvlist_t *nv, const char *name, uint64_t value)
{

	if (nvlist_exists(nv, name))
		nvlist_free(nv, name);
	nvlist_add_number(nv, name, value);
}

static void
copy_array(nvlist_t *to, const nvlist_t *from, const char *name)
{
	size_t n;

	if (nvlist_exists_string_array(from, name)) {
		const char *const *v = nvlist_get_string_array(from, name,
		    &n);
		nvlist_add_string_array(to, name, v, n);
	} else if (nvlist_exists_number_array(from, name)) {
		const uint64_t *v = nvlist_get_number_array(from, name, &n);
		nvlist_add_number_array(to, name, v, n);
	} else if (nvlist_exists_nvlist_array(from, name)) {
		const nvlist_t *const *v = nvlist_get_nvlist_array(from,
		    name, &n);
		nvlist_add_nvlist_array(to, name, v, n);
	}
}

/* Let ${to} have what ${from} has by that name, or nothing. */
void
rec_copy(nvlist_t *to, const nvlist_t *from, const char *name)
{

	if (nvlist_exists(to, name))
		nvlist_free(to, name);
	if (nvlist_exists_string(from, name))
		nvlist_add_string(to, name, nvlist_get_string(from, name));
	else if (nvlist_exists_number(from, name))
		nvlist_add_number(to, name, nvlist_get_number(from, name));
	else if (nvlist_exists_bool(from, name))
		nvlist_add_bool(to, name, nvlist_get_bool(from, name));
	else if (nvlist_exists_nvlist(from, name))
		nvlist_add_nvlist(to, name, nvlist_get_nvlist(from, name));
	else
		copy_array(to, from, name);
}

void
rec_limits(const nvlist_t *nv, struct sandbox_limits *l)
{

	l->memory = ctl_uint(nv, "memory", 0);
	l->cpu = ctl_uint(nv, "cpu", 0);
	l->procs = ctl_uint(nv, "procs", 0);
	l->disk = ctl_uint(nv, "disk", 0);
	l->files = ctl_uint(nv, "files", 0);
}

static void
addr_put(nvlist_t *nv, const char *name, const struct net_addr *a)
{
	char buf[NET_ADDRSTR];

	if (a->family != 0)
		nvlist_add_string(nv, name, net_addr_print(a, buf));
}

static bool
addr_get(const nvlist_t *nv, const char *name, struct net_addr *a)
{

	return (net_addr_parse(ctl_string(nv, name, ""), a) == 0);
}

void
rec_lease_put(nvlist_t *rec, const struct net_lease *l)
{
	nvlist_t *nv;

	if (nvlist_exists(rec, "net"))
		nvlist_free(rec, "net");
	if (l == NULL || l->id[0] == '\0')
		return;
	nv = nvlist_create(0);
	nvlist_add_number(nv, "kind", (uint64_t)l->kind);
	addr_put(nv, "addr", &l->addr);
	addr_put(nv, "gateway", &l->gateway);
	addr_put(nv, "addr6", &l->addr6);
	addr_put(nv, "gateway6", &l->gateway6);
	nvlist_add_number(nv, "plen", l->plen);
	nvlist_add_number(nv, "plen6", l->plen6);
	nvlist_add_binary(nv, "mac", l->mac, sizeof(l->mac));
	nvlist_add_string(nv, "ifname", l->ifname);
	nvlist_add_string(nv, "inner", l->inner);
	nvlist_add_string(nv, "device", l->device);
	nvlist_move_nvlist(rec, "net", nv);
}

static void
name_get(const nvlist_t *nv, const char *name, char buf[NET_IFNAME])
{

	(void)snprintf(buf, NET_IFNAME, "%s", ctl_string(nv, name, ""));
}

bool
rec_lease_get(const nvlist_t *rec, struct net_lease *l)
{
	const nvlist_t *nv;
	const void *mac;
	size_t n;

	memset(l, 0, sizeof(*l));
	if (!nvlist_exists_nvlist(rec, "net"))
		return (false);
	nv = nvlist_get_nvlist(rec, "net");
	if (!addr_get(nv, "addr", &l->addr) ||
	    !addr_get(nv, "gateway", &l->gateway) ||
	    !nvlist_exists_binary(nv, "mac"))
		return (false);
	mac = nvlist_get_binary(nv, "mac", &n);
	if (n != sizeof(l->mac))
		return (false);
	memcpy(l->mac, mac, n);
	if (addr_get(nv, "addr6", &l->addr6))
		(void)addr_get(nv, "gateway6", &l->gateway6);
	l->kind = ctl_uint(nv, "kind", 0) == NET_TAP ? NET_TAP : NET_PAIR;
	l->plen = (uint8_t)ctl_uint(nv, "plen", 0);
	l->plen6 = (uint8_t)ctl_uint(nv, "plen6", 0);
	name_get(nv, "ifname", l->ifname);
	name_get(nv, "inner", l->inner);
	name_get(nv, "device", l->device);
	(void)snprintf(l->id, sizeof(l->id), "%s", ctl_string(rec, "id",
	    ""));
	return (true);
}

/* What the sandbox has in memory goes into its record first. */
void *
record_pack(struct sandbox *sb, size_t *len)
{
	nvlist_t *rec = sb->rec;

	rec_number(rec, "version", RECORD_VERSION);
	rec_string(rec, "state", box_state_name(sb->state));
	rec_number(rec, "pid", (uint64_t)sb->r.pid);
	rec_number(rec, "birth", sb->r.birth);
	rec_number(rec, "jid", (uint64_t)sb->r.jid);
	rec_lease_put(rec, &sb->lease);
	if (nvlist_error(rec) != 0)
		return (NULL);
	return (nvlist_pack(rec, len));
}

/*
 * Replace a file for readers after our own death, at once; the machine's
 * death may lose it.
 */
static int
replace_quickly(int dirfd, const char *name, const void *data, size_t len)
{
	int error, fd;
	char temp[64];

	(void)snprintf(temp, sizeof(temp), ".new-%.32s", name);
	fd = openat(dirfd, temp, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW |
	    O_CLOEXEC, 0600);
	if (fd == -1)
		return (errno);
	error = co_write_all(fd, data, len);
	if (close(fd) != 0 && error == 0)
		error = errno;
	if (error == 0 && renameat(dirfd, temp, dirfd, name) != 0)
		error = errno;
	return (error);
}

int
record_file(const char *dir, const char *name, const void *data, size_t len,
    struct co_error *e)
{
	int dirfd, error;

	dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dirfd == -1)
		return (co_error_errno(e, errno, dir, "can't open \"%s\"",
		    dir));
	error = replace_quickly(dirfd, name, data, len);
	(void)close(dirfd);
	if (error != 0)
		return (co_error_errno(e, error, name, "can't write \"%s\"",
		    name));
	return (0);
}

int
record_write(const char *dir, const void *data, size_t len, bool durable,
    struct co_error *e)
{
	int dirfd, ret;

	if (!durable)
		return (record_file(dir, "record", data, len, e));
	dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dirfd == -1)
		return (co_error_errno(e, errno, dir, "can't open \"%s\"",
		    dir));
	ret = co_file_replace(dirfd, "record", data, len, 0600, e);
	(void)close(dirfd);
	return (ret);
}

int
record_save(struct sandbox *sb, struct co_error *e)
{
	struct co_ids ids = { .sandbox_id = sb->id };
	struct co_error why;
	void *buf;
	size_t len;
	int ret;

	buf = record_pack(sb, &len);
	if (buf == NULL)
		return (co_error_set(e, CO_ESYS_NOMEM, sb->id,
		    "out of memory"));
	ret = record_write(sb->dir, buf, len, false, &why);
	if (ret != 0)
		co_log(sb->en->c.log, CO_ERROR, "engine", &ids, "%s",
		    why.message);
	if (ret != 0 && e != NULL)
		*e = why;
	free(buf);
	return (ret);
}

/*
 * Read the record of the folder ${name}.  What is not one is reported as
 * such, never used.
 */
int
record_load(int boxesfd, const char *name, nvlist_t **rec,
    struct co_error *e)
{
	char *data;
	size_t len;
	int dirfd, ret;

	dirfd = openat(boxesfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
	    O_CLOEXEC);
	if (dirfd == -1)
		return (co_error_errno(e, errno, name, "can't open it"));
	ret = co_file_read(dirfd, "record", RECORD_MAX, &data, &len, e);
	(void)close(dirfd);
	if (ret != 0)
		return (-1);
	*rec = nvlist_unpack(data, len, 0);
	free(data);
	if (*rec != NULL &&
	    ctl_uint(*rec, "version", 0) == RECORD_VERSION &&
	    strcmp(ctl_string(*rec, "id", ""), name) == 0)
		return (0);
	nvlist_destroy(*rec);
	*rec = NULL;
	return (co_error_set(e, CO_EPROTO_MALFORMED, name,
	    "the record of sandbox %s can't be read", name));
}
