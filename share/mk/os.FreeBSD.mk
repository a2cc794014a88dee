# FreeBSD: libxo and libnv are in base; what is not comes from packages.
# Elsewhere, SYSROOT is where a FreeBSD is, and LOCALBASE its packages.
LOCALBASE?=	${SYSROOT}/usr/local
.if !defined(CROSS)
CFLAGS+=	-I${LOCALBASE}/include
.endif
LDFLAGS+=	-L${LOCALBASE}/lib -Wl,-z,relro,-z,now
NOLIBS=		compat
LDADD.compat=	-lxo -lnv
LDADD.coppice=	-lm
LDADD.undo=	-lzstd
LDADD.net=	-ljail
LDADD.sandbox=	-luv -ljail -larchive -ljansson -lmd
MANDIR=		${PREFIX}/share/man/man
ATF_SH=		/usr/libexec/atf-sh
ATF_LDADD=	-lprivateatf-c
