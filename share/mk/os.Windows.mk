# Windows: cross-built only; the parts that serve files and speak protocols.
CFLAGS+=	-U_WIN32_WINNT -D_WIN32_WINNT=0x0A00 -D__USE_MINGW_ANSI_STDIO=1 \
		-I${CO_SRC}/lib/libcompat/include
HARDEN=
NOLIBS=		net undo share fused shim ctl sandbox
LDADD.coppice=	-lm -ladvapi32
COMPILE.c=	${CC} ${CFLAGS} -o ${.TARGET} -c
