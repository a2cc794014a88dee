# SPDX-License-Identifier: BSD-2-Clause
#
# Work as people do it, in a mount: the same commands in a directory give
# the same result.

mounter=$OBJTOP/tests/libfused/fuse_mounter

unprepare() {
	[ -f pid ] && kill "$(cat pid)" 2>/dev/null
	umount -l "$PWD/mnt" 2>/dev/null || umount -f "$PWD/mnt" 2>/dev/null
	return 0
}

prepare() {
	mkdir -p dir mnt
	"$mounter" "$@" "$PWD/dir" "$PWD/mnt" >out 2>err &
	echo $! >pid
	i=0
	until grep -q ready out; do
		i=$((i + 1))
		[ $i -lt 100 ] || atf_fail "not mounted: $(cat err)"
		sleep 0.1
	done
}

finish() {
	pid=$(cat pid)
	kill "$pid"
	wait "$pid" || atf_fail "the server ended with $?: $(cat err)"
	rm pid
}

# A tree with files, links, modes, holes and attributes.
tree() {
	mkdir -p "$1"/src/deep/er "$1"/empty
	i=0
	while [ $i -lt 300 ]; do
		echo "file $i" >"$1/src/f$i"
		i=$((i + 1))
	done
	ln "$1/src/f0" "$1/src/deep/hard"
	ln -s ../f1 "$1/src/deep/soft"
	ln -s /nonexistent "$1/dangling"
	truncate -s 10M "$1/sparse"
	head -c 300000 /dev/urandom >"$1/src/deep/er/random"
	chmod 4750 "$1/src/f2"
	chown 12:34 "$1/src/f3"
	mkfifo "$1/fifo"
	setfattr -n user.note -v hello "$1/src/f4"
	touch -d '2001-02-03 04:05:06.789' "$1/src/f5"
}

# All that two trees can differ in; directory sizes and times aside.
facts() {
	(cd "$1" && find . ! -type d -printf '%p %y %m %U %G %s %n %l %T@\n' |
	    sort && find . -type d -printf '%p %m %U %G\n' | sort &&
	    find . -type f -exec sha1sum {} + | sort -k 2 &&
	    getfattr -R -d . 2>/dev/null)
}

case_head() {
	atf_set require.user root
	atf_set timeout 600
}

atf_test_case tar cleanup
tar_head() {
	case_head
	atf_set require.progs "tar setfattr getfattr"
}
tar_body() {
	mkdir plain
	tree plain
	tar --xattrs --acls -cf t.tar -C plain .
	prepare -u "$PWD/store"
	tar --xattrs --acls -xpf t.tar -C mnt
	facts plain >want
	facts mnt >have
	atf_check cmp want have
	tar --xattrs --acls -cf u.tar -C mnt .
	mkdir again
	tar --xattrs --acls -xpf u.tar -C again
	facts again >have
	atf_check cmp want have
	rm -rf mnt/src
	[ ! -e dir/src ] || atf_fail "not removed"
	finish
}
tar_cleanup() {
	unprepare
}

# A repository of 5,000 files, through its life.
atf_test_case git cleanup
git_head() {
	case_head
	atf_set require.progs git
}
git_body() {
	export GIT_CONFIG_NOSYSTEM=1 HOME="$PWD"
	git config --global user.name t
	git config --global user.email t@localhost
	git config --global gc.auto 0
	prepare -u "$PWD/store"
	mkdir mnt/repo
	cd mnt/repo || atf_fail "no repository"
	atf_check -o ignore git init -q -b main .
	d=0
	while [ $d -lt 50 ]; do
		mkdir d$d
		f=0
		while [ $f -lt 100 ]; do
			echo "$d $f" >d$d/f$f
			f=$((f + 1))
		done
		d=$((d + 1))
	done
	atf_check git add .
	atf_check git commit -qm one
	atf_check -o empty git status --porcelain
	echo changed >d7/f7
	rm d8/f8
	git mv d9 moved
	[ "$(git status --porcelain | wc -l)" -eq 102 ] ||
	    atf_fail "$(git status --porcelain | wc -l) changes"
	atf_check git commit -qam two
	atf_check git gc -q
	atf_check -o ignore git fsck --full
	atf_check git clone -q . ../clone
	atf_check git -C ../clone checkout -q HEAD~1
	atf_check test -f ../clone/d9/f9
	atf_check git stash list
	cd ../..
	finish
	atf_check -o ignore git -C dir/repo fsck --full
	atf_check -o empty git -C dir/clone status --porcelain
}
git_cleanup() {
	unprepare
}

