# SPDX-License-Identifier: BSD-2-Clause
#
# Real programs at work in a mount, each as one step of a folder that had
# something in it before; and then it is as if they had never been there.

. "$TEST_SRCDIR/fsd.subr"

# work_of name programs: a test case of that name; do_NAME runs in the mount.
work_of() {
	eval "$(cat <<-EOT
	atf_test_case $1 cleanup
	$1_head() {
		atf_set require.user root
		atf_set require.progs "$2"
		atf_set timeout 1800
	}
	$1_body() {
		undone $1
	}
	$1_cleanup() {
		unprepare
	}
	EOT
	)"
}


undone() {
	mkdir dir
	furnish dir
	type "before_$1" >/dev/null 2>&1 && "before_$1"
	start_fuse -o "steps=10,step=16g,log=32g,quiet=100"
	look dir before
	export HOME="$PWD" GIT_CONFIG_NOSYSTEM=1
	ask step.begin id=1 name="$1"
	# The first command that fails fails it; not so in a condition.
	(set -e; cd mnt; "do_$1") >"$1.out" 2>&1
	status=$?
	[ $status -eq 0 ] || fail "ended with $status: $(tail -n 20 "$1.out")"
	ask step.complete id=1
	final 1
	look dir between
	! cmp -s before between || fail "nothing was done"
	ask undo n=1
	look dir after
	same before after
	[ "$(barriers)" -eq 0 ] || fail "a barrier: $("$ctl" sock history)"
	finish
}

# A repository of 5,000 files, there before; cloned, changed, packed.
before_git() {
	export HOME="$PWD" GIT_CONFIG_NOSYSTEM=1
	git config --global user.name t
	git config --global user.email t@localhost
	git config --global gc.auto 0
	git init -q -b main dir/repo
	(
		cd dir/repo || exit 1
		for d in $(seq 50); do
			mkdir "d$d"
			for f in $(seq 100); do
				echo "$d $f" >"d$d/f$f"
			done
		done
		git add . && git commit -qm one
	) || fail "no repository"
}
do_git() {
	git clone -q --no-hardlinks repo clone
	cd clone
	[ -z "$(git status --porcelain)" ]
	echo changed >d7/f7
	rm d8/f8
	git mv d9 moved
	[ "$(git status --porcelain | wc -l)" -eq 102 ]
	git commit -qam two
	git gc -q
	git fsck --full --no-progress
	git push -q origin main:other
	cd ../repo
	git merge -q other
	git gc -q --prune=now
	[ -z "$(git status --porcelain)" ]
	[ "$(git ls-files | wc -l)" -eq 4999 ]
}
work_of git git

# A project as it comes: configured, made, checked, installed, cleaned.
do_configure() {
	mkdir project
	cd project
	cat >configure.ac <<-'EOT'
	AC_INIT([thing], [1.0])
	AC_CONFIG_SRCDIR([main.c])
	AC_CONFIG_HEADERS([config.h])
	AC_PROG_CC
	AC_CHECK_HEADERS([fcntl.h sys/stat.h nonesuch.h])
	AC_CHECK_FUNCS([openat fstatat nonesuch])
	AC_TYPE_SIZE_T
	AC_C_BIGENDIAN
	AC_CONFIG_FILES([Makefile])
	AC_OUTPUT
	EOT
	cat >Makefile.in <<-'EOT'
	CC = @CC@
	CFLAGS = @CFLAGS@ @DEFS@
	prefix = @prefix@
	OBJS = main.o f1.o f2.o f3.o f4.o f5.o f6.o f7.o f8.o
	thing: $(OBJS); $(CC) -o $@ $(OBJS)
	$(OBJS): config.h
	check: thing; ./thing
	install: thing; mkdir -p $(prefix)/bin && cp thing $(prefix)/bin/
	clean:; rm -f thing $(OBJS)
	EOT
	for i in 1 2 3 4 5 6 7 8; do
		printf '#include "config.h"\nint f%d(void) { return (%d); }\n' \
		    "$i" "$i" >"f$i.c"
	done
	cat >main.c <<-'EOT'
	#include "config.h"
	#if !defined(HAVE_OPENAT) || defined(HAVE_NONESUCH)
	#error not configured
	#endif
	int f1(void), f8(void);
	int main(void) { return (f1() + f8() - 9); }
	EOT
	autoreconf -i
	./configure --prefix="$PWD/../installed"
	make -j2 check install
	make | grep 'up to date'
	touch f3.c
	make -n | grep f3.c
	make clean
	[ -x ../installed/bin/thing ]
}
work_of configure "autoreconf cc make"

