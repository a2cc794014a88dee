# A benchmark: PROG against COPPICE_LIBS and the frame in bench/lib.

.include "${.PARSEDIR}/coppice.mk"

CFLAGS+=	-I${CO_SRC}/bench/lib
LDADD:=		${CO_OBJ}/bench/lib/libbench.a ${LDADD}
DPADD+=		${CO_OBJ}/bench/lib/libbench.a
proginstall:

.include <bsd.prog.mk>
