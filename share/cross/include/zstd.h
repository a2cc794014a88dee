/*
 * For cross checks only: the declarations of zstd(3) that we use, where the
 * target has no header of it.
 */

#ifndef CROSS_ZSTD_H
#define CROSS_ZSTD_H

#include <stddef.h>

typedef struct ZSTD_CCtx_s ZSTD_CCtx;
typedef struct ZSTD_DCtx_s ZSTD_DCtx;

typedef struct {
	const void	*src;
	size_t		 size;
	size_t		 pos;
} ZSTD_inBuffer;

typedef struct {
	void		*dst;
	size_t		 size;
	size_t		 pos;
} ZSTD_outBuffer;

typedef enum {
	ZSTD_e_continue = 0, ZSTD_e_flush = 1, ZSTD_e_end = 2
} ZSTD_EndDirective;

typedef enum {
	ZSTD_c_compressionLevel = 100, ZSTD_c_checksumFlag = 201
} ZSTD_cParameter;

typedef enum {
	ZSTD_reset_session_only = 1
} ZSTD_ResetDirective;

ZSTD_CCtx *ZSTD_createCCtx(void);
size_t ZSTD_freeCCtx(ZSTD_CCtx *);
size_t ZSTD_CCtx_reset(ZSTD_CCtx *, ZSTD_ResetDirective);
size_t ZSTD_CCtx_setParameter(ZSTD_CCtx *, ZSTD_cParameter, int);
size_t ZSTD_decompress(void *, size_t, const void *, size_t);
size_t ZSTD_compressCCtx(ZSTD_CCtx *, void *, size_t, const void *, size_t,
    int);
size_t ZSTD_compressStream2(ZSTD_CCtx *, ZSTD_outBuffer *, ZSTD_inBuffer *,
    ZSTD_EndDirective);
size_t ZSTD_compressBound(size_t);
ZSTD_DCtx *ZSTD_createDCtx(void);
size_t ZSTD_freeDCtx(ZSTD_DCtx *);
size_t ZSTD_decompressStream(ZSTD_DCtx *, ZSTD_outBuffer *, ZSTD_inBuffer *);
unsigned int ZSTD_isError(size_t);

#endif /* CROSS_ZSTD_H */
