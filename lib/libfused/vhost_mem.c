/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The guest's memory, mapped here.  A region is mapped once, however many
 * sets it is part of.
 */

#include <sys/types.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "vhost_ring.h"

struct area {
	_Atomic unsigned int	 refs;
	struct vw_region	 r;
	void			*map;
	size_t			 maplen;
	char			*base;	/* of the region, in the mapping */
};

struct vmem {
	_Atomic unsigned int	 refs;
	unsigned int		 n;
	struct area		*area[VW_SLOTS];
};

static void
area_put(struct area *a)
{

	if (atomic_fetch_sub(&a->refs, 1) != 1)
		return;
	(void)munmap(a->map, a->maplen);
	free(a);
}

/* Ranges that do not wrap, within the file as it is now. */
static int
area_check(const struct vw_region *r, int fd)
{
	struct stat st;

	if (r->size == 0 || r->size > INT64_MAX ||
	    r->guest > UINT64_MAX - r->size ||
	    r->user > UINT64_MAX - r->size || r->offset > INT64_MAX - r->size)
		return (EINVAL);
	if (fstat(fd, &st) == -1)
		return (errno);
	/* Devices and shared memory of some systems tell no size. */
	if (S_ISREG(st.st_mode) &&
	    r->offset + r->size > (uint64_t)st.st_size)
		return (EINVAL);
	return (0);
}

static int
area_new(const struct vw_region *r, int fd, struct area **ap)
{
	uint64_t start, page;
	struct area *a;
	int error;

	if ((error = area_check(r, fd)) != 0)
		return (error);
	if ((a = calloc(1, sizeof(*a))) == NULL)
		return (ENOMEM);
	page = (uint64_t)sysconf(_SC_PAGESIZE);
	start = r->offset & ~(page - 1);
	a->refs = 1;
	a->r = *r;
	a->maplen = (size_t)(r->size + (r->offset - start));
	a->map = mmap(NULL, a->maplen, PROT_READ | PROT_WRITE, MAP_SHARED,
	    fd, (off_t)start);
	if (a->map == MAP_FAILED) {
		error = errno;
		free(a);
		return (error);
	}
	a->base = (char *)a->map + (r->offset - start);
	*ap = a;
	return (0);
}

static bool
meets(uint64_t a, uint64_t alen, uint64_t b, uint64_t blen)
{

	return (a < b + blen && b < a + alen);
}

/* Copy what stays; EINVAL if ${del} is not there, or ${add} has no place. */
static int
vmem_copy(struct vmem *m, const struct vmem *old,
    const struct vw_region *del, const struct vw_region *add)
{
	const struct vw_region *r;
	unsigned int i;

	for (i = 0; old != NULL && i < old->n; i++) {
		r = &old->area[i]->r;
		if (del != NULL && r->guest == del->guest &&
		    r->size == del->size && r->user == del->user) {
			del = NULL;
			continue;
		}
		if (add != NULL &&
		    (meets(r->guest, r->size, add->guest, add->size) ||
		    meets(r->user, r->size, add->user, add->size)))
			return (EINVAL);
		atomic_fetch_add(&old->area[i]->refs, 1);
		m->area[m->n++] = old->area[i];
	}
	return (del != NULL ? EINVAL : 0);
}

int
vmem_new(const struct vmem *old, const struct vw_region *del,
    const struct vw_region *add, int fd, struct vmem **mp)
{
	struct vmem *m;
	int error;

	if ((m = calloc(1, sizeof(*m))) == NULL)
		return (ENOMEM);
	m->refs = 1;
	error = vmem_copy(m, old, del, add);
	if (error == 0 && add != NULL) {
		error = m->n == VW_SLOTS ? E2BIG :
		    area_new(add, fd, &m->area[m->n]);
		if (error == 0)
			m->n++;
	}
	if (error != 0) {
		vmem_put(m);
		return (error);
	}
	*mp = m;
	return (0);
}

struct vmem *
vmem_hold(struct vmem *m)
{

	if (m != NULL)
		atomic_fetch_add(&m->refs, 1);
	return (m);
}

void
vmem_put(struct vmem *m)
{
	unsigned int i;

	if (m == NULL || atomic_fetch_sub(&m->refs, 1) != 1)
		return;
	for (i = 0; i < m->n; i++)
		area_put(m->area[i]);
	free(m);
}

void *
vmem_at(const struct vmem *m, uint64_t addr, uint64_t *len)
{
	const struct area *a;
	uint64_t off;
	unsigned int i;

	for (i = 0; m != NULL && i < m->n; i++) {
		a = m->area[i];
		if (addr < a->r.guest || addr - a->r.guest >= a->r.size)
			continue;
		off = addr - a->r.guest;
		if (*len > a->r.size - off)
			*len = a->r.size - off;
		return (a->base + off);
	}
	return (NULL);
}

void *
vmem_user(const struct vmem *m, uint64_t addr, uint64_t len)
{
	const struct area *a;
	uint64_t off;
	unsigned int i;

	for (i = 0; m != NULL && i < m->n; i++) {
		a = m->area[i];
		if (addr < a->r.user || addr - a->r.user >= a->r.size)
			continue;
		off = addr - a->r.user;
		return (len <= a->r.size - off ? a->base + off : NULL);
	}
	return (NULL);
}
