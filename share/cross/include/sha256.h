/*
 * For cross checks only: the declarations of FreeBSD's <sha256.h> that we
 * use, where the target has no header of it.
 */

#ifndef CROSS_SHA256_H
#define CROSS_SHA256_H

#include <stddef.h>
#include <stdint.h>

typedef struct SHA256Context {
	uint32_t	state[8];
	uint64_t	count;
	uint8_t		buf[64];
} SHA256_CTX;

void	 SHA256_Init(SHA256_CTX *);
void	 SHA256_Update(SHA256_CTX *, const void *, size_t);
void	 SHA256_Final(unsigned char[32], SHA256_CTX *);
char	*SHA256_Data(const void *, unsigned int, char *);
char	*SHA256_File(const char *, char *);

#endif /* CROSS_SHA256_H */
