# Test programs: ATF_TESTS_C are built from NAME.c, or SRCS.NAME, against
# COPPICE_LIBS; ATF_TESTS_SH from NAME.sh.  Kyua finds them in the object
# folder by the Kyuafile of the source folder.

.include "${.PARSEDIR}/coppice.mk"
.include <bsd.own.mk>

CFLAGS+=	-I${.CURDIR} -DTEST_SRCDIR='"${.CURDIR}"'
ATF_SH?=	/usr/bin/atf-sh
ATF_LDADD?=	-latf-c

# Header dependencies, written by the compiler itself.
CFLAGS+=	-MMD -MP
_deps!=		cd ${_objdir} && ls *.d 2>/dev/null || true
.for d in ${_deps}
.-include "${_objdir}/$d"
.endfor

.if ${VARIANT} == "sanitize"
TEST_OBJS=	sanitize.o
sanitize.o: ${CO_SRC}/tests/sanitize.c
	${CC} ${CFLAGS} -c -o ${.TARGET} ${CO_SRC}/tests/sanitize.c
.endif

.for t in ${ATF_TESTS_C}
SRCS.$t?=	$t.c
OBJS.$t:=	${SRCS.$t:T:@s@$t.${s:R}.o@}
.for s in ${SRCS.$t}
$t.${s:T:R}.o: $s
	${CC} ${CFLAGS} ${CFLAGS.$t} -c -o ${.TARGET} ${.ALLSRC:M*${s:T}:[1]}
.endfor
$t: ${OBJS.$t} ${TEST_OBJS} ${LIBS.$t:U${DPADD}}
	${CC} ${LDFLAGS} ${LDFLAGS.$t} -o ${.TARGET} ${OBJS.$t} ${TEST_OBJS} \
	    ${LDADD.$t} ${TEST_LDADD} ${LDADD} ${ATF_LDADD}
CLEANFILES+=	$t ${OBJS.$t}
.endfor

.for t in ${ATF_TESTS_SH}
$t: $t.sh
	{ echo "#! ${ATF_SH}"; \
	    echo 'TEST_SRCDIR=${.CURDIR}; OBJTOP=${CO_OBJ}'; \
	    cat ${.ALLSRC:M*.sh}; } > ${.TARGET}.tmp
	chmod +x ${.TARGET}.tmp
	mv ${.TARGET}.tmp ${.TARGET}
CLEANFILES+=	$t
.endfor

.NOPATH: ${ATF_TESTS_C} ${ATF_TESTS_SH}

.MAIN: all
all: ${ATF_TESTS_C} ${ATF_TESTS_SH}
install:
clean:
	rm -f ${CLEANFILES}
.PHONY: all install clean
