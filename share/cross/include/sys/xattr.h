/*
 * For cross checks only: the attribute calls of macOS that we use, where the
 * cross compiler has no header of them.
 */

#ifndef CROSS_SYS_XATTR_H
#define CROSS_SYS_XATTR_H

#include <sys/types.h>

ssize_t flistxattr(int, char *, size_t, int);
ssize_t fgetxattr(int, const char *, void *, size_t, uint32_t, int);
int fsetxattr(int, const char *, const void *, size_t, uint32_t, int);
int fremovexattr(int, const char *, int);

#endif /* CROSS_SYS_XATTR_H */
