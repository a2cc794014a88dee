# macOS: no xo(3), nv(9), bridge or namespaces; zstd from a package.
LOCALBASE?=	/opt/homebrew
CFLAGS+=	-D_DARWIN_C_SOURCE -I${CO_SRC}/lib/libcompat/include
.if !defined(CROSS)
CFLAGS+=	-I${LOCALBASE}/include
.endif
LDFLAGS+=	-L${LOCALBASE}/lib
NOLIBS=		net share fused sandbox
LDADD.coppice=	-lm
LDADD.undo=	-lzstd
MANDIR=		${PREFIX}/share/man
MANTARGET=	man
