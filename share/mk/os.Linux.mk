# Linux: xo(3) and nv(9) are ours, the rest comes from the distribution.
CFLAGS+=	-D_GNU_SOURCE -I${CO_SRC}/lib/libcompat/include
LDFLAGS+=	-Wl,-z,relro,-z,now
NOLIBS=
LDADD.coppice=	-lm
LDADD.undo=	-lzstd
LDADD.net=	-lnftables -lnftnl -lmnl
LDADD.sandbox=	-luv -lseccomp -larchive -ljansson -lmd
.if ${VARIANT} == "native" && ${CC:T:Mgcc*} != ""
CFLAGS+=	-fstack-clash-protection
.endif
MANDIR=		${PREFIX}/share/man
MANTARGET=	man
