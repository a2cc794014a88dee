# Site rules for every folder: where objects go, which flags compile them,
# which libraries a program links.  Read by way of Makefile.inc, before the
# system's bsd.*.mk does its work.

.if !target(__coppice.mk__)
__coppice.mk__:

CO_SRC:=	${.PARSEDIR:tA:H:H}

# What the code is built for; a cross build says it, otherwise it is here.
.if !defined(OS)
OS!=		uname -s
.export OS
.endif

# Objects live outside the tree: below /usr/obj as on BSD where that can be
# written, else in the user's cache.  VARIANT keeps builds of other flags
# (sanitize, thread, fuzz, a cross target) apart.
VARIANT?=	native
.if !defined(CO_OBJROOT)
CO_OBJROOT!=	p=${MAKEOBJDIRPREFIX:U/usr/obj}; \
		{ mkdir -p $$p && test -w $$p; } 2>/dev/null || \
		    p=$${HOME}/.cache/coppice/obj; \
		echo $$p${CO_SRC}
.export CO_OBJROOT
.endif
CO_OBJ=		${CO_OBJROOT}/${VARIANT}
_objdir:=	${CO_OBJ}${.CURDIR:S,^${CO_SRC},,}
.if ${.OBJDIR} != ${_objdir}
_made!=		mkdir -p ${_objdir} && echo yes
.OBJDIR:	${_objdir}
.endif

# Only static archives of our own libraries, all position independent.
INTERNALLIB=
MK_PIC=		no
MK_PIE=		no
MK_PROFILE=	no
MK_LINT=	no
MK_MAN=		no
MK_DEBUG_FILES=	no
NO_ROOT=	yes
WARNS=
SSP_CFLAGS=

CSTD=		c17
WARNFLAGS=	-Wall -Wextra -Wshadow -Wconversion -Wsign-conversion \
		-Wstrict-prototypes -Wmissing-prototypes \
		-Wold-style-definition -Wwrite-strings -Wpointer-arith \
		-Wcast-qual -Wformat=2 -Wundef -Wvla -Werror
HARDEN=		-fPIE -fstack-protector-strong
OPTIMIZE?=	-O2 -g
.if empty(VARIANT:Msan*) && empty(VARIANT:Mthread) && empty(VARIANT:Mfuzz)
HARDEN+=	-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2
.endif

.if ${VARIANT} == "sanitize"
SANITIZE=	-fsanitize=address,undefined -fno-sanitize-recover=all \
		-fno-omit-frame-pointer
.elif ${VARIANT} == "thread"
SANITIZE=	-fsanitize=thread -fno-omit-frame-pointer
.elif ${VARIANT} == "fuzz"
CC=		clang
SANITIZE=	-fsanitize=fuzzer-no-link,address,undefined \
		-fno-sanitize-recover=all -fno-omit-frame-pointer
.endif

CFLAGS=		-std=${CSTD} ${OPTIMIZE} ${WARNFLAGS} ${HARDEN} ${SANITIZE}
CFLAGS+=	${TARGETFLAGS}
LDFLAGS+=	-pie ${SANITIZE} ${TARGETFLAGS}

OURLIBS=	compat coppice undo net share fused p9 shim ctl vm sandbox
CFLAGS+=	${OURLIBS:Ncompat:@l@-I${CO_SRC}/lib/lib$l@}

# Where things are installed, as hier(7) has it; whoever installs owns them.
# Our libraries are linked into the programs and installed nowhere.
PREFIX?=	/usr/local
BINDIR?=	${PREFIX}/sbin
MAN_INSTALL_OWN=
PROG_INSTALL_OWN=
FILES_INSTALL_OWN=
libinstall incinstall:

.include "${CO_SRC}/share/mk/os.${OS}.mk"
.if defined(CROSS)
CFLAGS+=	-I${CO_SRC}/share/cross/include -I${CROSSINC}
.endif

# Libraries: ours by path, theirs by name, in link order.
.for l in ${COPPICE_LIBS}
.if empty(NOLIBS:M$l)
LDADD+=		${CO_OBJ}/lib/lib$l/lib$l.a
DPADD+=		${CO_OBJ}/lib/lib$l/lib$l.a
.endif
.endfor
LDADD+=		${COPPICE_LIBS:@l@${LDADD.$l}@} -lpthread

.endif
