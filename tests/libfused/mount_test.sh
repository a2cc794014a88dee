# SPDX-License-Identifier: BSD-2-Clause
#
# A folder mounted here, through the kernel: what holds in a directory must
# hold in the mount.

mounter=$OBJTOP/tests/libfused/fuse_mounter
cases=$OBJTOP/tests/libshare/posix_cases

# What the kernel's FUSE can't by itself, whatever the server; share(3) tells.
case $(uname) in
FreeBSD) kernel="mknod_big_minor mmap_shared_write mmap_shared_write_munmap" ;;
*) kernel="falloc_collapse falloc_insert" ;;
esac

unprepare() {
	[ -f pid ] && kill "$(cat pid)" 2>/dev/null
	umount -l "$PWD/mnt" 2>/dev/null || umount -f "$PWD/mnt" 2>/dev/null
	return 0
}

# prepare [option ...]: serve "dir" at "mnt".
prepare() {
	mkdir -p dir mnt
	"$mounter" "$@" "$PWD/dir" "$PWD/mnt" >out 2>err &
	echo $! >pid
	i=0
	until grep -q ready out; do
		i=$((i + 1))
		[ $i -lt 100 ] || atf_fail "not mounted: $(cat err)"
		kill -0 "$(cat pid)" || atf_fail "not mounted: $(cat err)"
		sleep 0.1
	done
}

# End the server; it must do so well, and quietly.
finish() {
	pid=$(cat pid)
	kill "$pid"
	wait "$pid" || atf_fail "the server ended with $?: $(cat err)"
	rm pid
	[ ! -s err ] || atf_fail "$(cat err)"
}

# No case may pass in a directory and fail in the mount.
compare() {
	mkdir native
	"$cases" native >native.out
	prepare "$@"
	"$cases" mnt >mnt.out
	finish
	[ -z "$(ls -A dir)" ] || atf_fail "left behind: $(ls dir)"
	[ "$(grep -c '^pass' mnt.out)" -gt 350 ] ||
	    atf_fail "$(grep -c '^pass' mnt.out) passed"
	sed -n 's/^FAIL //p' mnt.out >failed
	while read -r c; do
		grep -q "^pass $c$" native.out || continue
		case " $kernel $except " in
		*" $c "*) ;;
		*) echo "fails in the mount: $c"; bad=yes ;;
		esac
	done <failed
	[ -z "${bad:-}" ] || atf_fail "not as in a directory"
}

posix() {
	eval "$(cat <<-EOT
	atf_test_case $1 cleanup
	$1_head() {
		atf_set require.user root
		atf_set timeout 600
	}
	$1_body() {
		except="$2"
		compare $3
	}
	$1_cleanup() {
		unprepare
	}
	EOT
	)"
}

posix posix_none "" ""
posix posix_auto "" "-c auto"
posix posix_always "" "-c always"
# Ids shifted by a map, as in a sandbox.
posix posix_mapped "" "-g 0:100000:65536"
# 300 open files do not fit into 512 descriptors, half of them for files.
posix posix_few_descriptors "many_open" "-f 512"
# The protocol does not tell supplementary groups.
posix posix_checks_here \
    "perm_group chmod_setgid_in_group chown_own_group" "-H"

atf_test_case posix_undo cleanup
posix_undo_head() {
	atf_set require.user root
	atf_set timeout 600
}
posix_undo_body() {
	except=
	compare -u "$PWD/store"
}
posix_undo_cleanup() {
	unprepare
}

# A user's own mount, by the help of fusermount3; a device of our own, as that
# of the system may be root's alone.
atf_test_case unprivileged cleanup
unprivileged_head() {
	atf_set require.user root
	atf_set require.progs "fusermount3 unshare setpriv"
	atf_set timeout 600
}
unprivileged_body() {
	cat >user.sh <<-'EOT'
	"$1" -S -n "$PWD/dir" "$PWD/mnt" >out 2>err &
	pid=$!
	i=0
	until grep -q ready out; do
		i=$((i + 1))
		[ $i -lt 50 ] || exit 2
		sleep 0.1
	done
	"$2" native >native.out
	"$2" mnt >mnt.out
	kill $pid
	wait $pid
	EOT
	mkdir dir mnt native
	chown 65534:65534 . dir mnt native
	mknod -m 666 device c 10 229
	unshare -m sh -c 'mount --bind device /dev/fuse &&
	    exec setpriv --reuid=65534 --regid=65534 --clear-groups \
	    sh user.sh "$@"' sh "$mounter" "$cases" ||
	    atf_fail "it ended with $?: $(cat err)"
	grep -q '^pass' mnt.out || atf_fail "nothing passed"
	sed -n 's/^FAIL //p' mnt.out >failed
	while read -r c; do
		grep -q "^pass $c$" native.out || continue
		case " $kernel " in
		*" $c "*) ;;
		*) atf_fail "fails in the mount: $c" ;;
		esac
	done <failed
}
unprivileged_cleanup() {
	unprepare
}