# A database in both modes, with two writers, and memory mapped.
atf_test_case sqlite cleanup
sqlite_head() {
	case_head
	atf_set require.progs sqlite3
}
sqlite_body() {
	prepare -u "$PWD/store"
	for mode in delete wal; do
		db=mnt/$mode.db
		sqlite3 $db "pragma journal_mode=$mode; \
		    pragma mmap_size=4194304; create table t(a, b)" >log
		grep -q "^$mode$" log || atf_fail "no mode $mode: $(cat log)"
		pids=
		for w in 1 2; do
			(i=0; while [ $i -lt 40 ]; do
				sqlite3 -cmd '.timeout 20000' $db \
				    "insert into t values($w, $i)" || exit 1
				i=$((i + 1))
			done) &
			pids="$pids $!"
		done
		for p in $pids; do
			wait "$p" || atf_fail "a writer failed"
		done
		atf_check -o inline:'80\n' sqlite3 $db \
		    'select count(*) from t'
		atf_check -o match:ok sqlite3 $db \
		    'pragma mmap_size=4194304; pragma integrity_check'
	done
	finish
	atf_check -o inline:'80\n' sqlite3 dir/wal.db 'select count(*) from t'
}
sqlite_cleanup() {
	unprepare
}

# A small program, configured and made.
atf_test_case compile cleanup
compile_head() {
	case_head
	atf_set require.progs "cc make"
}
compile_body() {
	prepare -u "$PWD/store"
	cd mnt || atf_fail "no mount"
	i=0
	objs=main.o
	echo 'int main(void) { return 0; }' >main.c
	while [ $i -lt 20 ]; do
		echo "int f$i(void) { return $i; }" >f$i.c
		objs="$objs f$i.o"
		i=$((i + 1))
	done
	printf 'prog: %s\n\tcc -o prog %s\n' "$objs" "$objs" >Makefile
	atf_check -o ignore make -j2
	atf_check ./prog
	atf_check -o match:'up to date' make
	sleep 0.1
	echo '/* newer */' >>f3.c
	atf_check -o match:f3.c make
	cd ..
	finish
}
compile_cleanup() {
	unprepare
}

# Four at once, each with its own copy: all must be right in the end.
atf_test_case parallel cleanup
parallel_head() {
	case_head
	atf_set require.progs "setfattr getfattr"
}
parallel_body() {
	mkdir plain
	tree plain
	facts plain >want
	prepare -f 256 -u "$PWD/store"
	pids=
	for i in 1 2 3 4; do
		(cp -a plain mnt/p$i && mv mnt/p$i mnt/q$i &&
		    cp -a mnt/q$i mnt/r$i && rm -rf mnt/q$i) &
		pids="$pids $!"
	done
	for p in $pids; do
		wait "$p" || atf_fail "a copy failed"
	done
	for i in 1 2 3 4; do
		facts mnt/r$i >have
		atf_check cmp want have
	done
	finish
}
parallel_cleanup() {
	unprepare
}

# All of it is undone: the folder is what it was, to the last attribute.
atf_test_case undone cleanup
undone_head() {
	case_head
	atf_set require.progs "tar setfattr getfattr git"
}
undone_body() {
	export GIT_CONFIG_NOSYSTEM=1 HOME="$PWD"
	git config --global user.name t
	git config --global user.email t@localhost
	mkdir dir other
	tree dir
	tree other
	facts dir >want
	prepare -u "$PWD/store" -R
	(
		cd mnt || exit 1
		echo more >>src/f10
		: >src/f11
		truncate -s 5 src/deep/er/random
		mv src/deep src/shallow
		rm -rf src/f2* empty
		mkdir empty
		chmod 0 src/f30
		chown 7:7 src/f31
		setfattr -n user.other -v x src/f32
		setfattr -x user.note src/f4
		touch -d 2020-01-01 src/f33
		rm -f dangling fifo
		mv src/f34 src/f35
		ln -f src/f36 src/f37
		ln -s x newlink
		echo through >>src/shallow/hard
		fallocate -p -o 0 -l 4096 src/shallow/er/random
		cp -a ../other copy
		git init -q repo && cd repo && cp -r ../src . &&
		    git add . && git commit -qm x && git gc -q &&
		    git mv src/f1 src/g1 && git commit -qm y &&
		    git checkout -q HEAD~1
	) || atf_fail "the work failed"
	finish
	# By the host, a link that the store keeps for a redo would count.
	prepare -u "$PWD/store"
	facts mnt >have
	finish
	atf_check diff want have
}
undone_cleanup() {
	unprepare
}

atf_init_test_cases() {
	atf_add_test_case tar
	atf_add_test_case git
	atf_add_test_case sqlite
	atf_add_test_case compile
	atf_add_test_case parallel
	atf_add_test_case undone
}
