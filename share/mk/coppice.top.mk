# What only the top folder offers: the tests in their variants, lint, fuzz,
# benchmarks and cross builds.

SUB=		cd ${.CURDIR} && ${MAKE} -j${JOBS}
BENCHES=	cd ${.CURDIR}/bench && ${MAKE} -j${JOBS} all
JOBS?=		2
TOOLS=		${CO_SRC}/tools

deps: .PHONY
	@${TOOLS}/deps

run: .PHONY deps
	@${SUB} all
	@${TOOLS}/demo ${CO_OBJ}

check: .PHONY deps
	@${SUB} all
	@${BENCHES}
	@${TOOLS}/check ${CO_SRC} ${CO_OBJ}

check-sanitize: .PHONY deps
	@${SUB} VARIANT=sanitize all
	@${TOOLS}/check -c ${CO_SRC} ${CO_OBJROOT}/sanitize

# Ours is all there is; folders have a target of this name for lint(1).
.if make(lint)
SUBDIR:=
.endif
lint: .PHONY deps
	@${TOOLS}/lint ${CO_SRC}

fuzz: .PHONY deps
	@cd ${.CURDIR}/lib && ${MAKE} -j${JOBS} \
	    VARIANT=fuzz all
	@cd ${.CURDIR}/tests/fuzz && ${MAKE} -j${JOBS} \
	    VARIANT=fuzz fuzzers
	@${TOOLS}/fuzz ${CO_SRC} ${CO_OBJROOT}/fuzz ${FUZZ_SECONDS:U60}

bench: .PHONY deps
	@${SUB} all
	@${BENCHES}
	@${TOOLS}/bench ${CO_SRC} ${CO_OBJ} ${BENCH}

cross: .PHONY
	@${TOOLS}/deps --cross
	@${TOOLS}/cross ${CO_SRC} ${CO_OBJROOT}

.ORDER: deps all
