/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * dnv(9): values of a list of <sys/nv.h>, or a default when the name is not
 * there with that type.  What is returned is owned as with nvlist_get_* and
 * nvlist_take_*; a default stays what it was.
 */

#ifndef COMPAT_SYS_DNV_H
#define	COMPAT_SYS_DNV_H

#include <sys/nv.h>

#ifdef __cplusplus
extern "C" {
#endif

bool	dnvlist_get_bool(const nvlist_t *nvl, const char *name, bool defval);
uint64_t dnvlist_get_number(const nvlist_t *nvl, const char *name,
	    uint64_t defval);
const char *dnvlist_get_string(const nvlist_t *nvl, const char *name,
	    const char *defval);
const nvlist_t *dnvlist_get_nvlist(const nvlist_t *nvl, const char *name,
	    const nvlist_t *defval);
int	dnvlist_get_descriptor(const nvlist_t *nvl, const char *name,
	    int defval);
const void *dnvlist_get_binary(const nvlist_t *nvl, const char *name,
	    size_t *sizep, const void *defval, size_t defsize);

bool	dnvlist_take_bool(nvlist_t *nvl, const char *name, bool defval);
uint64_t dnvlist_take_number(nvlist_t *nvl, const char *name,
	    uint64_t defval);
char	*dnvlist_take_string(nvlist_t *nvl, const char *name, char *defval);
nvlist_t *dnvlist_take_nvlist(nvlist_t *nvl, const char *name,
	    nvlist_t *defval);
int	dnvlist_take_descriptor(nvlist_t *nvl, const char *name, int defval);
void	*dnvlist_take_binary(nvlist_t *nvl, const char *name, size_t *sizep,
	    void *defval, size_t defsize);

#ifdef __cplusplus
}
#endif

#endif /* COMPAT_SYS_DNV_H */