# Without caches, what the host changes is seen at once, and the other way.
atf_test_case external cleanup
external_head() {
	atf_set require.user root
}
external_body() {
	prepare
	i=0
	while [ $i -lt 50 ]; do
		i=$((i + 1))
		echo "host $i" >dir/a
		[ "$(cat mnt/a)" = "host $i" ] || atf_fail "stale data"
		echo "guest $i" >mnt/a
		[ "$(cat dir/a)" = "guest $i" ] || atf_fail "late data"
		mv dir/a dir/b
		[ ! -e mnt/a ] || atf_fail "stale name"
		[ -e mnt/b ] || atf_fail "missing name"
		mkdir dir/d$i
		[ -d mnt/d$i ] || atf_fail "missing directory"
		chmod 600 dir/b
		[ -n "$(find mnt/b -perm 600)" ] || atf_fail "stale mode"
		mv dir/b dir/a
	done
	finish
}
external_cleanup() {
	unprepare
}

atf_test_case readonly cleanup
readonly_head() {
	atf_set require.user root
}
readonly_body() {
	mkdir dir
	echo x >dir/a
	prepare -r
	atf_check -o inline:'x\n' cat mnt/a
	atf_check -s not-exit:0 -e match:'Read-only' touch mnt/b
	atf_check -s not-exit:0 -e match:'Read-only' rm mnt/a
	atf_check -s not-exit:0 -e match:'Read-only' sh -c 'echo y >>mnt/a'
	atf_check -s not-exit:0 -e match:'Read-only' chmod 600 mnt/a
	finish
}
readonly_cleanup() {
	unprepare
}

# Links lead where the client's kernel takes them; the server follows none.
atf_test_case links cleanup
links_head() {
	atf_set require.user root
}
links_body() {
	prepare
	ln -s /etc/passwd mnt/abs
	ln -s ../../../../etc mnt/rel
	atf_check -o inline:'/etc/passwd\n' readlink mnt/abs
	atf_check -o inline:'../../../../etc\n' readlink dir/rel
	atf_check -s not-exit:0 -e ignore mknod -m 600 mnt/x/y c 1 3
	finish
}
links_cleanup() {
	unprepare
}

# Many waiting locks do not stop the rest.
atf_test_case busy cleanup
busy_head() {
	atf_set require.user root
	atf_set require.progs flock
}
busy_body() {
	prepare -t 12
	touch mnt/lock
	pids=
	flock -x mnt/lock sleep 2 &
	pids=$!
	sleep 0.3
	for i in 1 2 3 4 5 6; do
		flock -x mnt/lock true &
		pids="$pids $!"
	done
	i=0
	while [ $i -lt 50 ]; do
		i=$((i + 1))
		echo $i >mnt/f$i
	done
	[ "$(cat mnt/f*| wc -l)" -eq 50 ] || atf_fail "not all there"
	for p in $pids; do
		wait "$p" || atf_fail "a lock was not given"
	done
	finish
}
busy_cleanup() {
	unprepare
}

# A server that is killed leaves what was written, and no mount that hangs.
atf_test_case killed cleanup
killed_head() {
	atf_set require.user root
}
killed_body() {
	prepare -u "$PWD/store"
	echo before >mnt/a
	kill -9 "$(cat pid)"
	wait "$(cat pid)"
	rm pid
	atf_check -s not-exit:0 -e ignore cat mnt/a
	umount -l mnt
	atf_check -o inline:'before\n' cat dir/a
	prepare -u "$PWD/store"
	finish
}
killed_cleanup() {
	unprepare
}

atf_init_test_cases() {
	atf_add_test_case posix_none
	atf_add_test_case posix_auto
	atf_add_test_case posix_always
	atf_add_test_case posix_mapped
	atf_add_test_case posix_few_descriptors
	# Threads have no identity of their own elsewhere.
	[ "$(uname)" != Linux ] || atf_add_test_case posix_checks_here
	atf_add_test_case posix_undo
	atf_add_test_case unprivileged
	atf_add_test_case external
	atf_add_test_case readonly
	atf_add_test_case links
	atf_add_test_case busy
	atf_add_test_case killed
}