# Thirty packages of twenty files, of which each needs the next.
before_npm() {
	for p in $(seq 30); do
		mkdir -p pack/package/lib
		for f in $(seq 20); do
			echo "module.exports = $f;" >"pack/package/lib/$f.js"
		done
		echo "module.exports = require('./lib/7.js');" \
		    >pack/package/index.js

		printf '{"name": "p%d", "version": "1.0.0", "bin": %s}\n' \
		    "$p" '"index.js"' >pack/package/package.json
		tar -C pack -czf "dir/p$p.tgz" package
		rm -r pack
	done
}
do_npm() {
	mkdir app
	cd app
	{
		echo '{"name": "app", "version": "1.0.0", "dependencies": {'
		for p in $(seq 29); do
			echo "\"p$p\": \"file:../p$p.tgz\","
		done
		echo '"p30": "file:../p30.tgz"}}'
	} >package.json
	npm install --offline --no-audit --no-fund --cache ../cache
	[ "$(find node_modules -name '*.js' -type f | wc -l)" -eq 630 ]
	[ "$(node -p 'require("p30")')" = 7 ]
	npm ls --offline --cache ../cache >/dev/null
	npm uninstall --offline --no-audit --no-fund --cache ../cache p30
	[ ! -e node_modules/p30 ]
	npm ci --offline --no-audit --no-fund --cache ../cache
}
work_of npm "npm node"

# A database with a log of its own, mapped into memory, and two writers.
do_sqlite() {
	sqlite3 db 'pragma journal_mode=wal; pragma mmap_size=16777216;
	    create table t(w, i, b)' | grep -x wal
	for w in 1 2; do
		for i in $(seq 50); do
			sqlite3 -cmd '.timeout 60000' db \
			    "insert into t values($w, $i, randomblob(9000))"
		done &
		eval "p$w=$!"
	done
	wait "$p1"
	wait "$p2"
	[ "$(sqlite3 db 'pragma mmap_size=16777216;
	    select count(*) from t' | tail -n 1)" = 100 ]
	sqlite3 db 'pragma mmap_size=16777216; delete from t where i > 20;
	    vacuum; pragma integrity_check' | grep -x ok
	sqlite3 db 'pragma wal_checkpoint(truncate);
	    pragma journal_mode=delete' | grep -x delete
}
work_of sqlite sqlite3

# There and back with all that tar knows of.
do_tar() {
	tar --xattrs --xattrs-include='*' --acls -cf t.tar src empty
	mkdir out
	tar --xattrs --xattrs-include='*' --acls -xpf t.tar -C out
	[ "$(getfattr --only-values -n user.note out/src/file4)" = kept ]
	tar --xattrs --acls -df t.tar -C out
	setfattr -n user.note -v changed src/file4
	setfattr -n user.more -v more src
	rm -r src
	tar --xattrs --xattrs-include='*' --acls -xpf t.tar
}
work_of tar "tar setfattr getfattr"

# What was written is what is read, in every way that there is.
do_fio() {
	for engine in psync mmap libaio; do
		fio --name="$engine" --ioengine="$engine" --rw=randrw \
		    --size=16m --bsrange=512-64k --verify=crc32c \
		    --verify_fatal=1 --do_verify=1 --iodepth=4 --numjobs=2 \
		    --fallocate=none --output="$engine.log"
	done
	fio --name=direct --ioengine=psync --direct=1 --rw=randwrite \
	    --size=8m --bs=4k --verify=md5 --verify_fatal=1 --output=direct.log
	fio --name=append --rw=write --file_append=1 --size=4m --bs=7k \
	    --fsync=16 --verify=sha1 --verify_fatal=1 --output=append.log
}
work_of fio fio

# Everything about files that somebody thought of to break them.
STRESSORS="access chmod chown copy-file dentry dir dirdeep dirmany fallocate
	fcntl filename flock fpunch fstat getdent hdd iomix io lease link
	locka lockf lockofd mknod open readahead rename seek symlink
	sync-file touch utime xattr"
do_stress() {
	for s in $STRESSORS; do
		# Some do thousands of things at once.
		case $s in
		fpunch | link | symlink)	n=1 ;;
		fallocate | iomix | xattr)	n=4 ;;
		*)	n=100 ;;
		esac
		mkdir work
		stress-ng --verify --temp-path work --"$s" 2 --"$s"-ops $n \
		    --timeout 60 --dirdeep-inodes 2000 --hdd-bytes 8m \
		    --iomix-bytes 16m --fallocate-bytes 16m --seek-size 8m \
		    --copy-file-bytes 128m --readahead-bytes 16m \
		    --sync-file-bytes 8m || {
			echo "$s failed"
			return 1
		}
		# It does not always clean up after itself.
		rm -rf work
	done
	touch worked
}
work_of stress stress-ng

atf_init_test_cases() {
	for c in git configure npm sqlite tar fio stress; do
		atf_add_test_case $c
	done
}
